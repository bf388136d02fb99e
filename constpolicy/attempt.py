"""One run of the pipeline under one policy: what the child asks is answered, and what was decided is kept.

The policy meets the compile here. Nothing here loads the compiler library, and a policy is loaded when it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from constpolicy import pipeline
from constpolicy.compiler import child, stdin
from constpolicy.compiler.flags import CommandLine
from constpolicy.policy.choice import Choice
from constpolicy.records import Action, Byproducts, ConstPolicyError, Decision, Program

if TYPE_CHECKING:
    from constpolicy.policy.decide import Outcome
    from constpolicy.policy.load import LoadedPolicy
    from constpolicy.policy.schema import Policy

AnyPolicy: TypeAlias = "Choice | LoadedPolicy"  # one to load, or one that is loaded
Ended: TypeAlias = "child.Ended[pipeline.Finished]"
UPSTREAM = Choice("upstream", "what iree-compile does")


@dataclass
class Attempt:
    """One run of the pipeline under one policy: answers the child's questions and keeps what was decided."""

    chosen: AnyPolicy
    strict: bool = False
    explain_only: bool = False
    second_stop: bool = False  # whether the policy has rules about it or not
    only_evaluate: bool = False
    left_out: frozenset[str] = frozenset()  # ids of candidates that are not to be evaluated, whatever was decided
    byproducts: Byproducts = field(default_factory=Byproducts)
    policy: LoadedPolicy | None = None
    program: Program | None = None
    outcome: Outcome | None = None
    tells_steps: bool = False  # somebody listens
    late: tuple[Program, Outcome] | None = None  # what DispatchCreation hoisted, and what was decided

    def run(self, command: CommandLine, output: str, listener: child.Listener | None) -> Ended:
        if command.input == "-":
            stdin.rewind()
        self.tells_steps = listener is not None
        known_flags = () if _sets_no_flags(self.chosen) else None  # what is loaded meanwhile, need not be waited for
        work = partial(pipeline.compile_module, command, output, known_flags)
        if self._is_plain_upstream and not self.byproducts.need_candidates:
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
            self.policy = load(self.chosen)
        return self.policy

    def _answer(self, question: object) -> object:
        if isinstance(question, pipeline.WantsFlags):
            return tuple(self.loaded().policy.flags)
        if isinstance(question, pipeline.WantsLateDecisions):
            return self._decide_late(question.program)
        if isinstance(question, pipeline.WantsConsent):
            reasons = "; ".join(left_for_load_time(question.ids))
            raise ConstPolicyError(f"policy '{self.name}' under --policy-strict: {reasons}; decide otherwise about it")
        assert isinstance(question, pipeline.WantsDecisions)
        return self._decide(question.program)

    def _decide_late(self, program: Program) -> dict[str, Action]:
        from constpolicy.policy.late import decide_late

        assert self.outcome is not None, "the first decisions come first"
        outcome = decide_late(program, self.loaded().policy, self.outcome, strict=self.strict)
        self.late = (program, outcome)
        return {decision.candidate_id: decision.action for decision in outcome.decisions}

    def _decide(self, program: Program) -> pipeline.Orders | None:
        from constpolicy.policy.late import looks_at_dispatch_creation

        if self._is_plain_upstream:
            self.program = _as_iree_compile_takes_it(program)
            return everything_evaluated(program, self.byproducts)
        policy = self.loaded().policy
        self.program, self.outcome, actions = decided(program, policy, strict=self.strict)
        second_stop = self.second_stop or looks_at_dispatch_creation(policy)
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
            wants_all_evaluated=self.strict and self.name != "upstream",
            second_stop=second_stop,
            only_decide=self.explain_only,
            store_once=policy.share.store_once,
            byproducts=self.byproducts,
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
            replace(
                self.outcome,
                decisions=decisions,
                warnings=warnings,
                budgets=outcome.budgets,
                dead_pins=(*self.outcome.dead_pins, *outcome.dead_pins),
                decided_late=True,
            ),
        )

    @property
    def may_be_at_fault(self) -> bool:
        """Whether a failure can be the policy's doing: it is not upstream's, and the program was edited already."""
        return self.outcome is not None and self.name != "upstream"

    def may_have_crashed(self, ended: Ended) -> bool:
        """Whether the end is a crash that can come from the flags that the policy sets."""
        return ended.crash is not None and self.policy is not None and bool(self.policy.policy.flags)

    @property
    def evaluates(self) -> tuple[str, ...]:
        """Ids of the candidates that were decided to be evaluated."""
        decisions = self.outcome.decisions if self.outcome else ()
        return tuple(d.candidate_id for d in decisions if d.action in (Action.EVALUATE, Action.SHARE))


def left_for_load_time(ids: Iterable[str]) -> tuple[str, ...]:
    """What to say about candidates that const-eval left for load time, unforeseen."""
    return tuple(f"candidate {id} was decided to be evaluated, but const-eval left it for load time" for id in ids)


def everything_evaluated(program: Program, byproducts: Byproducts) -> pipeline.Orders:
    """The orders under `upstream`, which need no decisions."""
    actions = dict.fromkeys((candidate.id for candidate in program.candidates), Action.EVALUATE)
    return pipeline.Orders(actions, survive_const_eval=False, byproducts=byproducts)


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
    return () if _sets_no_flags(policy) else tuple(load(policy).policy.flags)


def _sets_no_flags(policy: AnyPolicy) -> bool:
    """Whether that is known without loading it, so that nobody has to wait for that."""
    return isinstance(policy, Choice) and policy.is_builtin


def load(policy: AnyPolicy) -> LoadedPolicy:
    from constpolicy.policy.load import load_chosen

    return load_chosen(policy) if isinstance(policy, Choice) else policy
