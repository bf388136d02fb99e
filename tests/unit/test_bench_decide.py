"""The program that deciding is timed on is one with something to choose."""

from __future__ import annotations

from constpolicy.policy.decide import decide
from constpolicy.policy.schema import Policy
from constpolicy.records import Action
from scripts.bench_decide_main import program


def test_the_generated_program_is_the_same_each_time_and_its_budgets_bind() -> None:
    generated = program(60, 12)
    assert generated == program(60, 12)
    policy = Policy.model_validate({"schema": 1, "name": "bench", "budgets": {"file_growth": "50%"}})
    actions = {decision.action for decision in decide(generated, policy).decisions}
    assert actions == {Action.EVALUATE, Action.INITIALIZE}
