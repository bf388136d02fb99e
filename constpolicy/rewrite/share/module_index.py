"""What planning needs to know about the whole module, from one walk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iree.compiler import ir

from constpolicy.candidates.contents import Content, Contents
from constpolicy.candidates.index import accessed, index, is_mutable
from constpolicy.rewrite.share.refusal import Refusal


@dataclass(frozen=True)
class Placed:
    """An op, and the function or initializer that it stands in."""

    holder: ir.Operation
    op: ir.Operation
    in_initializer: bool


@dataclass(frozen=True)
class ModuleIndex:
    """Constants and loads by the key of what they hold, and stores by global, in program order."""

    contents: Contents
    globals: Mapping[str, ir.Operation]
    holders: Sequence[ir.Operation]  # functions and initializers
    constants: Mapping[str, Sequence[Placed]]
    stores: Mapping[str, Sequence[Placed]]

    def loads(self, name: str) -> Sequence[Placed]:
        return self.constants.get(f"@{name}", ())

    def computed(self, name: str) -> ir.Value | None:
        """The value that one initializer gives to the global; None if it has a value of its own. Raises Refusal."""
        stores = self.stores.get(name, ())
        if name not in self.globals or is_mutable(self.globals[name]):
            raise Refusal(f"@{name} is mutable")
        if len(stores) > 1 or any(len(store.holder.regions[0].blocks) != 1 for store in stores):
            raise Refusal(f"@{name} is stored to in several places")
        return stores[0].op.operands[0] if stores else None


def index_module(module: ir.Operation, contents: Contents | None = None) -> ModuleIndex:
    """Walks the module once. Later walks of it must be given the first one's `contents`, which hands out the keys."""
    indexed = index(module)
    contents = contents or Contents(indexed.globals)
    constants: dict[str, list[Placed]] = {}
    stores: dict[str, list[Placed]] = {}
    for section in indexed.sections:
        for op in (*section.constants, *section.loads):
            if (content := contents.of(op)) is not None:
                constants.setdefault(content.key, []).append(Placed(section.op, op, section.is_initializer))
        for op in section.stores:
            stores.setdefault(accessed(op), []).append(Placed(section.op, op, section.is_initializer))
    holders = [section.op for section in indexed.sections]
    return ModuleIndex(contents, indexed.globals, holders, constants, stores)


def stored_content(content: Content | None) -> Content:
    """The content, if its bytes are in the file; raises Refusal."""
    if content is None or content.type.shape is None:
        raise Refusal("its source is no tensor of static shape")
    if content.splat:
        raise Refusal("its source is a splat, which takes no space")
    if not content.stored_bytes:
        raise Refusal(f"the bytes of its source {content.name} are not in the file")
    return content
