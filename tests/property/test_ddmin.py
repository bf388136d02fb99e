"""Delta debugging finds sets that fail and are as small as can be, in few tries."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2
from random import Random
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from constpolicy.ddmin import Search, answered, causes, minimal

Result = TypeVar("Result")
Fails = Callable[[frozenset[int]], bool]


def search(searched: Search[int, Result], fails: Fails) -> tuple[Result, list[tuple[int, ...]]]:
    """What the search finds, and the sets that it wanted to be tried."""
    tried: list[tuple[int, ...]] = []

    def noted(wanted: tuple[int, ...]) -> bool:
        tried.append(wanted)
        return fails(frozenset(wanted))

    return answered(searched, noted), tried


@st.composite
def groups(draw: st.DrawFn) -> tuple[int, list[frozenset[int]]]:
    """A number of items, and groups of them of which each makes a check fail."""
    count = draw(st.integers(1, 40))
    group = st.frozensets(st.integers(0, count - 1), min_size=1, max_size=3)
    return count, draw(st.lists(group, min_size=1, max_size=3))


@given(st.data(), st.integers(1, 500))
def test_one_culprit_takes_two_tries_for_each_halving(data: st.DataObject, count: int) -> None:
    culprit = data.draw(st.integers(0, count - 1))
    found, tried = search(causes(range(count)), lambda items: culprit in items)
    assert found == ((culprit,),)
    assert len(tried) <= 2 * ceil(log2(count)) + 1


@given(groups())
def test_what_is_found_fails_and_does_not_without_any_of_its_items(case: tuple[int, list[frozenset[int]]]) -> None:
    count, bad = case

    def fails(items: frozenset[int]) -> bool:
        return any(group <= items for group in bad)

    found, _ = search(minimal(range(count)), fails)
    assert fails(frozenset(found))
    assert not any(fails(frozenset(found) - {item}) for item in found)


@given(groups())
def test_without_all_causes_nothing_fails(case: tuple[int, list[frozenset[int]]]) -> None:
    count, bad = case

    def fails(items: frozenset[int]) -> bool:
        return any(group <= items for group in bad)

    found, _ = search(causes(range(count)), fails)
    assert all(fails(frozenset(cause)) for cause in found)
    assert not fails(frozenset(range(count)).difference(*found))


@given(st.integers(1, 40), st.randoms(use_true_random=False))
def test_a_check_that_answers_at_random_comes_to_an_end(count: int, random: Random) -> None:
    answers: dict[frozenset[int], bool] = {}

    def fails(items: frozenset[int]) -> bool:
        return answers.setdefault(items, random.random() < 0.5)

    found, _ = search(causes(range(count)), fails)
    assert found
