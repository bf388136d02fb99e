"""What DispatchCreation hoists is found, sized and can be put back, by policies that ask about that phase."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from constpolicy.report.model import CandidateReport, Report
from constpolicy.verify import InputSpec, verify_files
from scripts.models.cases import write
from tests.e2e.programs import CPU, compile_upstream, constpolicy

ENCODED = "--iree-opt-data-tiling"


def compiled(folder: Path, case: str, policy: str | Path, *flags: str) -> tuple[Path, list[CandidateReport]]:
    """The case's file under the policy, and its candidates of the second stop."""
    (program,) = write(folder, [case])
    output, report = folder / "out.vmfb", folder / "report.json"
    arguments = ["-o", output, "--policy", policy, "--policy-report", report, *CPU, *flags]
    ended = constpolicy("compile", program, *arguments)
    assert ended.returncode == 0, ended.stderr.decode()
    candidates = Report.model_validate_json(report.read_text()).candidates
    return output, [candidate for candidate in candidates if candidate.phase == "dispatch-creation"]


@pytest.mark.parametrize(
    ("case", "flags", "bytes_at_load"),
    [("dequantized_weight", (), 256 * 256 * 4), ("tied_plain", (ENCODED,), 2000 * 64 * 4)],
    ids=["a widened weight", "a data-tiling encoding"],
)
def test_a_late_hoist_is_put_back_under_low_memory_and_the_numbers_hold(
    tmp_path: Path, case: str, flags: tuple[str, ...], bytes_at_load: int
) -> None:
    output, late = compiled(tmp_path, case, "low-memory", *flags)
    assert [(candidate.action, candidate.result_bytes) for candidate in late] == [("inline", bytes_at_load)]
    reference = tmp_path / "upstream.vmfb"
    compile_upstream(tmp_path / f"{case}.mlir", reference, *flags)
    verification = verify_files(reference, output, inputs=InputSpec())
    assert verification.passed, verification.summary()


def test_late_hoists_are_left_alone_by_policies_that_do_not_ask(tmp_path: Path) -> None:
    _, late = compiled(tmp_path, "dequantized_weight", "balanced")
    assert late == []


def test_a_late_hoist_cannot_be_evaluated_and_the_report_says_why(tmp_path: Path) -> None:
    policy = tmp_path / "p.yaml"
    policy.write_text("schema: 1\nname: p\nrules: [{when: {phase: dispatch-creation}, action: evaluate}]\n")
    _, (candidate,) = compiled(tmp_path, "dequantized_weight", policy)
    assert candidate.action == "initialize"
    assert candidate.warnings == [
        "evaluate is impossible: IREE evaluates nothing that is hoisted in dispatch-creation:"
        " an encoding's layout is fixed later"
    ]


def test_explain_shows_the_late_hoists_where_rules_are_about_them_and_when_asked(tmp_path: Path) -> None:
    (program,) = write(tmp_path, ["dequantized_weight"])

    def late(*arguments: str) -> list[tuple[str, str]]:
        ended = constpolicy("explain", program, "--json", *CPU, *arguments)
        assert ended.returncode == 0, ended.stderr.decode()
        candidates = Report.model_validate_json(ended.stdout).candidates
        return [(c.action, c.decided_by) for c in candidates if c.phase == "dispatch-creation"]

    ((action, decided_by),) = late("--policy", "low-memory")
    assert action == "inline"
    assert decided_by.startswith("rule ")
    assert late("--policy", "balanced") == []
    assert late("--policy", "balanced", "--dispatch-creation") == [("initialize", "default")]


def test_a_late_hoist_is_explained_in_full(tmp_path: Path) -> None:
    (program,) = write(tmp_path, ["dequantized_weight"])
    arguments = ("explain", program, *CPU, "--policy", "low-memory")
    report = Report.model_validate_json(constpolicy(*arguments, "--json").stdout)
    (late,) = (c for c in report.candidates if c.phase == "dispatch-creation")
    shown = constpolicy(*arguments, "--id", late.id).stdout.decode()
    assert "util.initializer" in shown
    assert "hoisted in  dispatch-creation" in shown
    advised = tmp_path / "advised.yaml"
    advice = shown[shown.index("  rules:") : shown.index("expression")]
    advised.write_text(f"schema: 1\nname: advised\n{textwrap.dedent(advice)}")
    explained = constpolicy("explain", program, *CPU, "--policy", advised, "--json")
    assert explained.returncode == 0, explained.stderr.decode()
    (late,) = (c for c in Report.model_validate_json(explained.stdout).candidates if c.phase == "dispatch-creation")
    assert (late.action, late.decided_by) == ("initialize", "rule 'number 1'")
