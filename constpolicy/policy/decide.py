"""From candidates and a policy to decisions: a pure function.

Rules first (the first that matches decides and pins), then allow, limits and the default; then the budgets choose
which of the unpinned evaluations stay. What a candidate cannot have moves on to the next legal action.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil

from constpolicy.policy.growth import STORED, Liveness
from constpolicy.policy.match import expansion_ratio, matches
from constpolicy.policy.schema import Budgets, Policy
from constpolicy.policy.sharing import in_words, rivals, within
from constpolicy.policy.units import format_size
from constpolicy.records import INITIALIZER_BYTES, Action, Candidate, ConstPolicyError, Decision, Phase, Program

_LAST_RESORTS = (Action.INITIALIZE, Action.INLINE, Action.EVALUATE)


@dataclass(frozen=True)
class Outcome:
    """What was decided, in the order of the program's candidates.

    `predicted_growth_bytes` is that of the file's constants, against leaving every candidate for load time.
    `budget_notes` say what each budget came to, what was given up for them and what more of them would buy.
    """

    decisions: tuple[Decision, ...]
    warnings: tuple[str, ...] = ()
    predicted_growth_bytes: int = 0
    budget_notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Wish:
    """What the policy wants for a candidate, before it is asked whether that is possible."""

    action: Action
    reason: str
    decided_by: str
    otherwise: tuple[Action, ...]
    pinned: bool = False


def decide(program: Program, policy: Policy, *, strict: bool = False) -> Outcome:
    """Decides what becomes of every candidate.

    With `strict`, an action that a candidate cannot have is a ConstPolicyError, as is a rule that matches nothing.
    """
    program = within(program, policy.share)
    liveness = Liveness(program)
    everything = {c.id: Action.EVALUATE for c in program.candidates}
    growths = {c.id: liveness.growth(c, everything) for c in program.candidates}
    decisions = {c.id: _legal(c, _wish(c, policy, growths[c.id])) for c in program.candidates}
    _keep_growth_within_limit(program, policy, liveness, decisions)
    _keep_one_copy(program, decisions)
    notes = _keep_budgets(program, policy, liveness, decisions)
    actions = {id: decision.action for id, decision in decisions.items()}
    ordered = tuple(replace(decisions[c.id], growth_bytes=liveness.growth(c, actions)) for c in program.candidates)
    warnings = (*_unmatched_rules(program, policy, growths), *_impossible(ordered, program))
    if strict and warnings:
        raise ConstPolicyError(f"policy '{policy.name}' under --policy-strict: {'; '.join(warnings)}")
    return Outcome(ordered, warnings, liveness.file_growth(actions), notes)


def decide_late(program: Program, policy: Policy, *, strict: bool = False) -> Outcome:
    """Decides about what DispatchCreation hoisted. Budgets were spent before; rules that match nothing were told.

    What a policy evaluates by default is left for load time here, where IREE evaluates nothing.
    """
    default = Action.INITIALIZE if policy.default in STORED else policy.default
    outcome = decide(program, policy.model_copy(update={"budgets": Budgets(), "default": default}), strict=False)
    if default is not policy.default:
        outcome = replace(outcome, decisions=tuple(map(_left_by_default, outcome.decisions)))
    warnings = tuple(_impossible(outcome.decisions, program))
    if strict and warnings:
        raise ConstPolicyError(f"policy '{policy.name}' under --policy-strict: {'; '.join(warnings)}")
    return replace(outcome, warnings=warnings)


def _left_by_default(decision: Decision) -> Decision:
    if decision.decided_by != "default":
        return decision
    return replace(decision, reason="no rule of the policy is about it: computed at load, as by iree-compile")


def _wish(candidate: Candidate, policy: Policy, growth: int) -> _Wish:
    otherwise = tuple(policy.otherwise)
    for index, rule in enumerate(policy.rules):
        if matches(rule.when, candidate, growth):
            name = rule.name or f"number {index + 1}"
            return _Wish(rule.action, f"rule '{name}' matches", f"rule '{name}'", otherwise, pinned=True)
    if policy.default not in STORED:
        return _Wish(policy.default, f"the policy's default is {policy.default}", "default", otherwise)
    denied = sorted(kind for kind in candidate.kinds if policy.allow.get(kind) is False)
    if denied:
        return _Wish(otherwise[0], f"the policy does not allow {denied[0]}", f"allow.{denied[0]}", otherwise[1:])
    if (excess := _over_limit(candidate, policy)) is not None:
        actions = tuple(policy.limits.otherwise or otherwise)
        return _Wish(actions[0], excess[1], f"limits.{excess[0]}", actions[1:])
    return _Wish(policy.default, f"the policy's default is {policy.default}", "default", otherwise)


def _over_limit(candidate: Candidate, policy: Policy) -> tuple[str, str] | None:
    """The limit on the candidate alone that it exceeds: its name, and the numbers in words."""
    limits = policy.limits
    if limits.max_result_bytes is not None and candidate.result_bytes > limits.max_result_bytes:
        sizes = f"{format_size(candidate.result_bytes)} > max_result_bytes {format_size(limits.max_result_bytes)}"
        return "max_result_bytes", f"result {sizes}"
    ratio = expansion_ratio(candidate)
    if limits.max_expansion_ratio is not None and ratio > limits.max_expansion_ratio:
        sizes = f"{format_size(candidate.source_bytes)} to {format_size(candidate.result_bytes)}"
        numbers = f"{ratio:.4g} > max_expansion_ratio {limits.max_expansion_ratio:g}"
        return "max_expansion_ratio", f"expansion {numbers} ({sizes})"
    return None


def _legal(candidate: Candidate, wish: _Wish) -> Decision:
    """The first action that the candidate can have, the wish itself at best."""
    refused: list[str] = []
    for action in (wish.action, *wish.otherwise, *_LAST_RESORTS):
        if candidate.allows(action):
            break
        refused.append(f"{action} is impossible: {candidate.refusals[action]}")
    else:
        action = Action.INLINE  # refused like everything else, and always computes the same
    offer = [in_words(candidate.share)] if action is Action.SHARE and candidate.share else []
    reason = "; ".join((wish.reason, *dict.fromkeys(refused), *offer))
    return Decision(
        candidate_id=candidate.id,
        action=action,
        wanted=wish.action,
        reason=reason,
        decided_by=wish.decided_by,
        growth_bytes=0,  # known when everything is decided
        pinned=wish.pinned,
        warnings=tuple(dict.fromkeys(refused)),
    )


def _keep_growth_within_limit(
    program: Program, policy: Policy, liveness: Liveness, decisions: dict[str, Decision]
) -> None:
    """Moves unpinned evaluations over max_growth_bytes on, until none is left.

    Each that moves keeps its sources alive, which can only raise the growth of others: this comes to an end.
    """
    limit = policy.limits.max_growth_bytes
    if limit is None:
        return
    while True:
        actions = {id: decision.action for id, decision in decisions.items()}
        over = [
            (candidate, growth)
            for candidate in program.candidates
            if _is_free(decisions[candidate.id])
            if decisions[candidate.id].decided_by != "limits.max_growth_bytes"  # which may say: evaluate it then
            if (growth := liveness.growth(candidate, actions)) > limit and _has_other(candidate)
        ]
        if not over:
            return
        for candidate, growth in over:
            reason = _growth_in_words(candidate, growth, limit, liveness.survivors(candidate, actions))
            first, *rest = policy.limits.otherwise or policy.otherwise
            wish = _Wish(first, reason, "limits.max_growth_bytes", tuple(rest))
            decisions[candidate.id] = _legal(candidate, wish)


def _keep_one_copy(program: Program, decisions: dict[str, Decision]) -> None:
    """Lets one candidate share each source; the others that would, are computed from it at load time."""
    wanted = [candidate for candidate in program.candidates if decisions[candidate.id].action is Action.SHARE]
    for other, home in rivals(wanted).items():
        candidate = next(candidate for candidate in wanted if candidate.id == other)
        small = candidate.result_bytes <= INITIALIZER_BYTES  # less than the code that would compute it
        decision, reason = decisions[other], f"its source is shared through {home.symbol}"
        wish = _Wish(
            Action.EVALUATE if small else Action.INITIALIZE,
            f"{decision.reason}; but {reason}",
            decision.decided_by,
            (),
            pinned=decision.pinned,
        )
        warnings = (*decision.warnings, f"{Action.SHARE} is impossible: {reason}") if decision.pinned else ()
        decisions[other] = replace(_legal(candidate, wish), warnings=warnings)


def _keep_budgets(
    program: Program, policy: Policy, liveness: Liveness, decisions: dict[str, Decision]
) -> tuple[str, ...]:
    """Moves unpinned evaluations on so that the totals are kept; says what that cost.

    Sharing, where it is among the alternatives, never costs room: it comes first. The rest is chosen by the solver.
    """
    budgets = policy.budgets.totals(program.constant_bytes)
    if not budgets:
        return ()
    from constpolicy.policy.budget import Choice, choose, format_total

    alternatives = policy.budgets.otherwise or policy.otherwise
    movable = [c for c in program.candidates if _is_free(decisions[c.id])]
    choices = [Choice(c, other) for c in movable if (other := _other(c, alternatives)) is not None]
    if Action.SHARE in alternatives:
        for choice in [choice for choice in choices if choice.candidate.allows(Action.SHARE)]:
            wish = _Wish(Action.SHARE, "one copy takes less of the budgets than two", "budgets", ())
            decisions[choice.candidate.id] = _legal(choice.candidate, wish)
            choices.remove(choice)
        _keep_one_copy(program, decisions)
    actions = {id: decision.action for id, decision in decisions.items()}
    chosen = choose(liveness, actions, choices, budgets)
    for choice in choices:
        if choice.candidate.id not in chosen.evaluated:
            reason = f"evaluating it would take {format_size(choice.candidate.result_bytes)} of the budgets"
            wish = _Wish(choice.other, f"{reason}, which others use better", f"budgets.{next(iter(budgets))}", ())
            decisions[choice.candidate.id] = _legal(choice.candidate, wish)
    used = (
        f"{name}: {format_total(name, chosen.used[name])} of {format_total(name, budgets[name])}" for name in budgets
    )
    percent = ceil(chosen.gap * 1000) / 10
    gap = (f"the solver's time bound was hit: within {percent} % of the greatest benefit",) if chosen.gap else ()
    return (*used, *chosen.notes, *gap)


def _is_free(decision: Decision) -> bool:
    return decision.action is Action.EVALUATE and not decision.pinned


def _other(candidate: Candidate, alternatives: Iterable[Action]) -> Action | None:
    """The first action among the alternatives, or else of the last resorts, that stores no result."""
    actions = (action for action in (*alternatives, *_LAST_RESORTS) if action not in STORED)
    return next((action for action in actions if candidate.allows(action)), None)


def _has_other(candidate: Candidate) -> bool:
    return any(candidate.allows(action) for action in Action if action is not Action.EVALUATE)


def _growth_in_words(candidate: Candidate, growth: int, limit: int, alive: Iterable[tuple[object, str]]) -> str:
    text = f"growth {format_size(growth)} > max_growth_bytes {format_size(limit)}"
    for source, readers in alive:
        return f"{text}: source {getattr(source, 'name', '')} stays alive, read by {readers}"
    return f"{text}: the result has {format_size(candidate.result_bytes)}, more than the sources that die"


def _unmatched_rules(program: Program, policy: Policy, growths: Mapping[str, int]) -> list[str]:
    """Warnings for rules that match no candidate, or none that an earlier rule has not taken."""
    warnings = []
    taken: set[str] = set()
    for index, rule in enumerate(policy.rules):
        hits = {c.id for c in program.candidates if matches(rule.when, c, growths[c.id])}
        name = rule.name or f"number {index + 1}"
        if rule.when.mentions(Phase.DISPATCH_CREATION):
            continue  # what it is about is hoisted later
        if not hits:
            warnings.append(f"rule '{name}' matches no candidate")
        elif hits <= taken:
            warnings.append(f"rule '{name}' decides nothing: earlier rules match all that it matches")
        taken |= hits
    return warnings


def _impossible(decisions: Iterable[Decision], program: Program) -> list[str]:
    symbols = {candidate.id: candidate.symbol for candidate in program.candidates}
    return [f"{symbols[d.candidate_id]}: {text}" for d in decisions if d.pinned for text in d.warnings]
