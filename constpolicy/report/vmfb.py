"""Reads a .vmfb where it lies: the archive around it, and the FlatBuffer of IREE's bytecode_module_def.fbs.

The `flatbuffers` package is not used: it checks no bounds, so that a damaged file would end anywhere, and it does not
say where in the file a table or vector lies, which is what is asked here. Slots of a table are numbered as in the
schema, which IREE only ever appends to.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from constpolicy.records import ConstPolicyError

_ALIGNMENT = 64  # of everything behind the FlatBuffer
_ZIP_HEADER = struct.Struct("<IHHHHHIIIHH")
_ZIP_SIGNATURE = 0x04034B50
_ZIP64 = 0x0001
_IDENTIFIER = b"IREE"
_MOST_ENTRIES = 1_000_000  # of any list; IREE's have thousands at most


@dataclass(frozen=True)
class Span:
    """A range of the file."""

    offset: int
    bytes: int

    @property
    def end(self) -> int:
        return self.offset + self.bytes


@dataclass(frozen=True)
class Rodata:
    """A read-only segment; `name` is that of the archive's entry, None for what lies in the FlatBuffer or has none."""

    ordinal: int
    span: Span
    name: str | None
    fields: tuple[int, ...] = ()  # where an external segment's length and offset stand, 8 bytes each


@dataclass(frozen=True)
class Module:
    """Where the parts of a module lie. `functions` are the ranges of bytecode of each function, by ordinal."""

    flatbuffer: Span
    is_archive: bool
    rodata: tuple[Rodata, ...]
    bytecode: Span
    functions: tuple[Span, ...]
    exports: tuple[tuple[str, int], ...]  # name and ordinal
    source_map: tuple[Span, ...]


@contextmanager
def mapped(path: Path) -> Iterator[memoryview]:
    """The file's bytes, mapped and not read. Raises ConstPolicyError if it cannot be."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
            view = memoryview(mapping)
            try:
                yield view
            finally:
                view.release()
    except ValueError:
        raise ConstPolicyError(f"{path}: this is no .vmfb: the file is empty") from None
    except OSError as error:
        raise ConstPolicyError(f"{path}: cannot be read: {error.strerror}") from None


def parse(data: memoryview, path: Path) -> Module:
    """Finds the parts of the module in a file's bytes. Raises ConstPolicyError if it is no whole .vmfb."""
    try:
        return _parse(data)
    except _DamagedError as error:
        raise ConstPolicyError(f"{path}: this is no whole .vmfb: {error}") from None


class _DamagedError(Exception):
    """What is wrong with the file."""


def _parse(data: memoryview) -> Module:
    is_archive = len(data) >= _ZIP_HEADER.size and _unsigned(data, 0, 4) == _ZIP_SIGNATURE
    start = _content_of_entry(data, 0) if is_archive else 0
    flatbuffer = Span(start + 4, _unsigned(data, start, 4))
    if flatbuffer.end > len(data):
        raise _DamagedError(f"its module needs {flatbuffer.end:,} bytes, and there are {len(data):,}")
    buffer = _Buffer(data, flatbuffer)
    if bytes(data[flatbuffer.offset + 4 : flatbuffer.offset + 8]) != _IDENTIFIER:
        raise _DamagedError("there is no module of IREE's in it")
    root = buffer.table(buffer.reference(flatbuffer.offset))
    names = _names(data, _aligned(flatbuffer.end)) if is_archive else {}
    bytecode = buffer.span(root, _BYTECODE, 1)
    return Module(
        flatbuffer=flatbuffer,
        is_archive=is_archive,
        rodata=tuple(_rodata(buffer, root, names, len(data))),
        bytecode=bytecode,
        functions=tuple(_functions(buffer, root, bytecode)),
        exports=tuple(_exports(buffer, root)),
        source_map=tuple(_source_map(buffer, root)),
    )


# Slots of the tables in bytecode_module_def.fbs. A union takes two.
_EXPORTS, _RODATA, _DESCRIPTORS, _BYTECODE, _DEBUG = 7, 9, 12, 14, 15
_EMBEDDED, _EXTERNAL_OFFSET, _EXTERNAL_LENGTH = 2, 3, 4
_EXPORT_NAME, _EXPORT_ORDINAL = 0, 1
_DEBUG_FUNCTIONS, _MAP_LOCATIONS = 2, 1
_DESCRIPTOR_BYTES, _MAP_ENTRY_BYTES = 20, 8


def _rodata(buffer: _Buffer, root: int, names: dict[int, str], file_bytes: int) -> Iterator[Rodata]:
    base = _aligned(buffer.limits.end)
    for ordinal, table in enumerate(buffer.tables(root, _RODATA)):
        field = buffer.field(table, _EXTERNAL_LENGTH)
        if field is None:
            yield Rodata(ordinal, buffer.span(table, _EMBEDDED, 1), None)
            continue
        offset = buffer.field(table, _EXTERNAL_OFFSET)
        span = Span(base + (buffer.unsigned(offset, 8) if offset else 0), buffer.unsigned(field, 8))
        if span.end > file_bytes:
            raise _DamagedError(f"its segment {ordinal} ends at {span.end:,}, and there are {file_bytes:,} bytes")
        yield Rodata(ordinal, span, names.get(span.offset), (field,) if offset is None else (field, offset))


def _functions(buffer: _Buffer, root: int, bytecode: Span) -> Iterator[Span]:
    descriptors = buffer.span(root, _DESCRIPTORS, _DESCRIPTOR_BYTES)
    for at in range(descriptors.offset, descriptors.end, _DESCRIPTOR_BYTES):
        span = Span(bytecode.offset + buffer.unsigned(at, 4), buffer.unsigned(at + 4, 4))
        if span.end > bytecode.end:
            raise _DamagedError("a function ends behind the bytecode")
        yield span


def _exports(buffer: _Buffer, root: int) -> Iterator[tuple[str, int]]:
    for table in buffer.tables(root, _EXPORTS):
        ordinal = buffer.field(table, _EXPORT_ORDINAL)
        name = buffer.span(table, _EXPORT_NAME, 1)
        text = bytes(buffer.data[name.offset : name.end]).decode("utf-8", "replace")
        yield text, buffer.unsigned(ordinal, 4) if ordinal else 0


def _source_map(buffer: _Buffer, root: int) -> Iterator[Span]:
    """The tables from bytecode to places in the source, of all functions that have one."""
    debug = buffer.field(root, _DEBUG)
    if debug is None:
        return
    for function in buffer.tables(buffer.table(buffer.reference(debug)), _DEBUG_FUNCTIONS):
        span = buffer.span(function, _MAP_LOCATIONS, _MAP_ENTRY_BYTES)
        if span.bytes:
            yield span


@dataclass(frozen=True)
class _Buffer:
    """A FlatBuffer, of which nothing is read outside its limits."""

    data: memoryview
    limits: Span

    def unsigned(self, at: int, width: int) -> int:
        if at < self.limits.offset or at + width > self.limits.end:
            raise _DamagedError(f"it points to {at:,}, outside its module")
        return int.from_bytes(self.data[at : at + width], "little")

    def reference(self, at: int) -> int:
        """Where the offset that stands at `at` points to."""
        return at + self.unsigned(at, 4)

    def table(self, at: int) -> int:
        self.unsigned(at, 4)
        return at

    def field(self, table: int, slot: int) -> int | None:
        """Where the field of the table stands; None if the table has none."""
        distance = struct.unpack("<i", self.unsigned(table, 4).to_bytes(4, "little"))[0]
        vtable = table - int(distance)
        entry = 4 + 2 * slot
        if entry + 2 > self.unsigned(vtable, 2):
            return None
        position = self.unsigned(vtable + entry, 2)
        return table + position if position else None

    def span(self, table: int, slot: int, width: int) -> Span:
        """The elements, of `width` bytes each, of the vector or string in the field; an empty span if it has none."""
        field = self.field(table, slot)
        if field is None:
            return Span(self.limits.offset, 0)
        vector = self.reference(field)
        span = Span(vector + 4, self.unsigned(vector, 4) * width)
        if span.end > self.limits.end:
            raise _DamagedError(f"a list of {span.bytes:,} bytes ends outside its module")
        return span

    def tables(self, table: int, slot: int) -> Iterator[int]:
        """The tables that the vector in the field lists."""
        span = self.span(table, slot, 4)
        if span.bytes > 4 * _MOST_ENTRIES:
            raise _DamagedError(f"it lists {span.bytes // 4:,} entries")
        for at in range(span.offset, span.end, 4):
            yield self.table(self.reference(at))


def _names(data: memoryview, start: int) -> dict[int, str]:
    """The names of the archive's entries behind the module, by where their contents start."""
    names: dict[int, str] = {}
    at = start
    while at + _ZIP_HEADER.size <= len(data) and _unsigned(data, at, 4) == _ZIP_SIGNATURE:
        content = _content_of_entry(data, at)
        length = int(_ZIP_HEADER.unpack_from(data, at)[9])
        name_at = at + _ZIP_HEADER.size
        names[content] = bytes(data[name_at : name_at + length]).decode("utf-8", "replace")
        at = content + _size_of_entry(data, at)
    return names


def _content_of_entry(data: memoryview, at: int) -> int:
    """Where the content of the archive's entry starts whose header stands at `at`."""
    *_, name, extra = _ZIP_HEADER.unpack_from(data, at)
    content = at + _ZIP_HEADER.size + int(name) + int(extra)
    if content + 4 > len(data):
        raise _DamagedError("the archive ends in the header of an entry")
    return content


def _size_of_entry(data: memoryview, at: int) -> int:
    """The size that stands in the entry's zip64 field, or in the header."""
    fields = _ZIP_HEADER.unpack_from(data, at)
    extra = at + _ZIP_HEADER.size + int(fields[9])
    end = extra + int(fields[10])
    while extra + 4 <= end:
        kind, size = _unsigned(data, extra, 2), _unsigned(data, extra + 2, 2)
        if kind == _ZIP64 and size >= 8:
            return _unsigned(data, extra + 4, 8)
        extra += 4 + size
    return int(fields[8])


def _unsigned(data: memoryview, at: int, width: int) -> int:
    if at + width > len(data):
        raise _DamagedError(f"it ends after {len(data):,} bytes")
    return int.from_bytes(data[at : at + width], "little")


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT
