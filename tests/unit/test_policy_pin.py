"""A policy that pins decisions gives them again, for equal expressions too, and without a warning."""

from __future__ import annotations

from itertools import product

import pytest
import yaml

from constpolicy.policy.decide import decide
from constpolicy.policy.pin import pinned_policy
from constpolicy.records import Action
from tests.unit.policy_programs import KIB, candidate, policy, program, source

ACTIONS = [Action.EVALUATE, Action.INITIALIZE, Action.INLINE]


@pytest.mark.parametrize("actions", list(product(ACTIONS, repeat=3)), ids=lambda actions: "-".join(actions))
def test_equal_expressions_that_are_decided_differently_stay_so(actions: tuple[Action, ...]) -> None:
    ids = ("beef", "beef-2", "beef-3")
    asked = program(*(candidate(id, 64 * KIB, source("s", KIB)) for id in ids))
    rules = [{"when": {"id": id}, "action": action.value} for id, action in zip(ids, actions, strict=True)]
    decided = decide(asked, policy(rules=[*rules[1:], rules[0]]))
    assert tuple(decision.action for decision in decided.decisions) == actions
    pinned = policy(rules=yaml.safe_load(pinned_policy("m", "balanced", asked, decided.decisions))["rules"])
    again = decide(asked, pinned, strict=True)
    assert tuple(decision.action for decision in again.decisions) == actions
    assert len(pinned.rules) == 1 + sum(action is not actions[0] for action in actions[1:])
