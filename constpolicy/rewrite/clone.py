"""Clones the body of a candidate's initializer to another place, where it computes the same values."""

from __future__ import annotations

from iree.compiler import ir

from constpolicy.rewrite.globals import LOAD, STORE, accessed, body

_SCALARS_WITH_BARRIER = ("index", "i32", "i64", "f32")  # a barrier on others, f16 among them, breaks codegen


def clone_body(initializer: ir.Operation, *, barriers: bool) -> dict[str, ir.Value]:
    """Clones all but the stores at the current insertion point; returns the stored values by global name.

    With `barriers`, optimization barriers on the sources keep IREE from hoisting the expression again; in the final
    program they are free. What is written into has none: behind a barrier, IREE does not see a constant, and writes to
    its memory instead of to a copy. Constants keep their attributes, so that no bytes are copied.
    """
    operations = body(initializer)
    guarded = _guarded(operations) if barriers else []
    values: dict[ir.Value, ir.Value] = {}
    bare: dict[ir.Value, ir.Value] = {}  # the same without barriers
    stored: dict[str, ir.Value] = {}
    for op in operations:
        if op.name == STORE:
            stored[accessed(op)] = values[op.operands[0]]
        elif op.name != "util.return":
            clone = op.clone()
            _remap_operands(clone, values, bare)
            for old, new in zip(op.results, clone.results, strict=True):
                values[old], bare[old] = (_barrier(new, initializer.location) if op in guarded else new), new
    return stored


def _remap_operands(clone: ir.Operation, values: dict[ir.Value, ir.Value], bare: dict[ir.Value, ir.Value]) -> None:
    """Points every operand, in nested regions too, to the clones: cloning keeps the values captured from outside."""

    def visit(op: ir.Operation) -> ir.WalkResult:
        written = _written(op)
        for index, operand in enumerate(op.operands):
            if operand in values:
                op.operands[index] = (bare if index == written else values)[operand]
        return ir.WalkResult.ADVANCE

    clone.walk(visit)


def _written(op: ir.Operation) -> int | None:
    """The position of the operand that the op writes into."""
    return 1 if op.name == "tensor.insert_slice" else None


def _guarded(operations: list[ir.Operation]) -> list[ir.Operation]:
    """The ops whose results take the barrier: the first of these groups that is not empty."""
    constants = [op for op in operations if op.name == "arith.constant"]
    tensors = [op for op in constants if isinstance(op.results[0].type, ir.RankedTensorType)]
    sources = [op for op in operations if op.name in (LOAD, "flow.tensor.constant")]
    dense = [op for op in tensors if not _is_splat(op)]
    scalars = [op for op in constants if str(op.results[0].type) in _SCALARS_WITH_BARRIER]
    return dense + sources or tensors or scalars


def _is_splat(constant: ir.Operation) -> bool:
    value = constant.attributes["value"]
    return isinstance(value, ir.DenseElementsAttr) and value.is_splat


def _barrier(value: ir.Value, location: ir.Location) -> ir.Value:
    with location:
        return ir.Operation.create("util.optimization_barrier", results=[value.type], operands=[value]).results[0]
