"""A const-expr as a whole: the op that computes its result, the kinds of its ops, the bytes that it moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iree.compiler import ir

from constpolicy.candidates.contents import CONSTANTS, LOADS
from constpolicy.candidates.kinds import TRANSPARENT, is_widening_cast, kinds_of, scales
from constpolicy.candidates.value_types import stored_size, value_type
from constpolicy.records import Kind

_MOVES = frozenset({Kind.BROADCAST, Kind.CONCAT, Kind.PACK, Kind.PAD, Kind.RESHAPE, Kind.SLICE, Kind.TRANSPOSE})


@dataclass(frozen=True)
class Expression:
    """What the body of a candidate's initializer amounts to.

    `root` is the op that computes the first result, seen through reshapes; None if a constant is stored as it is.
    `work_bytes` are the bytes of tensors read and written by its ops; constants that are splats, initial values of
    results, and reshapes move none, and what takes a part of a tensor reads no more than it writes.
    """

    root: ir.Operation | None
    kind: Kind
    kinds: frozenset[Kind]
    work_bytes: int


def expression(body: Sequence[ir.Operation], stored: ir.Value) -> Expression:
    """Reads the ops that stand directly in an initializer; `stored` is the value of its first store."""
    kinds = {op: found for op in body if (found := _kinds_in_context(op))}
    root = _root(stored, kinds)
    all_kinds = frozenset(kind for found in kinds.values() for kind in found)
    if not isinstance(stored.type, ir.RankedTensorType):
        kind = Kind.SCALAR
        all_kinds |= {kind}
    elif root is None:
        kind = Kind.RESHAPE if Kind.RESHAPE in all_kinds else Kind.OTHER
    else:
        kind = kinds[root][0]
    return Expression(root, kind, all_kinds, sum(_work(op, kinds[op]) for op in kinds))


def _kinds_in_context(op: ir.Operation) -> tuple[Kind, ...]:
    """The kinds of an op, with what its operands and uses tell."""
    kinds = kinds_of(op)
    if kinds == (Kind.FILL,) and op.results and all(_is_initial_value(use) for use in op.results[0].uses):
        return ()
    if kinds[:1] == (Kind.ELEMENTWISE,) and scales(op) and any(_was_widened(operand) for operand in op.operands):
        return (Kind.DEQUANTIZE, *kinds[1:])
    return kinds


def _is_initial_value(use: ir.OpOperand) -> bool:
    """Whether the op that uses a tensor only accumulates into it."""
    op = use.owner.operation
    return op.name.startswith("linalg.") and kinds_of(op)[:1] in ((Kind.CONTRACTION,), (Kind.REDUCTION,))


def _was_widened(value: ir.Value) -> bool:
    """Whether a value comes from a cast to wider elements, through ops that only move elements."""
    op = _defining(value)
    while op is not None and not is_widening_cast(op):
        if not len(op.operands) or not _only_moves(op):
            return False
        op = _defining(op.operands[0])
    return op is not None


def _only_moves(op: ir.Operation) -> bool:
    kinds = kinds_of(op)
    return op.name in TRANSPARENT or (bool(kinds) and _MOVES.issuperset(kinds))


def _root(stored: ir.Value, kinds: dict[ir.Operation, tuple[Kind, ...]]) -> ir.Operation | None:
    op = _defining(stored)
    while op is not None and op.name not in CONSTANTS | LOADS:
        if op.name not in TRANSPARENT and kinds.get(op) != (Kind.RESHAPE,):
            return op if op in kinds else None
        op = _defining(op.operands[0])
    return None


def _defining(value: ir.Value) -> ir.Operation | None:
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def _work(op: ir.Operation, kinds: tuple[Kind, ...]) -> int:
    if kinds == (Kind.RESHAPE,):
        return 0
    if op.name == "tensor.insert_slice":  # writes into its second operand, in place
        return 2 * _bytes(op.operands[0])
    written = sum(_bytes(result) for result in op.results)
    if kinds == (Kind.SLICE,):
        return 2 * written
    inputs = list(op.operands)
    if op.name.startswith(("linalg.", "iree_linalg_ext.")):  # the last operands are what the results start from
        inputs = inputs[: len(inputs) - len(op.results)]
    read = sum(_bytes(operand) for operand in inputs if not _is_splat(operand))
    if Kind.GATHER in kinds:
        read += written
    return read + written


def _bytes(value: ir.Value) -> int:
    return stored_size(value_type(value.type)) if isinstance(value.type, ir.RankedTensorType) else 0


def _is_splat(value: ir.Value) -> bool:
    op = _defining(value)
    return op is not None and op.name in ("linalg.fill", "tensor.splat", "flow.tensor.splat", "tensor.empty")
