"""Compiles a program under a policy into a file, and steps down when an attempt fails.

Nothing here loads the compiler library.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from constpolicy import pipeline
from constpolicy.attempt import UPSTREAM, AnyPolicy, Attempt, Ended, decided, load
from constpolicy.compiler import child, stdin, tool
from constpolicy.compiler.facts import ProgramFacts
from constpolicy.compiler.flags import CommandLine
from constpolicy.compiler.output import CannotWrite, replacing
from constpolicy.compiler.phases import CHECK_MODULE
from constpolicy.ddmin import answered, causes
from constpolicy.records import Byproducts, CheckModule, ConstPolicyError, Evaluation, Program, StoredConstants

if TYPE_CHECKING:
    from constpolicy.policy.decide import Outcome
    from constpolicy.policy.load import LoadedPolicy

__all__ = ["UPSTREAM", "AnyPolicy", "Compiled", "Crashed", "compile_program", "explain"]


class Crashed(ConstPolicyError):
    """The compiler crashed, on whatever account."""

    exit_code = 1


@dataclass(frozen=True)
class Compiled:
    """What became of a compile. `program` and `outcome` are None if it ended before there was anything to decide.

    `declarations` are those of the public functions, by name. `fallbacks` says, for each step down that was taken,
    why. `seconds` are per phase.
    """

    exit_code: int
    chosen: AnyPolicy | None
    program: Program | None = None
    known_outcome: Outcome | None = None  # None also where it is worked out only if it is wanted
    evaluation: Evaluation = field(default_factory=Evaluation)
    declarations: Mapping[str, str] = field(default_factory=dict)
    expressions: Mapping[str, str] = field(default_factory=dict)
    fallbacks: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    facts: ProgramFacts = field(default_factory=ProgramFacts)
    check: CheckModule | None = None
    stored: StoredConstants = field(default_factory=StoredConstants)

    @cached_property
    def policy(self) -> LoadedPolicy | None:
        """The policy in force."""
        return None if self.chosen is None else load(self.chosen)

    @cached_property
    def outcome(self) -> Outcome | None:
        """What was decided."""
        if self.known_outcome is not None or self.program is None or self.policy is None:
            return self.known_outcome
        return decided(self.program, self.policy.policy)[1]


def explain(command: CommandLine, policy: AnyPolicy, *, strict: bool = False, second_stop: bool = False) -> Compiled:
    """Finds and decides without finishing the compile; writes no output.

    What DispatchCreation hoists is found only with `second_stop`, or if the policy has rules about it or budgets for
    it: const-eval has to be done for that. If the program or the flags are wrong, the compiler has said so on stderr
    and the exit code is its own. Raises Crashed if it was ended by something else.
    """
    attempt = Attempt(policy, strict=strict, explain_only=True, second_stop=second_stop)
    ended = attempt.run(command, "-", None)
    compiled = _compiled(attempt, ended)
    if _wrong_flags(ended):
        own = attempt.policy.policy.flags if attempt.policy else ()
        return replace(compiled, exit_code=tool.run_quietly(("-o", os.devnull, *own, *command.without_output)))
    if ended.crash is not None:
        raise Crashed(ended.crash)
    return compiled


def compile_program(
    command: CommandLine,
    policy: AnyPolicy,
    *,
    strict: bool = False,
    fallbacks: Sequence[AnyPolicy] = (),
    listener: child.Listener | None = None,
    warn: Callable[[str], None] = lambda text: None,
    byproducts: Byproducts | None = None,
) -> Compiled:
    """Compiles into `command.output`, which is replaced only by a complete file.

    What is wrong with the flags or the place of the output, iree-compile is left to say.

    A failure that can be the policy's doing is stepped down from, each step told to `warn`: candidates on which
    const-eval fails or crashes are left for load time; then the policies `fallbacks` and `upstream` are tried; after
    a crash of that, iree-compile itself. With `strict`, there are no such steps.

    Of the `byproducts`, by default the decisions, the result has what was asked for. If there are none at all, nobody
    looks for candidates under `upstream`.
    """
    with child.interruptible():
        try:
            with replacing(command.output) as output:
                wanted = Byproducts() if byproducts is None else byproducts
                ladder = _Ladder(command, output.path, (*fallbacks, UPSTREAM), listener, warn, wanted)
                compiled = ladder.top(policy) if strict else ladder.climb_down(policy)
                if compiled.exit_code == 0:
                    output.commit()
        except CannotWrite as error:
            if (code := tool.run_quietly(command.arguments)) == 0:
                raise
            return Compiled(code, None, fallbacks=(str(error),))
    return compiled


@dataclass
class _Ladder:
    """The attempts at one compile, from what the user asked for down to iree-compile itself."""

    command: CommandLine
    output: str
    rungs: Sequence[AnyPolicy]  # below the policy that is asked for
    listener: child.Listener | None
    warn: Callable[[str], None]
    byproducts: Byproducts
    steps: list[str] = field(default_factory=list)

    def top(self, policy: AnyPolicy) -> Compiled:
        """The compile under the policy, and nothing else."""
        attempt = Attempt(policy, strict=True, byproducts=self.byproducts)
        ended = self._run(attempt)
        if _wrong_flags(ended):
            return self._iree_compile(attempt, ended)
        if ended.signal:
            self._step(str(ended.crash))
        return _compiled(attempt, ended)

    def climb_down(self, policy: AnyPolicy) -> Compiled:
        """The compile under the policy, or the next rung that succeeds."""
        attempt = Attempt(policy, byproducts=self.byproducts)
        ended = self._run(attempt)
        if ended.crash and ended.phase == "const-eval" and attempt.name != "upstream":
            attempt, ended = self._without_crashing_candidates(attempt, ended)
        if _wrong_flags(ended):
            return self._iree_compile(attempt, ended)
        at_fault = attempt.may_be_at_fault or attempt.may_have_crashed(ended)
        if not _succeeded(ended) and ended.phase != "output" and at_fault:
            attempt, ended = self._further_down(attempt, ended)
        compiled = _compiled(attempt, ended)
        for id in compiled.evaluation.failed:
            self._step(f"const-eval failed on candidate {id}; it is left for load time")
        if ended.signal or ended.exit_code == child.INTERNAL_ERROR:
            self._step(f"{ended.crash}; running iree-compile itself")
            compiled = self._iree_compile(attempt, ended)
        return replace(compiled, fallbacks=tuple(self.steps))

    def _further_down(self, above: Attempt, failed: Ended) -> tuple[Attempt, Ended]:
        """Compiles under the first policy that succeeds; if none does, no policy had a part in it or is mentioned."""
        for policy in self.rungs:
            attempt = Attempt(policy, byproducts=self.byproducts)
            ended = self._run(attempt)
            if _succeeded(ended):
                what = failed.crash or f"the compile failed in phase '{failed.phase}'"
                error = f": {failed.result.first_error}" if failed.result and failed.result.first_error else ""
                self._step(f"{what} under policy '{above.name}'{error}; compiled under '{attempt.name}' instead")
                break
        return attempt, ended

    def _iree_compile(self, attempt: Attempt, ended: Ended) -> Compiled:
        """What iree-compile itself makes of it."""
        flags = attempt.policy.policy.flags if attempt.policy else ()
        if self.command.input == "-":
            stdin.rewind()
        code = tool.run_quietly(("-o", self.output, *flags, *self.command.without_output))
        if code > 128:
            self._step(f"iree-compile itself was ended by {signal.Signals(code - 128).name}, too")
        return replace(_compiled(attempt, ended), exit_code=code)

    def _without_crashing_candidates(self, attempt: Attempt, ended: Ended) -> tuple[Attempt, Ended]:
        """Leaves out the candidates on which const-eval crashes, each found by trials in child processes."""
        self._step(f"{ended.crash} under policy '{attempt.name}'; looking for the candidates to leave out")
        evaluated = attempt.evaluates

        def crashes(part: Sequence[str]) -> bool:
            trial = replace(attempt, left_out=frozenset(evaluated) - frozenset(part), only_evaluate=True)
            return self._run(trial).crash is not None

        guilty = [*chain(*answered(causes(evaluated), crashes))] if evaluated else []
        again = replace(attempt, left_out=frozenset(guilty))
        ended = self._run(again)
        if ended.result is not None:
            evaluation = replace(ended.result.evaluation, failed=(*ended.result.evaluation.failed, *guilty))
            ended.result = replace(ended.result, evaluation=evaluation)
        return again, ended

    def _run(self, attempt: Attempt) -> Ended:
        """The attempt's end. A crash on the check module is none on the program, which compiles without it."""
        ended = attempt.run(self.command, self.output, self.listener)
        if not ended.crash or ended.phase != CHECK_MODULE:
            return ended
        attempt.byproducts = replace(attempt.byproducts, check_module=None)
        crash, ended = str(ended.crash), attempt.run(self.command, self.output, self.listener)
        if ended.result is not None:
            ended.result = replace(ended.result, check=CheckModule(failure=crash))
        return ended

    def _step(self, reason: str) -> None:
        self.steps.append(reason)
        self.warn(reason)


def _wrong_flags(ended: Ended) -> bool:
    """Whether the compiler library did not take its flags, and ended the process."""
    return ended.crash is not None and ended.phase == "flags"


def _succeeded(ended: Ended) -> bool:
    return ended.result is not None and ended.result.exit_code == 0


def _compiled(attempt: Attempt, ended: Ended) -> Compiled:
    finished = ended.result or pipeline.Finished(ended.exit_code)
    program, outcome = attempt.decided
    return Compiled(
        exit_code=finished.exit_code,
        chosen=attempt.policy or attempt.chosen,
        program=program,
        known_outcome=outcome,
        evaluation=finished.evaluation,
        declarations=finished.declarations,
        expressions=finished.expressions,
        seconds=ended.seconds,
        facts=finished.facts,
        check=finished.check,
        stored=finished.stored,
    )
