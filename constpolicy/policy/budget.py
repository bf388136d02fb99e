"""Budgets: which evaluations stay so that every total is kept and the work saved is greatest. Solved exactly.

The benefit of evaluating a candidate is the work that it saves, in bytes moved by computing the expression once: once
per load where it would be initialized instead, and once per call, of which CALLS_PER_LOAD are assumed, where it would
be inlined or fused. The problem is a mixed-integer linear program: one binary variable per candidate that can move, one
for each source that may die (it does if all its readers are evaluated) and one for each result that other candidates
alone may make unneeded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from constpolicy.policy.growth import STORED, Liveness
from constpolicy.policy.milp import Floats, NotSolved, Problem, Row, Solution, maximize
from constpolicy.policy.units import format_size
from constpolicy.records import Action, Candidate, ConstPolicyError, Origin

CALLS_PER_LOAD = 1000
_STEP = 2**20  # "the next megabyte"
_STEPS = {"evaluate_seconds": 1_000_000}
# Measured on models with 1 to 170 candidates and up to 900 MB of work, on two cores: const-eval's own compile costs
# most, and grows with the number of expressions.
_EVALUATION_MICROSECONDS = 200_000
_CANDIDATE_MICROSECONDS = 45_000
_BYTES_PER_MICROSECOND = 1000
_UNIT = 1024.0  # bytes per unit in the solver, which likes small numbers


@dataclass(frozen=True)
class Choice:
    """A candidate that may be evaluated or take its other action."""

    candidate: Candidate
    other: Action

    @property
    def benefit(self) -> int:
        """Bytes of work saved by evaluating, per load."""
        return self.candidate.work_bytes * (1 if self.other is Action.INITIALIZE else CALLS_PER_LOAD)


@dataclass(frozen=True)
class Chosen:
    """Which choices stay evaluated (ids), what each budget came to, and what is said about it.

    `gap` is how far the benefit may be from the greatest, as a fraction: 0 unless the time bound was hit.
    """

    evaluated: frozenset[str]
    used: Mapping[str, int]
    notes: tuple[str, ...] = ()
    gap: float = 0.0


@dataclass
class _Row:
    """A linear expression over the variables, in bytes."""

    constant: int = 0
    terms: dict[int, float] = field(default_factory=dict)

    def add(self, variable: int, coefficient: float) -> None:
        self.terms[variable] = self.terms.get(variable, 0.0) + coefficient


class _Totals:
    """The totals as linear expressions over the choices.

    `actions` are those of all candidates when every choice is evaluated.
    """

    def __init__(self, liveness: Liveness, actions: Mapping[str, Action], choices: Sequence[Choice]) -> None:
        self._liveness, self._actions = liveness, actions
        self.choices = choices
        self.x = {choice.candidate.id: index for index, choice in enumerate(choices)}
        self.columns = len(choices)
        self.at_least: list[Row] = []
        freed, stored = self._freed(), self._stored()
        self.totals = {
            "file_growth": _sum(stored, freed),
            "resident_growth": _sum(stored, freed, self._allocated()),
            "load_bytes": self._allocated(),
            "evaluate_bytes": self._evaluated(lambda candidate: candidate.result_bytes),
            "evaluate_seconds": self._evaluated(_microseconds),
        }
        self.totals["evaluate_seconds"].constant += _EVALUATION_MICROSECONDS

    def _stays(self, candidate: Candidate) -> bool | int:
        """Whether the candidate's result is stored whatever is chosen, or the variable that says so."""
        return self.x.get(candidate.id, self._actions[candidate.id] in STORED)

    def _variable(self) -> int:
        self.columns += 1
        return self.columns - 1

    def _all(self, conditions: Sequence[bool | int]) -> bool | int:
        """A value that can be 1 only if all the conditions are."""
        variables = [value for value in conditions if not isinstance(value, bool)]
        if not all(value for value in conditions if isinstance(value, bool)):
            return False
        if not variables:
            return True
        result = self._variable()
        for variable in variables:
            self.at_least.append(Row({variable: 1.0, result: -1.0}, low=0.0))
        return result

    def _freed(self) -> _Row:
        row = _Row()
        for source in self._liveness.sources.values():
            if not source.stored_bytes or not self._liveness.dies(source, self._actions):
                continue  # alive even if every choice is evaluated
            if source.shared:  # dies by sharing, which is no choice here
                row.constant -= source.stored_bytes
                continue
            readers = self._liveness.readers[source.key]
            _put(row, self._all([self._stays(reader) for reader in readers]), -source.stored_bytes)
        return row

    def _stored(self) -> _Row:
        row = _Row()
        inner = {
            source.name: self._liveness.readers[source.key]
            for source in self._liveness.sources.values()
            if source.origin is Origin.GLOBAL
        }
        for candidate in self._liveness.program.candidates:
            stays = self._stays(candidate)
            if stays is False:
                continue
            _put(row, stays, candidate.result_bytes)
            readers = [reader for stored in candidate.globals for reader in inner.get(stored.symbol, ())]
            if readers and not self._liveness.needed(candidate, self._actions):
                unneeded = self._all([stays, *(self._stays(reader) for reader in readers)])
                _put(row, unneeded, -candidate.result_bytes)
        return row

    def _allocated(self) -> _Row:
        """Results that are computed at load."""
        row = _Row()
        for candidate in self._liveness.program.candidates:
            if candidate.id not in self.x and self._actions[candidate.id] is Action.INITIALIZE:
                row.constant += candidate.result_bytes
        for choice in self.choices:
            if choice.other is Action.INITIALIZE:
                row.constant += choice.candidate.result_bytes
                row.add(self.x[choice.candidate.id], -choice.candidate.result_bytes)
        return row

    def _evaluated(self, cost: Callable[[Candidate], int]) -> _Row:
        row = _Row()
        for candidate in self._liveness.program.candidates:
            _put(row, self._stays(candidate), cost(candidate))
        return row

    def problem(self, budgets: Mapping[str, int], objective: Mapping[int, float]) -> Problem:
        """The problem for the solver, in its unit; the last rows are the budgets, in their order."""
        rows = list(self.at_least)
        for name, budget in budgets.items():
            total = self.totals[name]
            terms = {column: value / _UNIT for column, value in total.terms.items()}
            rows.append(Row(terms, high=(budget - total.constant) / _UNIT))
        return Problem(self.columns, len(self.choices), objective, rows)

    def value(self, name: str, solution: Floats) -> int:
        row = self.totals[name]
        return row.constant + int(sum(value for column, value in row.terms.items() if solution[column] > 0.5))

    def least(self, name: str, budgets: Mapping[str, int]) -> tuple[int, bool] | None:
        """The least found that one total can be made while the budgets are kept, and whether there is no less.

        None if they cannot be kept, or no way to do so is found.
        """
        row = self.totals[name]
        objective = {column: -value / _UNIT for column, value in row.terms.items()}
        try:
            solution = maximize(self.problem(budgets, objective))
        except NotSolved:
            return None
        return None if solution is None else (self.value(name, solution.values), solution.gap == 0)


def choose(
    liveness: Liveness, actions: Mapping[str, Action], choices: Sequence[Choice], budgets: Mapping[str, int]
) -> Chosen:
    """Chooses which candidates stay evaluated so that the totals are kept and the benefit is greatest.

    Args:
      actions: Of all candidates, with every choice evaluated.
      budgets: By name, microseconds for evaluate_seconds and bytes for the others: file_growth and resident_growth
        against leaving everything for load time and counting nothing for it, load_bytes, evaluate_bytes.
    Raises:
      ConstPolicyError: the budgets cannot be kept; it says by how much.
    """
    totals = _Totals(liveness, actions, choices)
    try:
        solution = maximize(totals.problem(budgets, _benefit(totals)))
    except NotSolved:
        names = " or ".join(f"budgets.{name}" for name in budgets)
        raise ConstPolicyError(f"no decisions that keep all budgets were found in time; raise {names}") from None
    if solution is None:
        raise ConstPolicyError(_impossible(totals, budgets))
    evaluated = frozenset(id for id, column in totals.x.items() if solution.values[column] > 0.5)
    used = {name: totals.value(name, solution.values) for name in budgets}
    notes = [_given_up(totals, evaluated)] if len(evaluated) < len(choices) else []
    if notes:
        notes += _next_megabytes(solution, budgets)
    return Chosen(evaluated, used, tuple(notes), solution.gap)


def _benefit(totals: _Totals) -> dict[int, float]:
    """The objective, in the solver's unit."""
    return {index: choice.benefit / _UNIT for index, choice in enumerate(totals.choices)}


def _given_up(totals: _Totals, evaluated: frozenset[str]) -> str:
    lost = [choice for choice in totals.choices if choice.candidate.id not in evaluated]
    work = sum(choice.benefit for choice in lost)
    return f"the budgets give up {len(lost)} evaluations, which would save {format_size(work)} of work per load"


def _next_megabytes(solution: Solution, budgets: Mapping[str, int]) -> list[str]:
    """What about one megabyte more of each budget would buy, by its price in the relaxation."""
    notes = []
    for index, name in enumerate(budgets):
        step = _STEPS.get(name, _STEP)
        saved = int(solution.prices[len(solution.prices) - len(budgets) + index] * step)
        if saved:
            notes.append(
                f"another {format_total(name, step)} of {name} would save about {format_size(saved)} of work per load"
            )
    return notes


def _impossible(totals: _Totals, budgets: Mapping[str, int]) -> str:
    """By how much the budgets are too small: one alone, or else one when the others are kept."""
    for name, budget in budgets.items():
        if (least := totals.least(name, {})) is not None and least[0] > budget:
            return f"budgets.{name} {_short(name, budget, *least)}"
    for name, budget in budgets.items():
        others = {other: amount for other, amount in budgets.items() if other != name}
        if others and (least := totals.least(name, others)) is not None:
            kept = " and ".join(f"{other} {format_total(other, amount)}" for other, amount in others.items())
            return f"budgets.{name} {_short(name, budget, *least)} while {kept} is kept"
    return f"the budgets {', '.join(budgets)} cannot be kept together; raise more than one of them"


def _short(name: str, budget: int, least: int, exact: bool) -> str:
    amount, enough, more = (format_total(name, amount) for amount in (budget, least, least - budget))
    return f"{amount} cannot be kept: the least {'is' if exact else 'found is'} {enough}, {more} more"


def format_total(name: str, amount: int) -> str:
    """An amount of the budget of that name, for people."""
    return f"{amount / 1e6:.2g} s" if name == "evaluate_seconds" else format_size(amount)


def _microseconds(candidate: Candidate) -> int:
    return _CANDIDATE_MICROSECONDS + candidate.work_bytes // _BYTES_PER_MICROSECOND


def _put(row: _Row, value: bool | int, coefficient: int) -> None:
    if isinstance(value, bool):
        row.constant += coefficient if value else 0
    else:
        row.add(value, coefficient)


def _sum(*rows: _Row) -> _Row:
    total = _Row()
    for row in rows:
        total.constant += row.constant
        for column, value in row.terms.items():
            total.add(column, value)
    return total
