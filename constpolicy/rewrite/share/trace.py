"""From a candidate's result back to the constants whose elements it holds, and where."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from iree.compiler import ir

from constpolicy.candidates.contents import CONSTANTS, LOADS, Content
from constpolicy.candidates.index import accessed
from constpolicy.rewrite.share.attributes import argument_position, defining_op, element_count, shape_of, yielded
from constpolicy.rewrite.share.change import UNCHANGED, Change, change_in
from constpolicy.rewrite.share.index_map import IndexMap
from constpolicy.rewrite.share.module_index import ModuleIndex, stored_content
from constpolicy.rewrite.share.refusal import Refusal
from constpolicy.rewrite.share.relayout import moved

_NO_SOURCE = ("tensor.empty", "linalg.fill", "tensor.splat")


@dataclass(frozen=True)
class Origin:
    """A constant of which every element is in the result: result[lies(i)] == change(constant[i])."""

    content: Content
    lies: IndexMap
    change: Change = UNCHANGED

    @property
    def elements(self) -> int:
        return prod(self.lies.inputs.dims)


def origins(value: ir.Value, index: ModuleIndex) -> list[Origin]:
    """The constants that a value holds whole; raises Refusal with the reason if there is none.

    Loads of what an initializer computes are followed into the initializer.
    """
    op = defining_op(value)
    if op is None:
        raise Refusal("it depends on a value that is not a constant")
    if op.name in LOADS and (computed := index.computed(accessed(op))) is not None:
        return origins(computed, index)
    if op.name in CONSTANTS or op.name in LOADS:
        return [Origin(stored_content(index.contents.of(op)), IndexMap.identity(shape_of(value)))]
    if op.name == "linalg.generic":
        operand, change = _passed_on(op)
        return [
            Origin(origin.content, moved(op, operand, origin.lies), origin.change.then(change))
            for origin in origins(op.operands[operand], index)
        ]
    return _through(op, index)


def _through(op: ir.Operation, index: ModuleIndex) -> list[Origin]:
    """The origins of the operands that survive the op; with several operands, not all have to."""
    found: list[Origin] = []
    refusals: list[tuple[int, Refusal]] = []
    for operand in _element_operands(op):
        value = op.operands[operand]
        source = defining_op(value)
        if source is not None and source.name in _NO_SOURCE:
            continue
        try:
            for origin in origins(value, index):
                found.append(Origin(origin.content, moved(op, operand, origin.lies), origin.change))
        except Refusal as refusal:
            refusals.append((element_count(value), refusal))
    if not found:
        raise max(refusals, key=lambda sized: sized[0])[1] if refusals else Refusal("it holds no constant")
    return found


def _element_operands(op: ir.Operation) -> range:
    """The positions of the operands whose elements the result consists of."""
    if op.name == "tensor.concat":
        return range(len(op.operands))
    return range(2 if op.name == "tensor.insert_slice" else 1 if len(op.operands) else 0)


def _passed_on(op: ir.Operation) -> tuple[int, Change]:
    """Which operand's elements a linalg.generic passes on, and what it does to each of them on the way."""
    if len(op.results) != 1:
        raise Refusal("linalg.generic has several results")
    body = op.regions[0].blocks[0]
    argument, change = change_in(op, yielded(op, 0))
    operand = argument_position(argument, body)
    if operand is None or operand >= len(op.operands) - 1:
        raise Refusal("linalg.generic does more than move elements")
    return operand, change
