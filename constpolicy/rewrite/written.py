"""Which elements of a result an expression writes: concatenations are hoisted in parts, of which the first leaves gaps.

What stands in the gaps is undefined, until the next part writes there.
"""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir

from constpolicy.records import Box
from constpolicy.rewrite.globals import LOAD, STORE, accessed, body
from constpolicy.rewrite.share.attributes import defining_op, integers, is_static


class NotStatic(Exception):
    """Where elements are written, is known only when the expression runs."""


def written(initializers: Mapping[str, ir.Operation], name: str) -> tuple[Box, ...] | None:
    """Where the initializer of this global writes elements of it; None if everywhere. Raises NotStatic.

    `initializers` are those that the program's initializers load from, by the names of the globals that they store.
    """
    store = next(op for op in body(initializers[name]) if op.name == STORE and accessed(op) == name)
    parts: list[ir.Operation] = []
    base = defining_op(store.operands[0])
    while base is not None and base.name == "tensor.insert_slice":
        parts.append(base)
        base = defining_op(base.operands[1])
    below: tuple[Box, ...] | None = None
    if base is not None and base.name == "tensor.empty":
        below = ()
    elif base is not None and base.name == LOAD and accessed(base) in initializers:
        below = written(initializers, accessed(base))
    return None if below is None else (*below, *map(_box, parts))


def _box(insertion: ir.Operation) -> Box:
    offsets, sizes, strides = (integers(insertion, f"static_{part}") for part in ("offsets", "sizes", "strides"))
    if not is_static([*offsets, *sizes, *strides]):
        raise NotStatic
    return Box(tuple(offsets), tuple(sizes), tuple(strides))
