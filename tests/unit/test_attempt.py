"""What is ordered under `upstream` without loading the policy is what the policy would decide."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations

import pytest

from constpolicy.attempt import decided, everything_evaluated
from constpolicy.policy.load import load_policy
from constpolicy.records import Action, Byproducts
from tests.unit.policy_programs import KIB, candidate, program, source

REFUSABLE = (Action.EVALUATE, Action.INITIALIZE, Action.FUSE, Action.SHARE)
REFUSED = list(chain.from_iterable(combinations(REFUSABLE, size) for size in range(len(REFUSABLE) + 1)))


@pytest.mark.parametrize("refused", REFUSED, ids=lambda refused: "+".join(refused) or "none")
def test_everything_is_evaluated_whatever_is_refused(refused: tuple[Action, ...]) -> None:
    table = source("table", 4 * KIB, read_by_main=True)
    first, second = candidate("a", 64 * KIB, table), candidate("b", 2 * KIB, table)
    given = program(replace(first, refusals=dict.fromkeys(refused, "no")), second)
    _, _, actions = decided(given, load_policy("upstream", environ={}).policy)
    assert everything_evaluated(given, Byproducts()).actions == actions
