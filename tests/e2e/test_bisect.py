"""`constpolicy bisect` names the decisions that make a check fail, in few compiles, and says how to avoid them."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from functools import partial
from math import ceil, log2
from pathlib import Path
from typing import Any

import pytest

from constpolicy.compiler.flags import parse
from constpolicy.policy.load import load_policy
from constpolicy.policy.schema import Verify
from constpolicy.verify.bisect import find_causes
from constpolicy.verify.bisect_check import NumericCheck
from constpolicy.verify.settings import Settings
from scripts.models.cases import write
from tests.cli.comparison import program
from tests.e2e.bisect_programs import check_against, line_of, products
from tests.e2e.programs import CPU, action_policy, compile_under, compile_upstream, constpolicy
from tests.e2e.stored_faults import Fault, as_integers, one_bit, plant, through_half, transposed
from tests.e2e.test_verify_tensors import table, turned_tables

ANY_CPU = (*CPU[:2], "--iree-llvmcpu-target-cpu=generic")
WITHOUT = ("--baseline", "none")
COUNT = 8
FEW = 4


def bisected(source: Path | str, *arguments: str | Path, flags: tuple[str, ...] = CPU) -> dict[str, Any]:
    """The result of a bisection that finds something, as it prints it with --json."""
    ended = constpolicy("bisect", source, "--json", *arguments, *flags)
    assert ended.returncode == 0, ended.stderr.decode()
    result: dict[str, Any] = json.loads(ended.stdout)
    return result


def written(folder: Path, text: str) -> Path:
    source = folder / "model.mlir"
    source.write_text(text)
    return source


def assert_names_one_of(tmp_path: Path, count: int, culprit: int) -> None:
    text = products(count)
    source, check = written(tmp_path, text), check_against(tmp_path, culprit)
    result = bisected(source, "--policy", "upstream", *WITHOUT, "--check", check)
    ((found,),) = result["causes"]
    assert found["location"].startswith(f"{source}:{line_of(text, f'%table{culprit} =')}:")
    assert found["action"] == "evaluate"
    assert result["candidates"] == count
    ends, confirmation = 2, 1
    assert len(result["trials"]) <= 2 * ceil(log2(count)) + ends + confirmation


def test_one_candidate_of_eight_is_named(tmp_path: Path) -> None:
    assert_names_one_of(tmp_path, COUNT, 5)


@pytest.mark.parametrize(
    "fault",
    [
        one_bit,
        pytest.param(transposed, marks=pytest.mark.full),
        pytest.param(through_half, marks=pytest.mark.full),
        pytest.param(as_integers, marks=pytest.mark.full),
    ],
)
def test_a_result_that_is_stored_wrong_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    plant(monkeypatch, {table(2): fault})
    line = parse([str(written(tmp_path, turned_tables(FEW))), *CPU])
    upstream, none = load_policy("upstream"), load_policy("none")
    found = find_causes(line, upstream, none, partial(NumericCheck, line, Verify(), settings=Settings()), tmp_path)
    ((difference,),) = found.causes
    assert difference.candidate.symbol == f"@{table(2)}"
    assert len(found.trials) <= 2 * ceil(log2(FEW)) + 3


@pytest.mark.full
@pytest.mark.parametrize("culprit", [0, 17, 31])
def test_one_candidate_of_many_is_named(tmp_path: Path, culprit: int) -> None:
    assert_names_one_of(tmp_path, 32, culprit)


@pytest.mark.full
def test_two_that_fail_only_together_are_one_cause(tmp_path: Path) -> None:
    text = products(4)
    check = check_against(tmp_path, 0, 3)
    result = bisected(written(tmp_path, text), "--policy", "upstream", *WITHOUT, "--check", check)
    (cause,) = result["causes"]
    lines = {int(culprit["location"].split(":")[-2]) for culprit in cause}
    assert lines == {line_of(text, "%table0 ="), line_of(text, "%table3 =")}


def test_the_policy_that_is_written_passes_the_check_and_decides_the_rest_alike(tmp_path: Path) -> None:
    source, pinned, output = written(tmp_path, products(2)), tmp_path / "pinned.yaml", tmp_path / "out.vmfb"
    check = shlex.split(check_against(tmp_path, 1))
    result = bisected(source, "--policy", "upstream", *WITHOUT, "--check", shlex.join(check), "-o", pinned)
    compile_under(pinned, source, output)
    assert subprocess.run([*check[:-1], str(output)]).returncode == 0
    report = json.loads(constpolicy("explain", source, "--json", "--policy", pinned, *CPU).stdout)
    culprit = result["causes"][0][0]["id"]
    assert [c["id"] for c in report["candidates"] if c["action"] != "evaluate"] == [culprit]


def test_the_report_has_a_program_of_the_guilty_expression(tmp_path: Path) -> None:
    source, folder, check = written(tmp_path, products(2)), tmp_path / "report", check_against(tmp_path, 1)
    result = bisected(source, "--policy", "upstream", *WITHOUT, "--check", check, "--report", folder)
    assert sorted(os.listdir(folder)) == ["cause-1.mlir", "policy.yaml", "report.json", "report.txt"]
    assert json.loads((folder / "report.json").read_text()) == result
    assert result["causes"][0][0]["id"] in (folder / "report.txt").read_text()
    compile_upstream(folder / "cause-1.mlir", tmp_path / "reduced.vmfb")
    assert subprocess.run([*shlex.split(check)[:-1], str(tmp_path / "reduced.vmfb")]).returncode == 1
    compile_upstream(folder / "cause-1.mlir", tmp_path / "off.vmfb", "--iree-opt-const-eval=false")
    assert subprocess.run([*shlex.split(check)[:-1], str(tmp_path / "off.vmfb")]).returncode == 0


def test_a_table_that_this_cpu_computes_otherwise_than_the_target_is_named(tmp_path: Path) -> None:
    result = bisected(written(tmp_path, products(1, rope=True)), "--policy", "upstream", *WITHOUT, flags=ANY_CPU)
    ((found,),) = result["causes"]
    assert found["type"] == "tensor<256x4xf32>"
    assert "elements differ" in result["failure"]
    assert result["candidates"] == 2


def test_a_tolerance_that_is_given_decides_what_a_difference_is(tmp_path: Path) -> None:
    source = written(tmp_path, products(1, rope=True))
    ended = constpolicy("bisect", source, "--policy", "upstream", *WITHOUT, *ANY_CPU, "--atol", "1e-3")
    assert ended.returncode == 2
    assert b"the check does not fail under 'upstream'" in ended.stderr


def test_the_candidate_that_const_eval_crashes_on_is_named(tmp_path: Path) -> None:
    result = bisected(program("out_of_bounds"), "--policy", "balanced", *WITHOUT, "--report", tmp_path)
    ((found,),) = result["causes"]
    assert found["type"] == "tensor<4xf32>"
    assert result["symptom"] == "compile"
    assert "SIGSEGV in phase 'const-eval'" in result["failure"]
    assert "tensor.extract" in (tmp_path / "cause-1.mlir").read_text()


def test_a_decision_about_what_dispatch_creation_hoists_is_named_and_avoided(tmp_path: Path) -> None:
    (source,) = write(tmp_path, ["dequantized_weight"])
    policy, pinned, bad, good = (tmp_path / name for name in ("p.yaml", "pinned.yaml", "bad.vmfb", "good.vmfb"))
    policy.write_text("schema: 1\nname: p\nrules: [{when: {phase: dispatch-creation}, action: inline}]\n")
    compile_under(policy, source, bad)
    check = f"{sys.executable} -c 'import os, sys; sys.exit(os.path.getsize(sys.argv[1]) == {bad.stat().st_size})'"
    result = bisected(source, "--policy", policy, "--check", f"{check} {{vmfb}}", "-o", pinned)
    ((found,),) = result["causes"]
    assert (found["phase"], found["action"], found["baseline_action"]) == ("dispatch-creation", "inline", "initialize")
    compile_under(pinned, source, good)
    assert good.stat().st_size != bad.stat().st_size


def test_a_program_that_compiles_under_neither_ends_with_1(tmp_path: Path) -> None:
    source = written(tmp_path, products(2))
    ended = constpolicy("bisect", source, *WITHOUT, *CPU, "--iree-llvmcpu-embedded-linker-path=/missing/linker")
    assert ended.returncode == 1
    assert b"the compile fails under 'balanced' and under the baseline 'none'" in ended.stderr


def test_a_program_that_does_not_parse_ends_with_1_and_the_compilers_words(tmp_path: Path) -> None:
    ended = constpolicy("bisect", written(tmp_path, "func.func @main("), *CPU)
    assert ended.returncode == 1
    assert b"error: " in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--check", "false {vmfb}"), "the check fails under the baseline 'none', too"),
        (("--check", "true {vmfb}"), "the check does not fail under 'upstream'"),
        (("--check", "true"), "write {vmfb} where the command takes the compiled file"),
        (("--check", "/missing {vmfb}"), "cannot run /missing: No such file or directory"),
        (
            ("--check", f"{sys.executable} -c 'import time; time.sleep(60)' {{vmfb}}", "--timeout", "0.1"),
            "the check did not end in 0.1 s",
        ),
        (("--baseline", "upstream"), "'upstream' and 'upstream' decide alike about this program"),
    ],
    ids=["baseline", "passes", "no-place", "missing", "slow", "alike"],
)
def test_what_cannot_be_bisected_is_said(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    source = written(tmp_path, products(1))
    ended = constpolicy("bisect", source, "--policy", "upstream", *WITHOUT, *arguments, *CPU)
    assert ended.returncode == 2
    assert says in ended.stderr.decode()


def test_a_signal_ends_the_search_and_leaves_nothing_behind(tmp_path: Path) -> None:
    source, temporary, started = written(tmp_path, products(1)), tmp_path / "temporary", tmp_path / "started"
    temporary.mkdir()
    check = tmp_path / "slow.py"
    check.write_text(f"import time\nopen({str(started)!r}, 'w').close()\ntime.sleep(60)\n")
    words = [sys.executable, "-m", "constpolicy", "bisect", str(source), "--policy", "upstream", *WITHOUT, *CPU]
    words += ["--check", f"{sys.executable} {check} {{vmfb}}"]
    process = subprocess.Popen(
        words,
        env=os.environ | {"TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while not started.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT
    assert b"Traceback" not in stderr
    assert os.listdir(temporary) == []


def test_a_policys_own_file_is_what_the_written_policy_extends(tmp_path: Path) -> None:
    source, policy = written(tmp_path, products(2)), action_policy(tmp_path, "evaluate")
    pinned = tmp_path / "elsewhere" / "pinned.yaml"
    pinned.parent.mkdir()
    bisected(source, "--policy", policy, *WITHOUT, "--check", check_against(tmp_path, 0), "-o", pinned)
    assert constpolicy("policy", "check", pinned).returncode == 0
