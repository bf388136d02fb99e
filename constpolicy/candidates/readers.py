"""What the ops that use a value do with it."""

from __future__ import annotations

from collections.abc import Iterator

from iree.compiler import ir

from constpolicy.candidates.index import Section
from constpolicy.candidates.kinds import TRANSPARENT, kinds_of
from constpolicy.candidates.locations import place_of
from constpolicy.records import Kind, Reader

_COMPUTES_IN_ITS_BODY = ("linalg.", "iree_linalg_ext.", "tensor.generate", "tensor.pad", "flow.dispatch.")


def readers_of(value: ir.Value, section: Section) -> list[Reader]:
    """One reader per use of the value in its section, in program order as far as IREE keeps uses in order.

    Reshapes and barriers only pass the value on: their uses count in their place.
    """
    readers = [
        Reader(section.symbol, kind, section.is_initializer, place_of(op.location)) for op, kind in _uses_of(value)
    ]
    return readers[::-1]  # MLIR lists uses last first


def _uses_of(value: ir.Value) -> Iterator[tuple[ir.Operation, Kind]]:
    for use in value.uses:
        op = _computing(use.owner.operation)
        kinds = kinds_of(op)
        passes_on = op.name in TRANSPARENT or kinds == (Kind.RESHAPE,)
        if passes_on and (further := list(_uses_of(op.results[0]))):
            yield from further
        else:
            yield op, kinds[0] if kinds else Kind.OTHER


def _computing(op: ir.Operation) -> ir.Operation:
    """The op whose body a use stands in, for ops that compute in bodies; else the op itself."""
    found = op
    while (parent := op.parent) is not None and parent.operation.name != "builtin.module":
        op = parent.operation
        if op.name.startswith(_COMPUTES_IN_ITS_BODY):
            found = op
    return found
