"""From candidates and a policy to decisions: a pure function.

Rules first (the first that matches decides and pins), then allow, limits and the default; then the budgets choose
which of the unpinned evaluations stay. What a candidate cannot have moves on to the next legal action.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from math import ceil
from typing import TYPE_CHECKING

from constpolicy.policy import sharing
from constpolicy.policy.growth import STORED, Liveness
from constpolicy.policy.match import expansion_ratio, matches
from constpolicy.policy.schema import Policy, Rule
from constpolicy.policy.sharing import rivals, within, within_growth
from constpolicy.policy.totals import BudgetUse, totals
from constpolicy.policy.units import format_size
from constpolicy.records import INITIALIZER_BYTES, Action, Candidate, ConstPolicyError, Decision, Phase, Program

if TYPE_CHECKING:
    from constpolicy.policy.budget_problem import Choice

_LAST_RESORTS = (Action.INITIALIZE, Action.INLINE, Action.EVALUATE)


@dataclass(frozen=True)
class Outcome:
    """What was decided, in the order of the program's candidates.

    `predicted_growth_bytes` is that of the file's constants, against leaving every candidate for load time.
    `budget_notes` say what was given up for the budgets and what more of them would buy. `dead_pins` are those of the
    warnings that are about ids which no candidate has.
    """

    decisions: tuple[Decision, ...]
    warnings: tuple[str, ...] = ()
    predicted_growth_bytes: int = 0
    budgets: tuple[BudgetUse, ...] = ()
    budget_notes: tuple[str, ...] = ()
    dead_pins: tuple[str, ...] = ()
    decided_late: bool = False  # with what DispatchCreation hoists


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
    free = within_growth(program, policy.limits.max_growth_bytes)
    liveness = Liveness(program)
    growths = growths_alone(liveness)
    wishes = [_wish(c, policy, growths[c.id]) for c in program.candidates]
    decisions = {
        c.id: _legal(c if wish.pinned else limited, wish)
        for c, limited, wish in zip(program.candidates, free.candidates, wishes, strict=True)
    }
    _keep_growth_within_limit(free, policy, liveness, decisions)
    _keep_one_copy(program, decisions)
    notes = _keep_budgets(program, policy, liveness, decisions)
    actions = {id: decision.action for id, decision in decisions.items()}
    ordered = tuple(replace(decisions[c.id], growth_bytes=liveness.growth(c, actions)) for c in program.candidates)
    dead = dead_pins(program, policy)
    warnings = (*dead, *useless_rules(program, policy, growths), *impossible(ordered, program))
    refuse_under_strict(policy, warnings, strict)
    most, used = policy.budgets.totals(program.constant_bytes), totals(liveness, actions)
    budgets = tuple(BudgetUse(name, used[name], most[name]) for name in most)
    return Outcome(ordered, warnings, used["file_growth"], budgets, notes, dead)


def refuse_under_strict(policy: Policy, warnings: Sequence[str], strict: bool) -> None:
    """Raises ConstPolicyError if there are warnings and `strict` allows none."""
    if strict and warnings:
        raise ConstPolicyError(f"policy '{policy.name}' under --policy-strict: {'; '.join(warnings)}")


def _wish(candidate: Candidate, policy: Policy, growth: int) -> _Wish:
    otherwise = tuple(policy.otherwise)
    for index, rule in enumerate(policy.rules):
        if _is_about(rule, candidate.phase) and matches(rule.when, candidate, growth):
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


def _is_about(rule: Rule, phase: Phase) -> bool:
    """Whether the rule is about what this phase hoists: about GlobalOptimization's without a word of the other."""
    return phase is Phase.GLOBAL_OPTIMIZATION or rule.when.mentions(phase)


def growths_alone(liveness: Liveness) -> dict[str, int]:
    """What evaluating each candidate adds to the file when all are evaluated, in bytes: what `growth` looks at."""
    everything = {c.id: Action.EVALUATE for c in liveness.program.candidates}
    return {c.id: liveness.growth(c, everything) for c in liveness.program.candidates}


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
    offer = [sharing.in_words(candidate.share)] if action is Action.SHARE and candidate.share else []
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
    wanted = {c.id: c for c in program.candidates if decisions[c.id].action is Action.SHARE}
    for other, home in rivals([*wanted.values()]).items():
        candidate = wanted[other]
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
    """Moves unpinned evaluations on so that the totals are kept; says what each budget comes to, and what that cost."""
    budgets = policy.budgets.totals(program.constant_bytes)
    if not budgets:
        return ()
    from constpolicy.policy.budget import choose

    actions = {id: decision.action for id, decision in decisions.items()}
    choices = _choices(program, policy, liveness, decisions)
    chosen = choose(liveness, actions, choices, budgets)
    for choice in choices:
        id = choice.candidate.id
        if (action := chosen.actions[id]) is Action.SHARE:
            wish = _Wish(action, "one copy takes less of the budgets than two", "budgets", ())
            decisions[id] = _legal(choice.candidate, wish)
        elif action is not Action.EVALUATE:
            room = chosen.given_up[id]
            name = room.budget or next(iter(budgets))
            decisions[id] = _legal(choice.candidate, _Wish(action, str(room), f"budgets.{name}", ()))
    percent = ceil(chosen.gap * 1000) / 10
    gap = (f"the solver's time bound was hit: within {percent} % of the greatest benefit",) if chosen.gap else ()
    return (*chosen.notes, *gap)


def _choices(program: Program, policy: Policy, liveness: Liveness, decisions: Mapping[str, Decision]) -> list[Choice]:
    """What the budgets may choose about, each with its ways."""
    from constpolicy.policy.budget_problem import Choice

    alternatives = policy.budgets.otherwise or policy.otherwise
    actions = {id: decision.action for id, decision in decisions.items()}
    choices = []
    for candidate in program.candidates:
        if _is_free(decisions[candidate.id]) and (other := _other(candidate, alternatives)) is not None:
            may_share = Action.SHARE in alternatives and candidate.allows(Action.SHARE) and candidate.share is not None
            if may_share and candidate.share is not None:
                moved = liveness.sources.get(candidate.share.source_key)
                may_share = moved is None or not liveness.has_home(moved, actions)
            choices.append(Choice(candidate, other, may_share))
    return choices


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


def useless_rules(program: Program, policy: Policy, growths: Mapping[str, int], *, late: bool = False) -> list[str]:
    """Warnings for rules that match no candidate, or none that an earlier rule of the same file has not taken.

    That a policy stands over the rules of one that it extends is what it is for.
    With `late`, for those about DispatchCreation alone; otherwise for those that say nothing about it.
    """
    warnings = []
    taken: dict[str | None, set[str]] = {}
    for index, rule in enumerate(policy.rules):
        if rule.when.mentions(Phase.DISPATCH_CREATION) is not late:
            continue
        hits = {c.id for c in program.candidates if matches(rule.when, c, growths[c.id])}
        if not hits:
            maybe_early = late and rule.when.phase is not Phase.DISPATCH_CREATION
            if not (rule.is_builtin or maybe_early or _dead_ids(program, rule)):  # dead_pins tells more of those
                warnings.append(f"{rule_in_words(policy, index)} matches no candidate")
        elif hits <= taken.get(rule.file, set()):
            warnings.append(f"{rule_in_words(policy, index)} decides nothing: earlier rules match all that it matches")
        taken.setdefault(rule.file, set()).update(hits)
    return warnings


def dead_pins(program: Program, policy: Policy, *, late: bool = False) -> tuple[str, ...]:
    """Warnings for ids that no candidate has, in the rules about what is hoisted `late`, or in the others."""
    return tuple(
        f"{rule_in_words(policy, index)} names the id {id}, which no candidate has: the program or its weights changed"
        for index, rule in enumerate(policy.rules)
        if rule.when.mentions(Phase.DISPATCH_CREATION) is late
        for id in _dead_ids(program, rule)
    )


def _dead_ids(program: Program, rule: Rule) -> list[str]:
    known = {id for candidate in program.candidates for id in (candidate.id, candidate.fingerprint)}
    return [id for id in rule.when.id or () if not any(fnmatchcase(each, id) for each in known)]


def rule_in_words(policy: Policy, index: int) -> str:
    """The rule of that index, for a message: with its place, if it was written in a file."""
    rule = policy.rules[index]
    name = f"rule '{rule.name or f'number {index + 1}'}'"
    return name if rule.place is None else f"{rule.place}: {name}"


def impossible(decisions: Iterable[Decision], program: Program) -> list[str]:
    """Warnings for actions that rules ask for and candidates cannot have."""
    symbols = {candidate.id: candidate.symbol for candidate in program.candidates}
    return [f"{symbols[d.candidate_id]}: {text}" for d in decisions if d.pinned for text in d.warnings]
