"""What IREE's const-eval leaves for load time, and why.

Const-eval takes initializers in module order. It evaluates one that has a single block, reads only constants and
globals whose values are known by then, stores to immutable globals, has no control flow, calls, parameters or
effects at its top level, and loads, stores and holds only tensors and scalars of types that its own target supports
(what it computes in between may be of some more types).
What it takes for constant, it finds by going from constants and loads to their uses: an initializer that reads none
(a table computed from indices) is left, too.
This predicts the verdict without asking the compiler; whether code generation then succeeds is not known here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain

from iree.compiler import ir

from constpolicy.candidates.contents import CONSTANTS, LOADS
from constpolicy.candidates.index import STORES, Index, Section, accessed, is_mutable, symbol_of
from constpolicy.candidates.value_types import element_bits
from constpolicy.compiler.elements import elements

_SCALARS = frozenset({"i8", "i16", "i32", "i64", "index", "f32", "f64"})
_ELEMENTS = frozenset({"i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"})
_CONTROL_FLOW = ("scf.", "affine.for", "affine.if", "affine.parallel")
_CALLS = frozenset({"util.call", "func.call", "func.call_indirect", "flow.call"})
_INDIRECT = frozenset({"util.global.address", "util.global.load.indirect", "util.global.store.indirect"})
_WITHOUT_EFFECTS = (
    *("arith.", "complex.", "index.", "math."),
    *("linalg.", "tensor.", "iree_encoding.", "iree_linalg_ext.", "iree_tensor_ext.", "flow.tensor."),
    *("util.global.load", "util.global.store", "util.return"),
)
_PARAMETERS = ("#flow.parameter", "#stream.parameter")
_BYTES = ("dense_resource<", "#util.byte_pattern", "#util.composite")  # attributes without a class of their own


def refusals(index: Index, hoisted: Collection[ir.Operation]) -> Mapping[ir.Operation, str]:
    """For each initializer that const-eval will not evaluate, the reason in words.

    The `hoisted` ones hold const-exprs only: no need to look for what else there may be.
    """
    reasons: dict[ir.Operation, str] = {}
    late: set[str] = set()  # globals that only running the program gives a value
    stored: set[str] = set()  # globals that initializers above store to
    for section in index.sections:
        if not section.is_initializer:
            continue
        own = () if section.op in hoisted else _not_const_exprs(section)
        found = chain(_reasons(section, index.globals, late, stored), own, _not_from_constants(section))
        reason = next(found, None)
        stored.update(section.stored)
        if reason is not None:
            reasons[section.op] = reason
            late.update(section.stored)
    return reasons


def _reasons(
    section: Section, globals_by_name: Mapping[str, ir.Operation], late: Collection[str], stored: Collection[str]
) -> Iterator[str]:
    if len(section.op.regions[0].blocks) != 1:
        yield "has more than one block"
    for op in section.ops:
        yield from _reasons_in_op(op, nested=op.parent != section.op)
    for load in section.loads:
        yield from _reasons_in_load(load, globals_by_name, late, stored)
    for store in section.stores:
        name = accessed(store)
        if name not in globals_by_name or is_mutable(globals_by_name[name]):
            yield f"stores to the mutable global @{name}"
        yield from _unsupported(store.operands[0].type)


def _reasons_in_op(op: ir.Operation, *, nested: bool) -> Iterator[str]:
    name = op.name
    if name == "flow.tensor.constant" and (what := _without_bytes(op, "value")) is not None:
        yield f"reads {what}"
    if nested:
        return
    if name == "arith.constant":
        yield from _unsupported(op.results[0].type) if isinstance(op.results[0].type, ir.RankedTensorType) else ()
    elif name.startswith(_CONTROL_FLOW):
        yield f"has control flow ({name})"
    elif name in _CALLS:
        yield f"has a call ({name})"
    elif name in _INDIRECT:
        yield "reaches a global through its address"


def _not_const_exprs(section: Section) -> Iterator[str]:
    for op in section.ops:
        if op.parent != section.op:
            continue
        if not op.name.startswith(_WITHOUT_EFFECTS):
            yield f"has an operation with effects ({op.name})"
        for result in op.results:
            if isinstance(result.type, ir.RankedTensorType) and not _is_hoistable(result.type):
                yield f"computes elements of type {result.type.element_type}, which IREE takes for no constants"


def _is_hoistable(type: ir.RankedTensorType) -> bool:
    bits = element_bits(str(type.element_type))
    return bits in (1, 2, 4, 8, 16, 32, 64) and not isinstance(type.element_type, ir.IndexType)


def _reasons_in_load(
    load: ir.Operation, globals_by_name: Mapping[str, ir.Operation], late: Collection[str], stored: Collection[str]
) -> Iterator[str]:
    name = accessed(load)
    loaded = globals_by_name.get(name)
    if loaded is None or is_mutable(loaded):
        yield f"reads the mutable global @{name}"
    elif (what := _without_bytes(loaded, "initial_value")) is not None:
        yield f"reads @{symbol_of(loaded)}, {what}"
    elif name in late:
        yield f"reads @{symbol_of(loaded)}, which const-eval leaves for load time"
    elif name not in stored and "initial_value" not in loaded.attributes:
        yield f"reads @{symbol_of(loaded)}, which has no value by then"
    yield from _unsupported(load.results[0].type)


def _without_bytes(op: ir.Operation, attribute: str) -> str | None:
    """What the attribute stands for, if not for bytes. Dense ones are told apart before they are spelled out."""
    if attribute not in op.attributes or elements(op, attribute) is not None:
        return None
    value = op.attributes[attribute]
    if isinstance(value, ir.IntegerAttr | ir.FloatAttr | ir.BoolAttr | ir.StringAttr | ir.DenseResourceElementsAttr):
        return None
    text = str(value)
    if text.startswith(_PARAMETERS):
        return "a parameter, whose bytes const-eval does not have"
    return None if text.startswith(_BYTES) else f"a value without bytes ({text[:40]})"


def _unsupported(type: ir.Type) -> Iterator[str]:
    if isinstance(type, ir.RankedTensorType):
        if str(type.element_type) not in _ELEMENTS:
            yield f"has elements of type {type.element_type}, which const-eval does not support"
    elif str(type) not in _SCALARS:
        yield f"has a value of type {type}, which const-eval does not support"


# What const-eval takes for constant


def _not_from_constants(section: Section) -> Iterator[str]:
    """Operations on the initializer's top level that const-eval does not get to from constants and loads."""
    top = [op for op in section.ops if op.parent == section.op]
    known = CONSTANTS | LOADS
    reached: set[ir.Operation] = set()
    ahead = [op for op in top if op.name in known]
    while ahead:
        op = ahead.pop()
        for user in _users(op, section.op):
            ahead += _reach(user, section.op, reached)
    others = [op.name for op in top if op.name not in known | STORES | {"util.return"} and op not in reached]
    if others:
        name = next((name for name in others if name != "tensor.empty"), others[0])
        yield f"computes something from neither constants nor globals ({name}), which const-eval does not look for"


def _users(op: ir.Operation, initializer: ir.Operation) -> Iterator[ir.Operation]:
    """The ops on the initializer's top level that use a result of `op`, themselves or directly in their regions.

    Const-eval looks no deeper.
    """
    for result in op.results:
        for use in result.uses:
            user = use.owner.operation
            if user.parent == initializer:
                yield user
            elif (around := user.parent) is not None and around.operation.parent == initializer:
                yield around.operation


def _reach(op: ir.Operation, initializer: ir.Operation, reached: set[ir.Operation]) -> Iterator[ir.Operation]:
    """Adds the op and all that it is computed from to `reached`; returns what is new there."""
    ahead = [op]
    while ahead:
        op = ahead.pop()
        if op in reached:
            continue
        reached.add(op)
        yield op
        ahead += (producer for producer in _producers(op, initializer) if producer not in reached)


def _producers(op: ir.Operation, initializer: ir.Operation) -> list[ir.Operation]:
    """The ops on the initializer's top level whose results `op` reads, in its regions, too."""
    found: list[ir.Operation] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        for operand in inner.operands:
            owner = operand.owner
            if not isinstance(owner, ir.Block) and owner.parent == initializer:
                found.append(owner.operation)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return found
