"""Finds the candidates of a module and fills in their records.

A candidate is an initializer that stores only to globals which hoisting made: new ones, private, immutable and
without a value. Names play no part in it. The initializers of users are no candidates; they are readers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from iree.compiler import ir

from constpolicy.candidates import const_eval
from constpolicy.candidates.contents import Content, Contents
from constpolicy.candidates.expression import expression
from constpolicy.candidates.fingerprint import Fingerprints
from constpolicy.candidates.index import Index, Section, accessed, index, is_mutable, is_private, symbol_of
from constpolicy.candidates.locations import names_in, place_of
from constpolicy.candidates.readers import readers_of
from constpolicy.candidates.value_types import stored_size, value_type
from constpolicy.records import Action, Candidate, HoistedGlobal, Kind, Origin, Phase, Program, Reader, Source

_AFFINITY = "stream.affinity"
_DEFAULT_AFFINITY = "stream.affinity.default"


@dataclass(frozen=True)
class Found:
    """The program as the policy sees it, and the util.initializer of each candidate by the candidate's id."""

    program: Program
    initializers: Mapping[str, ir.Operation]


def global_names(module: ir.Operation) -> frozenset[str]:
    """The symbol names, without "@", of the module's globals."""
    ops = (view.operation for view in module.regions[0].blocks[0].operations)
    return frozenset(symbol_of(op) for op in ops if op.name == "util.global")


def find(module: ir.Operation, existing_globals: frozenset[str], phase: Phase = Phase.GLOBAL_OPTIMIZATION) -> Found:
    """The candidates of a module that has run up to `phase` with const-eval off.

    `existing_globals` are the names, without "@", of the globals that were there before hoisting. The module is
    left as it is; the ops that are returned stay valid until it is edited.
    """
    indexed = index(module)
    hoisted = [section for section in indexed.sections if _is_hoisted(section, indexed, existing_globals)]
    search = _Search(module, indexed, hoisted, phase)
    candidates = [search.candidate(section) for section in hoisted]
    return Found(
        Program(tuple(candidates), search.constant_bytes()),
        {candidate.id: section.op for candidate, section in zip(candidates, hoisted, strict=True)},
    )


def _is_hoisted(section: Section, indexed: Index, existing_globals: frozenset[str]) -> bool:
    if not section.is_initializer or not section.stores or len(section.op.regions[0].blocks) != 1:
        return False
    return all(
        name not in existing_globals and name in indexed.globals and _awaits_value(indexed.globals[name])
        for name in section.stored
    )


def _awaits_value(op: ir.Operation) -> bool:
    return is_private(op) and not is_mutable(op) and "initial_value" not in op.attributes


class _Search:
    """One search: what all candidates of a module have in common."""

    def __init__(self, module: ir.Operation, indexed: Index, hoisted: Sequence[Section], phase: Phase) -> None:
        self._index = indexed
        self._phase = phase
        self._contents = Contents(indexed.globals)
        self._fingerprints = Fingerprints(self._contents)
        inside = {section.op for section in hoisted}
        self._refusals = const_eval.refusals(indexed, inside)
        self._default_affinity = _attribute(module, _DEFAULT_AFFINITY)
        self._loads = _by_global(indexed.sections)
        self._outside = self._constants([section for section in indexed.sections if section.op not in inside])
        self._readers: dict[str, tuple[Reader, ...]] = {}

    def candidate(self, section: Section) -> Candidate:
        body = [view.operation for view in section.op.regions[0].blocks[0].operations]
        whole = expression(body, section.stores[0].operands[0])
        affinity = self._affinity(section.op)
        origin = whole.root or section.op
        return Candidate(
            id=self._fingerprints.id(section, affinity),
            globals=tuple(self._hoisted_global(name) for name in section.stored),
            kind=whole.kind,
            kinds=whole.kinds,
            sources=tuple(self._sources(section)),
            readers=tuple(self._readers_of_globals(section)),
            phase=self._phase,
            affinity=affinity,
            location=place_of(origin.location) or place_of(section.op.location),
            names=names_in(origin.location),
            refusals=self._evaluation_refusal(section.op),
            work_bytes=whole.work_bytes,
        )

    def constant_bytes(self) -> int:
        """Bytes of the distinct constants in functions, initializers and initial values."""
        distinct: dict[str, int] = {}
        for section in self._index.sections:
            for op in section.constants:
                if (content := self._contents.of(op)) is not None:
                    distinct[content.key] = content.stored_bytes
        for op in self._index.globals.values():
            if (content := self._contents.initial_value(op)) is not None:
                distinct[content.key] = content.stored_bytes
        return sum(distinct.values())

    def _hoisted_global(self, name: str) -> HoistedGlobal:
        type = value_type(ir.TypeAttr(self._index.globals[name].attributes["type"]).value)
        return HoistedGlobal(f"@{name}", type, stored_size(type))

    def _evaluation_refusal(self, initializer: ir.Operation) -> Mapping[Action, str]:
        if self._phase is Phase.DISPATCH_CREATION:
            return {Action.EVALUATE: "hoisted in DispatchCreation, after const-eval has run"}
        reason = self._refusals.get(initializer)
        return {} if reason is None else {Action.EVALUATE: f"const-eval leaves it for load time: it {reason}"}

    def _affinity(self, initializer: ir.Operation) -> str | None:
        """The device of a candidate, unless it is the module's default."""
        default = _attribute(initializer, _DEFAULT_AFFINITY)
        return _attribute(initializer, _AFFINITY) or (default if default != self._default_affinity else None)

    # Sources and readers

    def _sources(self, section: Section) -> Iterator[Source]:
        met: set[tuple[str, str]] = set()
        for op in section.ops:
            content = self._contents.of(op)
            if content is None or (content.key, content.type.text) in met:
                continue
            met.add((content.key, content.type.text))
            yield Source(
                key=content.key,
                name=content.name,
                type=content.type,
                bytes=content.bytes,
                stored_bytes=content.stored_bytes,
                origin=content.origin,
                splat=content.splat,
                readers=self._readers_outside(content),
                location=place_of(op.location),
            )

    def _readers_outside(self, content: Content) -> tuple[Reader, ...]:
        key = content.key
        if key not in self._readers:
            readers = [r for op, section in self._outside.get(key, ()) for r in readers_of(op.results[0], section)]
            if content.origin is Origin.GLOBAL and not is_private(self._index.globals[key[1:]]):
                readers.append(Reader(key, Kind.OTHER))  # other modules may read it
            self._readers[key] = tuple(readers)
        return self._readers[key]

    def _readers_of_globals(self, section: Section) -> Iterator[Reader]:
        for name in section.stored:
            for load, reader in self._loads.get(name, ()):
                yield from readers_of(load.results[0], reader)

    def _constants(self, sections: Sequence[Section]) -> dict[str, list[tuple[ir.Operation, Section]]]:
        """The constants and loads in some sections, by the key of their content."""
        found: dict[str, list[tuple[ir.Operation, Section]]] = {}
        for section in sections:
            for op in (*section.constants, *section.loads):
                if (content := self._contents.of(op)) is not None:
                    found.setdefault(content.key, []).append((op, section))
        return found


def _by_global(sections: Sequence[Section]) -> dict[str, list[tuple[ir.Operation, Section]]]:
    loads: dict[str, list[tuple[ir.Operation, Section]]] = {}
    for section in sections:
        for load in section.loads:
            loads.setdefault(accessed(load), []).append((load, section))
    return loads


def _attribute(op: ir.Operation, name: str) -> str | None:
    return str(op.attributes[name]) if name in op.attributes else None
