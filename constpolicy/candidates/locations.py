"""Where in the input an op comes from."""

from __future__ import annotations

import re

from iree.compiler import ir

_PLACE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')


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
