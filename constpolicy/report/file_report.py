"""What a finished .vmfb holds, as data, with sizes in bytes. The parts follow one another and add up to the file."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Group = Literal["constants", "executables", "bytecode", "rest"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FilePart(_Record):
    """A range of the file.

    `name` is that of the segment (the archive's own name for it, if it has one), or what the range is.
    `source` and `candidate` (an id) say where a constant comes from, if that is known; `type` is the type known for it.
    A constant whose bytes all repeat one element has that element in `splat`, in hex as it stands in the file.
    `same_as` is the offset of the first constant of the same bytes, for all copies but that one.
    `not_told_apart` marks bytes that hold several constants whose borders are not known.
    """

    group: Group
    name: str
    offset: int
    bytes: int
    source: str | None = None
    candidate: str | None = None
    type: str | None = None
    splat: str | None = None
    same_as: int | None = None
    not_told_apart: bool = False


class FunctionReport(_Record):
    """An exported function: the bytes of its bytecode, and how many dispatches its bytecode has.

    `dispatches` are the calls of hal.command_buffer.dispatch that stand in the function and in those that it calls;
    a loop counts once.
    """

    name: str
    bytes: int
    dispatches: int


class FileReport(_Record):
    """A .vmfb: its parts, in order and without a gap, and its exported functions. `totals` are bytes by group."""

    bytes: int
    totals: dict[Group, int]
    parts: list[FilePart]
    functions: list[FunctionReport] = Field(default_factory=list)

    @property
    def duplicates(self) -> list[FilePart]:
        """The constants that are stored a second time, each time but the first."""
        return [part for part in self.parts if part.same_as is not None]
