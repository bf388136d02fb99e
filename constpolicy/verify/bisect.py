"""Finds the decisions that make a check fail, by compiling with some decisions of the policy and some of a baseline.

One child process parses and hoists the program once and compiles all the trials (constpolicy.trials); when a trial
crashes it, another goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from constpolicy import pipeline, trials
from constpolicy.attempt import decided
from constpolicy.compiler import child
from constpolicy.compiler.flags import CommandLine
from constpolicy.ddmin import causes
from constpolicy.policy.late import decide_late, looks_at_dispatch_creation
from constpolicy.policy.load import LoadedPolicy
from constpolicy.records import Action, Candidate, ConstPolicyError, Decision, Phase, Program
from constpolicy.verify.bisect_check import Build, Check
from constpolicy.verify.bisect_record import Symptom, Trial

if TYPE_CHECKING:
    from constpolicy.policy.decide import Outcome

__all__ = ["Difference", "Found", "NothingCompiles", "find_causes"]

_MOST_BYTES = 1024 * 1024  # of a constant in a reduced program
_Task: TypeAlias = "trials.Trial | trials.Reduction"
_Plan: TypeAlias = "Generator[frozenset[str] | trials.Reduction | None, Trial, tuple[tuple[str, ...], ...]]"


class NothingCompiles(ConstPolicyError):
    """The program compiles neither under the policy nor under the baseline: no decision is to blame."""

    exit_code = 1


@dataclass(frozen=True)
class Difference:
    """A candidate about which policy and baseline decide differently: the policy's decision, the baseline's action."""

    candidate: Candidate
    decision: Decision
    action: Action  # that is carried out under the policy
    baseline: Action


@dataclass(frozen=True)
class Found:
    """The causes of a failure (verify.bisect_record.Bisection says what they are), and how they were found.

    `reduced` are the files that were written for the causes; `differing` counts all candidates that could be one.
    """

    causes: tuple[tuple[Difference, ...], ...]
    symptom: Symptom
    failure: str
    differing: int
    trials: tuple[Trial, ...]
    reduced: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()


def find_causes(
    command: CommandLine,
    policy: LoadedPolicy,
    baseline: LoadedPolicy,
    check_for: Callable[[Sequence[Action]], Check],
    folder: Path,
    *,
    reduce_to: Path | None = None,
    tell: Callable[[Trial], None] = lambda trial: None,
) -> Found:
    """Finds the smallest sets of candidates whose decisions make the check fail.

    Args:
      command: The program with its flags; the policy's are set in all builds.
      check_for: Makes the check, given the actions that the policy takes.
      folder: Where builds are written; it has to be there.
      reduce_to: A folder in which a program of nothing but its expressions is written for each cause.
      tell: Is told of every build.
    Raises:
      NothingCompiles: also if the compiler does not get to where policies decide; it has said why on stderr.
      ConstPolicyError: the check does not fail under the policy, or fails under the baseline too.
    """
    return _Bisection(command, policy, baseline, check_for, folder, reduce_to, tell).run()


@dataclass
class _Bisection:
    """The caller's side of the trials: what to try next, what came out, and what is left to do after a crash."""

    command: CommandLine
    policy: LoadedPolicy
    baseline: LoadedPolicy
    check_for: Callable[[Sequence[Action]], Check]
    folder: Path
    reduce_to: Path | None
    tell: Callable[[Trial], None]
    differences: dict[str, Difference] = field(default_factory=dict)
    outcome: Outcome | None = None
    baseline_outcome: Outcome | None = None
    actions: Mapping[str, Action] = field(default_factory=dict)  # the policy's, of what is decided first
    baseline_actions: Mapping[str, Action] = field(default_factory=dict)
    results: dict[frozenset[str] | None, Trial] = field(default_factory=dict)  # by whom the policy decides; None: all
    builds: list[Trial] = field(default_factory=list)
    reduced: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    check: Check | None = None
    plan: _Plan | None = None
    wanted: frozenset[str] | trials.Reduction | None = None
    found: tuple[tuple[str, ...], ...] | None = None

    def run(self) -> Found:
        while self.found is None:
            work = partial(trials.run_trials, self.command, tuple(self.policy.policy.flags))
            ended = child.run(work, answer=self._answer)
            if self.plan is None or (ended.result is not None and ended.result.exit_code != 0):
                raise NothingCompiles(ended.crash or "the program does not compile to where a policy decides")
            if ended.crash is not None:
                self._goes_on(self._noted(Symptom.COMPILE, ended.crash))
        top = self.results[None]
        assert top.symptom is not None, "else nothing would have been looked for"
        return Found(
            tuple(tuple(self.differences[id] for id in cause) for cause in self.found),
            top.symptom,
            top.failure or "",
            len(self.differences),
            tuple(self.builds),
            tuple(self.reduced),
            tuple(self.notes),
        )

    # What the child asks

    def _answer(self, question: object) -> object:
        if isinstance(question, pipeline.WantsLateDecisions):
            return self._late_actions(question.program)
        assert isinstance(question, trials.WantsTrial)
        if self.plan is None:
            self._begin(question)
        elif question.last is not None:
            self._goes_on(self._judged(question, question.last))
        return None if self.found is not None else self._task()

    def _begin(self, question: trials.WantsTrial) -> None:
        _, self.outcome, self.actions = decided(question.program, self.policy.policy)
        _, self.baseline_outcome, self.baseline_actions = decided(question.program, self.baseline.policy)
        self._compare(question.program, self.outcome, self.actions, self.baseline_actions)
        if not self.differences and not self._second_stop:
            names = f"'{self.policy.policy.name}' and '{self.baseline.policy.name}'"
            raise ConstPolicyError(f"{names} decide alike about this program: name another --baseline")
        self.check = self.check_for([*self.actions.values()])
        self.plan = self._planned()
        self.wanted = next(self.plan)

    def _compare(
        self, program: Program, outcome: Outcome, actions: Mapping[str, Action], baseline: Mapping[str, Action]
    ) -> None:
        for candidate, decision in zip(program.candidates, outcome.decisions, strict=True):
            action, other = actions[candidate.id], baseline[candidate.id]
            if action is not other:
                self.differences[candidate.id] = Difference(candidate, decision, action, other)

    def _task(self) -> _Task:
        if isinstance(self.wanted, trials.Reduction):
            return self.wanted
        actions = {
            id: self.actions[id] if self._policy_decides(id) else action for id, action in self.baseline_actions.items()
        }
        orders = pipeline.Orders(
            actions,
            survive_const_eval=False,
            second_stop=self._second_stop,
            store_once=self.policy.policy.share.store_once,
        )
        return trials.Trial(orders, str(self._file))

    def _policy_decides(self, id: str) -> bool:
        assert not isinstance(self.wanted, trials.Reduction)
        return self.wanted is None or id in self.wanted

    @property
    def _second_stop(self) -> bool:
        return any(looks_at_dispatch_creation(each.policy) for each in (self.policy, self.baseline))

    @property
    def _file(self) -> Path:
        return self.folder / ("baseline.vmfb" if self.wanted == frozenset() else "trial.vmfb")

    def _late_actions(self, program: Program) -> dict[str, Action]:
        """The actions for what DispatchCreation hoisted, which is known once the first build gets there."""
        assert self.outcome is not None, "the first decisions come first"
        assert self.baseline_outcome is not None, "the first decisions come first"
        outcome = decide_late(program, self.policy.policy, self.outcome)
        other = decide_late(program, self.baseline.policy, self.baseline_outcome)
        own = {decision.candidate_id: decision.action for decision in outcome.decisions}
        baseline = {decision.candidate_id: decision.action for decision in other.decisions}
        self._compare(program, outcome, own, baseline)
        return {id: own[id] if self._policy_decides(id) else baseline[id] for id in own}

    # What came out

    def _judged(self, question: trials.WantsTrial, last: pipeline.Finished) -> Trial:
        if isinstance(self.wanted, trials.Reduction):
            return Trial(policy_decides=0)
        if last.exit_code != 0:
            return self._noted(Symptom.COMPILE, last.first_error or "the compiler does not say why")
        if (top := self.results.get(None)) is not None and top.symptom is Symptom.COMPILE:
            return self._noted(None, None)  # it compiles, and nothing else is asked
        assert self.check is not None
        build = Build(self._file, self.folder / "baseline.vmfb", question.declarations, question.facts)
        failure = self.check.failure(build)
        return self._noted(None if failure is None else Symptom.CHECK, failure)

    def _noted(self, symptom: Symptom | None, failure: str | None) -> Trial:
        if isinstance(self.wanted, trials.Reduction):
            self.notes.append(f"no reduced program of {', '.join(self.wanted.ids)}: {failure}")
            return Trial(policy_decides=0, symptom=symptom, failure=failure)
        count = len(self.differences) if self.wanted is None else len(self.wanted)
        trial = Trial(policy_decides=count, symptom=symptom, failure=failure)
        self.builds.append(trial)
        self.tell(trial)
        return trial

    def _goes_on(self, trial: Trial) -> None:
        assert self.plan is not None
        try:
            self.wanted = self.plan.send(trial)
        except StopIteration as stop:
            self.found = stop.value

    # What to try

    def _planned(self) -> _Plan:
        """Yields for whom the policy decides in the next build (None: for all), and is sent what came out."""
        base = yield from self._tried(frozenset())
        top = yield from self._tried(None)
        self._refuse(base, top)
        self.results[frozenset(self.differences)] = top
        found = yield from self._searched(top.symptom)
        yield from self._reductions(found)
        return found

    def _searched(self, symptom: Symptom | None) -> _Plan:
        """Answers the search for causes. Whatever else goes wrong in a build is no failure of the kind looked for."""
        search = causes(tuple(self.differences))
        try:
            wanted = next(search)
            while True:
                trial = yield from self._tried(frozenset(wanted))
                wanted = search.send(trial.symptom is symptom)
        except StopIteration as stop:
            found: tuple[tuple[str, ...], ...] = stop.value
            return found

    def _tried(self, chosen: frozenset[str] | None) -> Generator[frozenset[str] | None, Trial, Trial]:
        if chosen not in self.results:
            self.results[chosen] = yield chosen
        return self.results[chosen]

    def _refuse(self, base: Trial, top: Trial) -> None:
        policy, baseline = f"'{self.policy.policy.name}'", f"the baseline '{self.baseline.policy.name}'"
        if base.symptom is Symptom.COMPILE and top.symptom is Symptom.COMPILE:
            raise NothingCompiles(f"the compile fails under {policy} and under {baseline}: {top.failure}")
        if base.symptom is Symptom.COMPILE:
            raise ConstPolicyError(f"the compile fails under {baseline}: {base.failure}; name another --baseline")
        if base.symptom is Symptom.CHECK and top.symptom is not Symptom.COMPILE:
            flags = "; the policy's flags are set there, too" if self.policy.policy.flags else ""
            raise ConstPolicyError(
                f"the check fails under {baseline}, too, so no decision is to blame: {base.failure}{flags}"
            )
        if top.symptom is None:
            raise ConstPolicyError(f"the check does not fail under {policy}, so that there is nothing to look for")

    def _reductions(self, found: Sequence[Sequence[str]]) -> Generator[trials.Reduction, Trial, None]:
        if self.reduce_to is None:
            return
        for number, cause in enumerate(found, 1):
            ids = tuple(id for id in cause if self.differences[id].candidate.phase is Phase.GLOBAL_OPTIMIZATION)
            if late := sorted(set(cause) - set(ids)):
                self.notes.append(f"no reduced program of {', '.join(late)}: only the compiler makes such expressions")
            if ids:
                output = self.reduce_to / f"cause-{number}.mlir"
                result = yield trials.Reduction(ids, str(output), _MOST_BYTES)
                self.reduced += [output] if result.symptom is None else []
