"""Applies the edits: every reader reads the home, and the source loses this use.

What is created has the location of the reader that it is for.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from constpolicy.rewrite.share.attributes import indexing_maps, integers, shape_of
from constpolicy.rewrite.share.change import Change, undone
from constpolicy.rewrite.share.edits import Edit, ReadCopy, ReadElement, ReadOperands, ReadRows, through
from constpolicy.rewrite.share.emission import as_index, computed, element_at, generated, index_constant, loop_index
from constpolicy.rewrite.share.index_map import Expr


class Home:
    """The global that holds the one copy, with its loads: one, and one behind a barrier, in each symbol that reads."""

    def __init__(self, load: ir.Operation, change: Change) -> None:
        """`load` is any load of the global; `change` is what the result's elements are to the source's."""
        self._load, self.change = load, change
        self._loads: dict[tuple[ir.Operation, bool], ir.Value] = {}

    def value(self, holder: ir.Operation, *, guarded: bool) -> ir.Value:
        """The result, loaded at the start of the function or initializer."""
        if (holder, guarded) not in self._loads:
            with self._load.location, ir.InsertionPoint.at_block_begin(holder.regions[0].blocks[0]):
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
    elif isinstance(edit, ReadRows):
        _read_rows(edit, home)
    elif isinstance(edit, ReadCopy):
        _read_copy(edit, home)
    else:
        _read_through_maps(edit, home)
        if edit.in_body:
            _read_in_body(edit, home)


def _read_element(edit: ReadElement, home: Home) -> None:
    table = home.value(edit.holder, guarded=edit.view.guarded)
    with edit.op.location, ir.InsertionPoint(edit.op):
        element = element_at(table, edit.view, list(edit.op.operands)[1:], home.change)
    edit.op.results[0].replace_all_uses_with(element)
    edit.op.erase()


def _read_copy(edit: ReadCopy, home: Home) -> None:
    """The copy is behind a barrier, or IREE would hoist it and store it again."""
    in_function = edit.holder.name != "util.initializer"
    table = home.value(edit.holder, guarded=in_function)
    type = edit.op.operands[edit.operand].type
    with edit.op.location, ir.InsertionPoint(edit.op):
        copy = generated(type, lambda loops: element_at(table, edit.view, loops, home.change))
    edit.op.operands[edit.operand] = copy


def _read_rows(edit: ReadRows, home: Home) -> None:
    """result[b..., r...] is source[indices[b..., 0], ..., r...], up to the order of the indexed dims."""
    op = edit.op
    table = home.value(edit.holder, guarded=edit.view.guarded)
    indices, result = op.operands[1], op.results[0]
    numbers = ir.RankedTensorType(indices.type)
    indexed = integers(op, "dimension_map")
    batch = len(shape_of(result)) - (len(edit.view.lies.inputs.dims) - len(indexed))

    def element(loops: Sequence[ir.Value]) -> ir.Value:
        index: list[ir.Value] = [*loops[batch:]]
        for k in sorted(range(len(indexed)), key=lambda k: indexed[k]):
            place = [*loops[:batch], *([index_constant(k)] if len(numbers.shape) > batch else [])]
            read = ir.Operation.create("tensor.extract", results=[numbers.element_type], operands=[indices, *place])
            index.insert(indexed[k], as_index(read.results[0]))
        return element_at(table, edit.view, index, home.change)

    with op.location, ir.InsertionPoint(op):
        rows = generated(result.type, element)
    result.replace_all_uses_with(rows)
    op.erase()


def _read_through_maps(edit: ReadOperands, home: Home) -> None:
    maps = indexing_maps(edit.op)
    for operand, view in edit.through_map.items():
        edit.op.operands[operand] = home.value(edit.holder, guarded=view.guarded)
        maps[operand] = _affine_map(through(view, maps[operand]), maps[operand].n_dims)
        if home.change.steps:
            _undo_in_body(edit.op, operand, home)
    edit.op.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in maps])


def _affine_map(exprs: Sequence[Expr], loops: int) -> ir.AffineMap:
    return ir.AffineMap.get(loops, 0, list(exprs))


def _undo_in_body(op: ir.Operation, operand: int, home: Home) -> None:
    """Gives the body the source's element in place of the result's."""
    block = op.regions[0].blocks[0]
    argument = block.arguments[operand]
    uses = [(use.owner.operation, use.operand_number) for use in argument.uses]
    with op.location, ir.InsertionPoint.at_block_begin(block):
        element = undone(argument, home.change)
    for user, position in uses:
        user.operands[position] = element


def _read_in_body(edit: ReadOperands, home: Home) -> None:
    """Replaces the op by one without these operands, whose body extracts their elements."""
    op = edit.op
    maps = indexing_maps(op)
    kept = [k for k in range(len(op.operands)) if k not in edit.in_body]
    attributes = {name: op.attributes[name] for name in op.attributes}
    attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(maps[k]) for k in kept])
    outputs = len(op.results)
    attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([len(kept) - outputs, outputs])
    with op.location, ir.InsertionPoint(op):
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
        with op.location, ir.InsertionPoint.at_block_begin(block):
            loops = [loop_index(n) for n in range(maps[k].n_dims)]
            index = [computed(expr, loops, ()) for expr in maps[k].results]
            element = element_at(table, view, index, home.change)
        block.arguments[k].replace_all_uses_with(element)
        block.erase_argument(k)
    for old, result in zip(op.results, new.results, strict=True):
        old.replace_all_uses_with(result)
    op.erase()
