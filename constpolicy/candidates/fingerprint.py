"""The name of an expression that survives recompiling: a hash of what it computes and from what."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from iree.compiler import ir

from constpolicy.candidates.contents import Contents

_LENGTH = 12  # hexadecimal digits
_NAMES_A_GLOBAL = "global"


class Fingerprints:
    """Hashes expressions of one module.

    Names of ops, attributes and types count, and how values flow between them; locations and the numbering of
    symbols do not. A source counts by its content key; a global by the fingerprint of what computes it.
    """

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._spelled: dict[ir.Attribute, str] = {}
        self._computed: dict[str, str] = {}  # ids by the name of the candidates' globals
        self._met: dict[str, int] = {}

    def id(self, ops: Sequence[ir.Operation], stored: Sequence[str], affinity: str | None) -> str:
        """The id of a candidate. Candidates go in module order; equal ones get "-2", "-3" after their ids.

        `ops`: all ops of the initializer, nested ones included, in program order; `stored`: the names of its globals.
        """
        values: dict[ir.Value, int] = {}
        text = "\n".join([affinity or "", *(self._describe(op, values) for op in ops)])
        id = hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]
        self._met[id] = self._met.get(id, 0) + 1
        if self._met[id] > 1:
            id = f"{id}-{self._met[id]}"
        self._computed.update({name: f"{id}#{position}" for position, name in enumerate(stored)})
        return id

    def _describe(self, op: ir.Operation, values: dict[ir.Value, int]) -> str:
        operands = [str(values.get(operand, "?")) for operand in op.operands]
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    values[argument] = len(values)
        for result in op.results:
            values[result] = len(values)
        types = [str(result.type) for result in op.results]
        return " ".join([op.name, *operands, *self._attributes(op), "->", *types])

    def _attributes(self, op: ir.Operation) -> list[str]:
        if (content := self._contents.of(op)) is not None:
            return [self._computed.get(content.key.removeprefix("@"), content.key)]
        named = [op.attributes[position] for position in range(len(op.attributes))]
        return sorted(f"{each.name}={self._spell(each.attr)}" for each in named if each.name != _NAMES_A_GLOBAL)

    def _spell(self, attribute: ir.Attribute) -> str:
        spelled = self._spelled.get(attribute)
        if spelled is None:
            spelled = self._spelled[attribute] = str(attribute)
        return spelled
