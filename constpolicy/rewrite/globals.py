"""Who stores and who loads the module's globals, found in one walk."""

from __future__ import annotations

from collections.abc import Iterator

from iree.compiler import ir

LOAD, STORE = "util.global.load", "util.global.store"
INITIALIZER = "util.initializer"


def top_level(module: ir.Operation) -> Iterator[ir.Operation]:
    """The module's own operations, in order."""
    for op in module.regions[0].blocks[0].operations:
        yield op.operation


def symbol(op: ir.Operation) -> str:
    """The symbol name that a top-level op defines, without "@"; empty if it defines none."""
    name = op.attributes.get("sym_name")
    return "" if name is None else ir.StringAttr(name).value


def accessed(op: ir.Operation) -> str:
    """The name, without "@", of the global that a load or a store names."""
    return ir.FlatSymbolRefAttr(op.attributes["global"]).value


def body(initializer: ir.Operation) -> list[ir.Operation]:
    """The operations of an initializer with a single block."""
    return [op.operation for op in initializer.regions[0].blocks[0].operations]


def stored_by(initializer: ir.Operation) -> tuple[str, ...]:
    """Names of the globals that an initializer with a single block stores to, in order."""
    return tuple(accessed(op) for op in body(initializer) if op.name == STORE)


def loads_in(op: ir.Operation) -> list[ir.Operation]:
    """All loads of globals inside the op, nested regions included, in program order."""
    found: list[ir.Operation] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        if inner.name == LOAD:
            found.append(inner.operation)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return found


def loads_by_global(module: ir.Operation) -> dict[str, list[ir.Operation]]:
    """All loads in functions and initializers, by the name of the global that they load, in program order."""
    loads: dict[str, list[ir.Operation]] = {}
    for load in loads_in(module):
        loads.setdefault(accessed(load), []).append(load)
    return loads
