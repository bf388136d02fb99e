"""What must hold for `share`, in one place. Each function raises Refusal with the reason.

A source dies in favour of a home, the global of a candidate, if
- the home is immutable, will be evaluated, and a function loads it;
- the candidate only moves the source's elements (`trace`), or changes them so that the data proves it invertible
  (`change`); everything has a static shape, and no encoding;
- the source's bytes are in the file, and nothing outside the module can see or change them;
- everything that reads the home or a constant of the source's content is on the same device;
- every reader of such a constant can be changed (`readers`).
"""

from __future__ import annotations

from collections.abc import Iterable

from iree.compiler import ir

from constpolicy.rewrite.globals import INITIALIZER
from constpolicy.rewrite.share.constants import Content
from constpolicy.rewrite.share.edits import Edit
from constpolicy.rewrite.share.module_index import ModuleIndex
from constpolicy.rewrite.share.refusal import Refusal

_AFFINITIES = ("stream.affinity", "stream.affinity.default")


def check_home(name: str, index: ModuleIndex) -> None:
    """The candidate's global can hold the one copy."""
    home = index.globals[name]
    if "is_mutable" in home.attributes:
        raise Refusal("its global is mutable")
    if all(load.holder.name == INITIALIZER for load in index.loads.get(name, ())):
        raise Refusal("only other const-exprs read its result, no function does")


def check_source(content: Content, index: ModuleIndex) -> None:
    """The source can die."""
    if content.name is None:
        return
    source = index.globals.get(content.name)
    if source is None or "initial_value" not in source.attributes:
        raise Refusal(f"its source @{content.name} has no value before the program runs")
    if "is_mutable" in source.attributes:
        raise Refusal(f"its source @{content.name} is mutable")
    if not _is_private(source):
        raise Refusal(f"its source @{content.name} is public")


def check_devices(home: str, edits: Iterable[Edit], index: ModuleIndex) -> None:
    """All readers are on the home's device: there is only one, or they say so themselves."""
    devices = sum("hal.device" in str(op.attributes["type"]) for op in index.globals.values())
    if devices <= 1:
        return
    own = _affinity(index.globals[home])
    for edit in edits:
        other = _affinity(edit.op) or _affinity(edit.holder)
        if own is None or other != own:
            raise Refusal("the program has several devices, and not all readers are known to be on the result's")


def _affinity(op: ir.Operation) -> ir.Attribute | None:
    return next((op.attributes[name] for name in _AFFINITIES if name in op.attributes), None)


def _is_private(op: ir.Operation) -> bool:
    visibility = op.attributes.get("sym_visibility")
    return visibility is not None and ir.StringAttr(visibility).value == "private"
