"""What holds of deciding for any program: order of rules, truth of reasons, budgets kept and used best."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from constpolicy.policy.budget_problem import CALLS_PER_LOAD
from constpolicy.policy.decide import Outcome, decide
from constpolicy.policy.growth import STORED
from constpolicy.policy.schema import Policy
from constpolicy.policy.units import format_size, parse_size
from constpolicy.records import Action, Candidate, ConstPolicyError, HoistedGlobal, Kind, Program, ShareOffer
from tests.unit.policy_programs import KIB, candidate, f32, policy, program, source

KINDS = [Kind.TRANSPOSE, Kind.IOTA, Kind.DEQUANTIZE]
ACTIONS = [action.value for action in Action if action is not Action.SHARE]


@st.composite
def programs(draw: st.DrawFn, most: int = 6) -> Program:
    """Programs whose candidates share some of a few sources."""
    sources = [
        source(f"s{index}", draw(st.integers(1, 64)) * KIB, read_by_main=draw(st.booleans()))
        for index in range(draw(st.integers(1, 4)))
    ]
    candidates: list[Candidate] = []
    for index in range(draw(st.integers(1, most))):
        reads = draw(st.lists(st.sampled_from(sources), max_size=2, unique_by=lambda s: s.key))
        size = draw(st.integers(1, 64)) * KIB
        candidates.append(candidate(f"c{index}", size, *reads, kind=draw(st.sampled_from(KINDS))))
        if draw(st.integers(0, 4)) == 0:  # the same expression once more
            candidates.append(
                replace(candidates[-1], id=f"c{index}-2", globals=(HoistedGlobal(f"@t{index}", f32(1), size),))
            )
    return program(*(_shareable(draw, each) for each in candidates))


def _shareable(draw: st.DrawFn, candidate: Candidate) -> Candidate:
    """The candidate, perhaps with an offer to share its first source."""
    if not candidate.sources or draw(st.booleans()):
        return candidate
    home = candidate.sources[0]
    refusals = dict(candidate.refusals)
    del refusals[Action.SHARE]
    return replace(candidate, share=ShareOffer(home.key, home.bytes, 4, 8, whole_table=False), refusals=refusals)


whens = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from([kind.value for kind in KINDS]),
        "result_bytes": st.integers(0, 64).map(lambda n: f">= {n}KiB"),
        "shared": st.booleans(),
    },
)
rules = st.lists(st.fixed_dictionaries({"when": whens, "action": st.sampled_from(ACTIONS)}), max_size=4)
limits = st.fixed_dictionaries(
    {}, optional={"max_growth_bytes": st.integers(0, 65536), "max_expansion_ratio": st.floats(0, 9)}
)


@given(program=programs(), rules=rules, added=whens, action=st.sampled_from(ACTIONS))
def test_adding_a_rule_never_changes_what_an_earlier_rule_decided(
    program: Program, rules: list[object], added: dict[str, object], action: str
) -> None:
    before = decide(program, policy(rules=rules)).decisions
    after = decide(program, policy(rules=[*rules, {"when": added, "action": action}])).decisions
    for old, new in zip(before, after, strict=True):
        if old.pinned:
            assert (new.action, new.decided_by) == (old.action, old.decided_by)


@given(program=programs(), limit=st.integers(0, 65536))
def test_the_growth_limit_holds_for_all_that_is_evaluated_and_its_reasons_are_true(
    program: Program, limit: int
) -> None:
    outcome = decide(program, policy(limits={"max_growth_bytes": limit}))
    for decision in outcome.decisions:
        if decision.action is Action.EVALUATE:
            assert decision.growth_bytes <= limit
        else:
            match = re.match(r"growth (\S+ \w+) > max_growth_bytes (\S+ \w+)", decision.reason)
            assert match is not None
            assert match[2] == format_size(limit)
            assert parse_size(match[1]) >= 0.95 * limit


@given(program=programs(), limit=st.integers(0, 65536))
def test_with_a_growth_limit_of_nothing_the_constants_do_not_grow(program: Program, limit: int) -> None:
    assert decide(program, policy(limits={"max_growth_bytes": 0})).predicted_growth_bytes <= len(program.candidates)


def _totals(program: Program, actions: dict[str, Action]) -> dict[str, int]:
    """The totals, from their definitions."""
    stored = [c for c in program.candidates if actions[c.id] in STORED]
    results = {c.fingerprint: c.result_bytes for c in stored}
    sources = {source.key: source for c in program.candidates for source in c.sources}
    for each in stored:
        if actions[each.id] is Action.SHARE and each.share is not None:
            sources.pop(each.share.source_key, None)
    read = {source.key for c in program.candidates if c not in stored for source in c.sources}
    alive = [source for key, source in sources.items() if source.shared or key in read]
    growth = sum(results.values()) + sum(source.bytes for source in alive) - program.constant_bytes
    allocated = sum(c.result_bytes for c in program.candidates if actions[c.id] is Action.INITIALIZE)
    return {
        "file_growth": growth,
        "resident_growth": growth + allocated,
        "load_bytes": allocated,
        "evaluate_bytes": sum(c.result_bytes for c in stored),
    }


def _benefit(program: Program, actions: dict[str, Action], other: Action) -> int:
    weight = 1 if other is Action.INITIALIZE else CALLS_PER_LOAD
    return sum(weight * c.work_bytes for c in program.candidates if actions[c.id] in STORED)


def _possible(program: Program, other: Action) -> Iterator[dict[str, Action]]:
    """All decisions that there are: a source is shared once."""
    ways = [(Action.EVALUATE, other, *((Action.SHARE,) if c.share else ())) for c in program.candidates]
    for chosen in itertools.product(*ways):
        shared = [
            c.share.source_key for c, a in zip(program.candidates, chosen, strict=True) if a is Action.SHARE and c.share
        ]
        if len(shared) == len(set(shared)):
            yield dict(zip((c.id for c in program.candidates), chosen, strict=True))


_growths = st.integers(-16, 200).map(lambda n: n * KIB)
_totals_of_work = st.integers(0, 200).map(lambda n: n * KIB)
budgets = st.fixed_dictionaries(
    {},
    optional={
        "file_growth": _growths,
        "resident_growth": _growths,
        "load_bytes": _totals_of_work,
        "evaluate_bytes": _totals_of_work,
    },
).filter(bool)


@settings(max_examples=150, deadline=None)
@given(program=programs(), budgets=budgets, other=st.sampled_from([Action.INITIALIZE, Action.INLINE]))
def test_the_budgets_are_kept_to_the_greatest_benefit_of_all_choices(
    program: Program, budgets: dict[str, int], other: Action
) -> None:
    kept = [a for a in _possible(program, other) if all(_totals(program, a)[n] <= most for n, most in budgets.items())]
    outcome = _decided(program, policy(budgets=budgets, otherwise=["share", other.value]))
    if outcome is None:
        assert not kept
        return
    actions = {decision.candidate_id: decision.action for decision in outcome.decisions}
    assert actions in kept
    assert {use.name: use.used for use in outcome.budgets} == {n: _totals(program, actions)[n] for n in budgets}
    assert _benefit(program, actions, other) == max(_benefit(program, a, other) for a in kept)


def _decided(program: Program, wanted: Policy) -> Outcome | None:
    """The outcome; None if the budgets cannot be kept."""
    try:
        return decide(program, wanted)
    except ConstPolicyError:
        return None


@settings(max_examples=60, deadline=None)
@given(program=programs(), loose=st.integers(0, 200), less=st.integers(0, 100))
def test_tightening_a_budget_never_increases_what_it_bounds(program: Program, loose: int, less: int) -> None:
    wide, narrow = (_decided(program, policy(budgets={"file_growth": most * KIB})) for most in (loose, loose - less))
    if narrow is not None:
        assert wide is not None
        assert narrow.predicted_growth_bytes <= (loose - less) * KIB
        assert narrow.predicted_growth_bytes <= wide.predicted_growth_bytes <= loose * KIB


alternatives = st.lists(st.sampled_from([action.value for action in Action]), min_size=1, max_size=3)


@given(program=programs(), rules=rules, limits=limits, ways=st.tuples(alternatives, alternatives, alternatives))
def test_whatever_the_alternatives_are_everything_is_decided_by_something_legal(
    program: Program, rules: list[object], limits: dict[str, object], ways: tuple[list[str], list[str], list[str]]
) -> None:
    otherwise, of_limits, of_budgets = ways
    wanted = policy(
        rules=rules,
        limits={**limits, "otherwise": of_limits},
        budgets={"file_growth": "100%", "otherwise": of_budgets},
        otherwise=otherwise,
    )
    outcome = _decided(program, wanted)
    decided = zip(program.candidates, outcome.decisions, strict=True) if outcome is not None else ()
    assert all(one.allows(decision.action) or decision.action is Action.INLINE for one, decision in decided)
