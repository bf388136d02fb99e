"""`constpolicy policy`: what it writes can be loaded, and what cannot be done is one clear error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from constpolicy.report.model import Report
from scripts.models.cases import write
from tests.e2e.programs import CPU, constpolicy


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (path,) = write(tmp_path / "in", ["tied_scaled"])
    return path


def policy(file: Path, lines: str = "extends: balanced") -> Path:
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"schema: 1\nname: base\n{lines}\n")
    return file


def error(ended: subprocess.CompletedProcess[bytes]) -> str:
    assert ended.returncode == 2, (ended.stdout, ended.stderr)
    (line,) = ended.stderr.decode().splitlines()
    return line


@pytest.mark.parametrize("base", ["base.yaml", "small/base.yaml", "small"])
def test_a_policy_that_init_writes_beside_the_model_is_found_there(
    model: Path, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy(model.parent / base)
    monkeypatch.chdir(model.parents[1])
    assert constpolicy("policy", "init", f"in/{model.name}", "--extends", f"in/{base}", "--", *CPU).returncode == 0
    ended = constpolicy("explain", f"in/{model.name}", "--json", *CPU)
    assert ended.returncode == 0, ended.stderr.decode()
    report = Report.model_validate_json(ended.stdout)
    assert "found beside the model" in report.policy.origin
    assert report.candidates[0].decided_by.startswith("rule 'elementwise")


@pytest.mark.parametrize(
    ("base", "lines", "refusal"),
    [
        ("base.yaml", "", r"'../base.yaml' leaves the folder of this policy"),
        ("in/base.yaml", "flags: [--iree-llvmcpu-debug-symbols=false]", "base.yaml:3:9: the flag --iree-llvmcpu"),
    ],
)
def test_init_writes_nothing_beside_the_model_that_would_be_refused_there(
    model: Path, base: str, lines: str, refusal: str
) -> None:
    file = policy(model.parents[1] / base, lines)
    before = set(model.parent.iterdir())
    assert refusal in error(constpolicy("policy", "init", model, "--extends", file, "--", *CPU))
    assert set(model.parent.iterdir()) == before


def test_init_writes_elsewhere_what_is_named_there(model: Path) -> None:
    base, target = policy(model.parents[1] / "base.yaml"), model.parents[1] / "out" / "pinned.yaml"
    target.parent.mkdir()
    assert constpolicy("policy", "init", model, "--extends", base, "-o", target, "--", *CPU).returncode == 0
    assert yaml.safe_load(target.read_text())["extends"] == "../base.yaml"
    assert constpolicy("policy", "check", target, "--model", model, "--", *CPU).returncode == 0


def test_init_writes_to_stdout_on_request(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(model.parent)
    ended = constpolicy("policy", "init", model, "-o", "-", "--", *CPU)
    assert yaml.safe_load(ended.stdout)["rules"][0]["action"] == "share"
    assert not Path("-").exists()


@pytest.mark.parametrize("name", ["\udcff", "a\x1b[31m", "caf\u00e9 \U0001f600"], ids=["no text", "escape", "no ASCII"])
def test_whatever_the_files_are_called_init_writes_what_can_be_loaded_or_says_why_not(model: Path, name: str) -> None:
    odd = model.rename(model.parent / f"{name}.mlir")
    base = policy(model.parent / f"{name}.yaml")
    target = model.parent / f"{name}.constpolicy.yaml"
    assert constpolicy("policy", "init", odd, "--", *CPU).returncode == 0
    assert constpolicy("policy", "check", target, "--model", odd, "--", *CPU).returncode == 0
    ended = constpolicy("policy", "init", odd, "--extends", base, "--force", "--", *CPU)
    if name.isprintable():
        assert ended.returncode == 0
    else:
        assert "is no text" in error(ended)
    shown = constpolicy("policy", "show", "--resolved", target)
    assert shown.returncode == 0
    assert all(char.isprintable() or char == "\n" for char in shown.stdout.decode())


def test_init_does_not_write_over_what_it_extends(model: Path) -> None:
    base, own = model.parent / "base.yaml", model.parent / "own.yaml"
    base.write_text("schema: 1\nname: base\n")
    own.write_text("schema: 1\nname: own\nextends: base.yaml\n")
    for extends in (base, own):
        ended = constpolicy("policy", "init", model, "--extends", extends, "-o", base, "--force", "--", *CPU)
        assert "in a circle" in error(ended)
    assert base.read_text() == "schema: 1\nname: base\n"


def test_init_writes_over_no_folder(model: Path) -> None:
    assert "is a folder" in error(constpolicy("policy", "init", model, "-o", model.parent, "--force", "--", *CPU))


def test_a_model_with_the_longest_name_is_compiled_and_gets_no_policy_beside_it(model: Path) -> None:
    longest = model.rename(model.parent / f"{'m' * 245}.mlir")
    assert constpolicy("explain", longest, *CPU).returncode == 0
    assert "cannot write" in error(constpolicy("policy", "init", longest, "--", *CPU))


@pytest.mark.parametrize(
    ("flags", "reason"), [(["--version"], "--version compiles nothing"), (["MODEL"], "2 inputs instead of one")]
)
def test_flags_that_compile_nothing_or_more_are_told(model: Path, flags: list[str], reason: str) -> None:
    given = [str(model) if flag == "MODEL" else flag for flag in flags]
    for command in (["check", "balanced", "--model", str(model)], ["init", str(model), "-o", "-"]):
        assert f"there is nothing to decide: {reason}" in error(constpolicy("policy", *command, "--", *given))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "words",
    [
        ["policy", "list"],
        ["policy", "show", "balanced"],
        ["policy", "check", "balanced"],
        ["policy", "schema"],
        ["report", "schema"],
        ["--help"],
    ],
    ids=" ".join,
)
def test_a_full_stdout_is_one_clear_error(words: list[str], unbuffered: str) -> None:
    environ = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "constpolicy", *words], stdout=full, stderr=subprocess.PIPE, env=environ, timeout=60
        )
    assert ended.returncode == 2
    assert ended.stderr.decode() == "constpolicy: error: cannot write what was asked for: No space left on device\n"


def test_check_tells_what_discovery_would_refuse_and_which_rules_are_never_reached(tmp_path: Path) -> None:
    lines = "flags: [--x=y]\nrules: [{when: {}, action: inline}, {name: late, when: {kind: pad}, action: fuse}]"
    file = policy(tmp_path / "m.constpolicy.yaml", lines)
    ended = constpolicy("policy", "check", file, "--strict")
    note, warning = ended.stderr.decode().splitlines()
    assert ended.returncode == 2
    assert note.startswith(
        f"note: beside a model, where nobody has named it, it would be refused: {file}:3:9: the flag"
    )
    assert warning.startswith(f"warning: {file}:4:37: rule 'late' decides nothing")
    ended = constpolicy("policy", "check", policy(tmp_path / "m.yaml", "flags: [--x=y]"))
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_show_resolved_names_the_place_of_each_value(tmp_path: Path) -> None:
    file = policy(tmp_path / "p.yaml", "extends: balanced\nlimits: {max_result_bytes: 64}")
    text = constpolicy("policy", "show", "--resolved", file).stdout.decode()
    assert f"  # {file}:4:10\n  max_result_bytes: 64\n" in text
    assert "  # built-in policy 'balanced':9:3\n  max_growth_bytes: 1024\n" in text
