"""What IREE stores in the finished file: how it packs the constants, and which content came from where."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from iree.compiler import ir

from constpolicy.candidates.contents import Contents
from constpolicy.candidates.index import index
from constpolicy.candidates.locations import place_of
from constpolicy.candidates.value_types import element_bits
from constpolicy.compiler.text import short_text
from constpolicy.records import Candidate, ConstantOrigin, StoredPiece

_PACKED = re.compile(r"#util\.composite<(?:\d+x)+i8, \[(.*?)^\s*\]>", re.DOTALL | re.MULTILINE)
_PIECE = re.compile(r"^\s*(.*) : (?:tensor|vector)<((?:\d+x)*)([^>,]+(?:<[^>]*>)?)(?:, .*)?>,?$")
_RESOURCE = re.compile(r"dense_resource<\"?((?!__elided__)[^>\"]+)\"?>")


def origins(module: ir.Operation) -> dict[str, ConstantOrigin]:
    """The constants that the module holds, by key of their content. Globals are named, others have their key's name."""
    indexed = index(module)
    contents = Contents(indexed.globals)
    found: dict[str, ConstantOrigin] = {}
    for name, op in indexed.globals.items():
        if (content := contents.initial_value(op)) is not None:
            found.setdefault(content.key, ConstantOrigin(f"@{name}", place_of(op.location)))
    for section in indexed.sections:
        for op in section.constants:
            if (content := contents.of(op)) is not None:
                found.setdefault(content.key, ConstantOrigin(content.name, place_of(op.location)))
    return found


def results(module: ir.Operation, candidates: Sequence[Candidate]) -> dict[str, ConstantOrigin]:
    """As `origins`, with the candidate's id where a global holds its result."""
    ids = {hoisted.symbol: candidate.id for candidate in candidates for hoisted in candidate.globals}
    return {key: replace(origin, candidate_id=ids.get(origin.name)) for key, origin in origins(module).items()}


def segments(module: ir.Operation) -> tuple[tuple[StoredPiece, ...], ...]:
    """What IREE packs into each segment of constants, in order, in a module after the phase `stream`."""
    found: list[tuple[StoredPiece, ...]] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "util.buffer.constant":
            match = _PACKED.search(short_text(op.operation))
            found.extend([tuple(_pieces(match[1]))] if match else [])
        return ir.WalkResult.ADVANCE

    module.walk(visit, ir.WalkOrder.PRE_ORDER)
    return tuple(found)


def _pieces(text: str) -> Iterator[StoredPiece]:
    for line in text.splitlines():
        if match := _PIECE.match(line):
            value, shape, element = match.groups()
            count = prod(int(extent) for extent in shape.split("x")[:-1])
            bits = element_bits(element)
            size = (count * bits + 7) // 8 if bits in (2, 4) else count * ((bits + 7) // 8)
            is_padding = " : vector<" in line and value == "dense<0>"
            resource = _RESOURCE.match(value)
            yield StoredPiece(size, f"tensor<{shape}{element}>", resource[1] if resource else None, is_padding)
