"""Trials with one front end give what compiles of their own give, and a failing one spoils nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from constpolicy import pipeline, trials
from constpolicy.attempt import decided
from constpolicy.compiler import child
from constpolicy.compiler.flags import parse
from constpolicy.policy.load import load_policy
from scripts.models.cases import write
from tests.e2e.programs import CPU, compile_under

NO_EVALUATION = "--iree-flow-export-benchmark-funcs"  # with it, const-eval does not find its own function


def tried(source: Path, *policies: str) -> tuple[list[Path], Sequence[str]]:
    """The files that one child process makes under these policies, and the names of the phases that it went through."""
    files: list[Path] = []

    def answer(question: object) -> trials.Trial | None:
        assert isinstance(question, trials.WantsTrial)
        assert question.last is None or question.last.exit_code == 0
        if len(files) == len(policies):
            return None
        policy = load_policy(policies[len(files)]).policy
        files.append(source.with_name(f"{len(files)}.vmfb"))
        orders = pipeline.Orders(decided(question.program, policy)[2], survive_const_eval=True)
        return trials.Trial(orders, str(files[-1]))

    listener = Phases()
    work = partial(trials.run_trials, parse([str(source), *CPU]), ())
    assert child.run(work, answer=answer, listener=listener).result == pipeline.Finished(0)
    return files, listener.names


class Phases(child.Listener):
    """Keeps the names of all phases."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def phase(self, name: str) -> None:
        self.names.append(name)


def test_each_trial_gives_the_file_that_a_compile_under_its_policy_gives(tmp_path: Path) -> None:
    (source,) = write(tmp_path, ["tied_plain"])
    policies = ("upstream", "none", "balanced", "upstream")
    files, phases = tried(source, *policies)
    assert phases.count("parse") == 1
    for policy, file in zip(policies, files, strict=True):
        compile_under(policy, source, tmp_path / "alone.vmfb")
        assert file.read_bytes() == (tmp_path / "alone.vmfb").read_bytes(), policy


def test_a_trial_that_fails_says_why_and_the_next_goes_on(tmp_path: Path) -> None:
    (source,), output = write(tmp_path, ["chain"]), tmp_path / "out.vmfb"
    results: list[pipeline.Finished | None] = []

    def answer(question: object) -> trials.Trial | None:
        assert isinstance(question, trials.WantsTrial)
        results.append(question.last)
        if len(results) == 3:
            return None
        policy = load_policy("upstream" if len(results) == 1 else "none").policy
        orders = pipeline.Orders(decided(question.program, policy)[2], survive_const_eval=False)
        return trials.Trial(orders, str(output))

    child.run(partial(trials.run_trials, parse([str(source), *CPU, NO_EVALUATION]), ()), answer=answer)
    assert [result and result.exit_code for result in results] == [None, 1, 0]
    assert results[1] is not None
    assert "error evaling constant" in results[1].first_error
    assert output.is_file()
