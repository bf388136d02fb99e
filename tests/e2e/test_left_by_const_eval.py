"""What const-eval leaves for load time: known before anything is decided, and told where it was not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from constpolicy import pipeline
from constpolicy.compiler.flags import parse
from constpolicy.driver import Compiled, compile_program
from constpolicy.policy.load import load_policy
from constpolicy.records import Action, ConstPolicyError
from constpolicy.report.build import build
from tests.e2e.programs import CPU, compile_upstream, constpolicy

# Computed from indices alone, and by a second candidate from that: const-eval takes neither.
TABLE = """
func.func @main(%x: tensor<40x40xf32>) -> tensor<40x40xf32> {
  %i = stablehlo.iota dim = 0 : tensor<40x40xf32>
  %j = stablehlo.iota dim = 1 : tensor<40x40xf32>
  %c = stablehlo.constant dense<0.01> : tensor<40x40xf32>
  %p = stablehlo.multiply %i, %j : tensor<40x40xf32>
  %q = stablehlo.multiply %p, %c : tensor<40x40xf32>
  %s = stablehlo.cosine %q : tensor<40x40xf32>
  %y = stablehlo.dot_general %x, %s, contracting_dims = [1] x [0]
    : (tensor<40x40xf32>, tensor<40x40xf32>) -> tensor<40x40xf32>
  return %y : tensor<40x40xf32>
}
"""
EVALUATE_ALL = "schema: 1\nname: wishful\nrules:\n- when: {kind: [elementwise]}\n  action: evaluate\n"
LEFT = "was decided to be evaluated, but const-eval left it for load time"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.mlir"
    path.write_text(TABLE)
    return path


@pytest.fixture
def unforeseeing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody foresees what const-eval will leave: all candidates are said to be evaluable."""
    look_at = pipeline.look_at

    def look(*arguments: Any) -> pipeline.Prepared:
        prepared = look_at(*arguments)
        candidates = []
        for candidate in prepared.program.candidates:
            refusals = dict(candidate.refusals)
            refusals.pop(Action.EVALUATE, None)
            candidates.append(replace(candidate, refusals=refusals))
        return replace(prepared, program=replace(prepared.program, candidates=tuple(candidates)))

    monkeypatch.setattr(pipeline, "look_at", look)


def compiled(source: Path, policy: Path | str, *, strict: bool) -> tuple[Compiled, list[str]]:
    """What became of it, and the warnings of the report."""
    command = parse([str(source), "-o", str(source.with_suffix(".vmfb")), *CPU])
    done = compile_program(command, load_policy(str(policy)), strict=strict)
    return done, build(command, done, finished=True).warnings


def wishful(folder: Path) -> Path:
    path = folder / "wishful.yaml"
    path.write_text(EVALUATE_ALL)
    return path


def test_under_strict_a_rule_cannot_evaluate_a_table_of_indices(table: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.vmfb"
    ended = constpolicy("compile", table, "-o", output, "--policy", wishful(tmp_path), "--policy-strict", *CPU)
    assert ended.returncode == 2
    assert b"it computes something from neither constants nor globals" in ended.stderr
    assert not output.exists()


def test_the_report_predicts_no_growth_for_what_const_eval_leaves(table: Path, tmp_path: Path) -> None:
    done, warnings = compiled(table, wishful(tmp_path), strict=False)
    assert done.outcome is not None
    assert done.outcome.predicted_growth_bytes == 0
    assert not [text for text in warnings if LEFT in text]


@pytest.mark.usefixtures("unforeseeing")
def test_the_report_warns_of_what_const_eval_left_unforeseen(table: Path, tmp_path: Path) -> None:
    done, warnings = compiled(table, wishful(tmp_path), strict=False)
    assert done.exit_code == 0
    assert done.program is not None
    assert warnings == [f"candidate {candidate.id} {LEFT}" for candidate in done.program.candidates]
    assert len(warnings) == 2


@pytest.mark.usefixtures("unforeseeing")
def test_under_strict_what_const_eval_left_unforeseen_is_an_error_without_output(table: Path, tmp_path: Path) -> None:
    with pytest.raises(ConstPolicyError, match=LEFT) as raised:
        compiled(table, wishful(tmp_path), strict=True)
    assert raised.value.exit_code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.mlir", "wishful.yaml"]


@pytest.mark.usefixtures("unforeseeing")
def test_upstream_takes_over_what_const_eval_leaves_without_a_word(table: Path, tmp_path: Path) -> None:
    done, warnings = compiled(table, "upstream", strict=True)
    reference = tmp_path / "reference.vmfb"
    compile_upstream(table, reference)
    assert done.exit_code == 0
    assert warnings == []
    assert table.with_suffix(".vmfb").read_bytes() == reference.read_bytes()
