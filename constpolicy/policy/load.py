"""From a policy's name or file to the policy, with what it extends, if it can be trusted."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from constpolicy.policy.choice import Choice, builtins, choose
from constpolicy.policy.decide import rule_in_words
from constpolicy.policy.document import PolicyError, Value, read
from constpolicy.policy.extend import PolicyFile, extended, find
from constpolicy.policy.flags import refuse_untrusted
from constpolicy.policy.plain import plain
from constpolicy.policy.schema import Policy
from constpolicy.policy.validate import validated


@dataclass(frozen=True)
class LoadedPolicy:
    """A policy with all that it extends, why it was chosen, and whether the user named it himself.

    `written` has the places of its values; None for a policy that was made in code.
    """

    policy: Policy
    origin: str
    trusted: bool
    warnings: tuple[str, ...] = ()
    written: Value | None = None


def builtin_names() -> tuple[str, ...]:
    """The names of the built-in policies, in the order of their files."""
    return tuple(builtins())


def load_policy(
    reference: str | None, *, model: Path | None = None, environ: Mapping[str, str] = os.environ
) -> LoadedPolicy:
    """Loads the policy that `choose` finds to be meant. Raises PolicyError as `load_chosen`."""
    return load_chosen(choose(reference, model, environ))


def load_chosen(choice: Choice) -> LoadedPolicy:
    """Loads a policy with everything that it extends.

    Raises:
      PolicyError: there is no such policy, or something is wrong in it.
    """
    origin = plain(choice.origin)
    if choice.beside_model:
        return _untrusted(read(Path(choice.reference)), Path(choice.reference), origin)
    return _loaded(extended(find(choice.reference)), origin, trusted=True)


def refusal_beside_model(value: Value, file: Path) -> str | None:
    """Why what stands in that file would be refused if it was found beside a model; None if it would be taken."""
    try:
        _untrusted(value, file, "")
    except PolicyError as error:
        return str(error)
    return None


def _untrusted(value: Value, file: Path, origin: str) -> LoadedPolicy:
    folder = Path(os.path.realpath(file.parent))
    written = extended(PolicyFile(value, os.path.realpath(file), file.parent), within=folder)
    refuse_untrusted(written)
    return _loaded(written, origin, trusted=False)


def _loaded(written: Value, origin: str, *, trusted: bool) -> LoadedPolicy:
    policy = validated(written)
    return LoadedPolicy(policy, origin, trusted, _unreachable(policy), written)


def _unreachable(policy: Policy) -> tuple[str, ...]:
    """Warnings about the rules that come after one that matches everything, or in the same file the same."""
    return tuple(
        f"{rule_in_words(policy, index)} decides nothing: earlier rules match all that it matches"
        for index, rule in enumerate(policy.rules)
        if any(
            earlier.when.matches_everything or (earlier.when == rule.when and earlier.file == rule.file)
            for earlier in policy.rules[:index]
        )
    )
