"""Rules, allow, limits, the default, and what happens to actions that a candidate cannot have."""

from __future__ import annotations

import pytest

from constpolicy.policy.decide import decide
from constpolicy.records import Action, ConstPolicyError, Kind, Reader, ShareOffer
from tests.unit.policy_programs import KIB, MIB, candidate, global_of, policy, program, source

LIMITED = {"limits": {"max_growth_bytes": "1 KiB"}, "otherwise": ["share", "initialize"]}


def actions_of(outcome_decisions: object) -> list[Action]:
    return [decision.action for decision in outcome_decisions]  # type: ignore[attr-defined]


def test_without_any_restriction_everything_is_evaluated() -> None:
    outcome = decide(program(candidate("a", MIB, source("s", MIB, read_by_main=True))), policy())
    assert actions_of(outcome.decisions) == [Action.EVALUATE]
    assert outcome.predicted_growth_bytes == MIB


def test_a_copy_of_a_source_that_stays_alive_is_over_the_growth_limit_and_says_who_reads_the_source() -> None:
    outcome = decide(program(candidate("a", MIB, source("table", MIB, read_by_main=True))), policy(**LIMITED))
    (decision,) = outcome.decisions
    assert decision.action is Action.INITIALIZE
    assert decision.decided_by == "limits.max_growth_bytes"
    assert decision.reason.startswith(
        "growth 1 MiB > max_growth_bytes 1 KiB: source table stays alive, read by @main (gather)"
    )
    assert outcome.predicted_growth_bytes == 0


def test_a_result_that_takes_the_place_of_its_source_is_evaluated() -> None:
    outcome = decide(program(candidate("a", MIB, source("s", MIB))), policy(**LIMITED))
    assert actions_of(outcome.decisions) == [Action.EVALUATE]
    assert outcome.predicted_growth_bytes == 0


def test_a_source_of_two_results_is_credited_once() -> None:
    shared = source("s", MIB)
    outcome = decide(program(candidate("a", MIB, shared), candidate("b", MIB, shared)), policy(**LIMITED))
    assert actions_of(outcome.decisions) == [Action.INITIALIZE, Action.INITIALIZE]
    assert outcome.predicted_growth_bytes == 0


def test_two_small_results_of_one_source_stay_evaluated_together() -> None:
    shared = source("s", MIB)
    halves = [candidate(name, MIB // 2, shared) for name in "ab"]
    outcome = decide(program(*halves), policy(**LIMITED))
    assert actions_of(outcome.decisions) == [Action.EVALUATE, Action.EVALUATE]
    assert [decision.growth_bytes for decision in outcome.decisions] == [0, 0]


def test_a_result_that_only_an_evaluated_candidate_reads_costs_nothing() -> None:
    first = candidate("a", 8 * MIB, source("s", MIB), readers=(Reader("initializer of @b", Kind.CAST, True),))
    second = candidate("b", KIB, global_of(first))
    outcome = decide(program(first, second), policy(**LIMITED))
    assert actions_of(outcome.decisions) == [Action.EVALUATE, Action.EVALUATE]
    assert outcome.predicted_growth_bytes == KIB - MIB


def test_sharing_is_taken_where_it_is_offered_and_frees_the_source() -> None:
    offer = ShareOffer("table", MIB, added_stride_bytes=64, gathered_rows=8, whole_table=False)
    shared = candidate("a", MIB, source("table", MIB, read_by_main=True), share=offer)
    outcome = decide(program(shared), policy(**LIMITED))
    assert actions_of(outcome.decisions) == [Action.SHARE]
    assert outcome.predicted_growth_bytes == 0


def test_the_first_rule_that_matches_decides_and_pins() -> None:
    rules = [
        {"name": "tables", "when": {"kind": "iota"}, "action": "fuse"},
        {"name": "large", "when": {"result_bytes": ">= 64KiB"}, "action": "inline"},
        {"name": "all", "when": {}, "action": "initialize"},
    ]
    candidates = (candidate("a", MIB), candidate("b", KIB), candidate("c", MIB, kind=Kind.IOTA))
    outcome = decide(program(*candidates), policy(rules=rules))
    assert actions_of(outcome.decisions) == [Action.INLINE, Action.INITIALIZE, Action.FUSE]
    assert all(decision.pinned for decision in outcome.decisions)
    assert [decision.decided_by for decision in outcome.decisions] == ["rule 'large'", "rule 'all'", "rule 'tables'"]


def test_a_kind_that_is_not_allowed_takes_the_other_action() -> None:
    outcome = decide(program(candidate("a", KIB)), policy(allow={"transpose": False}, otherwise="fuse"))
    (decision,) = outcome.decisions
    assert (decision.action, decision.decided_by) == (Action.FUSE, "allow.transpose")


@pytest.mark.parametrize(
    ("limits", "limit"),
    [({"max_result_bytes": "512 KiB"}, "max_result_bytes"), ({"max_expansion_ratio": 1.5}, "max_expansion_ratio")],
)
def test_a_limit_on_the_result_alone_is_named_with_its_numbers(limits: dict[str, object], limit: str) -> None:
    outcome = decide(program(candidate("a", MIB, source("s", 512 * KIB))), policy(limits=limits))
    (decision,) = outcome.decisions
    assert (decision.action, decision.decided_by) == (Action.INITIALIZE, f"limits.{limit}")
    assert f"> {limit}" in decision.reason


def test_what_cannot_be_had_moves_on_to_the_next_action_and_says_why() -> None:
    scalar = candidate("a", 4, refusals={Action.INITIALIZE: "it is a scalar"})
    outcome = decide(program(scalar), policy(default="initialize", otherwise=["inline"]))
    (decision,) = outcome.decisions
    assert decision.action is Action.INLINE
    assert decision.wanted is Action.INITIALIZE
    assert decision.warnings == ("initialize is impossible: it is a scalar",)


def test_a_rule_that_matches_nothing_is_a_warning_and_under_strict_an_error() -> None:
    rules = [{"name": "old", "when": {"id": "0123*"}, "action": "inline"}]
    outcome = decide(program(candidate("a", KIB)), policy(rules=rules))
    assert outcome.warnings == (
        "rule 'old' names the id 0123*, which no candidate has: the program or its weights changed",
    )
    with pytest.raises(ConstPolicyError, match="rule 'old' names the id 0123"):
        decide(program(candidate("a", KIB)), policy(rules=rules), strict=True)


def test_a_rule_behind_others_that_take_all_its_candidates_is_a_warning() -> None:
    rules = [
        {"name": "first", "when": {}, "action": "evaluate"},
        {"name": "second", "when": {"kind": "transpose"}, "action": "inline"},
    ]
    outcome = decide(program(candidate("a", KIB)), policy(rules=rules))
    assert outcome.warnings == ("rule 'second' decides nothing: earlier rules match all that it matches",)


def test_a_budget_of_nothing_is_kept_when_nothing_is_left_to_choose() -> None:
    shared = candidate("a", MIB, source("table", MIB, read_by_main=True))
    wanted = policy(limits={"max_growth_bytes": 0}, otherwise=["fuse"], budgets={"load_bytes": 0})
    assert actions_of(decide(program(shared), wanted).decisions) == [Action.FUSE]


def test_a_budget_of_compile_time_bounds_how_many_are_evaluated() -> None:
    tables = [candidate(f"c{index}", KIB * (index + 1)) for index in range(8)]
    outcome = decide(program(*tables), policy(budgets={"evaluate_seconds": 0.35}))
    evaluated = [decision.candidate_id for decision in outcome.decisions if decision.action is Action.EVALUATE]
    assert evaluated == ["c5", "c6", "c7"]
    assert [*map(str, outcome.budgets)] == ["evaluate_seconds: 0.34 s of 0.35 s"]


def test_an_impossible_budget_says_by_how_much() -> None:
    tables = [candidate(name, MIB) for name in "abcd"]
    wanted = policy(otherwise=["initialize"], budgets={"file_growth": "1MiB", "load_bytes": "1MiB"})
    with pytest.raises(ConstPolicyError, match=r"the least is 3 MiB, 2 MiB more while load_bytes 1 MiB is kept"):
        decide(program(*tables), wanted)


@pytest.mark.parametrize(
    ("when", "hits"),
    [
        ({"kind": ["cast", "transpose"]}, True),
        ({"contains": "gather"}, False),
        ({"source_bytes": "< 1MiB"}, False),
        ({"growth": "<= 0"}, True),
        ({"ratio": "== 1"}, True),
        ({"element_type": "f*"}, True),
        ({"source_element_type": "i8"}, False),
        ({"widening": True}, False),
        ({"rank": 1}, True),
        ({"type": "*x262144x*"}, False),
        ({"type": "tensor<262144xf32>"}, True),
        ({"source": "emb*"}, True),
        ({"function": "main"}, True),
        ({"shared": True}, False),
        ({"splat": False}, True),
        ({"evaluable": True}, True),
        ({"phase": "dispatch-creation"}, False),
        ({"any": [{"kind": "pad"}, {"kind": "transpose"}]}, True),
        ({"all": [{"kind": "pad"}, {"kind": "transpose"}]}, False),
        ({"not": {"kind": "transpose"}}, False),
    ],
)
def test_a_rule_matches_what_its_predicate_says(when: dict[str, object], hits: bool) -> None:
    only = candidate("a", MIB, source("embedding", MIB))
    outcome = decide(program(only), policy(rules=[{"name": "r", "when": when, "action": "inline"}]))
    assert (outcome.decisions[0].action is Action.INLINE) == hits


def test_a_growth_limit_whose_alternative_is_to_evaluate_changes_nothing() -> None:
    limits = {"max_growth_bytes": 0, "otherwise": ["evaluate"]}
    outcome = decide(program(candidate("a", MIB, source("s", MIB, read_by_main=True))), policy(limits=limits))
    assert actions_of(outcome.decisions) == [Action.EVALUATE]


def test_a_pin_holds_for_every_candidate_of_the_same_expression_unless_it_names_one() -> None:
    table = source("table", 64 * KIB)
    twins = program(candidate("feed", KIB, table), candidate("feed-2", KIB, table), candidate("other", KIB, table))
    for pin, pinned in (("feed", ["feed", "feed-2"]), ("feed-2", ["feed-2"])):
        outcome = decide(twins, policy(rules=[{"when": {"id": pin}, "action": "inline"}]))
        assert [d.candidate_id for d in outcome.decisions if d.pinned] == pinned


def test_an_id_that_no_candidate_has_is_told_even_beside_one_that_is_there() -> None:
    there = program(candidate("feed", KIB, source("table", 64 * KIB)))
    outcome = decide(there, policy(rules=[{"name": "pins", "when": {"id": ["feed", "beef"]}, "action": "inline"}]))
    assert outcome.dead_pins == outcome.warnings
    assert outcome.warnings == (
        "rule 'pins' names the id beef, which no candidate has: the program or its weights changed",
    )


@pytest.mark.parametrize(
    ("kind", "splats", "growth"),
    [(Kind.ELEMENTWISE, (True, True), 0), (Kind.PAD, (True, True), 64 * KIB), (Kind.ELEMENTWISE, (True, False), 0)],
    ids=["computed from splats", "padded with something else", "computed from a splat and another"],
)
def test_what_is_a_splat_again_is_stored_as_one(kind: Kind, splats: tuple[bool, bool], growth: int) -> None:
    sources = [source(f"s{index}", 64 * KIB, splat=splat) for index, splat in enumerate(splats)]
    there = program(candidate("a", 64 * KIB, *sources, kind=kind))
    assert decide(there, policy()).predicted_growth_bytes == growth


def test_a_rule_with_a_live_id_that_matches_nothing_for_another_reason_is_a_warning() -> None:
    rules = [{"when": {"id": "a", "kind": "pad"}, "action": "fuse"}]
    outcome = decide(program(candidate("a", KIB, source("s", KIB))), policy(rules=rules))
    assert outcome.warnings == ("rule 'number 1' matches no candidate",)


def test_to_stand_over_the_rules_of_another_file_is_no_warning() -> None:
    rules = [{"when": {"id": "a"}, "action": "fuse"}, {"when": {"kind": "transpose"}, "action": "inline"}]
    wanted = policy(rules=rules)
    placed = [rule.at(f"{name}.yaml:1:1") for rule, name in zip(wanted.rules, ("own", "base"), strict=True)]
    asked = program(candidate("a", KIB, source("s", KIB)))
    assert decide(asked, wanted.model_copy(update={"rules": placed})).warnings == ()
    assert len(decide(asked, wanted).warnings) == 1
