"""Policy files: which one is meant, what they extend, and errors that name the place and what to write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from constpolicy.compiler.flags import _ANSWERS, _BOOLEAN, _VALUED
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
    (
        "schema: 1\nname: x\nrules: [{when: {growth: >= 1MiB}, action: inline}]\n",
        "3:25: no valid YAML: found character '>' that cannot start any token; text that begins like",
    ),
    (
        "schema: 1\nname: *x*\n",
        "2:9: no valid YAML: expected alphabetic or numeric character, but found '*'; text that",
    ),
    (
        "schema: 1\nname: x\nrules: [{when: {rank: 1}, action: [share, inline]}]\n",
        "3:27: action: one word is taken here, of evaluate, initialize, inline, fuse, share",
    ),
    ("", "1:1: the file is empty"),
    ("- a\n", "1:1: a policy is a mapping"),
    ("schema: 1\nname: " + "[" * 100 + "]" * 100 + "\n", "nested deeper than 32 levels"),
    ("schema: 1\nname: x\nlimits: {max_growth_bytes: 1" + "0" * 5000 + "}\n", "out of range"),
    (
        "schema: 1\nname: x\nshare: {whole_tabel: true}\n",
        "3:9: unknown key 'whole_tabel', did you mean 'whole_table'?; expected one of whole_table, max_gathered_rows",
    ),
    (
        "schema: 1\nname: x\nverify: {outputs: {limits: {rtl: 1}}}\n",
        "3:29: unknown key 'rtl', did you mean 'rtol'?; expected one of rtol, atol, statistic",
    ),
    ("schema: 1\nname: x\nverify:\n  statistic: meen\n", "4:3: statistic: 'meen' is unknown, did you mean 'mean'?"),
    (
        "schema: 1\nname: x\nverify: {inputs: {sets: [zeros, one]}}\n",
        "3:33: sets: 'one' is unknown, did you mean 'ones'",
    ),
    (
        "schema: 1\nname: x\nrules: [{when: {phase: dispatch}, action: inline}]\n",
        "3:17: phase: 'dispatch' is unknown, did you mean 'dispatch-creation'?",
    ),
    ("schema: 1\nname: x\nlimits: 12\n", "3:1: limits: write a mapping, {key: value}"),
    ("schema: 1\nname: x\nrules: {}\n", "3:1: rules: write a list, [...]"),
    ("schema: 1\nname: x\ndescription: a\n\x07b\n", "4:1: the character #x07 is no text"),
    ("schema: 1\nname: x\ndescription: a\0b\n", "3:15: the character #x00 is no text"),
    ('schema: 1\nname: x\ndescription: "\\e[31m"\n', "3:1: the character #x1b in '\\x1b[31m' is no text"),
    ('schema: 1\nname: x\nallow: {"\\e": true}\n', "3:9: the character #x1b in '\\x1b' is no text"),
    ('schema: 1\nname: "x\\ny"\n', "2:1: name: a name is one line of text"),
    ("schema: true\nname: x\n", "1:1: schema: write 1, the version of this language"),
    ("schema: 1\nname: x\nrules: [{when: {kind: , id: }, action: inline}]\n", "3:17: 'kind' has no value"),
    ("schema: 1\nname: x\nrules: [{when: {not: {shared: ~}}, action: fuse}]\n", "3:23: 'shared' has no value"),
    ("schema: 1\nname: x\nrules: [{when: , action: inline}]\n", "3:10: 'when' has no value"),
    ("schema: 1\nname: x\nrules: [{when: {kind: [pad, null]}, action: inline}]\n", "3:29: there is no value here"),
    ("schema: 1\nname: x\nlimits:\n", "3:1: 'limits' has no value: write one, or leave it out"),
    ("schema: 1\nname: x\nextends:\n", "3:1: 'extends' has no value"),
    ("schema: 1\nname: x\nflags: [-o, y.vmfb]\n", "3:9: flags: -o is for the command line"),
    ("schema: 1\nname: x\nflags: [--iree-opt-level=O2, y.mlir]\n", "3:30: flags: 'y.mlir' is no flag"),
]


@pytest.mark.parametrize(("text", "message"), ERRORS, ids=range(len(ERRORS)))
def test_an_error_names_the_place_and_what_to_write(tmp_path: Path, text: str, message: str) -> None:
    file = write(tmp_path, "p.yaml", text)
    with pytest.raises(PolicyError) as raised:
        load_policy(str(file))
    assert str(raised.value).startswith(f"{file}:")
    assert message in str(raised.value)


@pytest.mark.parametrize("flag", sorted({*_VALUED, *_BOOLEAN, *_ANSWERS}))
def test_no_policy_sets_a_flag_that_iree_compile_itself_takes(tmp_path: Path, flag: str) -> None:
    for spelling in (f"-{flag}", f"--{flag}", f"--{flag}=1"):
        file = write(tmp_path, "p.yaml", f"schema: 1\nname: x\nflags: [{spelling}]\n")
        with pytest.raises(PolicyError, match=f"{spelling} is for the command line"):
            load_policy(str(file))


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    odd = tmp_path / "odd.yaml"
    if kind == "pipe":
        os.mkfifo(odd)
    elif kind == "device":
        odd.symlink_to("/dev/zero")
    else:
        odd.mkdir()
    write(tmp_path, "model.constpolicy.yaml", "schema: 1\nname: x\nextends: odd.yaml\n")
    with pytest.raises(PolicyError, match=r"odd\.yaml: (is no regular file|cannot be read: Is a directory)"):
        load_policy(str(odd))
    with pytest.raises(PolicyError, match=r"model\.constpolicy\.yaml:3:1: .*odd\.yaml"):
        load_policy(None, model=tmp_path / "model.mlir", environ={})


@pytest.mark.parametrize("reference", ["x" * 5000, "x" * 5000 + ".yaml", "a\0", "a\0.yaml", "\udcff.yaml", "", "\n"])
def test_a_reference_that_no_file_can_have_is_one_clear_error(reference: str) -> None:
    with pytest.raises(PolicyError) as raised:
        load_policy(reference)
    assert str(raised.value).isprintable()


def test_a_model_whose_policy_would_have_too_long_a_name_has_none(tmp_path: Path) -> None:
    model = tmp_path / f"{'m' * 240}.mlir"
    model.touch()
    assert load_policy(None, model=model, environ={}).policy.name == "balanced"


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


@pytest.mark.parametrize("spelling", ["a.yaml", "./a.yaml", "sub/../a.yaml", "link.yaml"])
def test_extending_in_a_circle_is_refused_however_the_file_is_named(tmp_path: Path, spelling: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.yaml").symlink_to("a.yaml")
    write(tmp_path, "a.yaml", "schema: 1\nname: a\nextends: b.yaml\n")
    write(tmp_path, "b.yaml", f"schema: 1\nname: b\nextends: {spelling}\n")
    with pytest.raises(PolicyError, match=r"b\.yaml:3:1: .* extends this policy again, in a circle"):
        load_policy(str(tmp_path / "a.yaml"))


@pytest.mark.parametrize(("files", "error"), [(16, None), (17, "15.yaml:3:1: more than 16 files extend each other")])
def test_a_long_chain_of_files_is_no_circle(tmp_path: Path, files: int, error: str | None) -> None:
    for number in range(files):
        base = f"{number + 1}.yaml" if number + 1 < files else None
        extends = f"extends: {base}\n" if base else ""
        write(tmp_path, f"{number}.yaml", f"schema: 1\nname: p{number}\n{extends}")
    if error is None:
        assert load_policy(str(tmp_path / "0.yaml")).policy.name == "p0"
    else:
        with pytest.raises(PolicyError, match=error):
            load_policy(str(tmp_path / "0.yaml"))


@pytest.mark.parametrize("number", ["0100", "1:30", "0x10", "0b11", "1_000", "1:30.5", "-010"])
def test_numbers_that_yaml_does_not_read_as_decimal_are_refused(tmp_path: Path, number: str) -> None:
    path = write(tmp_path, "p.yaml", f"schema: 1\nname: p\nlimits:\n  max_growth_bytes: {number}\n")
    with pytest.raises(PolicyError, match=rf"p\.yaml:4:\d+: '{number}' is no decimal number"):
        load_policy(str(path))


EMPTY = ["{}", "{all: [{}]}", "{any: [{kind: pad}, {}]}", "{any: [{all: [{}]}], all: [{}, {}]}"]
SAYING = ["{kind: pad}", "{not: {}}", "{any: [{kind: pad}]}", "{all: [{}, {shared: true}]}", "{any: [{}], rank: 2}"]


@pytest.mark.parametrize("when", [*EMPTY, *SAYING])
def test_rules_behind_one_that_matches_everything_are_told_with_their_places(tmp_path: Path, when: str) -> None:
    base = write(tmp_path, "base.yaml", "schema: 1\nname: base\nrules: [{when: {kind: cast}, action: fuse}]\n")
    own = write(
        tmp_path,
        "own.yaml",
        f"schema: 1\nname: own\nextends: base.yaml\nrules:\n  - {{when: {when}, action: inline}}\n"
        "  - {name: late, when: {kind: cast}, action: fuse}\n",
    )
    told = "decides nothing: earlier rules match all that it matches"
    expected = (f"{own}:6:5: rule 'late' {told}", f"{base}:3:9: rule 'number 3' {told}")
    assert load_policy(str(own)).warnings == (expected if when in EMPTY else ())


def test_a_rule_that_says_the_same_as_an_earlier_one_of_its_file_is_told_and_one_of_its_base_is_not(
    tmp_path: Path,
) -> None:
    rule = "rules: [{when: {kind: cast, rank: 2}, action: fuse}"
    write(tmp_path, "base.yaml", f"schema: 1\nname: base\n{rule}]\n")
    again = ", {name: again, when: {rank: 2, kind: [cast]}, action: inline}]"
    own = write(tmp_path, "own.yaml", f"schema: 1\nname: own\nextends: base.yaml\n{rule}{again}\n")
    (warning,) = load_policy(str(own)).warnings
    assert "rule 'again' decides nothing" in warning


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


def test_a_flag_that_is_not_taken_is_reported_where_it_is_written(tmp_path: Path) -> None:
    write(
        tmp_path,
        "base.yaml",
        "schema: 1\nname: base\nflags:\n  - --iree-opt-level=O2\n  - --mlir-print-ir-tree-dir=x\n",
    )
    write(
        tmp_path,
        "model.constpolicy.yaml",
        "schema: 1\nname: beside\nextends: base.yaml\nflags: [--iree-opt-data-tiling]\n",
    )
    with pytest.raises(PolicyError, match=rf"^{tmp_path}/base\.yaml:5:5: the flag --mlir-print-ir-tree-dir=x is not"):
        load_policy(None, model=tmp_path / "model.mlir", environ={})


def test_a_harmless_flag_is_taken_from_a_policy_beside_a_model(tmp_path: Path) -> None:
    write(tmp_path, "model.constpolicy.yaml", "schema: 1\nname: beside\nflags: [--iree-opt-data-tiling]\n")
    loaded = load_policy(None, model=tmp_path / "model.mlir", environ={})
    assert loaded.policy.flags == ["--iree-opt-data-tiling"]


def test_a_function_is_named_with_or_without_its_at(tmp_path: Path) -> None:
    rules = "rules: [{when: {function: ['@main', 'f*']}, action: inline}]"
    file = write(tmp_path, "p.yaml", f"schema: 1\nname: x\n{rules}\n")
    (rule,) = load_policy(str(file)).policy.rules
    assert rule.when.function == ["main", "f*"]


def test_a_value_knows_where_it_is_written() -> None:
    value = parse("p.yaml", "schema: 1\nrules:\n  - when: {kind: pad}\n    action: inline\n")
    assert str(value.at(["rules", 0, "action"]).place) == "p.yaml:4:5"
    assert str(value.at(["rules", 0, "name"]).place) == "p.yaml:3:5"  # that of the rule, which has none


def test_none_lifts_a_limit_or_budget_of_the_policy_that_is_extended(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(
        "schema: 1\nname: base\nlimits: {max_growth_bytes: 1KiB, max_result_bytes: 1MiB}\nbudgets: {file_growth: 1%}\n"
    )
    own = tmp_path / "own.yaml"
    own.write_text(
        "schema: 1\nname: own\nextends: base.yaml\nlimits: {max_growth_bytes: none}\nbudgets: {file_growth: none}\n"
    )
    loaded = load_policy(str(own)).policy
    assert loaded.limits.max_growth_bytes is None
    assert loaded.limits.max_result_bytes == 2**20
    assert loaded.budgets.totals(10**6) == {}
