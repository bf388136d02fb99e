"""From the values in a file to a policy, with what is wrong said in the words of policies."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from constpolicy.policy.document import Value
from constpolicy.policy.plain import plain
from constpolicy.policy.schema import Policy

_SHOWN = 40  # characters of a wrong value
_FORMS = {
    "model_type": "write a mapping, {key: value}",
    "dict_type": "write a mapping, {key: value}",
    "list_type": "write a list, [...]",
    "bool_type": "write true or false",
}


def validated(value: Value) -> Policy:
    """The policy that a file holds; its rules know their places. Raises PolicyError."""
    if not isinstance(value.content, dict):
        raise value.error((), "a policy is a mapping, beginning with 'schema: 1'")
    try:
        policy = Policy.model_validate(value.data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        steps = _steps(first["loc"])
        raise value.error(steps, _explained(steps, first)) from None
    if not policy.rules:
        return policy
    placed = [rule.at(str(value.at(("rules", index)).place)) for index, rule in enumerate(policy.rules)]
    return policy.model_copy(update={"rules": placed})


def nearest(word: str, valid: Sequence[str]) -> str:
    """The question whether the most similar of the valid words was meant, if one is similar."""
    close = difflib.get_close_matches(word, valid, n=1)
    return f", did you mean '{close[0]}'?" if close else ""


def _steps(location: Sequence[str | int]) -> tuple[str | int, ...]:
    """The error's place in the file: pydantic adds a last step "[key]" where it is the key that is wrong."""
    return tuple(location[:-1] if location and location[-1] == "[key]" else location)


def _explained(steps: Sequence[str | int], error: Mapping[str, Any]) -> str:
    words = [step for step in steps if isinstance(step, str)]
    key, kind = words[-1] if words else "policy", error["type"]
    if kind == "extra_forbidden":
        return f"unknown key '{_shown(key)}'{_nearest_of(key, _keys_at(words[:-1]))}"
    if kind == "missing":
        return f"'{key}' is missing"
    if valid := re.findall("'([^']*)'", error["ctx"]["expected"]) if kind in ("enum", "literal_error") else ():
        section, given = words[-2] if error["loc"][-1] == "[key]" else key, _shown(error["input"])
        if isinstance(error["input"], (list, dict)):
            return f"{section}: one word is taken here, of {', '.join(valid)}"
        return f"{section}: '{given}' is unknown{_nearest_of(given, valid)}"
    if kind == "string_type":
        return f"{key}: {_shown(repr(error['input']))} is no text: write it in quotes"
    return f"{_shown(key)}: {_FORMS.get(kind) or str(error['msg']).removeprefix('Value error, ')}"


def _nearest_of(word: str, valid: Sequence[str]) -> str:
    return f"{nearest(word, valid)}; expected one of {', '.join(valid)}"


def _keys_at(words: Sequence[str]) -> tuple[str, ...]:
    """The keys that the section behind these keys takes."""
    model: type[BaseModel] = Policy
    for word in words:  # one that is no key of the model is one of a mapping of such models, such as an output's name
        field = next((info for name, info in model.model_fields.items() if word == (info.alias or name)), None)
        model = next(_models(field.annotation), model) if field else model
    return tuple(info.alias or name for name, info in model.model_fields.items())


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models in a type such as `list[Rule] | None`."""
    arguments = get_args(annotation)
    if not arguments and isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in arguments:
        yield from _models(argument)


def _shown(value: object) -> str:
    return plain(str(value)[:_SHOWN])
