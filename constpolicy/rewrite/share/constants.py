"""Which constants hold the same content: the program stores one blob under every type that a folder gave it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from iree.compiler import ir

from constpolicy.rewrite.globals import LOAD, accessed
from constpolicy.rewrite.share.module_index import ModuleIndex, Placed
from constpolicy.rewrite.share.refusal import Refusal


@dataclass(frozen=True)
class Content:
    """The elements of a constant in row-major order, under whatever shape. `name` is a global's, if it is in one."""

    key: str
    element_type: str
    count: int
    name: str | None = None


def content_of(op: ir.Operation) -> Content:
    """What a constant or a load holds; raises Refusal for splats, and for parameters: their bytes are elsewhere."""
    type = ir.RankedTensorType(op.results[0].type)
    name = accessed(op) if op.name == LOAD else None
    key = _key(op.attributes["value"]) if name is None else f"@{name}"
    return Content(key, str(type.element_type), prod(type.shape), name)


def holders_of(content: Content, index: ModuleIndex) -> Sequence[Placed]:
    """All constants, or loads of the same global, that hold the content."""
    if content.name is not None:
        return index.loads.get(content.name, ())
    return [placed for placed in index.constants if _may_hold(content, placed.op) and _holds(content, placed.op)]


def _may_hold(content: Content, op: ir.Operation) -> bool:
    type = ir.RankedTensorType(op.results[0].type)
    return prod(type.shape) == content.count and str(type.element_type) == content.element_type


def _holds(content: Content, op: ir.Operation) -> bool:
    try:
        return _key(op.attributes["value"]) == content.key
    except Refusal:
        return False


def _key(attribute: ir.Attribute) -> str:
    if isinstance(attribute, ir.DenseElementsAttr):
        if attribute.is_splat:
            raise Refusal("its source is a splat, which takes no space")
        return hashlib.sha256(memoryview(attribute)).hexdigest()
    text = str(attribute)
    if (match := re.match(r"dense_resource<(.*?)> : ", text)) is not None:
        return match.group(1)
    raise Refusal("its source is a parameter, whose bytes are not in the file")
