"""The edits that make a reader of a source read the result instead, and how they are applied.

Indices are computed with unsigned arithmetic: they are not negative, or the read was undefined to begin with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from iree.compiler import ir

from constpolicy.rewrite.share.attributes import indexing_maps
from constpolicy.rewrite.share.change import Change, undone
from constpolicy.rewrite.share.index_map import Expr, IndexMap

_INDEX_ARITHMETIC = {
    ir.AffineAddExpr: "arith.addi",
    ir.AffineMulExpr: "arith.muli",
    ir.AffineFloorDivExpr: "arith.divui",
    ir.AffineModExpr: "arith.remui",
}


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


Edit: TypeAlias = "ReadElement | ReadOperands | ReadCopy"


class Home:
    """The global that holds the one copy, with its loads: one, and one behind a barrier, in each symbol that reads."""

    def __init__(self, load: ir.Operation, change: Change) -> None:
        """`load` is any load of the global; `change` is what the result's elements are to the source's."""
        self._load, self.change = load, change
        self._loads: dict[tuple[ir.Operation, bool], ir.Value] = {}

    def value(self, holder: ir.Operation, *, guarded: bool) -> ir.Value:
        """The result, loaded at the start of the function or initializer."""
        if (holder, guarded) not in self._loads:
            with ir.InsertionPoint.at_block_begin(holder.regions[0].blocks[0]):
                value = self._load.clone().results[0]
                if guarded:
                    barrier = ir.Operation.create("util.optimization_barrier", results=[value.type], operands=[value])
                    value = barrier.results[0]
            self._loads[holder, guarded] = value
        return self._loads[holder, guarded]


def apply(edit: Edit, home: Home) -> None:
    """Makes the reader read the home; the source loses this use."""
    if isinstance(edit, ReadElement):
        _read_element(edit, home)
    elif isinstance(edit, ReadCopy):
        _read_copy(edit, home)
    else:
        _read_through_maps(edit, home)
        if edit.in_body:
            _read_in_body(edit, home)


def _read_element(edit: ReadElement, home: Home) -> None:
    table = home.value(edit.holder, guarded=edit.view.guarded)
    with ir.InsertionPoint(edit.op):
        element = _element(table, edit.view, list(edit.op.operands)[1:], home.change)
    edit.op.results[0].replace_all_uses_with(element)
    edit.op.erase()


def _read_copy(edit: ReadCopy, home: Home) -> None:
    """The copy is behind a barrier, or IREE would hoist it and store it again."""
    in_function = edit.holder.name != "util.initializer"
    table = home.value(edit.holder, guarded=in_function)
    with ir.InsertionPoint(edit.op):
        edit.op.operands[edit.operand] = _copy(table, edit.view, edit.op.operands[edit.operand].type, home.change)


def _copy(table: ir.Value, view: View, type: ir.Type, change: Change) -> ir.Value:
    rank = len(view.lies.inputs.dims)
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
        element = _element(table, view, [_loop_index(k) for k in range(rank)], change)
        ir.Operation.create("linalg.yield", operands=[element])
    return generic.results[0]


def _read_through_maps(edit: ReadOperands, home: Home) -> None:
    maps = indexing_maps(edit.op)
    for operand, view in edit.through_map.items():
        edit.op.operands[operand] = home.value(edit.holder, guarded=view.guarded)
        maps[operand] = _affine_map(through(view, maps[operand]), maps[operand].n_dims)
        if home.change.steps:
            _undo_in_body(edit.op.regions[0].blocks[0], operand, home)
    edit.op.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in maps])


def through(view: View, indexing_map: ir.AffineMap) -> list[Expr]:
    """The index into the result for an operand of a linalg op, as expressions of its loops, not simplified."""
    return [expr.compose(indexing_map) for expr in view.lies.results]


def _affine_map(exprs: Sequence[Expr], loops: int) -> ir.AffineMap:
    return ir.AffineMap.get(loops, 0, list(exprs))


def _undo_in_body(block: ir.Block, argument: int, home: Home) -> None:
    """Gives the body the source's element in place of the result's."""
    uses = [(use.owner.operation, use.operand_number) for use in block.arguments[argument].uses]
    with ir.InsertionPoint.at_block_begin(block):
        element = undone(block.arguments[argument], home.change)
    for op, operand in uses:
        op.operands[operand] = element


def _read_in_body(edit: ReadOperands, home: Home) -> None:
    """Replaces the op by one without these operands, whose body extracts their elements."""
    op = edit.op
    maps = indexing_maps(op)
    kept = [k for k in range(len(op.operands)) if k not in edit.in_body]
    attributes = {name: op.attributes[name] for name in op.attributes}
    attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(maps[k]) for k in kept])
    outputs = len(op.results)
    attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([len(kept) - outputs, outputs])
    with ir.InsertionPoint(op):
        new = ir.Operation.create(
            "linalg.generic",
            results=[result.type for result in op.results],
            operands=[op.operands[k] for k in kept],
            attributes=attributes,
            regions=1,
        )
    op.regions[0].blocks[0].append_to(new.regions[0])
    block = new.regions[0].blocks[0]
    for k in sorted(edit.in_body, reverse=True):
        view = edit.in_body[k]
        table = home.value(edit.holder, guarded=view.guarded)
        with ir.InsertionPoint.at_block_begin(block):
            loops = [_loop_index(n) for n in range(maps[k].n_dims)]
            index = [_computed(expr, loops, ()) for expr in maps[k].results]
            element = _element(table, view, index, home.change)
        block.arguments[k].replace_all_uses_with(element)
        block.erase_argument(k)
    for old, result in zip(op.results, new.results, strict=True):
        old.replace_all_uses_with(result)
    op.erase()


def _element(table: ir.Value, view: View, index: Sequence[ir.Value], change: Change) -> ir.Value:
    """The source's element at the index of the view's value, computed at the insertion point."""
    mapped = [_computed(expr, index, view.offsets) for expr in view.lies.results]
    element = ir.RankedTensorType(table.type).element_type
    extract = ir.Operation.create("tensor.extract", results=[element], operands=[table, *mapped])
    return undone(extract.results[0], change)


def _loop_index(loop: int) -> ir.Value:
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), loop)
    return ir.Operation.create("linalg.index", results=[ir.IndexType.get()], attributes={"dim": attribute}).results[0]


def _computed(expr: Expr, dims: Sequence[ir.Value], symbols: Sequence[ir.Value]) -> ir.Value:
    """The expression as an index, computed at the insertion point."""
    expr = expr.maybe_downcast()
    index = ir.IndexType.get()
    if isinstance(expr, ir.AffineConstantExpr):
        attribute = ir.IntegerAttr.get(index, expr.value)
        return ir.Operation.create("arith.constant", results=[index], attributes={"value": attribute}).results[0]
    if isinstance(expr, ir.AffineDimExpr):
        return dims[expr.position]
    if isinstance(expr, ir.AffineSymbolExpr):
        return symbols[expr.position]
    assert isinstance(expr, ir.AffineBinaryExpr)
    operands = [_computed(side, dims, symbols) for side in (expr.lhs, expr.rhs)]
    return ir.Operation.create(_INDEX_ARITHMETIC[type(expr)], results=[index], operands=operands).results[0]
