"""Small programs for the tests of deciding, written as records."""

from __future__ import annotations

from collections.abc import Mapping

from constpolicy.policy.schema import Policy
from constpolicy.records import (
    Action,
    Candidate,
    HoistedGlobal,
    Kind,
    Origin,
    Program,
    Reader,
    ShareOffer,
    Source,
    ValueType,
)

KIB, MIB = 2**10, 2**20
MAIN = Reader("@main", Kind.GATHER)


def f32(elements: int) -> ValueType:
    return ValueType(f"tensor<{elements}xf32>", "f32", (elements,), 32)


def source(name: str, size: int, *, read_by_main: bool = False, splat: bool = False) -> Source:
    readers = (MAIN,) if read_by_main else ()
    return Source(name, name, f32(size // 4), size, 0 if splat else size, Origin.RESOURCE, splat, readers)


def global_of(candidate: Candidate) -> Source:
    return Source(candidate.symbol, candidate.symbol, candidate.type, candidate.result_bytes, 0, Origin.GLOBAL, False)


def candidate(
    name: str,
    size: int,
    *sources: Source,
    kind: Kind = Kind.TRANSPOSE,
    readers: tuple[Reader, ...] = (Reader("@main", Kind.CONTRACTION),),
    refusals: Mapping[Action, str] | None = None,
    share: ShareOffer | None = None,
) -> Candidate:
    refused = dict(refusals or {})
    if share is None:
        refused.setdefault(Action.SHARE, "there is nothing to share")
    return Candidate(
        id=name,
        globals=(HoistedGlobal(f"@{name}", f32(size // 4), size),),
        kind=kind,
        kinds=frozenset({kind}),
        sources=sources,
        readers=readers,
        refusals=refused,
        share=share,
        work_bytes=size + sum(s.bytes for s in sources),
    )


def program(*candidates: Candidate) -> Program:
    stored = {s.key: s.stored_bytes for c in candidates for s in c.sources}
    return Program(candidates, sum(stored.values()))


def policy(**content: object) -> Policy:
    return Policy.model_validate({"schema": 1, "name": "test", **content})
