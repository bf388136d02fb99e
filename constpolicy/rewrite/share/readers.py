"""How each reader of a source can read the result instead.

Read in place: gathers (tensor.extract in a body, iree_linalg_ext.gather), operands of linalg.generic and of integer
contractions. Views of the source (reshapes, slices, barriers, casts) are followed to what reads them. Every other
operand gets a copy in the source's layout, made on each call. So do reductions of floats: in another layout, IREE could
add in another order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from iree.compiler import ir

from constpolicy.rewrite.share.attributes import defining_op, indexing_maps, integers, loop_sizes, shape_of, uses_of
from constpolicy.rewrite.share.change import Change
from constpolicy.rewrite.share.edits import Edit, ReadCopy, ReadElement, ReadOperands, ReadRows, View, through
from constpolicy.rewrite.share.index_map import Expr, IndexMap, Inputs, constant_of, dims_of, reshaped, simplified
from constpolicy.rewrite.share.module_index import Placed
from constpolicy.rewrite.share.refusal import Refusal
from constpolicy.rewrite.share.relayout import RESHAPES

_CONTRACTIONS = ("linalg.matmul", "linalg.contract")
_BARRIER = "util.optimization_barrier"
_SEE_OUTSIDE = ("scf.", "linalg.", "tensor.", "iree_linalg_ext.")  # ops whose regions may use values from outside


@dataclass
class Readers:
    """What is to be edited so that nothing reads the source any more.

    `views` are the ops that only pass the source on; they, and then `constants`, are dead after the edits.
    """

    edits: list[Edit] = field(default_factory=list)
    views: list[ir.Operation] = field(default_factory=list)
    constants: list[Placed] = field(default_factory=list)


def readers_of(
    constants: Sequence[Placed], shape: Sequence[int], lies: IndexMap, home_shape: Sequence[int], change: Change
) -> Readers:
    """All readers of constants with the content of a source of `shape`, whose elements lie at `lies` in the home.

    The constants may have other shapes with as many elements. Raises Refusal if a reader cannot be changed.
    """
    readers = Readers(constants=list(constants))
    uses: dict[ir.Operation, _Use] = {}
    for placed in constants:
        _check_placement(placed)
        value = placed.op.results[0]
        own = IndexMap.identity(shape_of(value))
        _follow(value, View(lies.of(own.then(reshaped(shape_of(value), shape)))), placed.holder, readers, uses)
    for use in uses.values():
        readers.edits += _edits(use, tuple(home_shape), change)
    return readers


def _check_placement(placed: Placed) -> None:
    """A load at the start of the function must be visible where the constant stands."""
    parent = placed.op.parent
    while parent is not None and parent.operation != placed.holder:
        if not parent.operation.name.startswith(_SEE_OUTSIDE):
            raise Refusal(f"its source is read inside {parent.operation.name}, which cannot see values from outside")
        parent = parent.operation.parent


@dataclass(frozen=True)
class _Use:
    """All uses of the source by one op, whichever of its views they read."""

    holder: ir.Operation
    op: ir.Operation
    views: dict[int, View] = field(default_factory=dict)  # by operand


def _follow(
    value: ir.Value, view: View, holder: ir.Operation, readers: Readers, uses: dict[ir.Operation, _Use]
) -> None:
    """Collects what uses a value of the source, through the ops that only pass it on."""
    for op, operand in uses_of(value):
        if "transfer" in op.name:
            raise Refusal(f"{op.name} moves it to another device")
        if (passed_on := _passed_on(op, operand, view)) is not None:
            _follow(op.results[0], passed_on, holder, readers, uses)
            readers.views.append(op)
        else:
            uses.setdefault(op, _Use(holder, op)).views[operand] = view


def _edits(use: _Use, home_shape: tuple[int, ...], change: Change) -> list[Edit]:
    """The edits of one op. Where there are several, none replaces the op."""
    op, views = use.op, use.views
    if op.name == "tensor.extract":
        return [ReadElement(use.holder, op, views[0])]
    if _gathers(op) and list(views) == [0]:
        return [ReadRows(use.holder, op, views[0])]
    mapped = {k: view for k, view in views.items() if _reads_through_map(use, k, home_shape, change)}
    others = {k: view for k, view in views.items() if k not in mapped}
    if others and _reads_in_body(use, others):
        return [ReadOperands(use.holder, op, mapped, others)]
    copies: list[Edit] = [ReadCopy(use.holder, op, k, view) for k, view in others.items()]
    return [*([ReadOperands(use.holder, op, mapped)] if mapped else []), *copies]


def _reads_through_map(use: _Use, operand: int, home_shape: tuple[int, ...], change: Change) -> bool:
    """Whether a composed indexing map, of plain loops, says where the operand's elements lie in the home."""
    op, view = use.op, use.views[operand]
    if not _is_input(op, operand) or view.offsets or _adds_floats(op):
        return False
    contraction = op.name in _CONTRACTIONS
    sizes = loop_sizes(op)
    known = tuple(size for size in sizes if size is not None)
    if len(known) < len(sizes) or (contraction and change.steps):
        return False
    exprs = [simplified(expr, Inputs(known)) for expr in through(view, indexing_maps(op)[operand])]
    if not _is_plain(exprs, known, home_shape, units=not contraction):
        return False
    return _bound_elsewhere(op, use.views) | set(dims_of(exprs)) >= set(range(len(sizes)))


def _gathers(op: ir.Operation) -> bool:
    """Whether the op is an iree_linalg_ext.gather of static shape, without a mask."""
    if op.name != "iree_linalg_ext.gather" or len(op.operands) != 3 or len(op.results) != 1:
        return False
    indexed = integers(op, "dimension_map")
    static = all(ir.RankedTensorType(value.type).has_static_shape for value in (op.operands[1], op.results[0]))
    return static and sorted(indexed) == list(range(len(indexed)))


def _is_plain(exprs: Sequence[Expr], sizes: Sequence[int], shape: Sequence[int], *, units: bool) -> bool:
    """Whether the expressions are distinct loops that run over whole dims of the shape (or 0 for a unit dim)."""
    dims = dims_of(exprs)
    named = [dim for dim in dims if dim is not None]
    return len(set(named)) == len(named) and all(
        sizes[dim] == size if dim is not None else units and size == 1 and constant_of(expr) == 0
        for expr, dim, size in zip(exprs, dims, shape, strict=True)
    )


def _is_input(op: ir.Operation, operand: int) -> bool:
    """Whether the operand is an input of a linalg op with indexing maps that can be edited."""
    if (op.name != "linalg.generic" and op.name not in _CONTRACTIONS) or "indexing_maps" not in op.attributes:
        return False
    return operand < len(op.operands) - len(op.results)


def _adds_floats(op: ir.Operation) -> bool:
    """Whether a linalg op reduces to floats, so that its result depends on the order."""
    reduces = op.name != "linalg.generic" or "reduction" in str(op.attributes["iterator_types"])
    elements = (result.type.element_type for result in op.results if isinstance(result.type, ir.RankedTensorType))
    return reduces and any(isinstance(element, ir.FloatType) for element in elements)


def _reads_in_body(use: _Use, operands: Mapping[int, View]) -> bool:
    """Whether the body of a linalg.generic can extract the elements: the loops' sizes must be known without them."""
    op = use.op
    if op.name != "linalg.generic" or _adds_floats(op) or not all(_is_input(op, k) for k in operands):
        return False
    return _bound_elsewhere(op, use.views) >= set(range(indexing_maps(op)[0].n_dims))


def _bound_elsewhere(op: ir.Operation, operands: Mapping[int, View]) -> set[int | None]:
    """The loops of a linalg op whose sizes other operands determine."""
    maps = enumerate(indexing_maps(op))
    return {dim for k, each in maps if k not in operands for dim in dims_of(each.results)}


def _passed_on(op: ir.Operation, operand: int, view: View) -> View | None:
    """The view of the op's result if the op only passes (a part of) its operand on; None if it does not."""
    if operand != 0 or len(op.results) != 1 or not _is_static(op.results[0].type):
        return None
    if op.name in RESHAPES or op.name == "tensor.cast":
        shape = shape_of(op.results[0])
        own = IndexMap.identity(shape)
        return View(view.lies.of(own.then(reshaped(shape, view.lies.inputs.dims))), view.offsets, view.guarded)
    if op.name == _BARRIER:
        return View(view.lies, view.offsets, guarded=True)
    if op.name == "tensor.extract_slice":
        return _slice(op, view)
    return None


def _is_static(type: ir.Type) -> bool:
    return isinstance(type, ir.RankedTensorType) and type.has_static_shape and type.encoding is None


def _slice(op: ir.Operation, view: View) -> View | None:
    """The view of a slice; offsets that are known only at run time become symbols."""
    sizes, strides = integers(op, "static_sizes"), integers(op, "static_strides")
    dynamic = ir.ShapedType.get_dynamic_size()
    runtime = [defining_op(value) for value in list(op.operands)[1:]]
    if dynamic in sizes or dynamic in strides or any(each and each.name == "tensor.extract" for each in runtime):
        return None  # an offset that an edit replaces would be lost
    shape = shape_of(op.results[0])
    limits = [
        dim - (size - 1) * stride for dim, size, stride in zip(view.lies.inputs.dims, sizes, strides, strict=True)
    ]
    operands = iter(list(op.operands)[1:])
    offsets, symbols, values = [], list(view.lies.inputs.symbols), list(view.offsets)
    for offset, limit in zip(integers(op, "static_offsets"), limits, strict=True):
        if offset == ir.ShapedType.get_dynamic_stride_or_offset():
            offsets.append(Expr.get_symbol(len(symbols)))
            symbols.append(limit)
            values.append(next(operands))
        else:
            offsets.append(Expr.get_constant(offset))
    own = IndexMap(Inputs(shape, tuple(symbols)), tuple(Expr.get_dim(k) for k in range(len(shape))))
    in_slice = own.then(reshaped(shape, sizes))
    index = [
        component * stride + offset
        for component, stride, offset in zip(in_slice.results, strides, offsets, strict=True)
    ]
    return View(view.lies.of(IndexMap(own.inputs, tuple(index))), tuple(values), view.guarded)


def rows_read(edit: Edit) -> int | None:
    """How many rows (along the last dim that is not of size 1) the reader takes per call; None if unknown."""
    if isinstance(edit, ReadElement):
        times = _times_run(edit.op)
        return None if times is None else -(-times // row_length(edit.view.lies.inputs.dims))
    if isinstance(edit, ReadRows):
        return prod(shape_of(edit.op.results[0])) // row_length(edit.view.lies.inputs.dims)
    if isinstance(edit, ReadCopy):
        return prod(edit.view.lies.inputs.dims) // row_length(edit.view.lies.inputs.dims)
    views = [*edit.through_map.values(), *edit.in_body.values()]
    return sum(prod(view.lies.inputs.dims) // row_length(view.lies.inputs.dims) for view in views)


def row_length(shape: Sequence[int]) -> int:
    return next((size for size in reversed(shape) if size != 1), 1)


def _times_run(op: ir.Operation) -> int | None:
    """How often an op in the body of a linalg.generic runs per call; None if that is not known."""
    parent = op.parent
    if parent is None:
        return None
    outer = parent.operation
    if outer.name in ("util.func", "util.initializer"):
        return 1
    if outer.name != "linalg.generic":
        return None
    times = _times_run(outer)
    for size in loop_sizes(outer):
        times = None if times is None or size is None else times * size
    return times
