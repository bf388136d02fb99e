"""Finding the few items of many that make a check fail, by halving."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def culprits(failing: Sequence[Item], fails: Callable[[Sequence[Item]], bool]) -> list[Item]:
    """The items to blame in a group that fails: each fails on its own, or belongs to a group of which no half does.

    `fails` is asked about parts only: at most 2 * log2(n) times for one culprit among n.
    """
    if len(failing) == 1:
        return list(failing)
    middle = len(failing) // 2
    first, second = failing[:middle], failing[middle:]
    first_fails = fails(first)
    if not first_fails and not fails(second):
        return list(failing)  # only together
    found = culprits(first, fails) if first_fails else []
    if not first_fails or fails(second):
        found += culprits(second, fails)
    return found
