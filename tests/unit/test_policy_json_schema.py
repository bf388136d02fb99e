"""The JSON schema that editors check policy files by takes what the product takes, and refuses what it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from constpolicy.policy.choice import builtins
from constpolicy.policy.document import PolicyError, parse
from constpolicy.policy.json_schema import json_schema
from constpolicy.policy.schema import Policy
from constpolicy.policy.validate import validated

ROOT = Path(__file__).parents[2]
EDITOR = jsonschema.Draft202012Validator(json_schema(Policy))


def written_policies() -> Iterator[tuple[str, str]]:
    """(name, text) of every policy that the product or its documentation shows."""
    for name, file in builtins().items():
        yield name, file.read_text()
    for page in (ROOT / "docs").glob("*.md"):
        for number, block in enumerate(re.findall(r"```yaml.*?\n(.*?)```", page.read_text(), re.DOTALL)):
            if "schema: 1" in block:
                yield f"{page.stem}-{number}", block


POLICIES = dict(written_policies())


def test_the_documentation_shows_policies() -> None:
    assert {"policies-0", "balanced"} <= set(POLICIES)
    assert sum(name.startswith("policy-guide") for name in POLICIES) >= 5


@pytest.mark.parametrize("name", POLICIES)
def test_an_editor_takes_every_policy_that_is_shown(name: str) -> None:
    value = parse(name, POLICIES[name])
    validated(value)
    EDITOR.validate(value.data)


FORMS = [
    "rules: [{when: {kind: pad, element_type: f32, id: '1'}, action: inline}]",
    "rules: [{when: {result_bytes: 64, rank: 2, ratio: 0.5, growth: '>= 1.5MB'}, action: inline}]",
    "rules: [{when: {ratio: '< inf', not: {any: [{kind: [pad]}]}}, action: inline}]",
    "otherwise: fuse",
    "limits: {max_growth_bytes: -1 KiB, max_expansion_ratio: 1e-5}",
    "budgets: {file_growth: -5%, load_bytes: 100, evaluate_seconds: 1.5}",
    "verify: {rtol: 1e-5, outputs: {y: {ulp: 4}}, inputs: {ranges: {x: [-1, 1.5]}}}",
]
WRONG = [
    "limts: {}",
    "default: evalute",
    "default:",
    "name: 12",
    "schema: true",
    "extends: [a]",
    "allow: {transpos: true}",
    "allow: {transpose: 1}",
    "otherwise: []",
    "rules: [{when: {kind: }, action: inline}]",
    "rules: [{when: {knd: pad}, action: inline}]",
    "rules: [{when: {any: []}, action: inline}]",
    "rules: [{when: {result_bytes: '>= 64 apples'}, action: inline}]",
    "rules: [{when: {result_bytes: 1.5}, action: inline}]",
    "rules: [{when: {ratio: '> nan'}, action: inline}]",
    "rules: [{when: {shared: 'yes'}, action: inline}]",
    "rules: [{action: inline}]",
    "limits: {max_result_bytes: -1}",
    "limits: {max_result_bytes: '5%'}",
    "limits: {max_expansion_ratio: -1}",
    "budgets: {file_growth: nan%}",
    "budgets: {evaluate_seconds: -1}",
    "share: {whole_tabel: true}",
    "verify: {cosine: 2}",
    "verify: {rtol: -1}",
    "verify: {rtol: true}",
    "verify: {inputs: {sets: [seedd]}}",
    "verify: {inputs: {seed: true}}",
    "verify: {inputs: {ranges: {x: [1]}}}",
]


def plain_data(line: str) -> dict[str, Any]:
    data: dict[str, Any] = {"schema": 1, "name": "x"} | yaml.safe_load(line)
    return data


@pytest.mark.parametrize("line", FORMS)
def test_an_editor_takes_every_form_in_which_a_value_may_be_written(line: str) -> None:
    EDITOR.validate(plain_data(line))
    validated(parse("p.yaml", f"schema: 1\nname: x\n{line}\n"))


@pytest.mark.parametrize("line", WRONG)
def test_an_editor_refuses_what_the_product_refuses(line: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        EDITOR.validate(plain_data(line))
    lines = {"schema": "schema: 1", "name": "name: x"} | {line.partition(":")[0]: line}
    with pytest.raises(PolicyError, match=r"^p\.yaml:\d:\d+: "):
        validated(parse("p.yaml", "\n".join(lines.values())))
