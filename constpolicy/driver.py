"""Compiles a program under a policy: starts the child, decides what it asks, and steps down when it fails.

The compile itself is `pipeline`; here the policy meets it. Nothing here loads the compiler library.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeAlias

from constpolicy import pipeline
from constpolicy.compiler import child, stdin, tool
from constpolicy.compiler.facts import ProgramFacts
from constpolicy.compiler.flags import CommandLine
from constpolicy.compiler.output import CannotWrite, replacing
from constpolicy.compiler.phases import CHECK_MODULE
from constpolicy.halving import culprits
from constpolicy.policy.choice import Choice
from constpolicy.records import Action, CheckModule, Decision, Evaluation, Program, StoredConstants

if TYPE_CHECKING:
    from constpolicy.policy.decide import Outcome
    from constpolicy.policy.load import LoadedPolicy
    from constpolicy.policy.schema import Policy

AnyPolicy: TypeAlias = "Choice | LoadedPolicy"  # one to load, or one that is loaded
UPSTREAM = Choice("upstream", "what iree-compile does")
_Ended: TypeAlias = "child.Ended[pipeline.Finished]"


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
        return None if self.chosen is None else _load(self.chosen)

    @cached_property
    def outcome(self) -> Outcome | None:
        """What was decided."""
        if self.known_outcome is not None or self.program is None or self.policy is None:
            return self.known_outcome
        return decided(self.program, self.policy.policy)[1]


@dataclass
class _Attempt:
    """One run of the pipeline under one policy: answers the child's questions and keeps what was decided."""

    chosen: AnyPolicy
    strict: bool
    explain_only: bool = False
    second_stop: bool = False  # whether the policy has rules about it or not
    only_evaluate: bool = False
    left_out: frozenset[str] = frozenset()  # ids of candidates that are not to be evaluated, whatever was decided
    check_output: str | None = None
    trace_constants: bool = False
    observed: bool = True  # somebody wants to know more of the compile than its end
    policy: LoadedPolicy | None = None
    program: Program | None = None
    outcome: Outcome | None = None
    tells_steps: bool = False  # somebody listens
    late: tuple[Program, Outcome] | None = None  # what DispatchCreation hoisted, and what was decided

    def run(self, command: CommandLine, output: str, listener: child.Listener | None) -> _Ended:
        if command.input == "-":
            stdin.rewind()
        self.tells_steps = listener is not None
        known_flags = () if _sets_no_flags(self.chosen) else None  # what is loaded meanwhile, need not be waited for
        work = partial(pipeline.compile_module, command, output, known_flags)
        if self._is_plain_upstream and not self.observed:
            work = partial(pipeline.compile_undecided, command, output)
        meanwhile = (lambda: None) if self._is_plain_upstream else self.loaded
        return child.run(work, answer=self._answer, listener=listener, meanwhile=meanwhile)

    @property
    def _is_plain_upstream(self) -> bool:
        """Whether everything is evaluated, which is known without loading the policy."""
        is_upstream = isinstance(self.chosen, Choice) and self.chosen.is_builtin and self.chosen.reference == "upstream"
        return is_upstream and not self.explain_only and not self.left_out

    def loaded(self) -> LoadedPolicy:
        """The policy, loaded when it is first asked for."""
        if self.policy is None:
            self.policy = _load(self.chosen)
        return self.policy

    def _answer(self, question: object) -> object:
        if isinstance(question, pipeline.WantsFlags):
            return tuple(self.loaded().policy.flags)
        if isinstance(question, pipeline.WantsLateDecisions):
            return self._decide_late(question.program)
        assert isinstance(question, pipeline.WantsDecisions)
        return self._decide(question.program)

    def _decide_late(self, program: Program) -> dict[str, Action]:
        from constpolicy.policy.decide import decide_late

        outcome = decide_late(program, self.loaded().policy, strict=self.strict)
        self.late = (program, outcome)
        return {decision.candidate_id: decision.action for decision in outcome.decisions}

    def _decide(self, program: Program) -> pipeline.Orders | None:
        if self._is_plain_upstream:
            self.program = _as_iree_compile_takes_it(program)
            orders = everything_evaluated(program, only_evaluate=self.only_evaluate, check_output=self.check_output)
            return replace(orders, trace_constants=self.trace_constants)
        policy = self.loaded().policy
        self.program, self.outcome, actions = decided(program, policy, strict=self.strict)
        second_stop = self.second_stop or policy.looks_at_dispatch_creation
        if self.explain_only and not second_stop:
            return None
        actions.update(dict.fromkeys(self.left_out, Action.INITIALIZE))
        survive = not self.strict and self.name != "upstream"
        retried = not self.strict and self.may_be_at_fault
        return pipeline.Orders(
            actions,
            survive_const_eval=survive,
            only_evaluate=self.only_evaluate,
            retried=retried,
            tells_steps=self.tells_steps,
            second_stop=second_stop,
            only_decide=self.explain_only,
            store_once=policy.share.store_once,
            check_output=self.check_output,
            trace_constants=self.trace_constants,
        )

    @property
    def name(self) -> str:
        if self._is_plain_upstream:
            return "upstream"
        return self.policy.policy.name if self.policy else "?"

    @property
    def decided(self) -> tuple[Program | None, Outcome | None]:
        """All candidates and decisions, those of the second stop last."""
        if self.program is None or self.outcome is None or self.late is None:
            return self.program, self.outcome  # the latter is None under `upstream`
        program, outcome = self.late
        candidates = (*self.program.candidates, *program.candidates)
        decisions = (*self.outcome.decisions, *outcome.decisions)
        warnings = (*self.outcome.warnings, *outcome.warnings)
        return (
            replace(self.program, candidates=candidates),
            replace(self.outcome, decisions=decisions, warnings=warnings),
        )

    @property
    def may_be_at_fault(self) -> bool:
        """Whether a failure can be the policy's doing: it is not upstream's, and the program was edited already."""
        return self.outcome is not None and self.name != "upstream"

    def may_have_crashed(self, ended: _Ended) -> bool:
        """Whether the end is a crash that can come from the flags that the policy sets."""
        return ended.crash is not None and self.policy is not None and bool(self.policy.policy.flags)

    @property
    def evaluates(self) -> tuple[str, ...]:
        """Ids of the candidates that were decided to be evaluated."""
        decisions = self.outcome.decisions if self.outcome else ()
        return tuple(d.candidate_id for d in decisions if d.action in (Action.EVALUATE, Action.SHARE))


def explain(command: CommandLine, policy: AnyPolicy, *, strict: bool = False, second_stop: bool = False) -> Compiled:
    """Finds and decides without finishing the compile; writes no output.

    What DispatchCreation hoists is found only with `second_stop`, or if the policy has rules about it: const-eval
    has to be done for that.
    """
    attempt = _Attempt(policy, strict, explain_only=True, second_stop=second_stop)
    return _compiled(attempt, attempt.run(command, "-", None))


def compile_program(
    command: CommandLine,
    policy: AnyPolicy,
    *,
    strict: bool = False,
    fallbacks: Sequence[AnyPolicy] = (),
    listener: child.Listener | None = None,
    warn: Callable[[str], None] = lambda text: None,
    check_output: str | None = None,
    trace_constants: bool = False,
    observed: bool = True,
) -> Compiled:
    """Compiles into `command.output`, which is replaced only by a complete file.

    What is wrong with the flags or the place of the output, iree-compile is left to say.

    A failure that can be the policy's doing is stepped down from, each step told to `warn`: candidates on which
    const-eval fails or crashes are left for load time; then the policies `fallbacks` and `upstream` are tried; after
    a crash of that, iree-compile itself. With `strict`, there are no such steps.

    `check_output` is where to write the check module (records.CheckModule), if there is something evaluated to check.
    `trace_constants` asks for `Compiled.stored`. If the compile is not `observed`, what it decided need not be known
    afterwards: the result has no program, and under `upstream` nobody looks for candidates.
    """
    with child.interruptible():
        try:
            with replacing(command.output) as output:
                ladder = _Ladder(
                    command,
                    output.path,
                    (*fallbacks, UPSTREAM),
                    listener,
                    warn,
                    check_output,
                    trace_constants,
                    observed,
                )
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
    check_output: str | None = None
    trace_constants: bool = False
    observed: bool = True
    steps: list[str] = field(default_factory=list)

    def top(self, policy: AnyPolicy) -> Compiled:
        """The compile under the policy, and nothing else."""
        attempt = self._attempt(policy, strict=True)
        ended = self._run(attempt)
        if _wrong_flags(ended):
            return self._iree_compile(attempt, ended)
        if ended.signal:
            self._step(str(ended.crash))
        return _compiled(attempt, ended)

    def climb_down(self, policy: AnyPolicy) -> Compiled:
        """The compile under the policy, or the next rung that succeeds."""
        attempt = self._attempt(policy)
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

    def _attempt(self, policy: AnyPolicy, *, strict: bool = False) -> _Attempt:
        return _Attempt(
            policy,
            strict,
            check_output=self.check_output,
            trace_constants=self.trace_constants,
            observed=self.observed or self.check_output is not None or self.trace_constants,
        )

    def _further_down(self, above: _Attempt, failed: _Ended) -> tuple[_Attempt, _Ended]:
        """Compiles under the first policy that succeeds; if none does, no policy had a part in it or is mentioned."""
        for policy in self.rungs:
            attempt = self._attempt(policy)
            ended = self._run(attempt)
            if _succeeded(ended):
                what = failed.crash or f"the compile failed in phase '{failed.phase}'"
                error = f": {failed.result.first_error}" if failed.result and failed.result.first_error else ""
                self._step(f"{what} under policy '{above.name}'{error}; compiled under '{attempt.name}' instead")
                break
        return attempt, ended

    def _iree_compile(self, attempt: _Attempt, ended: _Ended) -> Compiled:
        """What iree-compile itself makes of it."""
        flags = attempt.policy.policy.flags if attempt.policy else ()
        if self.command.input == "-":
            stdin.rewind()
        code = tool.run_quietly(("-o", self.output, *flags, *self.command.without_output))
        if code > 128:
            self._step(f"iree-compile itself was ended by {signal.Signals(code - 128).name}, too")
        return replace(_compiled(attempt, ended), exit_code=code)

    def _without_crashing_candidates(self, attempt: _Attempt, ended: _Ended) -> tuple[_Attempt, _Ended]:
        """Leaves out the candidates on which const-eval crashes, each found by trials in child processes."""
        self._step(f"{ended.crash} under policy '{attempt.name}'; looking for the candidates to leave out")
        evaluated = attempt.evaluates

        def crashes(part: Sequence[str]) -> bool:
            trial = replace(attempt, left_out=frozenset(evaluated) - frozenset(part), only_evaluate=True)
            return self._run(trial).crash is not None

        guilty = culprits(evaluated, crashes) if evaluated else []
        again = replace(attempt, left_out=frozenset(guilty))
        ended = self._run(again)
        if ended.result is not None:
            evaluation = replace(ended.result.evaluation, failed=(*ended.result.evaluation.failed, *guilty))
            ended.result = replace(ended.result, evaluation=evaluation)
        return again, ended

    def _run(self, attempt: _Attempt) -> _Ended:
        """The attempt's end. A crash on the check module is none on the program, which compiles without it."""
        ended = attempt.run(self.command, self.output, self.listener)
        if not ended.crash or ended.phase != CHECK_MODULE:
            return ended
        attempt.check_output = None
        crash, ended = str(ended.crash), attempt.run(self.command, self.output, self.listener)
        if ended.result is not None:
            ended.result = replace(ended.result, check=CheckModule(failure=crash))
        return ended

    def _step(self, reason: str) -> None:
        self.steps.append(reason)
        self.warn(reason)


def everything_evaluated(program: Program, *, only_evaluate: bool, check_output: str | None) -> pipeline.Orders:
    """The orders under `upstream`, which need no decisions."""
    actions = dict.fromkeys((candidate.id for candidate in program.candidates), Action.EVALUATE)
    return pipeline.Orders(actions, survive_const_eval=False, only_evaluate=only_evaluate, check_output=check_output)


def decided(program: Program, policy: Policy, *, strict: bool = False) -> tuple[Program, Outcome, dict[str, Action]]:
    """The program as this policy may treat it, the decisions, and the actions to carry out by candidate id."""
    from constpolicy.policy.decide import decide

    program = _as_iree_compile_takes_it(program) if policy.name == "upstream" else program
    outcome = decide(program, policy, strict=strict)
    return program, outcome, {decision.candidate_id: _ordered(decision) for decision in outcome.decisions}


def _as_iree_compile_takes_it(program: Program) -> Program:
    """The program whose candidates may all stay for load time, where iree-compile leaves them, for better or worse."""
    candidates = []
    for candidate in program.candidates:
        refusals = dict(candidate.refusals)
        refusals.pop(Action.INITIALIZE, None)
        candidates.append(replace(candidate, refusals=refusals))
    return replace(program, candidates=tuple(candidates))


def _ordered(decision: Decision) -> Action:
    """The action to carry out. What const-eval will refuse to evaluate is still handed to it, as IREE does."""
    refused = decision.wanted is Action.EVALUATE and decision.action is Action.INITIALIZE
    return Action.EVALUATE if refused else decision.action


def flags(policy: AnyPolicy) -> tuple[str, ...]:
    """The iree-compile flags that the policy sets."""
    return () if _sets_no_flags(policy) else tuple(_load(policy).policy.flags)


def _sets_no_flags(policy: AnyPolicy) -> bool:
    """Whether that is known without loading it, so that nobody has to wait for that."""
    return isinstance(policy, Choice) and policy.is_builtin


def _load(policy: AnyPolicy) -> LoadedPolicy:
    from constpolicy.policy.load import load_chosen

    return load_chosen(policy) if isinstance(policy, Choice) else policy


def _wrong_flags(ended: _Ended) -> bool:
    """Whether the compiler library did not take its flags, and ended the process."""
    return ended.crash is not None and ended.phase == "flags"


def _succeeded(ended: _Ended) -> bool:
    return ended.result is not None and ended.result.exit_code == 0


def _compiled(attempt: _Attempt, ended: _Ended) -> Compiled:
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
