"""The check module: every evaluated result twice, as it was stored and as the target's own code computes it.

Before const-eval, the initializers are kept as they are; afterwards, each that was evaluated becomes two functions
for each of its globals. The constants are attributes of the context, so that no bytes are copied.

An expression that reads another evaluated one is computed twice: from what was stored for that one, and from the
sources alone. A wrong result can have been stored before what reads it was evaluated, or after; either way one of the
two is what was stored for the reader, and only the culprit is named. What an expression reads of an initializer that
was not evaluated, is computed in place.

The code is made from where const-eval stands in the pipeline, as for an initializer that is left for load time, and
barriers on the sources keep IREE from computing anything while compiling.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from iree.compiler import ir

from constpolicy.candidates.locations import place_of
from constpolicy.candidates.value_types import value_type
from constpolicy.records import Candidate, StoredResult
from constpolicy.rewrite.clone import clone_body
from constpolicy.rewrite.globals import INITIALIZER, LOAD, accessed, loads_in, stored_by, symbol, top_level
from constpolicy.rewrite.inline import replace_loads
from constpolicy.rewrite.written import NotStatic, written

_AFFINITY = "stream.affinity"
_DEVICE = "hal.device"
_PASSED_AS_BITS = {"f32": 32, "f64": 64}  # scalars, of which a NaN may change on its way through Python
_EXECUTABLES = ("flow.executable", "hal.executable")


@dataclass(frozen=True)
class Kept:
    """Copies of the devices, the globals and the initializers with one block, from before const-eval."""

    module: ir.Operation
    globals_by_name: Mapping[str, ir.Operation]
    initializers: Mapping[str, ir.Operation]  # by the names of the globals that they store

    def has_value(self, name: str) -> bool:
        return "initial_value" in self.globals_by_name[name].attributes


def keep(module: ir.Operation) -> Kept:
    """Keeps what the check module is made from."""
    kept = ir.Module.create(module.location).operation
    for name in module.attributes:
        if name != "sym_name":
            kept.attributes[name] = module.attributes[name]
    with ir.InsertionPoint(kept.regions[0].blocks[0]):
        for op in top_level(module):
            is_initializer = op.name == INITIALIZER and len(op.regions[0].blocks) == 1
            if op.name == "util.global" or is_initializer or op.name in _EXECUTABLES:
                op.clone()
    return Kept(
        kept,
        {symbol(op): op for op in top_level(kept) if op.name == "util.global"},
        {name: op for op in top_level(kept) if op.name == INITIALIZER for name in stored_by(op)},
    )


def build(kept: Kept, module: ir.Operation, candidates: Sequence[Candidate]) -> tuple[StoredResult, ...]:
    """Makes the check module of what was kept, for all globals that have got values in `module` since.

    The results come in the program's order; one that cannot be checked says why.
    """
    owners = {stored.symbol.lstrip("@"): candidate.id for candidate in candidates for stored in candidate.globals}
    evaluated = _take_values(kept, module)
    results = tuple(_result(kept, name, owners.get(name, f"@{name}"), number) for number, name in enumerate(evaluated))
    for result in results:
        if result.obstacle is None:
            _add_functions(kept, result)
    _drop_what_nobody_reads(kept.module)
    return results


def _take_values(kept: Kept, module: ir.Operation) -> list[str]:
    """Gives the kept globals the values that const-eval found; returns their names."""
    evaluated = []
    for op in top_level(module):
        name = symbol(op)
        if op.name != "util.global" or name not in kept.initializers or "initial_value" not in op.attributes:
            continue
        if "initial_value" not in kept.globals_by_name[name].attributes:
            kept.globals_by_name[name].attributes["initial_value"] = op.attributes["initial_value"]
            evaluated.append(name)
    return evaluated


def _result(kept: Kept, name: str, owner: str, number: int) -> StoredResult:
    type = ir.TypeAttr(kept.globals_by_name[name].attributes["type"]).value
    location = place_of(kept.initializers[name].location)
    if (obstacle := _obstacle(type)) is not None:
        return StoredResult(owner, name, value_type(type), obstacle=obstacle, location=location)
    try:
        boxes = written(kept.initializers, name)
    except NotStatic:
        reason = "it has elements that are never written, and which is known only when it is computed"
        return StoredResult(owner, name, value_type(type), obstacle=reason, location=location)
    again = f"recomputed_{number}" if _reads_evaluated(kept, kept.initializers[name]) else ""
    functions = (f"computed_{number}", f"stored_{number}", again)
    return StoredResult(
        owner, name, value_type(type), *functions, str(_carrier(type)), location=location, written=boxes
    )


def _reads_evaluated(kept: Kept, initializer: ir.Operation) -> bool:
    """Whether it reads what another initializer stores and const-eval has evaluated, directly or by way of others."""
    for load in loads_in(initializer):
        provider = kept.initializers.get(accessed(load))
        if provider is not None and (kept.has_value(accessed(load)) or _reads_evaluated(kept, provider)):
            return True
    return False


def _obstacle(type: ir.Type) -> str | None:
    if isinstance(type, ir.RankedTensorType):
        if type.encoding is not None:
            return f"{type} has an encoding, whose layout is the target's own"
        return None if type.has_static_shape else f"the shape of {type} is not static"
    known = isinstance(type, ir.IntegerType | ir.IndexType) or str(type) in _PASSED_AS_BITS
    return None if known else f"a value of type {type} cannot be returned by a function"


def _add_functions(kept: Kept, result: StoredResult) -> None:
    type = ir.TypeAttr(kept.globals_by_name[result.symbol].attributes["type"]).value
    initializer = kept.initializers[result.symbol]
    block, affinity = kept.module.regions[0].blocks[0], initializer.attributes.get(_AFFINITY)
    location = initializer.location
    for name, in_place in ((result.computed, False), (result.recomputed, True)):
        if name:
            alone = _self_contained(kept, initializer, evaluated_too=in_place)
            with location, ir.InsertionPoint(_function(block, name, type, affinity)):
                _return(clone_body(alone, barriers=True)[result.symbol])
            alone.erase()
    with location, ir.InsertionPoint(_function(block, result.stored, type, affinity)):
        reference: dict[str, ir.Attribute] = {"global": ir.FlatSymbolRefAttr.get(result.symbol)}
        _return(ir.Operation.create(LOAD, results=[type], attributes=reference).results[0])


def _self_contained(kept: Kept, initializer: ir.Operation, *, evaluated_too: bool) -> ir.Operation:
    """A copy that computes in place what other initializers store; of what was evaluated, only if that is wanted."""
    with ir.InsertionPoint(initializer):
        copy = initializer.clone()

    def open_loads() -> Iterator[ir.Operation]:
        for load in loads_in(copy):
            name = accessed(load)
            if name in kept.initializers and (evaluated_too or not kept.has_value(name)):
                yield load

    while (first := next(open_loads(), None)) is not None:
        provider = kept.initializers[accessed(first)]
        names = stored_by(provider)
        replace_loads(provider, [load for load in open_loads() if accessed(load) in names], barriers=False)
    return copy


def _function(module: ir.Block, name: str, type: ir.Type, affinity: ir.Attribute | None) -> ir.Block:
    """Adds a public function that returns a value of this type, as IREE's ABI wants it; returns its empty block."""
    attributes: dict[str, ir.Attribute] = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [_passed(type)])),
        "iree.abi.stub": ir.UnitAttr.get(),
    }
    if affinity is not None:
        attributes[_AFFINITY] = affinity
    with ir.InsertionPoint(module):
        return ir.Operation.create("util.func", regions=1, attributes=attributes).regions[0].blocks.append()


def _carrier(type: ir.Type) -> ir.Type:
    """The type in which a value is returned: its own, or the integer of a scalar float's bits."""
    bits = _PASSED_AS_BITS.get(str(type))
    return type if bits is None else ir.IntegerType.get_signless(bits)


def _passed(type: ir.Type) -> ir.Type:
    is_tensor = isinstance(type, ir.RankedTensorType)
    return ir.Type.parse("!hal.buffer_view") if is_tensor else _carrier(type)


def _return(value: ir.Value) -> None:
    type = value.type
    if isinstance(type, ir.RankedTensorType):
        attributes = {"name": ir.StringAttr.get("output0"), "source_encoding": ir.TypeAttr.get(type)}
        value = ir.Operation.create(
            "hal.tensor.export", results=[_passed(type)], operands=[value], attributes=attributes
        ).results[0]
    elif (carrier := _carrier(type)) != type:
        value = ir.Operation.create("arith.bitcast", results=[carrier], operands=[value]).results[0]
    ir.Operation.create("util.return", operands=[value])


def _drop_what_nobody_reads(module: ir.Operation) -> None:
    """Erases the initializers, and the globals that no function reads; devices stay."""
    for op in list(top_level(module)):
        if op.name == INITIALIZER:
            op.erase()
    read = {accessed(load) for load in loads_in(module)}
    for op in list(top_level(module)):
        if op.name == "util.global" and symbol(op) not in read and _DEVICE not in str(op.attributes["type"]):
            op.erase()
