"""What sharing costs the readers, in the terms of records.ShareOffer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import prod

from constpolicy.rewrite.globals import INITIALIZER
from constpolicy.rewrite.share.edits import Edit, ReadCopy, ReadElement, ReadRows
from constpolicy.rewrite.share.index_map import IndexMap
from constpolicy.rewrite.share.readers import row_length, rows_read


def gathered_rows(edits: Iterable[Edit], elements: int) -> int | None:
    """Rows that functions take from the source per call, None when unknown; readers of the whole are left out."""
    total = 0
    for edit in edits:
        if edit.holder.name == INITIALIZER or reads_whole(edit, elements):
            continue
        rows = rows_read(edit)
        if rows is None:
            return None
        total += rows
    return total


def reads_whole(edit: Edit, elements: int) -> bool:
    """Whether a function reads every element of a source with so many, on every call."""
    if edit.holder.name == INITIALIZER or isinstance(edit, (ReadElement, ReadRows)):
        return False
    views = [edit.view] if isinstance(edit, ReadCopy) else [*edit.through_map.values(), *edit.in_body.values()]
    return any(prod(view.lies.inputs.dims) == elements for view in views)


def stride_bytes(lies: IndexMap, home_shape: Sequence[int], element_bytes: int) -> int:
    """The largest distance in the home between neighbours in a row of the source, in bytes."""
    shape = lies.inputs.dims
    row_dim = max((k for k, size in enumerate(shape) if size > 1), default=0)
    positions = [
        _position(lies.at([0] * row_dim + [k] + [0] * (len(shape) - row_dim - 1)), home_shape)
        for k in range(row_length(shape))
    ]
    return element_bytes * max((abs(b - a) for a, b in pairwise(positions)), default=0)


def _position(index: Sequence[int], shape: Sequence[int]) -> int:
    position = 0
    for component, size in zip(index, shape, strict=True):
        position = position * size + component
    return position
