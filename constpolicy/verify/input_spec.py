"""What the user says about inputs: plain data, enough to make the same inputs again from the report alone."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from constpolicy.records import ConstPolicyError


class InputSet(str, Enum):
    """How the values of a call's inputs are chosen where no file gives them."""

    SEEDED = "seeded"  # uniform within the range
    ZEROS = "zeros"
    ONES = "ones"
    EXTREMES = "extremes"  # the ends of the range, or of the type: largest, smallest, denormal, -0.0
    NAN = "nan"  # seeded with some NaN, in the inputs whose type has one
    INF = "inf"  # seeded with some infinities of both signs, in the inputs whose type has them

    def __str__(self) -> str:
        return self.value


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class InputRange(_Record):
    """Bounds of an input's values: low <= value <= high for integers, low <= value < high for floats.

    `name` is "input0", or "main.input0" for one function's; None stands for every input.
    """

    name: str | None = None
    low: float
    high: float

    @classmethod
    def parse(cls, text: str) -> InputRange:
        """Reads `[name:]lo,hi`."""
        name, _, bounds = text.rpartition(":")
        try:
            low, high = (float(bound) for bound in bounds.split(","))
        except ValueError:
            raise ConstPolicyError(f"input range '{text}': write [name:]lo,hi, as in input0:0,30521") from None
        if not low <= high:
            raise ConstPolicyError(f"input range '{text}': {low:g} is not below {high:g}")
        return cls(name=name or None, low=low, high=high)


class InputShape(_Record):
    """The shape of an input with dynamic dimensions; `name` as in InputRange."""

    name: str | None = None
    shape: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> InputShape:
        """Reads `[name:]2x128`; a scalar tensor's shape is empty."""
        name, _, dimensions = text.rpartition(":")
        try:
            shape = tuple(int(dimension) for dimension in dimensions.split("x") if dimensions)
        except ValueError:
            shape = (-1,)
        if any(dimension < 0 for dimension in shape):
            raise ConstPolicyError(f"input shape '{text}': write [name:]2x128, all dimensions as numbers")
        return cls(name=name or None, shape=shape)


class InputSpec(_Record):
    """How inputs are made.

    functions: the functions to call, in this order; none for every exported one.
    values: inputs in iree-run-module's `--input` syntax, in the order of the arguments: `2x3xf32=1 2 3 4 5 6`,
      `4xi32=@file.bin`, `@file.npy`, `@file.npz`, `3.5`. They are the same in every iteration.
    script: a Python file with a function `inputs(function: str)` that yields, for each call, a list of arrays or a
      dict of them by input name.
    """

    seed: int = 0
    iterations: int = Field(default=1, ge=1)
    sets: tuple[InputSet, ...] = (InputSet.SEEDED,)
    functions: tuple[str, ...] = ()
    ranges: tuple[InputRange, ...] = ()
    shapes: tuple[InputShape, ...] = ()
    values: tuple[str, ...] = ()
    script: Path | None = None


def applies(name: str | None, function: str, value: str) -> bool:
    """Whether a name given by the user means this function's input or output."""
    return name is None or name in (value, f"{function}.{value}")
