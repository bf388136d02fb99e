"""The name of an expression that survives recompiling: a hash of what it computes and from what."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial

from iree.compiler import ir

from constpolicy.candidates.contents import Contents
from constpolicy.candidates.index import STORES, Section
from constpolicy.candidates.kinds import TRANSPARENT
from constpolicy.compiler.versions import newest_name

_LENGTH = 12  # hexadecimal digits
_NAMES_A_GLOBAL = "global"

Names = dict[ir.Value, str]


class Fingerprints:
    """Hashes expressions of one module.

    Names of ops, attributes and types count, and which values go where; locations, barriers, the order of independent
    ops, the numbering of symbols and the older names of ops do not. A source counts by its content key, a
    global by the fingerprint of what computes it.
    """

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._spelled: dict[ir.Attribute, str] = {}
        self._computed: dict[str, str] = {}  # fingerprints by the key of the candidates' globals
        self._met: dict[str, int] = {}

    def id(self, section: Section, affinity: str | None) -> str:
        """The id of a candidate. Candidates go in module order; equal ones get "-2", "-3" after their ids."""
        fingerprint = _digest(affinity or "", *self._stored(section))[:_LENGTH]
        self._computed.update({f"@{name}": f"{fingerprint}#{position}" for position, name in enumerate(section.stored)})
        self._met[fingerprint] = met = self._met.get(fingerprint, 0) + 1
        return fingerprint if met == 1 else f"{fingerprint}-{met}"

    def _stored(self, section: Section) -> list[str]:
        """Hashes of the values that an initializer stores, each made of those of the values it is computed from."""
        values: Names = {}
        stored: list[str] = []
        for op, nested in _with_nested(section):
            if op.name in STORES:
                stored.append(values[op.operands[0]])
                continue
            if op.name in TRANSPARENT and not len(op.attributes):
                values[op.results[0]] = values[op.operands[0]]
                continue
            inside: Names = {}
            describe = partial(self._describe, outside=values, inside=inside)
            digest = _digest(describe(op), *(describe(each) for each in nested))
            for position, result in enumerate(op.results):
                values[result] = f"{digest}#{position}"
        return stored

    def _describe(self, op: ir.Operation, outside: Names, inside: Names) -> str:
        operands = [inside.get(operand) or outside.get(operand, "?") for operand in op.operands]
        arguments = (a for region in op.regions for block in region.blocks for a in block.arguments)
        for value in (*op.results, *arguments):
            inside[value] = f"%{len(inside)}"
        types = [str(result.type) for result in op.results]
        return " ".join([newest_name(op.name), *operands, *self._attributes(op), "->", *types])

    def _attributes(self, op: ir.Operation) -> list[str]:
        if (content := self._contents.of(op)) is not None:
            return [self._computed.get(content.key, content.key)]
        named = [op.attributes[position] for position in range(len(op.attributes))]
        return sorted(f"{each.name}={self._spell(each.attr)}" for each in named if each.name != _NAMES_A_GLOBAL)

    def _spell(self, attribute: ir.Attribute) -> str:
        spelled = self._spelled.get(attribute)
        if spelled is None:
            spelled = self._spelled[attribute] = str(attribute)
        return spelled


def _with_nested(section: Section) -> Iterator[tuple[ir.Operation, list[ir.Operation]]]:
    """The ops that stand directly in an initializer, each with the ops in its regions."""
    starts = [position for position, op in enumerate(section.ops) if op.parent == section.op]
    for start, end in zip(starts, [*starts[1:], len(section.ops)], strict=True):
        yield section.ops[start], section.ops[start + 1 : end]


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()
