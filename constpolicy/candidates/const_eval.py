"""What IREE's const-eval leaves for load time, and why.

Const-eval takes initializers in module order. It evaluates one that has a single block, reads only constants and
globals whose values are known by then, stores to immutable globals, has no control flow, calls, parameters or
effects at its top level, and loads, stores and holds only tensors and scalars of types that its own target supports.
This predicts the verdict without asking the compiler; whether code generation then succeeds is not known here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain

from iree.compiler import ir

from constpolicy.candidates.index import Index, Section, accessed, is_mutable, symbol_of
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


def refusals(index: Index, hoisted: Collection[ir.Operation]) -> Mapping[ir.Operation, str]:
    """For each initializer that const-eval will not evaluate, the reason in words.

    The `hoisted` ones hold const-exprs only: no need to look for effects.
    """
    reasons: dict[ir.Operation, str] = {}
    late: set[str] = set()  # globals that only running the program gives a value
    for section in index.sections:
        if not section.is_initializer:
            continue
        effects = () if section.op in hoisted else _effects(section)
        reason = next(chain(_reasons(section, index.globals, late), effects), None)
        if reason is not None:
            reasons[section.op] = reason
            late.update(section.stored)
    return reasons


def _reasons(section: Section, globals_by_name: Mapping[str, ir.Operation], late: set[str]) -> Iterator[str]:
    if len(section.op.regions[0].blocks) != 1:
        yield "has more than one block"
    for op in section.ops:
        yield from _reasons_in_op(op, nested=op.parent != section.op)
    for load in section.loads:
        yield from _reasons_in_load(load, globals_by_name, late)
    for store in section.stores:
        name = accessed(store)
        if name not in globals_by_name or is_mutable(globals_by_name[name]):
            yield f"stores to the mutable global @{name}"
        yield from _unsupported(store.operands[0].type)


def _reasons_in_op(op: ir.Operation, *, nested: bool) -> Iterator[str]:
    name = op.name
    if name == "flow.tensor.constant" and _is_parameter(op, "value"):
        yield "reads a parameter, whose bytes const-eval does not have"
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


def _effects(section: Section) -> Iterator[str]:
    for op in section.ops:
        if op.parent == section.op and not op.name.startswith(_WITHOUT_EFFECTS):
            yield f"has an operation with effects ({op.name})"


def _reasons_in_load(load: ir.Operation, globals_by_name: Mapping[str, ir.Operation], late: set[str]) -> Iterator[str]:
    name = accessed(load)
    loaded = globals_by_name.get(name)
    if loaded is None or is_mutable(loaded):
        yield f"reads the mutable global @{name}"
    elif _is_parameter(loaded, "initial_value"):
        yield f"reads the parameter behind @{name}, whose bytes const-eval does not have"
    elif name in late:
        yield f"reads @{symbol_of(loaded)}, which const-eval leaves for load time"
    yield from _unsupported(load.results[0].type)


def _is_parameter(op: ir.Operation, attribute: str) -> bool:
    """Whether the attribute stands for bytes elsewhere. Dense ones are told apart before they are spelled out."""
    if attribute not in op.attributes or elements(op, attribute) is not None:
        return False
    value = op.attributes[attribute]
    return type(value) is ir.Attribute and str(value).startswith(_PARAMETERS)


def _unsupported(type: ir.Type) -> Iterator[str]:
    if isinstance(type, ir.RankedTensorType):
        if str(type.element_type) not in _ELEMENTS:
            yield f"has elements of type {type.element_type}, which const-eval does not support"
    elif str(type) not in _SCALARS:
        yield f"has a value of type {type}, which const-eval does not support"
