"""What the ops of a const-expr do to their operands, read from names, indexing maps and bodies."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from iree.compiler import ir

from constpolicy.records import Kind

BOOKKEEPING = frozenset(
    {
        "arith.constant",
        "flow.tensor.constant",
        "linalg.yield",
        "tensor.dim",
        "tensor.empty",
        "util.global.load",
        "util.global.store",
        "util.return",
    }
)
"""Ops that compute nothing of their own; they have no kind."""

TRANSPARENT = frozenset(
    {
        "flow.tensor.clone",
        "flow.tensor.transfer",
        "iree_tensor_ext.compute_barrier.end",
        "iree_tensor_ext.compute_barrier.start",
        "util.optimization_barrier",
    }
)
"""Ops that pass their operand on; they have no kind either."""

_BY_NAME = {
    "flow.tensor.bitcast": Kind.RESHAPE,
    "flow.tensor.encode": Kind.PACK,
    "flow.tensor.load": Kind.SCALAR,
    "flow.tensor.reshape": Kind.RESHAPE,
    "flow.tensor.slice": Kind.SLICE,
    "flow.tensor.splat": Kind.FILL,
    "flow.tensor.update": Kind.CONCAT,
    "iree_encoding.set_encoding": Kind.PACK,
    "iree_encoding.unset_encoding": Kind.PACK,
    "iree_linalg_ext.attention": Kind.CONTRACTION,
    "iree_linalg_ext.dequantize_affine": Kind.DEQUANTIZE,
    "iree_linalg_ext.gather": Kind.GATHER,
    "iree_linalg_ext.im2col": Kind.PACK,
    "iree_linalg_ext.map_gather": Kind.GATHER,
    "iree_linalg_ext.map_load": Kind.PACK,
    "iree_linalg_ext.map_scatter": Kind.PACK,
    "iree_linalg_ext.map_store": Kind.PACK,
    "iree_linalg_ext.pack": Kind.PACK,
    "iree_linalg_ext.scan": Kind.REDUCTION,
    "iree_linalg_ext.unpack": Kind.PACK,
    "iree_linalg_ext.winograd.filter_transform": Kind.CONTRACTION,
    "iree_tensor_ext.bitcast": Kind.RESHAPE,
    "linalg.broadcast": Kind.BROADCAST,
    "linalg.copy": Kind.RESHAPE,
    "linalg.fill": Kind.FILL,
    "linalg.map": Kind.ELEMENTWISE,
    "linalg.pack": Kind.PACK,
    "linalg.reduce": Kind.REDUCTION,
    "linalg.softmax": Kind.REDUCTION,
    "linalg.transpose": Kind.TRANSPOSE,
    "linalg.unpack": Kind.PACK,
    "tensor.bitcast": Kind.RESHAPE,
    "tensor.cast": Kind.RESHAPE,
    "tensor.collapse_shape": Kind.RESHAPE,
    "tensor.concat": Kind.CONCAT,
    "tensor.expand_shape": Kind.RESHAPE,
    "tensor.extract": Kind.SCALAR,
    "tensor.extract_slice": Kind.SLICE,
    "tensor.from_elements": Kind.SCALAR,
    "tensor.gather": Kind.GATHER,
    "tensor.insert": Kind.SCALAR,
    "tensor.insert_slice": Kind.CONCAT,
    "tensor.pack": Kind.PACK,
    "tensor.pad": Kind.PAD,
    "tensor.reshape": Kind.RESHAPE,
    "tensor.splat": Kind.FILL,
    "tensor.unpack": Kind.PACK,
}
_CONTRACTIONS = re.compile(r"linalg\.(.*matmul.*|.*matvec.*|vecmat|.*mmt4d.*|.*dot.*|conv_.*|depthwise_.*|contract)$")
_REDUCTIONS = re.compile(r"linalg\.(pooling_.*|reduce)$")
_ON_NUMBERS = ("arith.", "math.", "complex.", "index.")
_WIDENING = frozenset({"arith.sitofp", "arith.uitofp", "arith.extf", "arith.extsi", "arith.extui"})
_CASTS = _WIDENING | {"arith.bitcast", "arith.fptosi", "arith.fptoui", "arith.truncf", "arith.trunci"}
_INDEX_CASTS = frozenset({"arith.index_cast", "arith.index_castui"})
_SCALES = re.compile(r"(arith\.(mul|div|add|sub)[a-z]*|complex\.mul)$")
_MULTIPLIES = frozenset({"arith.mulf", "arith.muli", "arith.andi", "complex.mul"})
_ADDS = frozenset({"arith.addf", "arith.addi", "arith.ori", "arith.xori", "complex.add"})


def kinds_of(op: ir.Operation) -> tuple[Kind, ...]:
    """The kinds of one op, the one that says most first; none for ops that compute nothing of their own.

    An op with a body can be several at once: scaling through a transposing map is ELEMENTWISE and TRANSPOSE.
    """
    name = op.name
    if name in BOOKKEEPING or name in TRANSPARENT:
        return ()
    if name == "linalg.generic":
        return _kinds_of_generic(op)
    if (kind := _BY_NAME.get(name)) is not None:
        return (kind,)
    if name == "iree_linalg_ext.quantize_affine":
        return (Kind.ELEMENTWISE, Kind.CAST)
    if _CONTRACTIONS.match(name):
        return (Kind.CONTRACTION,)
    if _REDUCTIONS.match(name):
        return (Kind.REDUCTION,)
    if name.startswith("linalg."):
        return (Kind.ELEMENTWISE,)  # linalg.add, linalg.exp, linalg.elementwise and their like
    if name == "tensor.generate":
        return (Kind.GATHER,) if any(inner.name == "tensor.extract" for inner in _nested(op)) else (Kind.IOTA,)
    if name.startswith(_ON_NUMBERS):
        return _kinds_of_arithmetic(op)
    if name.startswith("scf."):
        return _distinct(Kind.CONTROL_FLOW, *_kinds_of_nested(op))
    if name.startswith(("flow.dispatch.workgroups", "flow.dispatch.region")):
        return _distinct(*_kinds_of_nested(op)) or (Kind.OTHER,)
    return (Kind.OTHER,)


def is_widening_cast(op: ir.Operation) -> bool:
    """Whether the op, or the whole body of a linalg.generic, casts to wider elements and nothing else."""
    return kinds_of(op) == (Kind.CAST,) and any(_widens(inner) for inner in (op, *_nested(op)))


def scales(op: ir.Operation) -> bool:
    """Whether the op multiplies, divides, adds or subtracts elements."""
    return any(_SCALES.match(inner.name) for inner in (op, *_nested(op)))


def _kinds_of_arithmetic(op: ir.Operation) -> tuple[Kind, ...]:
    if not isinstance(op.results[0].type, ir.RankedTensorType):
        return (Kind.SCALAR,)
    return (Kind.CAST,) if op.name in _CASTS | _INDEX_CASTS else (Kind.ELEMENTWISE,)


def _kinds_of_nested(op: ir.Operation) -> tuple[Kind, ...]:
    """The kinds of the tensor ops inside: contractions first, then from the last, which computes the result."""
    inside = [inner for inner in _nested(op) if not inner.name.startswith((*_ON_NUMBERS, "scf."))]
    kinds = [kind for inner in reversed(inside) for kind in kinds_of(inner) if kind not in (Kind.SCALAR, Kind.OTHER)]
    return tuple(sorted(kinds, key=lambda kind: kind is not Kind.CONTRACTION))


# linalg.generic


@dataclass(frozen=True)
class _Body:
    """What a linalg.generic's body computes, without what only addresses elements of other tensors."""

    arithmetic: tuple[str, ...]  # op names
    arguments: frozenset[int]  # the operands whose elements are computed with
    extracts: bool  # reads elements of a captured tensor
    counts: bool  # computes with the position of the element
    widens: bool  # casts a narrower number to a wider one

    @property
    def scales(self) -> bool:
        return any(_SCALES.match(name) for name in self.arithmetic)

    @property
    def multiplies_and_adds(self) -> bool:
        core = [name for name in self.arithmetic if name not in _CASTS]
        return len(core) == 2 and {core[0]} <= _ADDS and {core[1]} <= _MULTIPLIES


@dataclass(frozen=True)
class _Access:
    """How a linalg.generic indexes an operand: loop numbers in order; None where the index is no single loop."""

    loops: tuple[int | None, ...]
    constants: int  # indices that are constants

    @property
    def rank(self) -> int:
        return len(self.loops) + self.constants

    @property
    def known(self) -> tuple[int, ...]:
        return tuple(loop for loop in self.loops if loop is not None)


def _kinds_of_generic(op: ir.Operation) -> tuple[Kind, ...]:
    body = _body(op)
    accesses = _accesses(op)
    first_output = len(accesses) - len(op.results)
    inputs = [accesses[k] for k in sorted(body.arguments) if k < first_output and accesses[k].rank]
    output = accesses[first_output]
    movement = _movement(inputs, output, _unit_loops(op, output))
    if "reduction" in str(op.attributes["iterator_types"]):
        contracts = len(inputs) == 2 and body.multiplies_and_adds
        before = replace(body, arithmetic=body.arithmetic[1:])  # the first is what combines the elements
        return (Kind.CONTRACTION,) if contracts else _distinct(Kind.REDUCTION, *_computing(before, inputs))
    computing = _computing(body, inputs)
    return _distinct(*computing, *movement) or ((Kind.RESHAPE,) if inputs else (Kind.FILL,))


def _computing(body: _Body, inputs: list[_Access]) -> tuple[Kind, ...]:
    """What the body itself does, apart from where its operands come from."""
    kinds: list[Kind] = []
    if body.counts and not inputs:
        kinds.append(Kind.IOTA)
    if body.widens and body.scales:
        kinds.append(Kind.DEQUANTIZE)
    elif body.arithmetic and not body.counts and all(name in _CASTS for name in body.arithmetic):
        kinds.append(Kind.CAST)
    elif any(name not in _CASTS for name in body.arithmetic):
        kinds.append(Kind.ELEMENTWISE if inputs or body.extracts or body.counts else Kind.FILL)
    if body.extracts:
        kinds.append(Kind.GATHER)
    if body.counts and inputs:
        kinds.append(Kind.IOTA)
    return tuple(kinds)


def _movement(inputs: list[_Access], output: _Access, unit_loops: frozenset[int]) -> tuple[Kind, ...]:
    """How the operands' elements move on their way to the result."""
    kinds: list[Kind] = []
    order = {loop: position for position, loop in enumerate(output.known)}
    positions = [[order[loop] for loop in access.known if loop in order] for access in inputs]
    if any(None in access.loops for access in inputs):
        kinds.append(Kind.SLICE)
    if any(position != sorted(position) for position in positions):
        kinds.append(Kind.TRANSPOSE)
    wanted = {loop for loop in output.known if loop not in unit_loops}
    if inputs and not any(wanted <= set(access.known) or None in access.loops for access in inputs):
        kinds.append(Kind.BROADCAST)
    return tuple(kinds)


def _body(op: ir.Operation) -> _Body:
    computing, arguments = _computes_data(op)
    names = [inner.name for inner in computing]
    return _Body(
        arithmetic=tuple(n for n in names if n.startswith(_ON_NUMBERS) and n not in _INDEX_CASTS | {"arith.constant"}),
        arguments=arguments,
        extracts=any(inner.name == "tensor.extract" and len(inner.operands) > 1 for inner in computing),
        counts="linalg.index" in names,
        widens=any(_widens(inner) for inner in computing),
    )


def _computes_data(generic: ir.Operation) -> tuple[list[ir.Operation], frozenset[int]]:
    """The ops whose values reach the result other than as an index of tensor.extract, the last ones first.

    Also the positions of the operands whose elements do.
    """
    body = _nested(generic)
    inside = set(body)
    block = generic.regions[0].blocks[0]
    pending = [inner for inner in body if inner.name == "linalg.yield"]
    found: dict[ir.Operation, None] = {}
    arguments: set[int] = set()
    while pending:
        op = pending.pop(0)
        if op in found:
            continue
        found[op] = None
        pending += _nested(op)
        for value in list(op.operands)[:1] if op.name == "tensor.extract" else op.operands:
            if isinstance(value.owner, ir.Block):
                arguments.update(k for k, argument in enumerate(block.arguments) if argument == value)
            elif value.owner.operation in inside:
                pending.append(value.owner.operation)
    return list(found), frozenset(arguments)


def _widens(op: ir.Operation) -> bool:
    """Whether the op casts a number of fewer bits to one of more; booleans are masks, not numbers."""
    if op.name not in _WIDENING:
        return False
    narrow, wide = (_bits(value.type) for value in (op.operands[0], op.results[0]))
    return 1 < narrow < wide


def _bits(type: ir.Type) -> int:
    element = type.element_type if isinstance(type, ir.RankedTensorType) else type
    width: int = getattr(element, "width", 0)
    return width


def _accesses(op: ir.Operation) -> list[_Access]:
    return [_access(str(map)) for map in ir.ArrayAttr(op.attributes["indexing_maps"])]


@lru_cache(maxsize=1024)
def _access(map: str) -> _Access:
    """Reads `affine_map<(d0, d1) -> (d1, 0)>`: its spelling is the same in all versions, its bindings are not."""
    indices = map[map.index("->") + 2 :].strip(" >").removeprefix("(").removesuffix(")")
    parts = [part.strip() for part in indices.split(",")] if indices else []
    constant = [part.lstrip("-").isdigit() for part in parts]
    loops = (int(part[1:]) if part[1:].isdigit() and part[0] == "d" else None for part in parts)
    return _Access(tuple(loop for loop, fixed in zip(loops, constant, strict=True) if not fixed), sum(constant))


def _unit_loops(op: ir.Operation, output: _Access) -> frozenset[int]:
    """The loops that run once, as far as the first result tells."""
    type = op.results[0].type
    if not isinstance(type, ir.RankedTensorType) or output.constants:
        return frozenset()
    sizes = zip(output.loops, type.shape, strict=True)
    return frozenset(loop for loop, size in sizes if size == 1 and loop is not None)


def _nested(op: ir.Operation) -> list[ir.Operation]:
    if not op.regions:
        return []
    inside: list[ir.Operation] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        inside.append(inner.operation)
        return ir.WalkResult.ADVANCE

    op.walk(visit, ir.WalkOrder.PRE_ORDER)
    return inside[1:]


def _distinct(*kinds: Kind) -> tuple[Kind, ...]:
    return tuple(dict.fromkeys(kinds))
