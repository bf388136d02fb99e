"""What DispatchCreation hoists is decided with what is left of the budgets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from constpolicy.policy.decide import Outcome, decide
from constpolicy.policy.late import decide_late, looks_at_dispatch_creation
from constpolicy.policy.schema import Policy
from constpolicy.records import Action, Candidate, ConstPolicyError, Phase, Program
from tests.unit.policy_programs import KIB, candidate, policy, program, source

FIRST = program(candidate("early", 64 * KIB, source("s", 64 * KIB), refusals={Action.EVALUATE: "no"}))


def late(name: str, size: int, work: int, **refusals: str) -> Candidate:
    refused = {Action(action): reason for action, reason in refusals.items()}
    made = candidate(name, size, source(name, size), refusals={Action.EVALUATE: "const-eval is over", **refused})
    return replace(made, phase=Phase.DISPATCH_CREATION, work_bytes=work)


def decided(wanted: Policy, *candidates: Candidate) -> Outcome:
    return decide_late(Program(candidates, 0), wanted, decide(FIRST, wanted))


def test_what_saves_most_work_is_computed_at_load_and_the_rest_where_it_is_read() -> None:
    wanted = policy(budgets={"load_bytes": "164KiB"})
    outcome = decided(wanted, late("a", 60 * KIB, 5000), late("b", 60 * KIB, 9000), late("c", 40 * KIB, 100))
    assert [decision.action for decision in outcome.decisions] == [Action.INLINE, Action.INITIALIZE, Action.INITIALIZE]
    assert str(outcome.budgets[0]) == "load_bytes: 164 KiB of 164 KiB"
    assert outcome.decisions[0].decided_by == "budgets.load_bytes"
    assert "would take 60 KiB of budgets.load_bytes" in outcome.decisions[0].reason


def test_without_budgets_it_stays_where_iree_compile_computes_it() -> None:
    outcome = decided(policy(), late("a", 60 * KIB, 5000))
    assert [decision.action for decision in outcome.decisions] == [Action.INITIALIZE]
    assert outcome.budgets == ()


def test_a_budget_that_rules_make_impossible_says_by_how_much() -> None:
    rules = [{"when": {"phase": "dispatch-creation"}, "action": "initialize"}]
    with pytest.raises(ConstPolicyError, match=r"budgets.load_bytes 100 KiB cannot be kept: .* takes 24 KiB more"):
        decided(policy(budgets={"load_bytes": "100KiB"}, rules=rules), late("a", 60 * KIB, 1))


def test_resident_growth_counts_it_too() -> None:
    outcome = decided(policy(budgets={"resident_growth": "130KiB"}), late("a", 60 * KIB, 1), late("b", 80 * KIB, 1))
    assert [decision.action for decision in outcome.decisions] == [Action.INITIALIZE, Action.INLINE]
    assert outcome.budgets[0].used == 124 * KIB


def test_a_pin_of_it_that_is_dead_is_a_warning() -> None:
    wanted = policy(rules=[{"name": "dead", "when": {"id": "beef", "phase": "dispatch-creation"}, "action": "inline"}])
    assert decide(FIRST, wanted).warnings == ()
    (warning,) = decided(wanted, late("a", KIB, 1)).warnings
    assert warning.startswith("rule 'dead' names the id beef, which no candidate has")
    with pytest.raises(ConstPolicyError, match="which no candidate has"):
        decide_late(Program((late("a", KIB, 1),), 0), wanted, decide(FIRST, wanted), strict=True)


@pytest.mark.parametrize("when", [{}, {"kind": "transpose"}, {"id": "a"}, {"phase": "global-optimization"}])
def test_a_rule_that_does_not_speak_of_the_phase_decides_nothing_here(when: dict[str, object]) -> None:
    rules = [{"when": when, "action": "inline"}]
    outcome = decided(policy(budgets={"load_bytes": "1MiB"}, rules=rules), late("a", KIB, 1))
    assert [decision.action for decision in outcome.decisions] == [Action.INITIALIZE]


def test_what_a_rule_asks_for_in_vain_is_still_moved_to_keep_a_budget() -> None:
    rules = [{"when": {"phase": "dispatch-creation"}, "action": "evaluate"}]
    outcome = decided(policy(budgets={"load_bytes": "100KiB"}, rules=rules), late("a", 60 * KIB, 1))
    assert [decision.action for decision in outcome.decisions] == [Action.INLINE]


def test_rules_about_it_that_are_useless_are_warnings() -> None:
    rules = [
        {"name": "all", "when": {"phase": "dispatch-creation"}, "action": "inline"},
        {"name": "again", "when": {"phase": "dispatch-creation", "result_bytes": ">= 1"}, "action": "initialize"},
        {"name": "none", "when": {"phase": "dispatch-creation", "result_bytes": "> 1GiB"}, "action": "initialize"},
    ]
    outcome = decided(policy(rules=rules), late("a", KIB, 1))
    assert [warning.split(":")[0] for warning in outcome.warnings] == [
        "rule 'again' decides nothing",
        "rule 'none' matches no candidate",
    ]


@pytest.mark.parametrize(
    ("content", "looks"),
    [
        ({}, False),
        ({"budgets": {"file_growth": 0}}, False),
        ({"budgets": {"load_bytes": 0}}, True),
        ({"budgets": {"resident_growth": 0}}, True),
        ({"rules": [{"when": {"phase": "dispatch-creation"}, "action": "inline"}]}, True),
        ({"rules": [{"when": {"phase": "global-optimization"}, "action": "inline"}]}, False),
        ({"rules": [{"when": {"not": {"phase": "global-optimization"}}, "action": "inline"}]}, True),
        ({"rules": [{"when": {"not": {"phase": "dispatch-creation"}}, "action": "inline"}]}, False),
        ({"rules": [{"when": {"not": {"not": {"phase": "dispatch-creation"}}}, "action": "inline"}]}, True),
    ],
)
def test_it_is_looked_at_where_a_policy_can_have_something_to_say(content: dict[str, object], looks: bool) -> None:
    assert looks_at_dispatch_creation(policy(**content)) is looks
