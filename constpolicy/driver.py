"""Compiles a program under a policy: starts the child, decides what it asks, and steps down when it fails.

The compile itself is `pipeline`; here the policy meets it. Nothing here loads the compiler library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from constpolicy import pipeline
from constpolicy.compiler import child, tool
from constpolicy.compiler.flags import CommandLine
from constpolicy.compiler.output import replacing
from constpolicy.records import Action, Decision, Evaluation, Program

if TYPE_CHECKING:
    from constpolicy.policy.decide import Outcome
    from constpolicy.policy.load import LoadedPolicy

LoadPolicy: TypeAlias = "Callable[[], LoadedPolicy]"


@dataclass(frozen=True)
class Compiled:
    """What became of a compile. `program` and `outcome` are None if it ended before there was anything to decide.

    `fallbacks` says, for each step down that was taken, why. `seconds` are per phase.
    """

    exit_code: int
    policy: LoadedPolicy | None
    program: Program | None = None
    outcome: Outcome | None = None
    evaluation: Evaluation = field(default_factory=Evaluation)
    fallbacks: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass
class _Attempt:
    """One run of the pipeline under one policy: answers the child's questions and keeps what was decided."""

    load: LoadPolicy
    strict: bool
    explain_only: bool = False
    policy: LoadedPolicy | None = None
    program: Program | None = None
    outcome: Outcome | None = None

    def answer(self, question: object) -> object:
        if isinstance(question, pipeline.WantsFlags):
            self.policy = self.load()
            return tuple(self.policy.policy.flags)
        assert isinstance(question, pipeline.WantsDecisions)
        return self._decide(question.program)

    def _decide(self, program: Program) -> pipeline.Orders | None:
        from constpolicy.policy.decide import decide

        assert self.policy is not None, "the flags are asked for first"
        self.program = program
        self.outcome = decide(program, self.policy.policy, strict=self.strict)
        if self.explain_only:
            return None
        actions = {decision.candidate_id: decision.action for decision in self.outcome.decisions}
        return pipeline.Orders(actions, survive_const_eval=not self.strict and self.name != "upstream")

    def run(self, command: CommandLine, output: str, on_phase: Callable[[str], None]) -> child.Ended[pipeline.Finished]:
        work = partial(pipeline.compile_module, command, output)
        return child.run(work, answer=self.answer, on_phase=on_phase)

    @property
    def name(self) -> str:
        return self.policy.policy.name if self.policy else "?"

    @property
    def departs_from_upstream(self) -> bool:
        """Whether the program was edited, so that a failure can be the policy's doing."""
        decisions: tuple[Decision, ...] = self.outcome.decisions if self.outcome else ()
        return any(decision.action is not Action.EVALUATE for decision in decisions)


def explain(command: CommandLine, load: LoadPolicy, *, strict: bool = False) -> Compiled:
    """Finds and decides without finishing the compile; writes no output."""
    attempt = _Attempt(load, strict, explain_only=True)
    ended = attempt.run(command, "-", lambda phase: None)
    return _compiled(attempt, ended, ())


def compile_program(
    command: CommandLine,
    load: LoadPolicy,
    *,
    strict: bool = False,
    on_phase: Callable[[str], None] = lambda phase: None,
    warn: Callable[[str], None] = lambda text: None,
) -> Compiled:
    """Compiles into `command.output`, which is replaced only by a complete file.

    When the compile under the policy fails or crashes after the program was edited, the policy `upstream` is tried,
    and after a crash of that, iree-compile itself; every step is told to `warn`. With `strict`, there is none.
    """
    steps: list[str] = []

    def step_down(reason: str) -> None:
        steps.append(reason)
        warn(reason)

    with replacing(command.output) as output:
        attempt = _Attempt(load, strict)
        ended = attempt.run(command, output.path, on_phase)
        if not _succeeded(ended) and attempt.departs_from_upstream and not strict:
            step_down(f"{_failure(ended)} under policy '{attempt.name}'; compiling under 'upstream' instead")
            attempt = _Attempt(_upstream, strict)
            ended = attempt.run(command, output.path, on_phase)
        compiled = _compiled(attempt, ended, steps)
        for id in compiled.evaluation.failed:
            warn(f"const-eval failed on candidate {id}; it is left for load time")
        if ended.crash and ended.signal and not strict:
            step_down(f"{ended.crash}; running iree-compile itself")
            compiled = replace(
                compiled,
                exit_code=tool.run_quietly((*command.without_output, "-o", output.path)),
                fallbacks=tuple(steps),
            )
        if compiled.exit_code == 0:
            output.commit()
    return compiled


def _upstream() -> LoadedPolicy:
    from constpolicy.policy.load import load_policy

    return load_policy("upstream")


def _succeeded(ended: child.Ended[pipeline.Finished]) -> bool:
    return ended.result is not None and ended.result.exit_code == 0


def _failure(ended: child.Ended[pipeline.Finished]) -> str:
    return ended.crash or f"the compile failed in phase '{ended.phase}'"


def _compiled(attempt: _Attempt, ended: child.Ended[pipeline.Finished], steps: Sequence[str]) -> Compiled:
    finished = ended.result or pipeline.Finished(ended.exit_code)
    return Compiled(
        exit_code=finished.exit_code,
        policy=attempt.policy,
        program=attempt.program,
        outcome=attempt.outcome,
        evaluation=finished.evaluation,
        fallbacks=tuple(steps),
        seconds=ended.seconds,
    )
