"""A policy as the text of a file, on request with the place where each value was written."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import yaml

from constpolicy.policy.document import Place, Value
from constpolicy.policy.extend import JOINED_LISTS
from constpolicy.policy.schema import Policy


def as_yaml(policy: Policy, written: Value | None = None) -> str:
    """The YAML text of the policy, which gives an equal policy again.

    With the values as they are `written`, comments say where each stands, and what it stands over.
    """
    values = written.mapping if written else {}
    return "\n".join(text for key, data in policy.as_data().items() for text in _entry(key, data, values.get(key)))


def _entry(key: str, data: Any, written: Value | None) -> Iterator[str]:
    """The texts of one key's value. What several files may have a part in is taken apart."""
    if written is None:
        yield _dumped({key: data})
    elif isinstance(data, dict) and data:
        yield f"{key}:"
        for inner, value in data.items():
            yield textwrap.indent(f"{_comment(written.mapping[inner])}\n{_dumped({inner: value})}", "  ")
    elif key in JOINED_LISTS and data:
        yield f"{key}:"
        for item, place in zip(data, written.items, strict=True):
            yield f"{_comment(place)}\n{_dumped([item])}"
    else:
        yield f"{_comment(written)}\n{_dumped({key: data})}"


def _comment(written: Value) -> str:
    return f"# {_history(written.place)}"


def _history(place: Place) -> str:
    return str(place) if place.over is None else f"{place}, over {_history(place.over)}"


def _dumped(data: object) -> str:
    return yaml.safe_dump(data, sort_keys=False, width=100, allow_unicode=True).removesuffix("\n")
