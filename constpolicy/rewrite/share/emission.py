"""Code for a mapped read, created at the insertion point with the location in force.

Indices are computed with unsigned arithmetic: they are not negative, or the read was undefined to begin with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from iree.compiler import ir

from constpolicy.rewrite.share.change import Change, undone
from constpolicy.rewrite.share.edits import View
from constpolicy.rewrite.share.index_map import Expr

_INDEX_ARITHMETIC = {
    ir.AffineAddExpr: "arith.addi",
    ir.AffineMulExpr: "arith.muli",
    ir.AffineFloorDivExpr: "arith.divui",
    ir.AffineModExpr: "arith.remui",
}


def element_at(table: ir.Value, view: View, index: Sequence[ir.Value], change: Change) -> ir.Value:
    """The source's element at the index of the view's value, computed at the insertion point."""
    mapped = [computed(expr, index, view.offsets) for expr in view.lies.results]
    element = ir.RankedTensorType(table.type).element_type
    extract = ir.Operation.create("tensor.extract", results=[element], operands=[table, *mapped])
    return undone(extract.results[0], change)


def loop_index(loop: int) -> ir.Value:
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), loop)
    return ir.Operation.create("linalg.index", results=[ir.IndexType.get()], attributes={"dim": attribute}).results[0]


def index_constant(value: int) -> ir.Value:
    index = ir.IndexType.get()
    attribute = ir.IntegerAttr.get(index, value)
    return ir.Operation.create("arith.constant", results=[index], attributes={"value": attribute}).results[0]


def as_index(number: ir.Value) -> ir.Value:
    index = ir.IndexType.get()
    if number.type == index:
        return number
    return ir.Operation.create("arith.index_cast", results=[index], operands=[number]).results[0]


def computed(expr: Expr, dims: Sequence[ir.Value], symbols: Sequence[ir.Value]) -> ir.Value:
    """The expression as an index, computed at the insertion point."""
    expr = expr.maybe_downcast()
    index = ir.IndexType.get()
    if isinstance(expr, ir.AffineConstantExpr):
        return index_constant(expr.value)
    if isinstance(expr, ir.AffineDimExpr):
        return dims[expr.position]
    if isinstance(expr, ir.AffineSymbolExpr):
        return symbols[expr.position]
    assert isinstance(expr, ir.AffineBinaryExpr)
    operands = [computed(side, dims, symbols) for side in (expr.lhs, expr.rhs)]
    return ir.Operation.create(_INDEX_ARITHMETIC[type(expr)], results=[index], operands=operands).results[0]


def generated(type: ir.Type, element: Callable[[Sequence[ir.Value]], ir.Value]) -> ir.Value:
    """A tensor whose elements are computed from their indices."""
    rank = len(ir.RankedTensorType(type).shape)
    empty = ir.Operation.create("tensor.empty", results=[type]).results[0]
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    generic = ir.Operation.create(
        "linalg.generic",
        results=[type],
        operands=[empty],
        attributes={
            "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(ir.AffineMap.get_identity(rank))]),
            "iterator_types": ir.ArrayAttr.get([parallel] * rank),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 1]),
        },
        regions=1,
    )
    block = ir.Block.create_at_start(generic.regions[0], [ir.RankedTensorType(type).element_type])
    with ir.InsertionPoint(block):
        computed = element([loop_index(k) for k in range(rank)])
        ir.Operation.create("linalg.yield", operands=[computed])
    return generic.results[0]
