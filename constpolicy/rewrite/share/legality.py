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

from constpolicy.candidates.contents import Content
from constpolicy.candidates.index import is_mutable, is_private
from constpolicy.records import Origin
from constpolicy.rewrite.share.edits import Edit
from constpolicy.rewrite.share.module_index import ModuleIndex
from constpolicy.rewrite.share.refusal import Refusal

_AFFINITIES = ("stream.affinity", "stream.affinity.default")


def check_home(name: str, index: ModuleIndex) -> None:
    """The candidate's global can hold the one copy."""
    if all(load.in_initializer for load in index.loads(name)):
        raise Refusal("only other const-exprs read its result, no function does")


def check_source(content: Content, index: ModuleIndex) -> None:
    """The source can die."""
    if content.origin is Origin.GLOBAL:
        source = index.globals[content.key.removeprefix("@")]
        if is_mutable(source):
            raise Refusal(f"its source {content.name} is mutable")
        if not is_private(source):
            raise Refusal(f"its source {content.name} is public")
    for placed in index.constants[content.key]:
        type = ir.RankedTensorType(placed.op.results[0].type)
        if str(type.element_type) != content.type.element_type:
            raise Refusal(f"the bytes of its source {content.name} are also read as {type}")


def check_devices(home: str, edits: Iterable[Edit], index: ModuleIndex) -> None:
    """All readers are on the home's device: there is only one, or they say so themselves."""
    devices = sum("hal.device" in str(op.attributes["type"]) for op in index.globals.values())
    if devices <= 1:
        return
    own = _affinity(index.globals[home])
    for edit in edits:
        other = _affinity(edit.op) or _affinity(edit.holder)
        if own is None or other is None or other != own:
            raise Refusal("the program has several devices, and not all readers are known to be on the result's")


def _affinity(op: ir.Operation) -> ir.Attribute | None:
    return next((op.attributes[name] for name in _AFFINITIES if name in op.attributes), None)
