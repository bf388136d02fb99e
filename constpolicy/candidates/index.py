"""The functions, initializers and globals of a module, with their constants, loads and stores, from one walk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from iree.compiler import ir

from constpolicy.candidates.contents import CONSTANTS, LOADS

INITIALIZER = "util.initializer"
GLOBAL = "util.global"
STORES = frozenset({"util.global.store"})
_EXECUTABLES = frozenset({"flow.executable", "hal.executable", "stream.executable"})  # compiled code: no constants


@dataclass
class Section:
    """A function or an initializer, with the ops of interest in it, nested ones included, in program order."""

    op: ir.Operation
    is_initializer: bool
    ops: list[ir.Operation] = field(default_factory=list)  # all of them; only kept for initializers
    constants: list[ir.Operation] = field(default_factory=list)
    loads: list[ir.Operation] = field(default_factory=list)
    stores: list[ir.Operation] = field(default_factory=list)

    @property
    def stored(self) -> tuple[str, ...]:
        return tuple(accessed(op) for op in self.stores)

    @property
    def symbol(self) -> str:
        """What a reader of a report knows it by: "@main", "initializer of @name"."""
        if self.is_initializer:
            return f"initializer of {', '.join(f'@{name}' for name in self.stored)}" if self.stores else "initializer"
        return f"@{symbol_of(self.op)}"


@dataclass(frozen=True)
class Index:
    """A module's globals by name and its sections in program order."""

    globals: Mapping[str, ir.Operation]
    sections: tuple[Section, ...]


def index(module: ir.Operation) -> Index:
    """Walks the module once. What it finds is void once the module is edited."""
    globals_by_name: dict[str, ir.Operation] = {}
    sections: list[Section] = []
    for view in module.regions[0].blocks[0].operations:
        op = view.operation
        if op.name == GLOBAL:
            globals_by_name[symbol_of(op)] = op
        elif len(op.regions) and op.name not in _EXECUTABLES:
            sections.append(_section(op))
    return Index(globals_by_name, tuple(sections))


def _section(op: ir.Operation) -> Section:
    section = Section(op, is_initializer=op.name == INITIALIZER)

    def visit(inner: ir.Operation) -> ir.WalkResult:
        name = inner.name
        if name in CONSTANTS:
            section.constants.append(inner.operation)
        elif name in LOADS:
            section.loads.append(inner.operation)
        elif name in STORES:
            section.stores.append(inner.operation)
        if section.is_initializer:
            section.ops.append(inner.operation)
        return ir.WalkResult.ADVANCE

    op.walk(visit, ir.WalkOrder.PRE_ORDER)
    del section.ops[:1]  # the initializer itself
    return section


def symbol_of(op: ir.Operation) -> str:
    """The symbol name that a top-level op defines, without "@"; empty if it defines none."""
    return ir.StringAttr(op.attributes["sym_name"]).value if "sym_name" in op.attributes else ""


def accessed(op: ir.Operation) -> str:
    """The name, without "@", of the global that a load or a store names."""
    return ir.FlatSymbolRefAttr(op.attributes["global"]).value


def is_private(op: ir.Operation) -> bool:
    name = "sym_visibility"
    return name in op.attributes and ir.StringAttr(op.attributes[name]).value == "private"


def is_mutable(op: ir.Operation) -> bool:
    return "is_mutable" in op.attributes
