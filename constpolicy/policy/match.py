"""Whether a candidate is what a rule's `when` describes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase

from constpolicy.policy.schema import When
from constpolicy.records import Action, Candidate

_Predicate = Callable[[object, Candidate, int], bool]


def matches(when: When, candidate: Candidate, growth: int) -> bool:
    """Whether all that `when` says holds; `growth` is that of the candidate, in bytes."""
    for name in When.model_fields:
        wanted = getattr(when, name)
        if wanted is not None and not _PREDICATES[name](wanted, candidate, growth):
            return False
    return True


def expansion_ratio(candidate: Candidate) -> float:
    """Result bytes per source byte; infinite for what is computed from nothing."""
    return candidate.result_bytes / candidate.source_bytes if candidate.source_bytes else float("inf")


def widens(candidate: Candidate) -> bool:
    """Whether the result's elements are wider than those of its widest source that is not a splat."""
    bits = [source.type.element_bits for source in candidate.sources if not source.splat]
    return bool(bits) and candidate.type.element_bits > max(bits)


def _glob(patterns: Iterable[str], texts: Iterable[str | None]) -> bool:
    return any(fnmatchcase(text, pattern) for text in texts if text is not None for pattern in patterns)


def _spellings(function: str) -> list[str]:
    """The ways to write a function's name: with @ or without, and without what IREE adds to those of torch and ONNX."""
    name = function.removeprefix("@")
    return [function, name, name.removesuffix("$async")]


_PREDICATES: dict[str, Callable[..., bool]] = {
    "kind": lambda wanted, c, growth: c.kind in wanted,
    "contains": lambda wanted, c, growth: any(kind in c.kinds for kind in wanted),
    "result_bytes": lambda wanted, c, growth: wanted.holds(c.result_bytes),
    "source_bytes": lambda wanted, c, growth: wanted.holds(c.source_bytes),
    "growth": lambda wanted, c, growth: wanted.holds(growth),
    "ratio": lambda wanted, c, growth: wanted.holds(expansion_ratio(c)),
    "element_type": lambda wanted, c, growth: _glob(wanted, [c.type.element_type]),
    "source_element_type": lambda wanted, c, growth: _glob(wanted, (s.type.element_type for s in c.sources)),
    "widening": lambda wanted, c, growth: widens(c) == wanted,
    "rank": lambda wanted, c, growth: wanted.holds(c.type.rank),
    "type": lambda wanted, c, growth: _glob(wanted, [c.type.text]),
    "source": lambda wanted, c, growth: _glob(wanted, (s.name for s in c.sources)),
    "location": lambda wanted, c, growth: _glob(wanted, [c.location, *(s.location for s in c.sources)]),
    "function": lambda wanted, c, growth: any(_glob(wanted, _spellings(name)) for name in c.functions),
    "shared": lambda wanted, c, growth: any(s.shared for s in c.sources) == wanted,
    "splat": lambda wanted, c, growth: any(s.splat for s in c.sources) == wanted,
    "evaluable": lambda wanted, c, growth: c.allows(Action.EVALUATE) == wanted,
    "affinity": lambda wanted, c, growth: _glob(wanted, [c.affinity]),
    "phase": lambda wanted, c, growth: c.phase is wanted,
    "id": lambda wanted, c, growth: _glob(wanted, [c.id, c.fingerprint]),
    "any": lambda wanted, c, growth: any(matches(when, c, growth) for when in wanted),
    "all": lambda wanted, c, growth: all(matches(when, c, growth) for when in wanted),
    "not_": lambda wanted, c, growth: not matches(wanted, c, growth),
}
