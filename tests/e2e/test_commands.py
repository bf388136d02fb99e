"""The commands beside compile: what they print, their exit codes, and that they do no damage."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from constpolicy.report.model import Report
from scripts.models.cases import write
from tests.e2e.programs import CPU, action_policy, constpolicy


@pytest.fixture(scope="module")
def tied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (path,) = write(tmp_path_factory.mktemp("cases"), ["tied_scaled"])
    return path


def test_explain_says_what_is_decided_and_why_and_writes_nothing(tied: Path) -> None:
    before = set(tied.parent.iterdir())
    ended = constpolicy("explain", tied, *CPU)
    text = " ".join(ended.stdout.decode().split())
    assert ended.returncode == 0
    assert "share" in text
    assert "growth 500 KiB > max_growth_bytes 1 KiB" in text
    assert "candidates: 1 (1 share)" in text
    assert set(tied.parent.iterdir()) == before


def test_explain_shows_one_candidate_in_full_by_the_beginning_of_its_id(tied: Path) -> None:
    report = Report.model_validate_json(constpolicy("explain", tied, "--json", *CPU).stdout)
    ended = constpolicy("explain", tied, "--id", report.candidates[0].id[:5], *CPU)
    text = ended.stdout.decode()
    assert ended.returncode == 0
    assert f"from        {tied}:" in text
    assert "also read by @main (gather)" in text
    assert "*share" in text
    assert f'when: {{id: "{report.candidates[0].id}"}}' in text
    assert "arith.mulf" in text
    assert len(text) < 4000  # the table's 128,000 numbers are not printed


def test_explain_says_which_ids_there_are_when_none_begins_so(tied: Path) -> None:
    ended = constpolicy("explain", tied, "--id", "nothing", *CPU)
    assert ended.returncode == 2
    assert b"0 of 1 candidates have an id like this" in ended.stderr


def test_explain_gives_the_same_report_as_json(tied: Path) -> None:
    ended = constpolicy("explain", tied, "--json", "--policy", "upstream", *CPU)
    report = Report.model_validate_json(ended.stdout)
    (candidate,) = report.candidates
    assert (candidate.action, candidate.growth_bytes, candidate.outcome) == ("evaluate", 512_000, None)
    assert candidate.location is not None
    assert candidate.location.startswith(str(tied))
    assert candidate.sources[0].readers == ["@main (gather)"]


def test_the_report_of_a_compile_holds_the_real_size_and_is_the_same_twice_but_for_timing(
    tied: Path, tmp_path: Path
) -> None:
    reports = []
    for number in range(2):
        report, output = tmp_path / f"{number}.json", tmp_path / "out.vmfb"
        ended = constpolicy("compile", tied, "-o", output, "--policy-report", report, *CPU)
        assert ended.returncode == 0, ended.stderr.decode()
        content = json.loads(report.read_text())
        assert content["totals"]["file_bytes"] == output.stat().st_size
        assert content["candidates"][0]["outcome"] == "shared"
        del content["timing"]
        reports.append(content)
    assert reports[0] == reports[1]


def test_verify_passes_where_the_numbers_hold_and_names_its_standard(tied: Path) -> None:
    ended = constpolicy("verify", tied, "--policy", "balanced", "--range", "input0:0,1999", *CPU)
    assert ended.returncode == 0, ended.stderr.decode()
    assert ended.stdout.decode().splitlines() == [
        "against upstream: 2 outputs bit-exact over 1 iteration",
        "  standard: bit-exact: the same code computes every number, while compiling or while running",
    ]


def test_compile_verifies_what_it_has_written_on_request(tied: Path, tmp_path: Path) -> None:
    ended = constpolicy("compile", tied, "-o", tmp_path / "out.vmfb", "--policy-verify", *CPU)
    assert ended.returncode == 0
    assert "2 outputs bit-exact over 1 iteration" in ended.stderr.decode()


def test_verify_fails_with_3_and_names_the_output_where_numbers_differ(tmp_path: Path) -> None:
    # The host evaluates with its own code; a generic CPU's code computes other last bits of the cosines.
    (table,) = write(tmp_path, ["rope_table"])
    flags = [flag for flag in CPU if "target-cpu" not in flag]
    generic = [*flags, "--iree-llvmcpu-target-cpu=generic"]
    policy = action_policy(tmp_path, "initialize")
    ended = constpolicy("verify", table, "--policy", policy, "--rtol", "0", "--atol", "0", *generic)
    assert ended.returncode == 3, ended.stderr.decode()
    assert "output0" in ended.stdout.decode()
    tolerant = constpolicy("verify", table, "--policy", policy, "--rtol", "1e-3", "--atol", "1e-3", *generic)
    assert tolerant.returncode == 0, tolerant.stdout.decode()


def test_inputs_can_be_given_as_files(tied: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "ids.npy", np.arange(8, dtype=np.int32))
    np.save(tmp_path / "x.npy", np.ones((8, 64), dtype=np.float32))
    files = [f"--input=@{tmp_path / name}.npy" for name in ("ids", "x")]
    ended = constpolicy("verify", tied, *files, *CPU)
    assert ended.returncode == 0, ended.stderr.decode()


def test_policy_init_writes_a_policy_that_check_accepts_and_that_decides_the_same(tied: Path, tmp_path: Path) -> None:
    target = tmp_path / "pinned.yaml"
    assert constpolicy("policy", "init", tied, "-o", target, "--", *CPU).returncode == 0
    again = constpolicy("policy", "init", tied, "-o", target, "--", *CPU)
    assert again.returncode == 2
    assert b"is there already" in again.stderr
    checked = constpolicy("policy", "check", target, "--model", tied, "--", *CPU)
    assert (checked.returncode, checked.stderr) == (0, b"")
    pinned = Report.model_validate_json(constpolicy("explain", tied, "--json", "--policy", target, *CPU).stdout)
    assert pinned.candidates[0].action == "share"
    assert pinned.candidates[0].decided_by.startswith("rule")


def test_policy_check_reports_rules_that_match_nothing(tied: Path, tmp_path: Path) -> None:
    policy = tmp_path / "p.yaml"
    policy.write_text("schema: 1\nname: p\nrules: [{name: gone, when: {id: '0123'}, action: inline}]\n")
    assert constpolicy("policy", "check", policy, "--model", tied, "--", *CPU).returncode == 0
    ended = constpolicy("policy", "check", policy, "--strict", "--model", tied, "--", *CPU)
    assert ended.returncode == 2
    assert b"p.yaml:3:9: rule 'gone' names the id 0123, which no candidate has" in ended.stderr


def test_the_json_schema_names_every_key_of_a_policy() -> None:
    schema = json.loads(constpolicy("policy", "schema").stdout)
    assert {"schema", "rules", "limits", "budgets", "otherwise", "allow"} <= set(schema["properties"])


def test_an_error_in_a_policy_is_one_line_with_its_place_and_leaves_the_old_output(tied: Path, tmp_path: Path) -> None:
    policy, output = tmp_path / "p.yaml", tmp_path / "out.vmfb"
    policy.write_text("schema: 1\nname: p\nlimits: {max_grwth_bytes: 1}\n")
    output.write_bytes(b"old")
    ended = constpolicy("compile", tied, "-o", output, "--policy", policy, *CPU)
    assert ended.returncode == 2
    (line,) = ended.stderr.decode().splitlines()
    assert f"{policy}:3:10: unknown key 'max_grwth_bytes', did you mean 'max_growth_bytes'?" in line
    assert output.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.vmfb", "p.yaml"]


def test_a_gate_that_is_exceeded_ends_with_4_and_names_who_grows_the_file(tied: Path, tmp_path: Path) -> None:
    output, report = tmp_path / "out.vmfb", tmp_path / "before.json"
    assert constpolicy("compile", tied, "-o", output, "--policy-report", report, *CPU).returncode == 0
    gates = ["--policy-gate", "growth <= 1%", "--policy-gate", f"vs {report} <= +0.5%"]
    assert constpolicy("compile", tied, "-o", output, *gates, *CPU).returncode == 0
    ended = constpolicy("compile", tied, "-o", output, "--policy", "upstream", *gates, *CPU)
    assert ended.returncode == 4
    growth, against = ended.stderr.decode().splitlines()
    assert "gate 'growth <= 1%' is exceeded: 500 KiB > 5 KiB; most of it by" in growth
    assert f"at {tied}:" in growth
    assert "is exceeded: 500 KiB > 2.6 KiB" in against


@pytest.mark.parametrize("gate", ["growth", "growth < 1%", "load_ms <= 3", "vs nothing.json <= 1%", "growth <= much"])
def test_a_gate_that_cannot_be_read_is_a_usage_error(tied: Path, tmp_path: Path, gate: str) -> None:
    ended = constpolicy("compile", tied, "-o", tmp_path / "out.vmfb", "--policy-gate", gate, *CPU)
    assert ended.returncode == 2
    assert gate.split()[0] in ended.stderr.decode()


def test_diff_names_what_two_policies_decide_otherwise_the_largest_first(tied: Path) -> None:
    ended = constpolicy("diff", tied, "--policies", "upstream,balanced", "--", *CPU)
    assert ended.returncode == 0, ended.stderr.decode()
    *_, last = ended.stdout.decode().splitlines()
    assert last.lstrip().startswith("-500 KiB")
    assert "evaluate -> share" in last
    assert f"at {tied}:" in last


def test_diff_of_two_reports_is_the_same_as_of_their_policies(tied: Path, tmp_path: Path) -> None:
    for name in ("upstream", "small"):
        ended = constpolicy("explain", tied, "--json", "--policy", name, *CPU)
        (tmp_path / f"{name}.json").write_bytes(ended.stdout)
    of_reports = constpolicy("diff", tmp_path / "upstream.json", tmp_path / "small.json", "--format", "json")
    of_policies = constpolicy("diff", tied, "--policies", "upstream,small", "--format", "json", "--", *CPU)
    assert json.loads(of_reports.stdout) == json.loads(of_policies.stdout)


def test_names_from_a_model_are_no_markup_in_a_markdown_diff(tmp_path: Path) -> None:
    (case,) = write(tmp_path, ["tied_scaled"])
    model = case.rename(tmp_path / "a|b<img>*.mlir")
    ended = constpolicy("diff", model, "--policies", "upstream,small", "--format", "markdown", "--", *CPU)
    assert ended.returncode == 0, ended.stderr.decode()
    assert not {"<", "*.mlir", "a|b"} & {*ended.stdout.decode().split()}
    assert "&#60;img&#62;" in ended.stdout.decode()


@pytest.mark.parametrize(
    "command",
    [
        ("explain", "{model}"),
        ("policy", "check", "small", "--model", "{model}", "--"),
        ("policy", "init", "{model}", "--"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_a_wrong_flag_is_answered_in_the_compilers_words_wherever_a_model_is_looked_at(
    tied: Path, command: tuple[str, ...]
) -> None:
    ended = constpolicy(*(part.format(model=tied) for part in command), *CPU, "--no-such-flag")
    assert ended.returncode == 1
    assert b"Unknown command line argument '--no-such-flag'" in ended.stderr


def test_a_pin_that_is_dead_is_told_by_compile(tied: Path, tmp_path: Path) -> None:
    policy = tmp_path / "pinned.yaml"
    policy.write_text('schema: 1\nname: p\nextends: balanced\nrules:\n- when: {id: "0123456789ab"}\n  action: inline\n')
    ended = constpolicy("compile", tied, "-o", tmp_path / "m.vmfb", "--policy", policy, *CPU)
    assert ended.returncode == 0
    assert b"names the id 0123456789ab, which no candidate has" in ended.stderr
