"""Where the constants of a finished file come from, as the compile of it knows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from constpolicy.candidates.content_key import content_key
from constpolicy.records import ConstantOrigin, StoredConstants, StoredPiece
from constpolicy.report.segments import Piece

_ELEMENT = re.compile(r"tensor<(?:\d+x)*(.*)>$")


class Trace:
    """The origins of a file's constants. A constant is known by its content, or by its key as a resource."""

    def __init__(self, stored: StoredConstants) -> None:
        self._stored = stored
        self._named: dict[str, list[ConstantOrigin]] = {}
        for key, origin in stored.origins.items():
            self._named.setdefault(key.partition("-")[0] if _is_hash(key) else key, []).append(origin)

    def pieces(self, segment_bytes: int) -> Sequence[Piece] | None:
        """What the segment of that size was put together from; None if none or several have that size."""
        alike = [pieces for pieces in self._stored.segments if sum(p.bytes for p in pieces) == segment_bytes]
        return [_piece(piece) for piece in alike[0]] if alike and all(other == alike[0] for other in alike) else None

    def traced(self, piece: Piece, data: memoryview) -> tuple[str | None, str | None]:
        """The source's name and the candidate's id of the constant with these bytes."""
        element = _ELEMENT.match(piece.type or "")
        key = f"resource {piece.name}" if piece.name else content_key(element[1] if element else "", data)
        found = self._named.get(key, [])
        if len(found) != 1:  # none, or several whose samples are alike
            return None, None
        (origin,) = found
        if origin.candidate_id is not None:
            return None, origin.candidate_id
        return f"{origin.name} ({origin.location})" if origin.location else origin.name, None


def _is_hash(key: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{16}(-[0-9a-f]{16})?", key) is not None


def _piece(piece: StoredPiece) -> Piece:
    return Piece(piece.bytes, piece.resource, piece.type, piece.padding)
