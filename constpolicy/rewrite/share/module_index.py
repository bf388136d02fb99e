"""What planning needs to know about the whole module, from one walk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iree.compiler import ir

from constpolicy.rewrite.globals import INITIALIZER, LOAD, STORE, accessed, symbol, top_level

CONSTANTS = ("arith.constant", "flow.tensor.constant")


@dataclass(frozen=True)
class Placed:
    """An op, and the function or initializer that it stands in."""

    holder: ir.Operation
    op: ir.Operation


@dataclass(frozen=True)
class ModuleIndex:
    """Constants that are tensors, loads of globals, and what initializers store, all in program order.

    `stores` holds the immutable globals that one initializer, of a single block, stores to once.
    """

    constants: Sequence[Placed]
    loads: Mapping[str, Sequence[Placed]]
    stores: Mapping[str, Placed]
    globals: Mapping[str, ir.Operation]
    holders: Sequence[ir.Operation]


def index_module(module: ir.Operation) -> ModuleIndex:
    constants: list[Placed] = []
    loads: dict[str, list[Placed]] = {}
    stores: dict[str, list[Placed]] = {}
    globals_by_name: dict[str, ir.Operation] = {}
    holders: list[ir.Operation] = []
    for top in top_level(module):
        if top.name == "util.global":
            globals_by_name[symbol(top)] = top
            continue
        holders.append(top)

        def visit(op: ir.Operation, holder: ir.Operation = top) -> ir.WalkResult:
            name = op.name
            if name in CONSTANTS:
                if isinstance(op.results[0].type, ir.RankedTensorType):
                    constants.append(Placed(holder, op.operation))
            elif name == LOAD:
                loads.setdefault(accessed(op), []).append(Placed(holder, op.operation))
            elif name.startswith("util.global.store"):
                stored = accessed(op) if name == STORE else ""  # "": through a pointer, to any global
                stores.setdefault(stored, []).append(Placed(holder, op.operation))
            return ir.WalkResult.ADVANCE

        top.walk(visit)
    return ModuleIndex(constants, loads, _single_stores(stores, globals_by_name), globals_by_name, holders)


def _single_stores(
    stores: Mapping[str, Sequence[Placed]], globals_by_name: Mapping[str, ir.Operation]
) -> dict[str, Placed]:
    single = {name: placed[0] for name, placed in stores.items() if len(placed) == 1 and name in globals_by_name}
    return {
        name: store
        for name, store in single.items()
        if "is_mutable" not in globals_by_name[name].attributes
        and store.holder.name == INITIALIZER
        and len(store.holder.regions[0].blocks) == 1
    }
