"""Ops that only move elements: where an operand's elements lie in the result.

Handled: linalg.transpose, pack, unpack, copying linalg.generic (transposes, broadcasts), tensor.pad, concat,
insert_slice, extract_slice, expand_shape, collapse_shape, flow.tensor.reshape, casts that keep the element type,
barriers. Only with static shapes, tiles, offsets and unit strides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from iree.compiler import ir

from constpolicy.rewrite.share.attributes import indexing_maps, integers, is_static, shape_of
from constpolicy.rewrite.share.index_map import Expr, IndexMap, constant_of, dims_of, reshaped
from constpolicy.rewrite.share.refusal import Refusal

RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape", "flow.tensor.reshape")
BARRIERS = ("util.optimization_barrier", "iree_tensor_ext.compute_barrier.start", "iree_tensor_ext.compute_barrier.end")

Rule = Callable[[ir.Operation, int, IndexMap], Sequence[Expr]]


def moved(op: ir.Operation, operand: int, lies: IndexMap) -> IndexMap:
    """Where elements that lie at `lies` in an operand of the op lie in its result; raises Refusal if some do not."""
    rule = _RULES.get(op.name)
    if rule is None:
        raise Refusal(f"{op.name} does more than move elements")
    return lies.then(rule(op, operand, lies))


def _dims(count: int) -> list[Expr]:
    return [Expr.get_dim(k) for k in range(count)]


def _unchanged(op: ir.Operation, operand: int, lies: IndexMap) -> Sequence[Expr]:
    return _dims(len(lies.results))


def _reshape(op: ir.Operation, operand: int, lies: IndexMap) -> Sequence[Expr]:
    return reshaped(shape_of(op.operands[0]), shape_of(op.results[0]))


def _transpose(op: ir.Operation, operand: int, lies: IndexMap) -> Sequence[Expr]:
    return [Expr.get_dim(k) for k in integers(op, "permutation")]


def _pack(op: ir.Operation, operand: int, lies: IndexMap) -> Sequence[Expr]:
    positions, tiles, order = _tiling(op, rank=len(lies.results))
    outer = _dims(len(lies.results))
    for position, tile in zip(positions, tiles, strict=True):
        outer[position] = Expr.get_floor_div(outer[position], tile)
    inner = [Expr.get_mod(Expr.get_dim(position), tile) for position, tile in zip(positions, tiles, strict=True)]
    return [*(outer[k] for k in order), *inner]


def _unpack(op: ir.Operation, operand: int, lies: IndexMap) -> Sequence[Expr]:
    shape = shape_of(op.results[0])
    positions, tiles, order = _tiling(op, rank=len(shape))
    index = [Expr.get_dim(order.index(k)) for k in range(len(shape))]
    for k, (position, tile) in enumerate(zip(positions, tiles, strict=True)):
        index[position] = index[position] * tile + Expr.get_dim(len(shape) + k)
    if any(high >= size for (_, high), size in zip(lies.then(index).ranges(), shape, strict=True)):
        raise Refusal(f"{op.name} drops some of its elements")
    return index


def _tiling(op: ir.Operation, rank: int) -> tuple[list[int], list[int], list[int]]:
    """The tiled dims, their tile sizes, and the order of the outer dims."""
    tiles = integers(op, "static_inner_tiles")
    if not is_static(tiles):
        raise Refusal(f"the tiles of {op.name} are not static")
    return integers(op, "inner_dims_pos"), tiles, integers(op, "outer_dims_perm") or list(range(rank))


def _pad(op: ir.Operation, operand: int, lies: IndexMap) -> Sequence[Expr]:
    low = integers(op, "static_low")
    if not is_static(low):
        raise Refusal("the amounts of tensor.pad are not static")
    shape = shape_of(op.results[0])
    index = [dim + amount for dim, amount in zip(_dims(len(low)), low, strict=True)]
    if any(first < 0 or last >= size for (first, last), size in zip(lies.then(index).ranges(), shape, strict=True)):
        raise Refusal("tensor.pad drops some of its elements")
    return index


def _concat(op: ir.Operation, operand: int, lies: IndexMap) -> Sequence[Expr]:
    dim = ir.IntegerAttr(op.attributes["dim"]).value
    index = _dims(len(lies.results))
    index[dim] = index[dim] + sum(shape_of(op.operands[k])[dim] for k in range(operand))
    return index


def _insert_slice(op: ir.Operation, operand: int, lies: IndexMap) -> Sequence[Expr]:
    offsets, sizes = static_slice(op)
    if operand == 0:
        in_slice = reshaped(shape_of(op.operands[0]), sizes)
        return [component + offset for component, offset in zip(in_slice, offsets, strict=True)]
    box = zip(lies.ranges(), offsets, sizes, strict=True)
    if all(last >= offset and first < offset + size for (first, last), offset, size in box):
        raise Refusal("tensor.insert_slice overwrites some of its elements")
    return _dims(len(lies.results))


def _extract_slice(op: ir.Operation, operand: int, lies: IndexMap) -> Sequence[Expr]:
    offsets, sizes = static_slice(op)
    box = zip(lies.ranges(), offsets, sizes, strict=True)
    if any(first < offset or last >= offset + size for (first, last), offset, size in box):
        raise Refusal("tensor.extract_slice drops some of its elements")
    in_slice = ir.AffineMap.get(len(offsets), 0, [Expr.get_dim(k) - offset for k, offset in enumerate(offsets)])
    return [expr.compose(in_slice) for expr in reshaped(sizes, shape_of(op.results[0]))]


def static_slice(op: ir.Operation) -> tuple[list[int], list[int]]:
    """Offsets and sizes of a slice op; raises Refusal unless they are static and the strides are 1."""
    offsets, sizes, strides = (integers(op, f"static_{name}") for name in ("offsets", "sizes", "strides"))
    if not is_static(offsets + sizes + strides) or any(stride != 1 for stride in strides):
        raise Refusal(f"{op.name} has offsets, sizes or strides that are not static, or strides other than 1")
    return offsets, sizes


def _copy(op: ir.Operation, operand: int, lies: IndexMap) -> Sequence[Expr]:
    """A linalg.generic whose body passes the operand's elements on; of a broadcast, the first copy counts."""
    maps = indexing_maps(op)
    read, written = maps[operand], maps[-1]
    if not written.is_permutation:
        raise Refusal("linalg.generic does not write every element of its result once")
    loops = [Expr.get_constant(0)] * read.n_dims
    dims = dims_of(read.results)
    named = [dim for dim in dims if dim is not None]
    for k, (expr, dim, size) in enumerate(zip(read.results, dims, shape_of(op.operands[operand]), strict=True)):
        if dim is not None:
            loops[dim] = Expr.get_dim(k)
        elif constant_of(expr) is None or size != 1:
            raise Refusal(f"linalg.generic reads its operand through {read}")
    if len(set(named)) != len(named):
        raise Refusal(f"linalg.generic reads only a diagonal of its operand, through {read}")
    return [loops[dim] for dim in dims_of(written.results) if dim is not None]


_RULES: dict[str, Rule] = {
    **dict.fromkeys((*RESHAPES,), _reshape),
    **dict.fromkeys((*BARRIERS, "tensor.cast"), _unchanged),
    **dict.fromkeys(("linalg.pack", "tensor.pack"), _pack),
    **dict.fromkeys(("linalg.unpack", "tensor.unpack"), _unpack),
    "linalg.transpose": _transpose,
    "linalg.generic": _copy,
    "tensor.pad": _pad,
    "tensor.concat": _concat,
    "tensor.insert_slice": _insert_slice,
    "tensor.extract_slice": _extract_slice,
}
