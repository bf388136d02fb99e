"""Policy files: which one is meant, what they extend, and errors that name the place and what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from constpolicy.policy.document import PolicyError, parse
from constpolicy.policy.load import builtin_names, load_policy
from constpolicy.policy.schema import Rule, When
from constpolicy.records import Action, Kind


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text)
    return file


@pytest.mark.parametrize("name", ["upstream", "balanced", "small", "low-memory", "fast-load", "none"])
def test_every_built_in_policy_loads_and_states_its_principle(name: str) -> None:
    loaded = load_policy(name)
    assert loaded.policy.name == name
    assert len(loaded.policy.description) > 40
    assert name in builtin_names()


ERRORS = [
    ("schema: 1\nname: x\nlimts: {}\n", "3:1: unknown key 'limts', did you mean 'limits'?"),
    (
        "schema: 1\nname: x\nlimits: {max_growth: 1}\n",
        "3:10: unknown key 'max_growth', did you mean 'max_growth_bytes'?",
    ),
    ("schema: 1\nname: x\ndefault: evalute\n", "3:1: default: 'evalute' is unknown, did you mean 'evaluate'?"),
    ("schema: 1\nname: x\nallow: {transpos: false}\n", "3:9: allow: 'transpos' is unknown, did you mean 'transpose'?"),
    ("schema: 1\nname: x\nlimits:\n  max_result_bytes: 3 apples\n", "4:3: max_result_bytes: '3 apples' is no size"),
    ("schema: 2\nname: x\n", "1:1: schema: Input should be 1"),
    ("name: x\n", "1:1: 'schema' is missing"),
    ("schema: 1\nname: x\nname: y\n", "3:1: 'name' is given twice"),
    ("schema: 1\nname: &a x\ndescription: *a\n", "2:7: anchors and aliases are not taken"),
    ("schema: 1\nname: !!python/object:os.system x\n", "2:7: tags are not taken"),
    (
        "schema: 1\nname: x\nrules: [{when: {knd: pad}, action: inline}]\n",
        "3:17: unknown key 'knd', did you mean 'kind'?",
    ),
    ("schema: 1\nname: 12\n", "2:1: name: 12 is no text: write it in quotes"),
    ("schema: 1\n\tname: x\n", "2:1: no valid YAML"),
    ("", "1:1: the file is empty"),
    ("- a\n", "1:1: a policy is a mapping"),
    ("schema: 1\nname: " + "[" * 100 + "]" * 100 + "\n", "nested deeper than 32 levels"),
    ("schema: 1\nname: x\nlimits: {max_growth_bytes: 1" + "0" * 5000 + "}\n", "out of range"),
]


@pytest.mark.parametrize(("text", "message"), ERRORS, ids=range(len(ERRORS)))
def test_an_error_names_the_place_and_what_to_write(tmp_path: Path, text: str, message: str) -> None:
    file = write(tmp_path, "p.yaml", text)
    with pytest.raises(PolicyError) as raised:
        load_policy(str(file))
    assert str(raised.value).startswith(f"{file}:")
    assert message in str(raised.value)


def test_another_encoding_is_refused_with_the_line(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_bytes(b"schema: 1\nname: caf\xe9\n")
    with pytest.raises(PolicyError, match=r"p.yaml:2:1: not UTF-8"):
        load_policy(str(file))


def test_an_unknown_name_is_answered_with_the_nearest_and_all_names() -> None:
    with pytest.raises(PolicyError, match=r"no policy 'balancd', did you mean 'balanced'\?; the built-in ones are"):
        load_policy("balancd")


def test_rules_come_before_those_of_the_base_and_maps_are_merged(tmp_path: Path) -> None:
    write(
        tmp_path,
        "base.yaml",
        "schema: 1\nname: base\nallow: {pad: false, cast: false}\nlimits: {max_growth_bytes: 1k}\n"
        "rules: [{name: theirs, when: {}, action: inline}]\n",
    )
    file = write(
        tmp_path,
        "own.yaml",
        "schema: 1\nname: own\nextends: base.yaml\nallow: {pad: true}\nlimits: {max_result_bytes: 2k}\n"
        "rules: [{name: ours, when: {}, action: fuse}]\n",
    )
    policy = load_policy(str(file)).policy
    assert [rule.name for rule in policy.rules] == ["ours", "theirs"]
    assert policy.allow == {Kind.PAD: True, Kind.CAST: False}
    assert (policy.limits.max_growth_bytes, policy.limits.max_result_bytes) == (1024, 2048)
    assert policy.name == "own"


def test_a_rule_knows_where_it_was_written_which_is_no_part_of_its_value(tmp_path: Path) -> None:
    base = write(tmp_path, "base.yaml", "schema: 1\nname: base\nrules:\n  - {when: {kind: pad}, action: inline}\n")
    own = write(
        tmp_path,
        "own.yaml",
        "schema: 1\nname: own\nextends: base.yaml\nrules:\n  - {when: {kind: cast}, action: fuse}\n"
        "  - {when: {kind: pad}, action: inline}\n",
    )
    rules = load_policy(str(own)).policy.rules
    assert [rule.place for rule in rules] == [f"{own}:5:5", f"{own}:6:5", f"{base}:4:5"]
    assert rules[1] == rules[2] == Rule(when=When(kind=[Kind.PAD]), action=Action.INLINE)
    assert rules[0] != rules[1]
    assert set(Rule.model_json_schema()["properties"]) == set(rules[0].model_dump()) == {"name", "when", "action"}
    write(tmp_path, "own.yaml", "schema: 1\nname: own\nrules: [{when: {kind: pad}, action: inline, place: here}]\n")
    with pytest.raises(PolicyError, match="unknown key 'place'"):
        load_policy(str(own))


def test_extending_in_a_circle_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", "schema: 1\nname: a\nextends: b.yaml\n")
    write(tmp_path, "b.yaml", "schema: 1\nname: b\nextends: a.yaml\n")
    with pytest.raises(PolicyError, match="in a circle"):
        load_policy(str(tmp_path / "a.yaml"))


def test_the_search_goes_from_the_named_policy_to_the_environment_the_model_and_the_default(tmp_path: Path) -> None:
    model = tmp_path / "model.mlir"
    environ = {"CONSTPOLICY_POLICY": "small"}
    assert load_policy("none", model=model, environ=environ).policy.name == "none"
    assert load_policy(None, model=model, environ=environ).policy.name == "small"
    assert load_policy(None, model=model, environ={}).policy.name == "balanced"
    write(tmp_path, "model.constpolicy.yaml", "schema: 1\nname: beside\ndefault: initialize\n")
    beside = load_policy(None, model=model, environ={})
    assert (beside.policy.name, beside.trusted, beside.policy.default) == ("beside", False, Action.INITIALIZE)


@pytest.mark.parametrize(
    ("line", "refusal"),
    [
        ("flags: [--iree-llvmcpu-system-linker-path=/bin/sh]", "is not taken from a policy found beside a model"),
        ("flags: [--mlir-print-ir-tree-dir=/tmp]", "is not taken from a policy found beside a model"),
        ("extends: ../outside.yaml", "leaves the folder of this policy"),
    ],
)
def test_a_policy_found_beside_a_model_cannot_reach_out(tmp_path: Path, line: str, refusal: str) -> None:
    folder = tmp_path / "download"
    folder.mkdir()
    write(tmp_path, "outside.yaml", "schema: 1\nname: outside\n")
    write(folder, "model.constpolicy.yaml", f"schema: 1\nname: beside\n{line}\n")
    with pytest.raises(PolicyError, match=refusal):
        load_policy(None, model=folder / "model.mlir", environ={})


def test_a_harmless_flag_is_taken_from_a_policy_beside_a_model(tmp_path: Path) -> None:
    write(tmp_path, "model.constpolicy.yaml", "schema: 1\nname: beside\nflags: [--iree-opt-data-tiling]\n")
    loaded = load_policy(None, model=tmp_path / "model.mlir", environ={})
    assert loaded.policy.flags == ["--iree-opt-data-tiling"]


def test_a_value_knows_where_it_is_written() -> None:
    value = parse("p.yaml", "schema: 1\nrules:\n  - when: {kind: pad}\n    action: inline\n")
    assert str(value.at(["rules", 0, "action"]).place) == "p.yaml:4:5"
    assert str(value.at(["rules", 0, "name"]).place) == "p.yaml:3:5"  # that of the rule, which has none
