"""scripts/conformance finds what differs, and nothing where nothing does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.conformance_main import main
from scripts.conformance_run import Observed, differences

PROGRAMS = """func.func @first(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = math.sqrt %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
// -----
func.func @second() { no.such_op }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "programs"
    (folder / "below").mkdir(parents=True)
    (folder / "below" / "two.mlir").write_text(PROGRAMS)
    return folder


def _run(folder: Path, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    result = folder.parent / "result.json"
    exit_code = main([str(folder), "--json", str(result), *arguments])
    comparisons: list[dict[str, Any]] = json.loads(result.read_text())
    return exit_code, comparisons


def test_programs_are_cut_apart_and_compared_under_every_flag_set(folder: Path) -> None:
    exit_code, comparisons = _run(folder, "--split", "--flags", "default", "--flags", "mine=--iree-opt-level=O1")
    assert exit_code == 0
    assert [(c["program"], c["flags"], c["outcome"]) for c in comparisons] == [
        ("below/two.mlir#1", "default", "compiled"),
        ("below/two.mlir#1", "mine", "compiled"),
        ("below/two.mlir#2", "default", "rejected"),
        ("below/two.mlir#2", "mine", "rejected"),
    ]


@pytest.mark.parametrize(
    ("command", "options", "outcome"),
    [
        ("sh -c 'echo hello; exit 3'", (), "differs"),
        ("sh -c 'sleep 60'", ("--timeout", "3"), "timeout"),
        ("sh -c 'exit 1'", ("--only-exit-code",), "rejected"),
    ],
)
def test_another_compiler_is_told_apart(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, options: tuple[str, ...], outcome: str
) -> None:
    exit_code, comparisons = _run(folder, "--flags", "default", "--command", command, *options)
    assert [c["outcome"] for c in comparisons] == [outcome]
    assert exit_code == (outcome != "rejected")
    assert (f"{outcome}: below/two.mlir [default]" in capsys.readouterr().out) == (outcome != "rejected")


def test_an_unknown_flag_set_is_refused(folder: Path) -> None:
    with pytest.raises(SystemExit, match="--flags nonesuch: unknown"):
        main([str(folder), "--flags", "nonesuch"])


def test_every_kind_of_difference_is_named() -> None:
    expected = Observed(0, b"a\nb\n", "", {"out": "1", "dump/x": "2"})
    actual = Observed(1, b"a\nc\n", "warning\n", {"out": "3", "dump/y": "2"})
    assert differences(expected, actual) == [
        "exit code 1 instead of 0",
        "stdout: line 2 is 'c' instead of 'b'",
        "stderr: line 1 is 'warning' instead of None",
        "dump/x: missing",
        "dump/y: extra",
        "out: other bytes",
    ]


def test_the_stack_trace_of_a_crash_is_not_compared() -> None:
    assert differences(Observed(139, b"", "#0 0x0123", {}), Observed(139, b"", "the compiler crashed", {})) == []
