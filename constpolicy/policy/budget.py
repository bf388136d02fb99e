"""Budgets: which evaluations stay so that every total is kept and the work saved is greatest. Solved exactly.

The benefit of evaluating or sharing a candidate is the work that it saves, in bytes moved by computing the expression
once: once per load where it would be initialized instead, and once per call, of which CALLS_PER_LOAD are assumed, where
it would be inlined or fused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from constpolicy.policy.budget_problem import BudgetProblem, Choice
from constpolicy.policy.growth import STORED, Liveness
from constpolicy.policy.milp import SECONDS, NotSolved, Problem, Solution, maximize
from constpolicy.policy.totals import BudgetExceeded, format_total, microseconds, totals
from constpolicy.policy.units import format_size
from constpolicy.records import Action

_STEP = 2**20  # "the next megabyte"
_STEPS = {"evaluate_seconds": 1_000_000}
_SECONDS_TO_EXPLAIN = 0.3  # an impossible budget
_FEW = 300  # choices, for which another solve takes no time


@dataclass(frozen=True)
class Chosen:
    """What becomes of all candidates, what each budget comes to, and what is said about it.

    `given_up` says for each choice (id) that is not stored, why. `gap` is how far the benefit may be from the greatest,
    as a fraction: 0 unless the time bound was hit.
    """

    actions: Mapping[str, Action]
    used: Mapping[str, int]
    given_up: Mapping[str, GivenUp]
    notes: tuple[str, ...] = ()
    gap: float = 0.0


@dataclass(frozen=True)
class GivenUp:
    """The budget that has no room for a choice as things stand, and by how much; None and 0 if all have."""

    budget: str | None
    needed: int
    left: int

    @property
    def missing(self) -> int:
        return self.needed - self.left

    def __str__(self) -> str:
        if self.budget is None:
            return "the budgets have room for others that save as much"
        needed, left = format_total(self.budget, self.needed), format_total(self.budget, self.left)
        return f"evaluating it would take {needed} of budgets.{self.budget}, of which {left} is left"


def choose(
    liveness: Liveness, actions: Mapping[str, Action], choices: Sequence[Choice], budgets: Mapping[str, int]
) -> Chosen:
    """Chooses which candidates are stored so that the totals are kept and the benefit is greatest.

    Args:
      actions: Of all candidates, with every choice evaluated.
      budgets: By name, as `totals` counts them.
    Raises:
      BudgetExceeded: the budgets cannot be kept; it says by how much.
    """
    problem = BudgetProblem(liveness, actions, choices, budgets)
    try:
        solution = maximize(problem.greatest_benefit(budgets))
    except NotSolved:
        names = " or ".join(f"budgets.{name}" for name in budgets)
        raise BudgetExceeded(f"no decisions that keep all budgets were found in time; raise {names}") from None
    if solution is None:
        raise BudgetExceeded(_impossible(liveness, problem, budgets))
    chosen = problem.actions(solution.values)
    used = {name: total for name, total in totals(liveness, chosen).items() if name in budgets}
    lost = [choice for choice in choices if chosen[choice.candidate.id] not in STORED]
    given_up = {choice.candidate.id: _given_up(choice, liveness, chosen, used, budgets) for choice in lost}
    notes = [_lost_in_words(lost), *_next_steps(problem, solution, choices, budgets, given_up)] if lost else []
    return Chosen(chosen, used, given_up, tuple(notes), solution.gap)


def _given_up(
    choice: Choice,
    liveness: Liveness,
    actions: Mapping[str, Action],
    used: Mapping[str, int],
    budgets: Mapping[str, int],
) -> GivenUp:
    candidate = choice.candidate
    growth = liveness.growth(candidate, actions)
    at_load = candidate.result_bytes if choice.other is Action.INITIALIZE else 0
    added = {
        "file_growth": growth,
        "resident_growth": growth - at_load,
        "load_bytes": -at_load,
        "evaluate_bytes": candidate.result_bytes,
        "evaluate_seconds": microseconds(candidate),
    }
    rooms = [GivenUp(name, added[name], budget - used[name]) for name, budget in budgets.items()]
    return max((room for room in rooms if room.missing > 0), key=lambda room: room.missing, default=GivenUp(None, 0, 0))


def _lost_in_words(lost: Sequence[Choice]) -> str:
    work, count = sum(choice.benefit for choice in lost), len(lost)
    evaluations = "1 evaluation" if count == 1 else f"{count} evaluations"
    return f"the budgets give up {evaluations}, which would save {format_size(work)} of work per load"


def _next_steps(
    problem: BudgetProblem,
    solution: Solution,
    choices: Sequence[Choice],
    budgets: Mapping[str, int],
    given_up: Mapping[str, GivenUp],
) -> list[str]:
    """What one megabyte more of each budget that binds would buy."""
    notes = []
    for index, name in enumerate(budgets):
        missing = [room.missing for room in given_up.values() if room.budget == name]
        if not missing:
            continue
        step = _STEPS.get(name, _STEP)
        if len(choices) > _FEW:
            price = solution.prices[len(solution.prices) - len(budgets) + index]
            saved, about = int(price * step), "about "  # of the relaxation, in which candidates can be split
        else:
            saved, about = _bought(problem, solution, {**budgets, name: budgets[name] + step}), ""
        if saved:
            worth = f"would save {about}{format_size(saved)} of work per load"
        else:
            worth = f"would buy nothing: the next evaluation takes {format_total(name, min(missing))} more"
        notes.append(f"another {format_total(name, step)} of {name} {worth}")
    return notes


def _bought(problem: BudgetProblem, solution: Solution, budgets: Mapping[str, int]) -> int:
    """Bytes of work per load that these budgets save above the solution."""
    more = _solved(problem.greatest_benefit(budgets))
    return 0 if more is None else round((more.objective - solution.objective) * 1024)


def _impossible(liveness: Liveness, problem: BudgetProblem, budgets: Mapping[str, int]) -> str:
    """By how much the budgets are too small: one alone, or else one when the others are kept."""

    def least(name: str, kept: Mapping[str, int]) -> tuple[int, bool] | None:
        """The least found of one total, and whether there is no less."""
        solution = _solved(problem.least(name, kept), _SECONDS_TO_EXPLAIN)
        if solution is None:
            return None
        return totals(liveness, problem.actions(solution.values))[name], solution.gap == 0

    for name, budget in budgets.items():
        if (found := least(name, {})) is not None and found[0] > budget:
            return f"budgets.{name} {_short(name, budget, *found)}"
    for name, budget in budgets.items():
        others = {other: amount for other, amount in budgets.items() if other != name}
        if others and (found := least(name, others)) is not None:
            kept = " and ".join(f"{other} {format_total(other, amount)}" for other, amount in others.items())
            return f"budgets.{name} {_short(name, budget, *found)} while {kept} is kept"
    return f"{' and '.join(f'budgets.{name}' for name in budgets)} cannot be kept together; raise more than one of them"


def _short(name: str, budget: int, least: int, exact: bool) -> str:
    amount, enough, more = (format_total(name, amount) for amount in (budget, least, least - budget))
    return f"{amount} cannot be kept: the least {'is' if exact else 'found is'} {enough}, {more} more"


def _solved(problem: Problem, seconds: float = SECONDS) -> Solution | None:
    """The solution; None if there is none, or none is found."""
    try:
        return maximize(problem, seconds)
    except NotSolved:
        return None
