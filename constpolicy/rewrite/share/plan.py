"""What can be shared: from the candidates to sources that could die, with readers, cost and reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from iree.compiler import ir

from constpolicy.candidates.contents import Contents
from constpolicy.records import Action, Candidate, Program, ShareOffer
from constpolicy.rewrite.share import cost
from constpolicy.rewrite.share.attributes import shape_of
from constpolicy.rewrite.share.change import check
from constpolicy.rewrite.share.floats import numbers_in
from constpolicy.rewrite.share.legality import check_devices, check_home, check_source
from constpolicy.rewrite.share.module_index import ModuleIndex, index_module
from constpolicy.rewrite.share.readers import Readers, readers_of
from constpolicy.rewrite.share.refusal import Refusal
from constpolicy.rewrite.share.trace import Origin, origins


@dataclass(frozen=True)
class Home:
    """A candidate whose global can hold the one copy of some sources (`origins`)."""

    candidate: Candidate
    name: str  # of the global
    shape: tuple[int, ...]
    origins: tuple[Origin, ...]


@dataclass(frozen=True)
class Plan:
    """The program with offers and refusals, and what carrying the offers out needs."""

    program: Program
    homes: Mapping[str, Home]  # by candidate id
    contents: Contents  # knows the keys of the sources


def plan(module: ir.Operation, program: Program, initializers: Mapping[str, ir.Operation]) -> Plan:
    """Finds out for every candidate whether and how it can be shared. `initializers` are the candidates', by id."""
    index = index_module(module)
    other_candidates = frozenset(initializers.values())
    candidates: list[Candidate] = []
    homes: dict[str, Home] = {}
    for candidate in program.candidates:
        try:
            home = _home(candidate, index)
            shared = _shareable(home, index, other_candidates)
            offered = replace(candidate, share=_offer(home, shared))
            homes[candidate.id] = replace(home, candidate=offered, origins=tuple(origin for origin, _ in shared))
            candidates.append(offered)
        except Refusal as refusal:
            refusals = {**candidate.refusals, Action.SHARE: str(refusal)}
            candidates.append(replace(candidate, refusals=refusals))
    return Plan(replace(program, candidates=tuple(candidates)), homes, index.contents)


def _home(candidate: Candidate, index: ModuleIndex) -> Home:
    if len(candidate.globals) != 1:
        raise Refusal("it has several results")
    name = candidate.symbol.removeprefix("@")
    check_home(name, index)
    value = index.computed(name)
    if value is None:
        raise Refusal("its global has a value of its own")
    return Home(candidate, name, shape_of(value), tuple(origins(value, index)))


def _shareable(
    home: Home, index: ModuleIndex, other_candidates: frozenset[ir.Operation]
) -> list[tuple[Origin, Readers]]:
    """The sources that can die, at least one, with their readers; raises Refusal.

    Reads in other candidates are left out: it is not decided yet whether they will be there.
    """
    shared: list[tuple[Origin, Readers]] = []
    refusals: list[Refusal] = []
    for origin in home.origins:
        try:
            readers = source_readers(home, origin, index, other_candidates.__contains__)
            if not readers.edits:
                raise Refusal("nothing but const-exprs reads its source")
            if origin.change.steps:
                check(origin.change, numbers_in(readers.constants[0].op))
            shared.append((origin, readers))
        except Refusal as refusal:
            refusals.append(refusal)
    if not shared:
        raise refusals[0]
    return shared


def _offer(home: Home, shared: Sequence[tuple[Origin, Readers]]) -> ShareOffer:
    largest, _ = max(shared, key=lambda pair: pair[0].content.bytes)
    rows = [cost.gathered_rows(readers.edits, origin.elements) for origin, readers in shared]
    bits = home.candidate.type.element_bits
    return ShareOffer(
        source_key=largest.content.key,
        saved_bytes=sum(origin.content.stored_bytes for origin, _ in shared),
        added_stride_bytes=max(cost.stride_bytes(origin.lies, home.shape, max(1, bits // 8)) for origin, _ in shared),
        gathered_rows=None if None in rows else sum(row for row in rows if row is not None),
        whole_table=any(cost.reads_whole(edit, o.elements) for o, readers in shared for edit in readers.edits),
    )


def source_readers(home: Home, origin: Origin, index: ModuleIndex, ignored: Callable[[ir.Operation], bool]) -> Readers:
    """What must be edited so that the source dies; raises Refusal. Reads in `ignored` initializers do not count."""
    if origin.content.key not in index.constants:
        return Readers()
    check_source(origin.content, index)
    constants = [placed for placed in index.constants[origin.content.key] if not ignored(placed.holder)]
    readers = readers_of(constants, origin.lies.inputs.dims, origin.lies, home.shape, origin.change)
    check_devices(home.name, readers.edits, index)
    return readers
