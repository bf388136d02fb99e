"""The solver's answer is the best there is, and when it has no time for that, it says how far from it it may be."""

from __future__ import annotations

import itertools
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constpolicy.policy.budget_problem import ROOM
from constpolicy.policy.milp import NotSolved, Problem, Row, maximize


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Values to collect under one or two capacities, with some columns that need others."""
    count = draw(st.integers(1, 9))
    amounts = st.integers(1, 50).map(float)
    rows = [
        Row({column: draw(amounts) for column in range(count)}, high=float(draw(st.integers(-5, 150))))
        for _ in range(draw(st.integers(1, 2)))
    ]
    if count > 1 and draw(st.booleans()):
        rows.append(Row({0: 1.0, 1: -1.0}, low=0.0))
    return Problem(count, count, {column: draw(amounts) for column in range(count)}, rows)


def _best(problem: Problem) -> float | None:
    """The greatest objective, by trying everything."""
    objectives = [
        sum(problem.objective[column] * value for column, value in enumerate(values))
        for values in itertools.product((0, 1), repeat=problem.columns)
        if all(
            row.low <= sum(c * values[column] for column, c in row.terms.items()) <= row.high for row in problem.rows
        )
    ]
    return max(objectives, default=None)


@given(problem=problems())
def test_the_solution_is_the_best_of_all(problem: Problem) -> None:
    solution = maximize(problem, seconds=60.0)
    assert (None if solution is None else round(solution.objective, 6)) == _best(problem)
    assert solution is None or solution.gap == 0


@st.composite
def large_and_tight(draw: st.DrawFn) -> Problem:
    """Megabytes to gigabytes in KiB, under a capacity that some of them fill to the byte or miss by one."""
    sizes = draw(st.lists(st.integers(10**6, 2 * 10**9), min_size=1, max_size=8))
    worth = [draw(st.integers(1, 10**9)) for _ in sizes]
    full = sum(size for size in sizes if draw(st.booleans()))
    room = full - draw(st.integers(0, 1))
    terms = {column: size / 1024 for column, size in enumerate(sizes)}
    return Problem(len(sizes), len(sizes), dict(enumerate(worth)), [Row(terms, high=(room + ROOM) / 1024)])


@given(problem=large_and_tight())
def test_a_capacity_is_kept_to_the_byte_and_used_to_the_byte(problem: Problem) -> None:
    solution, best = maximize(problem, seconds=60.0), _best(problem)
    if best is None:
        assert solution is None
        return
    assert solution is not None
    (row,) = problem.rows
    assert sum(size * solution.values[column] for column, size in row.terms.items()) <= row.high
    assert sum(problem.objective[column] * value for column, value in enumerate(solution.values)) == best
    assert solution.gap == 0


@given(problem=problems())
def test_without_time_the_solution_is_always_the_same_and_no_further_from_the_best_than_it_says(
    problem: Problem,
) -> None:
    best = _best(problem)
    try:
        solution, again = (maximize(problem, seconds=0.0) for _ in range(2))
    except NotSolved:
        return  # nothing is claimed
    if best is None:
        assert solution is None
        return
    assert solution is not None
    assert again is not None
    assert np.array_equal(solution.values, again.values)
    assert solution.objective <= best + 1e-6
    assert best <= solution.objective + solution.gap * max(abs(solution.objective), 1.0) + 1e-6


def test_no_answer_within_the_time_is_not_taken_for_none_at_all() -> None:
    """Half of these numbers come to a sum that is there, and hard to find."""
    numbers = Random(0).sample(range(10**5, 10**6), 40)
    amount = float(sum(numbers[::2]))
    problem = Problem(40, 40, {0: 1.0}, [Row(dict(enumerate(map(float, numbers))), low=amount, high=amount)])
    with pytest.raises(NotSolved):
        maximize(problem, seconds=0.0)
