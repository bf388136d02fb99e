"""Any valid policy gives an equal one when it is written and read again, and is one in the eyes of an editor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import yaml
from hypothesis import HealthCheck, given, settings

from constpolicy.policy.document import parse
from constpolicy.policy.extend import PolicyFile, extended
from constpolicy.policy.json_schema import json_schema
from constpolicy.policy.schema import Policy
from constpolicy.policy.validate import validated
from constpolicy.policy.written import as_yaml
from tests.property.written_policies import policies

EDITOR = jsonschema.Draft202012Validator(json_schema(Policy))
slow = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def loaded(text: str) -> Policy:
    return validated(extended(PolicyFile(parse("p.yaml", text), "p.yaml", Path())))


@slow
@given(data=policies)
def test_a_policy_survives_being_loaded_shown_and_loaded_again(data: dict[str, Any]) -> None:
    written = Policy.model_validate(data)
    first = loaded(yaml.safe_dump(data, allow_unicode=True))
    assert first == written
    assert loaded(as_yaml(first)) == first
    value = parse("p.yaml", as_yaml(first))
    assert loaded(as_yaml(first, value)) == first
    assert Policy.model_validate(first.as_data()).as_data() == first.as_data()


@slow
@given(data=policies)
def test_an_editor_takes_every_valid_policy_as_it_is_written_and_as_it_is_shown(data: dict[str, Any]) -> None:
    EDITOR.validate(data)
    EDITOR.validate(yaml.safe_load(as_yaml(Policy.model_validate(data))))
