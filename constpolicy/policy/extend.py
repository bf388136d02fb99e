"""A policy file with all that it extends, as one: each value is the nearest file's, and knows where it is written."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

from constpolicy.policy.choice import BUILTIN, builtins
from constpolicy.policy.document import PolicyError, Value, parse, read
from constpolicy.policy.plain import plain
from constpolicy.policy.validate import nearest, validated

_MOST_FILES = 16


@dataclass(frozen=True)
class PolicyFile:
    """What one file holds, and the folder that its paths start from. Built-in policies have an empty one."""

    value: Value
    path: str
    folder: Path = Path()


def find(reference: str, folder: Path = Path()) -> PolicyFile:
    """The file of a built-in name, or that of a path from the folder. Raises PolicyError."""
    if (file := builtins().get(reference)) is not None:
        return PolicyFile(parse(f"{BUILTIN} '{reference}'", file.read_text(encoding="utf-8")), str(file))
    path = folder / reference
    if path.suffix in (".yaml", ".yml") or os.path.isfile(path):
        return PolicyFile(read(path), os.path.realpath(path), path.parent)
    known = tuple(builtins())
    name = plain(reference[:60])
    raise PolicyError(f"there is no policy '{name}'{nearest(name, known)}; the built-in ones are {', '.join(known)}")


def extended(file: PolicyFile, within: Path | None = None) -> Value:
    """What the file says over what it extends; all of it is checked.

    Args:
      within: The folder that it must not leave, given for a policy that the user has not named. Built-in policies are
        no way out of it.

    Raises:
      PolicyError: something is wrong in one of the files.
    """
    chain = [file]
    validated(file.value)
    while (reference := chain[-1].value.mapping.get("extends")) is not None:
        chain.append(_base(chain, str(reference.content), within))
        validated(chain[-1].value)
    return reduce(_over, [file.value for file in reversed(chain)])


def _base(chain: list[PolicyFile], reference: str, within: Path | None) -> PolicyFile:
    extending = chain[-1]

    def error(text: str) -> PolicyError:
        return extending.value.error(("extends",), text)

    path = os.path.realpath(extending.folder / reference)
    if within is not None and reference not in builtins() and not Path(path).is_relative_to(within):
        raise error(f"'{reference[:60]}' leaves the folder of this policy, which was not named by you")
    if len(chain) == _MOST_FILES:
        raise error(f"more than {_MOST_FILES} files extend each other")
    try:
        base = find(reference, extending.folder)
    except PolicyError as found:
        raise error(str(found)) from None
    if base.path in [file.path for file in chain]:
        raise error(f"'{reference[:60]}' extends this policy again, in a circle")
    return base


def _over(base: Value, own: Value) -> Value:
    """What the own mapping says over what the base's says."""
    content = base.mapping | own.mapping
    for key in base.mapping.keys() & own.mapping.keys():
        content[key] = _JOINED.get(key, _replaced)(base.mapping[key], own.mapping[key])
    content.pop("extends", None)
    return Value(content, own.place)


def _replaced(base: Value, own: Value) -> Value:
    return replace(own, place=replace(own.place, over=base.place))


def _before(base: Value, own: Value) -> Value:
    return Value([*own.items, *base.items], own.place)


def _behind(base: Value, own: Value) -> Value:
    return replace(_before(own, base), place=own.place)


JOINED_LISTS: dict[str, Callable[[Value, Value], Value]] = {"rules": _before, "flags": _behind}
_JOINED = JOINED_LISTS | dict.fromkeys(("allow", "limits", "budgets", "share", "verify"), _over)
