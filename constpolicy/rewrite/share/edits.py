"""The edits that make a reader of a source read the result instead: one record for each way of reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from iree.compiler import ir

from constpolicy.rewrite.share.index_map import Expr, IndexMap


@dataclass(frozen=True)
class View:
    """Where the elements of a value that a reader sees lie in the result.

    `offsets` are the values of the map's symbols. `guarded` values come from behind an optimization barrier, which
    keeps IREE from hoisting what is computed from them.
    """

    lies: IndexMap
    offsets: tuple[ir.Value, ...] = ()
    guarded: bool = False


@dataclass(frozen=True)
class ReadElement:
    """A tensor.extract of the source: the result is extracted from at the mapped index."""

    holder: ir.Operation
    op: ir.Operation
    view: View


@dataclass(frozen=True)
class ReadRows:
    """An iree_linalg_ext.gather from the source: a linalg.generic extracts its elements from the result."""

    holder: ir.Operation
    op: ir.Operation
    view: View


@dataclass(frozen=True)
class ReadOperands:
    """Operands of a linalg op: read through composed indexing maps, or element by element in the body."""

    holder: ir.Operation
    op: ir.Operation
    through_map: Mapping[int, View] = field(default_factory=dict)
    in_body: Mapping[int, View] = field(default_factory=dict)


@dataclass(frozen=True)
class ReadCopy:
    """Any other operand: a copy in the source's layout is made for it."""

    holder: ir.Operation
    op: ir.Operation
    operand: int
    view: View


Edit: TypeAlias = "ReadElement | ReadRows | ReadOperands | ReadCopy"


def through(view: View, indexing_map: ir.AffineMap) -> list[Expr]:
    """The index into the result for an operand of a linalg op, as expressions of its loops, not simplified."""
    return [expr.compose(indexing_map) for expr in view.lies.results]
