"""Finding the smallest sets of items that make a check fail, by delta debugging.

The searches are generators: they yield a set to try, in the order of the items, and are sent whether it fails. So
whoever tries the sets stays in control, and can do so in whatever process or order of events it has to.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from itertools import pairwise
from typing import TypeAlias, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Search: TypeAlias = "Generator[tuple[Item, ...], bool, Result]"


def answered(search: Search[Item, Result], fails: Callable[[tuple[Item, ...]], bool]) -> Result:
    """What the search finds where each set can be tried at once, by a call of `fails`."""
    try:
        wanted = next(search)
        while True:
            wanted = search.send(fails(wanted))
    except StopIteration as stop:
        result: Result = stop.value
        return result


def causes(failing: Sequence[Item]) -> Search[Item, tuple[tuple[Item, ...], ...]]:
    """Independent causes: what is left of `failing` without all of them does not fail.

    Each is as `minimal` finds it. One cause that is a single item takes at most 2 * log2(n) + 2 tries, of which the
    last shows that nothing else fails.
    """
    found: list[tuple[Item, ...]] = []
    left = tuple(failing)
    while True:
        cause = yield from minimal(left)
        found.append(cause)
        left = _without(left, cause)
        if not left or not (yield left):
            return tuple(found)


def minimal(failing: Sequence[Item]) -> Search[Item, tuple[Item, ...]]:
    """A part of a set that fails, which fails and no longer does without any single one of its items.

    It is taken for granted that `failing` fails and the empty set does not.
    """
    current, parts = tuple(failing), 2
    while len(current) > 1:
        smaller = yield from _first_failing(_split(current, parts))
        if smaller is not None:
            current, parts = smaller, 2
            continue
        smaller = None
        if parts > 2:  # of two parts, each is what remains without the other
            smaller = yield from _first_failing([_without(current, part) for part in _split(current, parts)])
        if smaller is not None:
            current, parts = smaller, max(parts - 1, 2)
        elif parts < len(current):
            parts = min(2 * parts, len(current))
        else:
            break
    return current


def _first_failing(sets: Sequence[tuple[Item, ...]]) -> Search[Item, tuple[Item, ...] | None]:
    for items in sets:
        if (yield items):
            return items
    return None


def _split(items: tuple[Item, ...], parts: int) -> list[tuple[Item, ...]]:
    """So many parts of nearly equal size, none of them empty."""
    ends = [len(items) * number // parts for number in range(parts + 1)]
    return [items[start:end] for start, end in pairwise(ends)]


def _without(items: Sequence[Item], others: Collection[Item]) -> tuple[Item, ...]:
    return tuple(item for item in items if item not in others)
