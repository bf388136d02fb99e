"""When the compile under a policy fails and iree-compile's would not, the user gets the working file and is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.conformance_run import Observed
from tests.cli.comparison import TARGET, constpolicy, iree_compile, program

TABLE = program("table")
NO_LINKER = "--iree-llvmcpu-embedded-linker-path=/missing/linker"
CRASH = "--iree-llvmcpu-target-triple=bad"
NO_EVALUATION = "--iree-flow-export-benchmark-funcs"  # with it, const-eval does not find its own function


def _compile(tmp_path: Path, flag: str, *arguments: str) -> Observed:
    """Compiles under a policy whose flag makes the compile fail."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(f"schema: 1\nname: failing\ndefault: initialize\nflags: ['{flag}']\n")
    return constpolicy(TABLE, "-o", "out", *TARGET, *arguments, policy=str(policy))


@pytest.mark.parametrize(
    ("flag", "says"),
    [
        (NO_LINKER, "the compile failed in phase 'end' under policy 'failing'"),
        (CRASH, "the compiler was ended by SIGSEGV in phase 'preprocessing' under policy 'failing'"),
    ],
    ids=["fails", "crashes"],
)
def test_the_file_is_upstreams_and_one_line_says_why(tmp_path: Path, flag: str, says: str) -> None:
    observed = _compile(tmp_path, flag)
    assert observed.exit_code == 0
    assert observed.files == iree_compile(TABLE, "-o", "out", *TARGET).files
    warnings = [line for line in observed.stderr.splitlines() if line.startswith("constpolicy: ")]
    assert len(warnings) == 1
    assert says in warnings[0]
    assert "compiled under 'upstream' instead" in warnings[0]


def test_the_policies_that_the_user_names_come_before_upstream(tmp_path: Path) -> None:
    faulty = tmp_path / "faulty.yaml"
    faulty.write_text(f"schema: 1\nname: faulty\ndefault: initialize\nflags: ['{NO_LINKER}']\n")
    rungs = ("--policy-fallback", str(faulty), "--policy-fallback", "none")
    observed = _compile(tmp_path, NO_LINKER, *rungs)
    assert observed.exit_code == 0
    assert observed.files == constpolicy(TABLE, "-o", "out", *TARGET, policy="none").files
    assert "compiled under 'none' instead" in observed.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--policy-fallback", "balancd"), "did you mean 'balanced'?"),
        (("--policy-fallback", "small", "--policy-strict"), "--policy-strict allows no --policy-fallback"),
    ],
    ids=["unknown", "strict"],
)
def test_a_wrong_fallback_is_said_before_anything_is_compiled(arguments: tuple[str, ...], says: str) -> None:
    observed = constpolicy(TABLE, "-o", "out", *TARGET, *arguments, policy="balanced")
    assert observed.exit_code == 2
    assert says in observed.stderr
    assert observed.files == {}


def test_the_report_names_the_step(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    _compile(tmp_path, NO_LINKER, "--policy-report", str(report))
    (step,) = json.loads(report.read_text())["fallbacks"]
    assert "under policy 'failing'" in step


@pytest.mark.parametrize(("flag", "exit_code"), [(NO_LINKER, 1), (CRASH, 139)], ids=["fails", "crashes"])
def test_strictly_there_is_no_step(tmp_path: Path, flag: str, exit_code: int) -> None:
    observed = _compile(tmp_path, flag, "--policy-strict")
    assert observed.exit_code == exit_code
    assert observed.files == {}
    assert "instead" not in observed.stderr


def test_a_wrong_flag_of_the_policy_is_an_error_and_no_reason_to_step_down(tmp_path: Path) -> None:
    observed = _compile(tmp_path, "--iree-foo")
    assert observed.exit_code == 1
    assert "Unknown command line argument '--iree-foo'" in observed.stderr
    assert observed.files == {}


def test_a_candidate_that_const_eval_fails_on_is_left_for_load_time() -> None:
    assert iree_compile(TABLE, "-o", "out", *TARGET, NO_EVALUATION).exit_code == 1
    observed = constpolicy(TABLE, "-o", "out", *TARGET, NO_EVALUATION, policy="balanced")
    assert observed.exit_code == 0
    assert "out" in observed.files
    assert "it is left for load time" in observed.stderr


def test_only_the_candidates_that_const_eval_crashes_on_are_left_for_load_time(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    source = program("out_of_bounds")
    assert iree_compile(source, "-o", "out", *TARGET).exit_code == 139
    observed = constpolicy(source, "-o", "out", *TARGET, "--policy-report", str(report), policy="balanced")
    assert observed.exit_code == 0
    assert "out" in observed.files
    outcomes = {c["type"]: c["outcome"] for c in json.loads(report.read_text())["candidates"]}
    assert outcomes == {"tensor<4xf32>": "failed", "tensor<4x2xf32>": "evaluated"}
    assert "the compiler was ended by SIGSEGV in phase 'const-eval'" in observed.stderr


def test_strictly_a_crash_of_const_eval_is_an_error() -> None:
    observed = constpolicy(program("out_of_bounds"), "-o", "out", *TARGET, "--policy-strict", policy="balanced")
    assert observed.exit_code == 139
    assert observed.files == {}
    assert "the compiler was ended by SIGSEGV in phase 'const-eval'" in observed.stderr


def test_strictly_a_candidate_that_const_eval_fails_on_is_an_error() -> None:
    observed = constpolicy(TABLE, "-o", "out", *TARGET, NO_EVALUATION, "--policy-strict", policy="balanced")
    assert observed.exit_code == 1
    assert "error evaling constant" in observed.stderr
