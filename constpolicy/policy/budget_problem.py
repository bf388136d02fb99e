"""The choice under budgets as a mixed-integer linear program.

There is one binary variable for each candidate that may be evaluated, one where it may be shared, one for each source
that may die (it does if it is shared, or all its readers are stored), and one for each result that others alone may
make unneeded. The solver counts in KiB.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from constpolicy.policy.growth import STORED, Liveness
from constpolicy.policy.milp import Floats, Problem, Row
from constpolicy.policy.totals import EVALUATION_MICROSECONDS, microseconds
from constpolicy.records import Action, Candidate, Source

CALLS_PER_LOAD = 1000
_UNIT = 1024.0  # which the solver likes better than bytes: its tolerances are for small numbers
ROOM = 0.5  # more than a budget, in bytes: what keeps it exactly is then well within the solver's tolerances
_SHARED = 1 - 1e-6  # the worth of sharing, which readers can pay for: of two ways that are worth the same, the other
_Truth: TypeAlias = "bool | tuple[int, ...]"  # known, or true if one of these variables (of which one can be 1) is 1


@dataclass(frozen=True)
class Choice:
    """A candidate that may be evaluated, perhaps shared, or take its other action."""

    candidate: Candidate
    other: Action
    may_share: bool = False

    @property
    def benefit(self) -> int:
        """Bytes of work saved by evaluating, per load."""
        return self.candidate.work_bytes * (1 if self.other is Action.INITIALIZE else CALLS_PER_LOAD)


@dataclass
class _Sum:
    """A linear expression over the variables, in bytes (microseconds for evaluate_seconds)."""

    constant: int = 0
    terms: dict[int, float] = field(default_factory=dict)

    def add(self, truth: _Truth, amount: int) -> None:
        """Adds the amount if that is true."""
        if isinstance(truth, bool):
            self.constant += amount if truth else 0
            return
        for variable in truth:
            self.terms[variable] = self.terms.get(variable, 0.0) + amount

    def plus(self, *others: _Sum) -> _Sum:
        """The sum with others."""
        total = _Sum(self.constant, dict(self.terms))
        for other in others:
            total.constant += other.constant
            for variable, amount in other.terms.items():
                total.terms[variable] = total.terms.get(variable, 0.0) + amount
        return total


class BudgetProblem:
    """The totals of these names as linear expressions over the choices.

    `actions` are those of all candidates when every choice is evaluated.
    """

    def __init__(
        self, liveness: Liveness, actions: Mapping[str, Action], choices: Sequence[Choice], names: Collection[str]
    ) -> None:
        self._liveness, self._actions, self._choices = liveness, actions, choices
        shared = [choice for choice in choices if choice.may_share]
        self._evaluated = {choice.candidate.id: column for column, choice in enumerate(choices)}
        self._shared = {choice.candidate.id: len(choices) + column for column, choice in enumerate(shared)}
        self._binary = self._columns = len(choices) + len(shared)
        self._rows: list[Row] = [
            Row({self._evaluated[id]: 1.0, column: 1.0}, high=1.0) for id, column in self._shared.items()
        ]
        growth, at_load = self._stored().plus(self._freed()), self._at_load()
        make: dict[str, Callable[[], _Sum]] = {
            "file_growth": lambda: growth,
            "resident_growth": lambda: growth.plus(at_load),
            "load_bytes": lambda: at_load,
            "evaluate_bytes": lambda: self._in_const_eval(lambda candidate: candidate.result_bytes),
            "evaluate_seconds": self._seconds,
        }
        self._totals = {name: make[name]() for name in names}

    def greatest_benefit(self, budgets: Mapping[str, int]) -> Problem:
        """The problem of saving most work; the last rows are the budgets, in their order."""
        objective = {}
        for choice in self._choices:
            objective[self._evaluated[choice.candidate.id]] = choice.benefit / _UNIT
            if choice.may_share:
                objective[self._shared[choice.candidate.id]] = choice.benefit / _UNIT * _SHARED
        return self._problem(budgets, objective)

    def least(self, name: str, budgets: Mapping[str, int]) -> Problem:
        """The problem of making one total as small as it can be while the budgets are kept."""
        objective = {variable: -amount / _UNIT for variable, amount in self._totals[name].terms.items()}
        return self._problem(budgets, objective)

    def actions(self, values: Floats) -> dict[str, Action]:
        """What the values of the variables say about all candidates."""
        actions = dict(self._actions)
        for choice in self._choices:
            id = choice.candidate.id
            if values[self._evaluated[id]] <= 0.5:
                shares = choice.may_share and values[self._shared[id]] > 0.5
                actions[id] = Action.SHARE if shares else choice.other
        return actions

    def _problem(self, budgets: Mapping[str, int], objective: Mapping[int, float]) -> Problem:
        rows = list(self._rows)
        for name, budget in budgets.items():
            total = self._totals[name]
            terms = {variable: amount / _UNIT for variable, amount in total.terms.items()}
            rows.append(Row(terms, high=(budget - total.constant + ROOM) / _UNIT))
        return Problem(self._columns, self._binary, objective, rows)

    def _stays(self, candidate: Candidate) -> _Truth:
        """Whether the candidate's result is stored."""
        columns = (self._evaluated.get(candidate.id), self._shared.get(candidate.id))
        known = tuple(column for column in columns if column is not None)
        return known or self._actions[candidate.id] in STORED

    def _variable(self) -> int:
        self._columns += 1
        return self._columns - 1

    def _all(self, conditions: Sequence[_Truth]) -> _Truth:
        """Something that can be true only if all the conditions are."""
        if any(condition is False for condition in conditions):
            return False
        unknown = [condition for condition in conditions if not isinstance(condition, bool)]
        if not unknown:
            return True
        result = self._variable()
        for condition in unknown:
            self._rows.append(Row(dict.fromkeys(condition, 1.0) | {result: -1.0}, low=0.0))
        return (result,)

    def _any(self, alternatives: Sequence[tuple[_Truth, _Truth]]) -> _Truth:
        """Something that must be true if in one of the pairs the first is and the second is not."""
        if any(first is True and second is False for first, second in alternatives):
            return True
        possible = [(first, second) for first, second in alternatives if first is not False and second is not True]
        if not possible:
            return False
        result = self._variable()
        for first, second in possible:
            terms = {result: 1.0}
            terms |= dict.fromkeys(() if isinstance(first, bool) else first, -1.0)
            terms |= dict.fromkeys(() if isinstance(second, bool) else second, 1.0)
            self._rows.append(Row(terms, low=1.0 if first is True else 0.0))
        return (result,)

    def _freed(self) -> _Sum:
        total = _Sum()
        homes: dict[str, list[int]] = {}
        for choice in self._choices:
            if choice.may_share and choice.candidate.share is not None:
                homes.setdefault(choice.candidate.share.source_key, []).append(self._shared[choice.candidate.id])
        for columns in homes.values():
            self._rows.append(Row(dict.fromkeys(columns, 1.0), high=1.0))
        for source in self._liveness.sources.values():
            if source.stored_bytes:
                total.add(self._dies(source, tuple(homes.get(source.key, ()))), -source.stored_bytes)
        return total

    def _dies(self, source: Source, homes: tuple[int, ...]) -> _Truth:
        """Whether the source dies: by having a new home, or by losing its readers."""
        if self._liveness.has_home(source, self._actions):
            return True
        readers = self._liveness.readers[source.key]
        unread = False if source.shared else self._all([self._stays(reader) for reader in readers])
        if isinstance(unread, bool):
            return True if unread else homes or False
        if not homes:
            return unread
        dies = self._variable()
        self._rows.append(Row(dict.fromkeys((*unread, *homes), 1.0) | {dies: -1.0}, low=0.0))
        return (dies,)

    def _stored(self) -> _Sum:
        total = _Sum()
        for twins in self._liveness.twins.values():
            stored = [(self._stays(twin), self._unneeded(twin)) for twin in twins]
            if len(twins) > 1:
                total.add(self._any(stored), twins[0].stored_bytes)
                continue
            ((stays, unneeded),) = stored
            total.add(stays, twins[0].stored_bytes)
            total.add(unneeded, -twins[0].stored_bytes)
        return total

    def _unneeded(self, candidate: Candidate) -> _Truth:
        """Whether the candidate is stored, and the only ones that read its result are stored, too."""
        if self._stays(candidate) is False or self._liveness.needed(candidate, self._actions):
            return False
        readers = self._liveness.inner_readers(candidate)
        return self._all([self._stays(candidate), *map(self._stays, readers)])

    def _at_load(self) -> _Sum:
        """Results that are computed at load."""
        total = _Sum()
        for candidate in self._liveness.program.candidates:
            if candidate.id not in self._evaluated and self._actions[candidate.id] is Action.INITIALIZE:
                total.constant += candidate.result_bytes
        for choice in self._choices:
            if choice.other is Action.INITIALIZE:
                total.constant += choice.candidate.result_bytes
                total.add(self._stays(choice.candidate), -choice.candidate.result_bytes)
        return total

    def _in_const_eval(self, cost: Callable[[Candidate], int]) -> _Sum:
        total = _Sum()
        for candidate in self._liveness.program.candidates:
            total.add(self._stays(candidate), cost(candidate))
        return total

    def _seconds(self) -> _Sum:
        total = self._in_const_eval(microseconds)
        something = self._any([(self._stays(candidate), False) for candidate in self._liveness.program.candidates])
        total.add(something, EVALUATION_MICROSECONDS)
        return total
