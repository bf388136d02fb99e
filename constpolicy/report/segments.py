"""The finished file, part by part: every byte of a .vmfb is in exactly one of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Protocol

from constpolicy.records import ConstPolicyError
from constpolicy.report import disassembly
from constpolicy.report.file_report import FilePart, FileReport, FunctionReport, Group
from constpolicy.report.vmfb import Module, Rodata, Span, mapped, parse

_CHUNK = 1 << 20
_SAMPLE = 4096
_SPLAT_WIDTHS = (1, 2, 4, 8, 16)
_EXECUTABLE_SUFFIXES = frozenset({".so", ".dll", ".dylib", ".wasm", ".fb"})
_EXECUTABLE_MAGIC = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\x00asm", b"PK\x03\x04")
_GROUPS: tuple[Group, ...] = ("constants", "executables", "bytecode", "rest")


@dataclass(frozen=True)
class Piece:
    """A constant inside a segment, or the padding behind one. `name` and `type` are as the compiler had them."""

    bytes: int
    name: str | None
    type: str | None
    padding: bool = False


class Origins(Protocol):
    """What is known about the constants of a file that was just compiled."""

    def pieces(self, segment_bytes: int) -> Sequence[Piece] | None:
        """What a segment of that size was put together from, in order; None if that is not known."""

    def traced(self, piece: Piece, data: memoryview) -> tuple[str | None, str | None]:
        """The source's name and the candidate's id of the constant with these bytes, each None if not known."""


def read(path: Path, origins: Origins | None = None) -> FileReport:
    """What the file holds.

    Raises ConstPolicyError if it is no whole .vmfb. The file is mapped: no more of it is in memory at a time than the
    system sees fit, and of large constants only those of equal size are read whole.
    """
    with mapped(path) as data:
        module = parse(data, path)
        parts = list(_without_gaps(sorted(_known(data, module, origins), key=_place), module, len(data), path))
        parts = list(_with_duplicates(data, parts))
        totals = {group: sum(part.bytes for part in parts if part.group == group) for group in _GROUPS}
        return FileReport(bytes=len(data), totals=totals, parts=parts, functions=_functions(data, module))


def _known(data: memoryview, module: Module, origins: Origins | None) -> Iterator[FilePart]:
    for ordinal, span in enumerate(sorted(set(module.functions), key=lambda span: span.offset)):
        yield _part("bytecode", f"function {_function_name(module, span, ordinal)}", span)
    for span in module.source_map:
        yield _part("rest", "source map", span)
    for _, same in groupby(sorted(module.rodata, key=lambda r: (r.span.offset, r.span.bytes)), key=lambda r: r.span):
        rodata = next(same)  # several may be one range
        if rodata.span.bytes:
            yield from _of_rodata(data, rodata, origins)


def _of_rodata(data: memoryview, rodata: Rodata, origins: Origins | None) -> Iterator[FilePart]:
    group, name = _group(data, rodata), rodata.name or f"segment {rodata.ordinal}"
    if group != "constants":
        yield _part(group, name if group == "executables" else f"string {name}", rodata.span)
        return
    pieces = origins.pieces(rodata.span.bytes) if origins else None
    if origins is None or pieces is None or sum(piece.bytes for piece in pieces) != rodata.span.bytes:
        part = _part("constants", name, rodata.span)
        splat = _splat(data, rodata.span)
        # A segment of the archive is what IREE packs constants into; how many there are, is not in the file.
        yield part.model_copy(update={"splat": splat, "not_told_apart": bool(rodata.fields) and splat is None})
        return
    at = rodata.span.offset
    for piece in pieces:
        span = Span(at, piece.bytes)
        at = span.end
        if piece.padding:
            yield _part("rest", "padding between constants", span)
            continue
        source, candidate = origins.traced(piece, data[span.offset : span.end])
        found = {"source": source, "candidate": candidate, "type": piece.type, "splat": _splat(data, span)}
        known_as = piece.name or source or (f"result of {candidate}" if candidate else name)
        yield _part("constants", known_as, span).model_copy(update=found)


def _group(data: memoryview, rodata: Rodata) -> Group:
    """By the archive's name for it, else by its first bytes; what lies in the module is text or a small constant."""
    start = bytes(data[rodata.span.offset : min(rodata.span.end, rodata.span.offset + _SAMPLE)])
    suffix = Path(rodata.name or "").suffix
    if suffix in _EXECUTABLE_SUFFIXES or start.startswith(_EXECUTABLE_MAGIC) or start[4:8] == b"IREE":
        return "executables"
    if rodata.fields and suffix in ("", ".bin"):
        return "constants"
    return "rest" if _is_text(start) else "constants"


def _is_text(start: bytes) -> bool:
    try:
        return start.decode("utf-8").isprintable()
    except UnicodeDecodeError:
        return False


def _without_gaps(parts: list[FilePart], module: Module, size: int, path: Path) -> Iterator[FilePart]:
    """The parts, and what lies between them, which is named by where it lies."""
    at = 0
    for part in parts:
        if part.offset < at:
            raise ConstPolicyError(f"{path}: this is no whole .vmfb: its parts overlap at {part.offset:,}")
        yield from _between(Span(at, part.offset - at), module)
        yield part
        at = part.offset + part.bytes
    yield from _between(Span(at, size - at), module)


def _between(gap: Span, module: Module) -> Iterator[FilePart]:
    start, end = module.flatbuffer.offset, module.flatbuffer.end
    around = "archive" if module.is_archive else "padding"
    for name, first, last in ((around, 0, start), ("module description", start, end), (around, end, gap.end)):
        lower, upper = max(gap.offset, first), min(gap.end, last)
        if upper > lower:
            yield _part("rest", name, Span(lower, upper - lower))


def _with_duplicates(data: memoryview, parts: list[FilePart]) -> Iterator[FilePart]:
    """Marks the constants whose bytes are those of an earlier one."""
    sizes: dict[int, int] = {}
    for part in parts:
        if part.group == "constants":
            sizes[part.bytes] = sizes.get(part.bytes, 0) + 1
    first: dict[bytes, list[FilePart]] = {}
    for part in parts:
        if part.group != "constants" or sizes[part.bytes] == 1:
            yield part
            continue
        alike = first.setdefault(_samples(data, part), [])
        same = next((other for other in alike if _equal(data, other, part)), None)
        alike += [part] if same is None else []
        yield part if same is None else part.model_copy(update={"same_as": same.offset})


def _samples(data: memoryview, part: FilePart) -> bytes:
    """A hash of the constant's size, start, middle and end, which keeps most unequal ones from being read whole."""
    hash = hashlib.sha256(str(part.bytes).encode())
    for start in (0, part.bytes // 2, max(0, part.bytes - _SAMPLE)):
        hash.update(data[part.offset + start : part.offset + min(start + _SAMPLE, part.bytes)])
    return hash.digest()


def _equal(data: memoryview, one: FilePart, other: FilePart) -> bool:
    return all(
        bytes(data[one.offset + at : one.offset + min(at + _CHUNK, one.bytes)])
        == bytes(data[other.offset + at : other.offset + min(at + _CHUNK, one.bytes)])
        for at in range(0, one.bytes, _CHUNK)
    )


def _splat(data: memoryview, span: Span) -> str | None:
    """The shortest element that the bytes repeat, in hex; None if there is none, or only one element."""
    start = bytes(data[span.offset : span.offset + min(span.bytes, 64)])
    for width in _SPLAT_WIDTHS:
        element = start[:width]
        if span.bytes % width or span.bytes < 2 * width or start != (element * len(start))[: len(start)]:
            continue
        chunk = element * (_CHUNK // width)
        if all(
            bytes(data[at : min(at + _CHUNK, span.end)]) == chunk[: min(_CHUNK, span.end - at)]
            for at in range(span.offset, span.end, _CHUNK)
        ):
            return element.hex()
    return None


def _functions(data: memoryview, module: Module) -> list[FunctionReport]:
    found = disassembly.functions(data, module)
    return [
        FunctionReport(
            name=name,
            bytes=module.functions[ordinal].bytes,
            dispatches=disassembly.dispatches(ordinal, found),
        )
        for name, ordinal in module.exports
        if found and ordinal < len(module.functions)
    ]


def _function_name(module: Module, span: Span, ordinal: int) -> str:
    names = [name for name, number in module.exports if module.functions[number : number + 1] == (span,)]
    return names[0] if names else f"#{ordinal}"


def _part(group: Group, name: str, span: Span) -> FilePart:
    return FilePart(group=group, name=name, offset=span.offset, bytes=span.bytes)


def _place(part: FilePart) -> tuple[int, int]:
    return part.offset, part.bytes
