"""From a policy's name or file to the policy, with what it extends, if it can be trusted."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from constpolicy.policy.choice import Choice, builtins, choose
from constpolicy.policy.document import Document, PolicyError, parse, read
from constpolicy.policy.schema import Budgets, Limits, Policy, Rule, Verify, VerifyBounds, VerifyInputs, When
from constpolicy.policy.trust import refuse_untrusted
from constpolicy.records import Action, Kind, Phase

_MOST_EXTENDED = 16
_MERGED = ("allow", "limits", "budgets", "share", "verify")
_OVERRIDDEN = ("schema", "name", "description", "default", "otherwise")
_SECTIONS: dict[str, type[BaseModel]] = {
    "limits": Limits,
    "budgets": Budgets,
    "verify": Verify,
    "outputs": VerifyBounds,
    "inputs": VerifyInputs,
    "when": When,
}
_WORDS = {"action": Action, "default": Action, "otherwise": Action, "kind": Kind, "contains": Kind, "allow": Kind}


@dataclass(frozen=True)
class LoadedPolicy:
    """A policy with all that it extends, why it was chosen, and whether the user named it himself.

    `value_origins` says of each key which files set it, the nearest first.
    """

    policy: Policy
    origin: str
    trusted: bool
    warnings: tuple[str, ...] = ()
    value_origins: Mapping[str, str] = field(default_factory=dict)


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
    if not choice.beside_model:
        return _loaded(_find(choice.reference, Path()), choice.origin)
    file = Path(choice.reference)
    document = read(file)
    loaded = _loaded(document, choice.origin, within=file.resolve().parent)
    refuse_untrusted(document, loaded.policy)
    return loaded


def _find(reference: str, folder: Path) -> Document:
    """The document of a built-in name, or of a file relative to the folder."""
    if (file := builtins().get(reference)) is not None:
        return parse(f"built-in policy '{reference}'", file.read_text(encoding="utf-8"))
    path = folder / reference
    if path.suffix in (".yaml", ".yml") or path.is_file():
        return read(path)
    close = _nearest(reference, builtin_names())
    raise PolicyError(f"there is no policy '{reference}'{close}; the built-in ones are {', '.join(builtin_names())}")


def _loaded(document: Document, origin: str, within: Path | None = None) -> LoadedPolicy:
    """The policy of a document merged with all that it extends.

    `within` is the folder that it must not leave, given for what is not trusted.
    """
    chain = _chain(document, within)
    origins: dict[str, list[str]] = {}
    for name, policy in chain:
        for key in policy.as_data():
            origins.setdefault(key, []).append(name)
    texts = {key: ", over ".join(names[:1] if key in _OVERRIDDEN else names) for key, names in origins.items()}
    merged = _merged([policy for _, policy in chain])
    rules = [rule for _, policy in chain for rule in policy.rules]
    if rules:
        merged = merged.model_copy(update={"rules": rules})
    return LoadedPolicy(merged, origin, within is None, value_origins=texts)


def _chain(document: Document, within: Path | None) -> list[tuple[str, Policy]]:
    """The document's policy and what it extends, one after the other, each with the name of its file."""
    chain = [(document.name, _validated(document))]
    seen = {document.name}
    while (base := chain[-1][1].extends) is not None:
        folder = Path(document.name).parent
        if within is not None and not (folder / base).resolve().is_relative_to(within):
            raise document.error(("extends",), f"'{base}' leaves the folder of this policy, which was not named by you")
        try:
            following = _find(base, folder)
        except PolicyError as error:
            raise document.error(("extends",), str(error)) from None
        if following.name in seen or len(chain) > _MOST_EXTENDED:
            raise document.error(("extends",), f"'{base}' extends this policy again, in a circle")
        seen.add(following.name)
        document = following
        chain.append((document.name, _validated(document)))
    return chain


def _merged(chain: list[Policy]) -> Policy:
    """What the first policy of the chain says over what the later ones say: rules before theirs, maps key by key."""
    merged: dict[str, Any] = {}
    for policy in reversed(chain):
        for key, value in policy.as_data().items():
            if key == "rules":
                merged[key] = value + merged.get(key, [])
            elif key in _MERGED:
                merged[key] = merged.get(key, {}) | value
            elif key == "flags":
                merged[key] = merged.get(key, []) + value
            elif key != "extends":
                merged[key] = value
    return Policy.model_validate(merged)


def _validated(document: Document) -> Policy:
    if not isinstance(document.data, dict):
        raise document.error((), "a policy is a mapping, beginning with 'schema: 1'")
    try:
        policy = Policy.model_validate(document.data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise document.error(_place(first["loc"]), _explained(dict(first))) from None
    placed = [rule.at(document.place(("rules", index))) for index, rule in enumerate(policy.rules)]
    return policy.model_copy(update={"rules": placed}) if placed else policy


def _place(location: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """The error's place in the file: pydantic adds steps such as "[key]" that are not in it."""
    return tuple(step for step in location if step != "[key]")


def _explained(error: dict[str, Any]) -> str:
    location = _place(error["loc"])
    words = [step for step in location if isinstance(step, str)]
    key = words[-1] if words else "policy"
    kind = error["type"]
    if kind == "extra_forbidden":
        valid = _keys_of(words[:-1])
        return f"unknown key '{key}'{_nearest(key, valid)}; expected one of {', '.join(valid)}"
    if kind == "missing":
        return f"'{key}' is missing"
    if kind == "enum":
        section = next((word for word in reversed(words) if word in _WORDS or word == "phase"), key)
        members: Iterable[Enum] = Phase if section == "phase" else _WORDS.get(section, Kind)
        valid = tuple(str(member.value) for member in members)
        given = str(error["input"])[:40]
        return f"'{given}' is no {section}{_nearest(given, valid)}; expected one of {', '.join(valid)}"
    if kind == "string_type":
        return f"{key}: {error['input']!r} is no text: write it in quotes"
    text = str(error["msg"]).removeprefix("Value error, ")
    return f"{key}: {text}"


def _keys_of(words: list[str]) -> tuple[str, ...]:
    """The keys that the section at this place takes."""
    model: type[BaseModel] = Policy
    for word in words:
        if word in ("any", "all", "not"):
            model = When
        elif word == "rules":
            model = Rule
        else:
            model = _SECTIONS.get(word, model)
    return tuple(info.alias or name for name, info in model.model_fields.items())


def _nearest(word: str, valid: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(word, valid, n=1)
    return f", did you mean '{close[0]}'?" if close else ""
