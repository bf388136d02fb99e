"""The action `inline`: the expression is computed where its result is read, on every call.

Handles candidates with several stores, readers in several functions and in other initializers, loads nested in
regions. Barriers on the sources keep IREE from hoisting the expression again; inside other initializers there
are none, since those must stay const-exprs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iree.compiler import ir

from constpolicy.rewrite.clone import clone_body
from constpolicy.rewrite.globals import INITIALIZER, accessed, stored_by

Loads = Mapping[str, Sequence[ir.Operation]]


def inline(initializer: ir.Operation, globals_by_name: Mapping[str, ir.Operation], loads: Loads) -> None:
    """Moves the body to every reader and erases the initializer and its globals."""
    put_back(initializer, globals_by_name, loads, barriers=True)


def put_back(
    initializer: ir.Operation, globals_by_name: Mapping[str, ir.Operation], loads: Loads, *, barriers: bool
) -> None:
    """Moves the body to every reader, with or without barriers in functions; erases initializer and globals."""
    names = stored_by(initializer)
    replace_loads(initializer, [load for name in names for load in loads.get(name, ())], barriers=barriers)
    initializer.erase()
    for name in names:
        globals_by_name[name].erase()


def replace_loads(initializer: ir.Operation, loads: Sequence[ir.Operation], *, barriers: bool) -> None:
    """Computes the body before the first of the loads in each block and replaces the loads by its values."""
    for group in _by_block(loads).values():
        holder, first = group[0]
        with ir.InsertionPoint(first):
            values = clone_body(initializer, barriers=barriers and holder.name != INITIALIZER)
        for load in [load for load in loads if _anchor(load)[1].block == first.block]:
            load.results[0].replace_all_uses_with(values[accessed(load)])
    for load in loads:
        load.erase()


def _by_block(loads: Sequence[ir.Operation]) -> dict[ir.Block, list[tuple[ir.Operation, ir.Operation]]]:
    """(symbol op, anchor) of the loads, by the block of the anchor; the earliest anchor first."""
    groups: dict[ir.Block, list[tuple[ir.Operation, ir.Operation]]] = {}
    for load in loads:
        holder, anchor = _anchor(load)
        group = groups.setdefault(anchor.block, [])
        if group and anchor.is_before_in_block(group[0][1]):
            group.insert(0, (holder, anchor))
        else:
            group.append((holder, anchor))
    return groups


def _anchor(load: ir.Operation) -> tuple[ir.Operation, ir.Operation]:
    """The function or initializer that holds the load, and the load's ancestor that stands directly in it."""
    anchor = load
    while True:
        parent = anchor.parent
        assert parent is not None, "a load stands in a function or an initializer"
        grandparent = parent.operation.parent
        if grandparent is None or grandparent.operation.name == "builtin.module":
            return parent.operation, anchor
        anchor = parent.operation
