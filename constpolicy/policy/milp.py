"""Maximizes a linear objective over binary variables, exactly, with HiGHS.

The linear relaxation is solved first. Its reduced costs say what changing a variable would cost at least; with the
value of a good solution at hand, every variable that costs more than the distance to the relaxation is settled, and
what is left is often small enough to be solved to the end. If it is not within the time bound, the good solution, which
no clock had a part in, is the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import TypeAlias

import highspy
import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
SECONDS = 0.8  # until which an exact solve goes on, unless there is nothing else
_LEAST_SECONDS = 0.1  # for an exact solve to be begun
_CORE = 60  # variables that the first good solution may change against the relaxation, and are whole there
_CUTS = 10  # rounds of cutting off what breaks a row; two have always been enough
_NODES = 200  # bound on the search for that one
_WHOLE = 1e-6
_NOISE = 1e-9  # of an objective, as a fraction
_FEASIBLE = 2  # HiGHS's value for a solution that keeps the constraints
_FREE = highspy.kHighsInf
_LARGEST = 1e6  # coefficient of the objective: with larger ones, the dual simplex method gives up
_STATUS = highspy.HighsModelStatus


class _Silent(highspy.Highs):
    """HiGHS announces itself on stdout when it enables its callbacks, before it can be told not to."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def enableCallbacks(self) -> None:
        """Nothing here uses them."""


@dataclass(frozen=True)
class Row:
    """low <= terms <= high, terms by column."""

    terms: Mapping[int, float]
    low: float = -_FREE
    high: float = _FREE


@dataclass(frozen=True)
class Problem:
    """`binary` leading columns are 0 or 1; the others lie between 0 and 1 and come out whole by their rows."""

    columns: int
    binary: int
    objective: Mapping[int, float]
    rows: Sequence[Row]


@dataclass(frozen=True)
class Solution:
    """Values of the columns; `gap` is the distance from the greatest objective, as a fraction (0: none).

    `prices` say for each row what one unit more room in it adds to the objective of the relaxation.
    """

    values: Floats
    objective: float
    gap: float
    prices: Floats


@dataclass(frozen=True)
class _Run:
    values: Floats
    objective: float
    reduced_costs: Floats
    prices: Floats


class NotSolved(Exception):
    """Whether there is a solution at all is not known: the time bound was hit, or the solver gave up."""


class _Broken(Exception):
    """A solution breaks rows by less than the solver sees; `cuts` are rows that exclude it, and nothing that is one."""

    def __init__(self, cuts: Sequence[Row]) -> None:
        super().__init__()
        self.cuts = cuts


def maximize(problem: Problem, seconds: float = SECONDS) -> Solution | None:
    """The best solution; None if there is none.

    If it is not found in so many seconds, a good solution, and `gap` says how good. Raises NotSolved if there is none.
    """
    if problem.columns == 0:  # which HiGHS does not call feasible
        kept = all(row.low <= 0 <= row.high for row in problem.rows)
        return Solution(np.zeros(0), 0.0, 0.0, np.zeros(len(problem.rows))) if kept else None
    scale = max(1.0, max(map(abs, problem.objective.values()), default=0.0) / _LARGEST)
    objective = {column: value / scale for column, value in problem.objective.items()}
    solution = _kept(replace(problem, objective=objective), monotonic() + seconds)
    if solution is None:
        return None
    return replace(solution, objective=solution.objective * scale, prices=solution.prices * scale)


def _kept(problem: Problem, end: float) -> Solution | None:
    """The solution that keeps every row to the last digit, not only within the solver's tolerances.

    What breaks a row is cut off, and the rest solved again.
    """
    cuts: list[Row] = []
    for _ in range(_CUTS):
        try:
            solution = _maximize(replace(problem, rows=(*cuts, *problem.rows)), end)
        except _Broken as broken:
            cuts.extend(broken.cuts)
            continue
        return solution and replace(solution, prices=solution.prices[len(cuts) :])
    raise NotSolved("all that was found breaks a row, by less than the solver sees")


def _maximize(problem: Problem, end: float) -> Solution | None:
    model = _model(problem)
    lower, upper = np.zeros(problem.columns), np.ones(problem.columns)
    relaxed = _run(model, lower, upper, problem, whole=False)
    if relaxed is None:
        return None
    costs = np.abs(relaxed.reduced_costs[: problem.binary])
    good = _good(model, relaxed, problem, costs)
    if good is None:  # rounding within the core keeps no budget: nothing can be settled
        core = np.arange(problem.binary)
    else:
        core = np.flatnonzero(costs <= relaxed.objective - good.objective + _NOISE * max(1.0, abs(relaxed.objective)))
    try:
        left = end - monotonic()
        if good is not None and left < _LEAST_SECONDS:
            raise NotSolved("no time is left")
        seconds = max(left, _LEAST_SECONDS)
        best = _run(model, *_bounds(relaxed, problem, core), problem, whole=True, seconds=seconds)
    except NotSolved:
        if good is None:
            raise
        gap = max(relaxed.objective - good.objective, 0.0) / max(abs(good.objective), 1.0)
        return Solution(good.values, good.objective, gap, relaxed.prices)
    return None if best is None else Solution(best.values, best.objective, 0.0, relaxed.prices)


def _good(model: highspy.HighsLp, relaxed: _Run, problem: Problem, costs: Floats) -> _Run | None:
    """The best solution that differs from the relaxation in few variables only: those that are cheap to change."""
    fractions = np.abs(relaxed.values[: problem.binary] - np.round(relaxed.values[: problem.binary]))
    order = np.lexsort((costs, fractions < _WHOLE))  # what is not whole has to change in any case
    least = int(np.count_nonzero(fractions >= _WHOLE))
    for size in (least + _CORE, least + 4 * _CORE, least + 16 * _CORE):
        good = _run(model, *_bounds(relaxed, problem, order[:size]), problem, whole=True, nodes=_NODES)
        if good is not None:
            return good
    return None


def _bounds(relaxed: _Run, problem: Problem, core: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Bounds that settle all binary columns but those of the core at their relaxed values."""
    lower, upper = np.zeros(problem.columns), np.ones(problem.columns)
    settled = np.ones(problem.binary, dtype=bool)
    settled[core] = False
    lower[: problem.binary][settled] = upper[: problem.binary][settled] = np.round(
        relaxed.values[: problem.binary][settled]
    )
    return lower, upper


def _run(
    model: highspy.HighsLp,
    lower: Floats,
    upper: Floats,
    problem: Problem,
    *,
    whole: bool,
    seconds: float = _FREE,
    nodes: int | None = None,
) -> _Run | None:
    """The best solution within these bounds of the columns, or with `nodes` one of the best; None if there is none.

    Raises NotSolved after so many `seconds`.
    """
    solver = _solver(model, lower, upper, problem, whole=whole)
    solver.setOptionValue("time_limit", seconds)
    if nodes is not None:
        solver.setOptionValue("mip_max_nodes", nodes)
    solver.run()
    info, status = solver.getInfo(), solver.getModelStatus()
    if status == _STATUS.kInfeasible:
        return None
    stopped = nodes is not None and status == _STATUS.kSolutionLimit
    if status != _STATUS.kOptimal and not stopped:
        raise NotSolved(str(status))
    if info.primal_solution_status != _FEASIBLE:
        return None
    solution = solver.getSolution()
    values = np.asarray(solution.col_value)
    if whole:
        values = np.round(values)
        if cuts := [cut for row in problem.rows if (cut := _cut(row, values)) is not None]:
            raise _Broken(cuts)
    return _Run(
        values=values,
        objective=float(info.objective_function_value),
        reduced_costs=np.asarray(solution.col_dual) if len(solution.col_dual) else np.zeros(problem.columns),
        prices=np.abs(np.asarray(solution.row_dual)) if len(solution.row_dual) else np.zeros(len(problem.rows)),
    )


def _cut(row: Row, values: Floats) -> Row | None:
    """What excludes whole values that are above the row's high bound, and all that are above it for the same reason.

    Of the columns that bring the sum up where they are, one at least has to change: a cover inequality.
    """
    if sum(amount * values[column] for column, amount in row.terms.items()) <= row.high:
        return None
    up = {column: amount for column, amount in row.terms.items() if amount and (amount > 0) == (values[column] > 0.5)}
    ones = sum(amount > 0 for amount in up.values())
    return Row({column: 1.0 if amount > 0 else -1.0 for column, amount in up.items()}, high=ones - 1.0)


def _solver(model: highspy.HighsLp, lower: Floats, upper: Floats, problem: Problem, *, whole: bool) -> highspy.Highs:
    model.col_lower_, model.col_upper_ = lower, upper
    kinds = highspy.HighsVarType
    binary = kinds.kInteger if whole else kinds.kContinuous
    model.integrality_ = [binary] * problem.binary + [kinds.kContinuous] * (problem.columns - problem.binary)
    solver = _Silent()
    for name, value in (("output_flag", False), ("threads", 1), ("random_seed", 0), ("mip_rel_gap", 0.0)):
        solver.setOptionValue(name, value)
    solver.setOptionValue("mip_abs_gap", 0.0)
    solver.setOptionValue("mip_feasibility_tolerance", 1e-9)
    if not whole:  # which takes longer here than the relaxation itself
        solver.setOptionValue("presolve", "off")
    solver.passModel(model)
    return solver


def _model(problem: Problem) -> highspy.HighsLp:
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = problem.columns, len(problem.rows)
    model.sense_ = highspy.ObjSense.kMaximize
    model.col_cost_ = np.array([problem.objective.get(column, 0.0) for column in range(problem.columns)])
    model.row_lower_ = np.array([row.low for row in problem.rows])
    model.row_upper_ = np.array([row.high for row in problem.rows])
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.cumsum([0, *(len(row.terms) for row in problem.rows)])
    model.a_matrix_.index_ = np.array([column for row in problem.rows for column in row.terms], dtype=np.int32)
    model.a_matrix_.value_ = np.array([value for row in problem.rows for value in row.terms.values()])
    return model
