"""What a policy means beside the flags that decide on hoisting, const-eval and how far to compile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.comparison import TARGET, constpolicy, iree_compile, program

TABLE = program("table")


def _candidates(tmp_path: Path, policy: str, *flags: str) -> list[dict[str, Any]]:
    """The candidates of the report of a compile."""
    path = tmp_path / "report.json"
    observed = constpolicy(TABLE, "-o", "out", *TARGET, *flags, "--policy-report", str(path), policy=policy)
    assert observed.exit_code == 0, observed.stderr
    candidates: list[dict[str, Any]] = json.loads(path.read_text())["candidates"]
    return candidates


@pytest.mark.parametrize("policy", ["upstream", "balanced"])
def test_with_const_eval_off_evaluating_becomes_initializing(tmp_path: Path, policy: str) -> None:
    (candidate,) = _candidates(tmp_path, policy, "--iree-opt-const-eval=false")
    assert candidate["action"] == "initialize"
    assert "--iree-opt-const-eval=false" in candidate["refusals"]["evaluate"]
    assert "--iree-opt-const-eval=false" in candidate["refusals"]["share"]


def test_with_hoisting_off_there_is_nothing_to_decide(tmp_path: Path) -> None:
    assert _candidates(tmp_path, "balanced", "--iree-opt-const-expr-hoisting=false") == []


def test_the_last_of_contradicting_flags_counts(tmp_path: Path) -> None:
    flags = ("--iree-opt-const-eval=false", "--iree-opt-const-eval=true")
    (candidate,) = _candidates(tmp_path, "upstream", *flags)
    assert candidate["outcome"] == "evaluated"


@pytest.mark.parametrize("how", ["--compile-to=global-optimization", "--compile-to=flow"])
def test_compile_to_shows_the_program_after_the_policy(how: str) -> None:
    evaluated = constpolicy(TABLE, *TARGET, how).stdout
    computed = constpolicy(TABLE, *TARGET, how, policy="none").stdout
    assert (b"math.exp" in evaluated, b"math.exp" in computed) == (False, True)


def test_a_compile_can_be_split_in_two_at_the_phase_that_decides(tmp_path: Path) -> None:
    first = tmp_path / "table.mlir"
    first.write_bytes(constpolicy(TABLE, *TARGET, "--compile-to=global-optimization", policy="none").stdout)
    resumed = iree_compile(str(first), "--compile-from=global-optimization", "--compile-to=flow", *TARGET)
    assert resumed.exit_code == 0
    assert resumed.stdout == constpolicy(TABLE, "--compile-to=flow", *TARGET, policy="none").stdout
