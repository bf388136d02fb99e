"""The totals that budgets bound, of given decisions.

All are in bytes, and `evaluate_seconds` in microseconds, estimated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from constpolicy.policy.growth import STORED, Liveness
from constpolicy.policy.units import format_size
from constpolicy.records import Action, Candidate, ConstPolicyError

# Measured on models with 1 to 170 candidates and up to 900 MB of work, on two cores: const-eval's own compile costs
# most, and grows with the number of expressions.
EVALUATION_MICROSECONDS = 200_000
_CANDIDATE_MICROSECONDS = 45_000
_BYTES_PER_MICROSECOND = 1000


class BudgetExceeded(ConstPolicyError):
    """A budget cannot be kept on this model; the text says by how much."""

    exit_code = 4


def totals(liveness: Liveness, actions: Mapping[str, Action]) -> dict[str, int]:
    """Every total by the budget's name, under these actions (by candidate id).

    Growth is against leaving every candidate for load time and counting nothing for that.
    """
    candidates = liveness.program.candidates
    stored = [candidate for candidate in candidates if actions[candidate.id] in STORED]
    growth = liveness.file_growth(actions)
    at_load = sum(candidate.result_bytes for candidate in candidates if actions[candidate.id] is Action.INITIALIZE)
    return {
        "file_growth": growth,
        "resident_growth": growth + at_load,
        "load_bytes": at_load,
        "evaluate_bytes": sum(candidate.result_bytes for candidate in stored),
        "evaluate_seconds": sum(map(microseconds, stored)) + (EVALUATION_MICROSECONDS if stored else 0),
    }


@dataclass(frozen=True)
class BudgetUse:
    """What the total of that name comes to, and the most that the budget allows."""

    name: str
    used: int
    most: int

    @property
    def left(self) -> int:
        return self.most - self.used

    def __str__(self) -> str:
        return f"{self.name}: {format_total(self.name, self.used)} of {format_total(self.name, self.most)}"


def microseconds(candidate: Candidate) -> int:
    """How long const-eval takes for it, besides what it takes for having anything to do."""
    return _CANDIDATE_MICROSECONDS + candidate.work_bytes // _BYTES_PER_MICROSECOND


def format_total(name: str, amount: int) -> str:
    """An amount of the total of that name, for people."""
    return f"{round(amount / 1e6, 2):g} s" if name == "evaluate_seconds" else format_size(amount)
