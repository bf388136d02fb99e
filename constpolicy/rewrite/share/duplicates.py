"""Constants that folders copied: one content under several types, which IREE stores once for each type.

Reshapes fold into constants while dispatches are formed, so that only the outlined globals after the phase `flow` show
what will be stored. There, one global stays, and what loads the others reads it through a reshape, which is free: both
are the same bytes. IREE does not inline these globals, so that nothing folds the reshape back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iree.compiler import ir

from constpolicy.candidates.contents import Content, Contents
from constpolicy.candidates.index import Index, accessed, index, is_mutable, is_private
from constpolicy.records import Duplicate

_AFFINITY = "stream.affinity"


@dataclass(frozen=True)
class _Stored:
    """A global with a value that is in the file."""

    op: ir.Operation
    name: str
    content: Content


def store_once(module: ir.Operation) -> tuple[Duplicate, ...]:
    """Keeps the first global of each content of a module that has run up to `flow`; returns what is not stored twice.

    Left alone are globals that are mutable, public or stored to, and those on different devices.
    """
    indexed = index(module)
    groups: dict[tuple[str, str, str], list[_Stored]] = {}
    for stored in _stored(indexed):
        type, device = stored.content.type.element_type, str(stored.op.attributes.get(_AFFINITY))
        groups.setdefault((stored.content.key, type, device), []).append(stored)
    loads: dict[str, list[ir.Operation]] = {}  # by global, looked up before any is replaced
    for load in (load for section in indexed.sections for load in section.loads):
        loads.setdefault(accessed(load), []).append(load)
    return tuple(_merge(loads, same) for same in groups.values() if len(same) > 1)


def _stored(indexed: Index) -> list[_Stored]:
    contents = Contents(indexed.globals)
    computed = {accessed(store) for section in indexed.sections for store in section.stores}
    return [
        _Stored(op, name, content)
        for name, op in indexed.globals.items()
        if is_private(op) and not is_mutable(op) and name not in computed
        if (content := contents.initial_value(op)) is not None and content.stored_bytes
    ]


def _merge(loads: Mapping[str, Sequence[ir.Operation]], same: Sequence[_Stored]) -> Duplicate:
    """Makes the first of the globals the one that all loads of the others read."""
    kept, *others = same
    for other in others:
        for load in loads.get(other.name, ()):
            _redirect(load, kept)
        other.op.erase()
    return Duplicate(
        name=kept.content.name,
        types=tuple(dict.fromkeys(stored.content.type.text for stored in same)),
        saved_bytes=sum(other.content.stored_bytes for other in others),
    )


def _redirect(load: ir.Operation, kept: _Stored) -> None:
    """Loads the kept global in place of another, and gives it the other's shape."""
    wanted = load.results[0]
    with load.location, ir.InsertionPoint(load):
        value = ir.Operation.create(
            "util.global.load",
            results=[ir.TypeAttr(kept.op.attributes["type"]).value],
            attributes={
                **{name: load.attributes[name] for name in load.attributes},
                "global": ir.FlatSymbolRefAttr.get(kept.name),
            },
        ).results[0]
        if value.type != wanted.type:
            sizes = ir.DenseI32ArrayAttr.get([1, 0, 0])  # the source; no dynamic dims of source and result
            value = ir.Operation.create(
                "flow.tensor.reshape",
                results=[wanted.type],
                operands=[value],
                attributes={"operandSegmentSizes": sizes},
            ).results[0]
    wanted.replace_all_uses_with(value)
    load.erase()
