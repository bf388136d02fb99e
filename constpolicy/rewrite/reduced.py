"""A program of nothing but some candidates' expressions, to attach to an issue.

Each becomes a public function without arguments that returns what its initializer stores, so that iree-compile finds
a const-expr in it, hoists and evaluates it as it did in the program. What an expression reads of other initializers
is computed in place. Devices are left out. It does not handle expressions on parameters, whose bytes it does not
have, nor what DispatchCreation hoists, which no source program can say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from iree.compiler import ir

from constpolicy.candidates.contents import CONSTANTS
from constpolicy.candidates.value_types import stored_size, value_type
from constpolicy.compiler.elements import elements
from constpolicy.rewrite.clone import clone_body
from constpolicy.rewrite.globals import INITIALIZER, accessed, loads_in, stored_by, symbol, top_level
from constpolicy.rewrite.inline import replace_loads

_AFFINITIES = ("stream.affinity", "stream.affinity.default")


def write_reduced(
    module: ir.Operation,
    initializers: Mapping[str, ir.Operation],
    ids: Sequence[str],
    output: str,
    *,
    most_bytes: int,
) -> tuple[str, ...]:
    """Writes the program for the candidates (ids) as MLIR text.

    Constants of more than `most_bytes` become splats of ones, of which a comment tells; returns their types.
    The module is as it was afterwards.
    """
    providers = {name: op for op in top_level(module) if _has_one_block(op) for name in stored_by(op)}
    reduced = ir.Module.create(module.location).operation
    for id in ids:
        _add_function(reduced, f"candidate_{id}", initializers[id], providers)
    _add_globals(reduced, module)
    elided = tuple(_elided(reduced, most_bytes))
    Path(output).write_text(_header(ids, elided) + reduced.get_asm() + "\n", encoding="utf-8")
    return elided


def _has_one_block(op: ir.Operation) -> bool:
    return op.name == INITIALIZER and len(op.regions[0].blocks) == 1


def _add_function(
    reduced: ir.Operation, name: str, initializer: ir.Operation, providers: Mapping[str, ir.Operation]
) -> None:
    with initializer.location, ir.InsertionPoint(reduced.regions[0].blocks[0]):
        alone = initializer.clone()
        while loads := [load for load in loads_in(alone) if accessed(load) in providers]:
            provider = providers[accessed(loads[0])]
            stored = stored_by(provider)
            replace_loads(provider, [load for load in loads if accessed(load) in stored], barriers=False)
        types = [store.type for store in _stored_values(alone)]
        attributes: dict[str, ir.Attribute] = {
            "sym_name": ir.StringAttr.get(name),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get([], types)),
        }
        block = ir.Operation.create("func.func", regions=1, attributes=attributes).regions[0].blocks.append()
        with ir.InsertionPoint(block):
            values = clone_body(alone, barriers=False)
            ir.Operation.create("func.return", operands=[values[stored] for stored in stored_by(alone)])
        alone.erase()
    _drop_affinities(reduced)


def _stored_values(initializer: ir.Operation) -> list[ir.Value]:
    operations = (view.operation for view in initializer.regions[0].blocks[0].operations)
    return [op.operands[0] for op in operations if op.name == "util.global.store"]


def _add_globals(reduced: ir.Operation, module: ir.Operation) -> None:
    """The globals with values of their own that the expressions read."""
    read = {accessed(load) for load in loads_in(reduced)}
    with ir.InsertionPoint.at_block_begin(reduced.regions[0].blocks[0]):
        for op in top_level(module):
            if op.name == "util.global" and symbol(op) in read:
                op.clone()
    _drop_affinities(reduced)


def _drop_affinities(reduced: ir.Operation) -> None:
    def visit(op: ir.Operation) -> ir.WalkResult:
        for name in _AFFINITIES:
            if name in op.attributes:
                del op.attributes[name]
        return ir.WalkResult.ADVANCE

    reduced.walk(visit)


def _elided(reduced: ir.Operation, most_bytes: int) -> Iterator[str]:
    """Replaces the large constants; gives their types."""
    large: list[tuple[ir.Operation, str, ir.Type]] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in CONSTANTS and _is_large(op, "value", op.results[0].type, most_bytes):
            large.append((op, "value", op.results[0].type))
        if op.name == "util.global":
            type = ir.TypeAttr(op.attributes["type"]).value
            if _is_large(op, "initial_value", type, most_bytes):
                large.append((op, "initial_value", type))
        return ir.WalkResult.ADVANCE

    reduced.walk(visit)
    for op, name, type in large:
        op.attributes[name] = ir.DenseElementsAttr.get_splat(type, _one(ir.RankedTensorType(type).element_type))
        yield str(type)


def _is_large(op: ir.Operation, name: str, type: ir.Type, most_bytes: int) -> bool:
    if name not in op.attributes or not isinstance(type, ir.RankedTensorType):
        return False
    dense = elements(op, name)
    if dense is None and not str(op.attributes[name]).startswith("dense_resource"):
        return False
    return not (dense and dense.is_splat) and stored_size(value_type(type)) > most_bytes


def _one(type: ir.Type) -> ir.Attribute:
    return ir.IntegerAttr.get(type, 1) if isinstance(type, ir.IntegerType | ir.IndexType) else ir.FloatAttr.get(type, 1)


def _header(ids: Sequence[str], elided: Sequence[str]) -> str:
    lines = [f"// The expressions of {', '.join(ids)}: each function returns what the candidate's initializer stores."]
    lines += [f"// A constant of type {type} is too large for this file: it is replaced by ones." for type in elided]
    return "\n".join(lines) + "\n"
