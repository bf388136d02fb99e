"""Where in the input an op comes from."""

from __future__ import annotations

import re

from iree.compiler import ir

_PLACE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')
_NAME = re.compile(r'"((?:[^"\\]|\\.)+)"(?!:\d)')
_MOST_NAMES = 3


def place_of(location: ir.Location) -> str | None:
    """The first file position in a location, as "file:line:column"; None if it has none.

    The first is the op itself: of a fused location its first part, of an inlined call the callee, of a name what it
    names. Read from the spelling, which is the same in all versions; the bindings' classes are not.
    """
    for match in _PLACE.finditer(str(location)):
        file, line, column = match.groups()
        if line != "0":
            return f"{file}:{line}:{column}"
    return None


def names_in(location: ir.Location) -> tuple[str, ...]:
    """The first few names in a location: of ONNX nodes, StableHLO ops or layers, as the importer gave them."""
    text = _PLACE.sub("", str(location))
    return tuple(dict.fromkeys(match[1] for match in _NAME.finditer(text)))[:_MOST_NAMES]
