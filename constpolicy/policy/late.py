"""Deciding about what DispatchCreation hoists, after everything else: with what is left of the budgets.

Const-eval is over then. What is not computed where it is read is computed at load, which is what IREE does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from constpolicy.policy.decide import (
    Outcome,
    dead_pins,
    decide,
    growths_alone,
    impossible,
    refuse_under_strict,
    useless_rules,
)
from constpolicy.policy.growth import STORED, Liveness
from constpolicy.policy.schema import Budgets, Policy
from constpolicy.policy.totals import BudgetExceeded, BudgetUse, format_total
from constpolicy.records import Action, Candidate, Decision, Program

_BOUND = ("resident_growth", "load_bytes")  # the totals that results computed at load count for


def looks_at_dispatch_creation(policy: Policy) -> bool:
    """Whether what DispatchCreation hoists is to be decided, by rules about it or by budgets for what is done at load.

    It takes a second stop of the compile.
    """
    bounds = any(getattr(policy.budgets, name) is not None for name in _BOUND)
    return bounds or policy.looks_at_dispatch_creation


def decide_late(program: Program, policy: Policy, first: Outcome, *, strict: bool = False) -> Outcome:
    """Decides what becomes of every candidate that DispatchCreation hoisted, after the `first` decisions.

    The budgets of the outcome count these, too.
    """
    default = Action.INITIALIZE if policy.default in STORED else policy.default
    outcome = decide(program, policy.model_copy(update={"budgets": Budgets(), "default": default}))
    decisions = [_left_by_default(d) if default is not policy.default else d for d in outcome.decisions]
    budgets = _keep_budgets(program.candidates, decisions, first.budgets)
    dead = dead_pins(program, policy, late=True)
    useless = useless_rules(program, policy, growths_alone(Liveness(program)), late=True)
    warnings = (*dead, *useless, *impossible(decisions, program))
    refuse_under_strict(policy, warnings, strict)
    return Outcome(tuple(decisions), warnings, budgets=budgets, dead_pins=dead)


def _left_by_default(decision: Decision) -> Decision:
    if decision.decided_by != "default":
        return decision
    return replace(decision, reason="no rule of the policy is about it: computed at load, as by iree-compile")


def _keep_budgets(
    candidates: Sequence[Candidate], decisions: list[Decision], budgets: Sequence[BudgetUse]
) -> tuple[BudgetUse, ...]:
    """Moves what is computed at load, unless a rule says so, to where it is read, until the budgets are kept.

    What stays is what saves most work. Returns what each budget comes to.
    """
    at_load = [index for index, decision in enumerate(decisions) if decision.action is Action.INITIALIZE]
    total = sum(candidates[index].result_bytes for index in at_load)
    tightest = min((b for b in budgets if b.name in _BOUND), key=lambda budget: budget.left, default=None)
    if tightest is not None and total > tightest.left:
        free = [index for index in at_load if _is_free(decisions[index], candidates[index])]
        fixed = total - sum(candidates[index].result_bytes for index in free)
        if fixed > tightest.left:
            raise BudgetExceeded(_impossible(tightest, fixed))
        stay = _most_worth([candidates[index] for index in free], tightest.left - fixed)
        for index, stays in zip(free, stay, strict=True):
            if not stays:
                decisions[index] = _computed_where_read(decisions[index], candidates[index], tightest)
                total -= candidates[index].result_bytes
    return tuple(replace(b, used=b.used + total) if b.name in _BOUND else b for b in budgets)


def _is_free(decision: Decision, candidate: Candidate) -> bool:
    pinned = decision.pinned and decision.wanted is Action.INITIALIZE
    return not pinned and candidate.allows(Action.INLINE)


def _computed_where_read(decision: Decision, candidate: Candidate, budget: BudgetUse) -> Decision:
    needed, left = format_total(budget.name, candidate.result_bytes), format_total(budget.name, budget.left)
    reason = f"computing it at load would take {needed} of budgets.{budget.name}, which leaves {left} for such results"
    by = f"budgets.{budget.name}"
    return replace(decision, action=Action.INLINE, wanted=Action.INLINE, reason=reason, decided_by=by)


def _impossible(budget: BudgetUse, fixed: int) -> str:
    most, more = format_total(budget.name, budget.most), format_total(budget.name, fixed - budget.left)
    return (
        f"budgets.{budget.name} {most} cannot be kept: what DispatchCreation hoists, and is computed at load because a"
        f" rule says so or there is no other way, takes {more} more"
    )


def _most_worth(candidates: Sequence[Candidate], room: int) -> list[bool]:
    """Which of the candidates to compute at load so that most work is saved and the results fit into the room."""
    from constpolicy.policy.budget_problem import ROOM
    from constpolicy.policy.milp import Problem, Row, maximize

    count = len(candidates)
    sizes = {column: candidate.result_bytes / 1024 for column, candidate in enumerate(candidates)}
    worth = {column: candidate.work_bytes / 1024 for column, candidate in enumerate(candidates)}
    solution = maximize(Problem(count, count, worth, [Row(sizes, high=(room + ROOM) / 1024)]))
    assert solution is not None, "nothing at all takes no room"
    return [value > 0.5 for value in solution.values]
