"""Which actions a candidate cannot have, and why: the refusals of all actions, gathered."""

from __future__ import annotations

from dataclasses import replace

from constpolicy.records import Action, Candidate, Program
from constpolicy.rewrite import initialize


def with_refusals(program: Program, *, const_eval: bool) -> Program:
    """The program with every candidate's refusals filled in. `const_eval` is IREE's own flag of that name."""
    return replace(program, candidates=tuple(_with_refusals(c, const_eval) for c in program.candidates))


def _with_refusals(candidate: Candidate, const_eval: bool) -> Candidate:
    refusals = dict(candidate.refusals)
    if not const_eval:
        refusals[Action.EVALUATE] = "const-eval is switched off by --iree-opt-const-eval=false"
    if (reason := initialize.refusal(candidate)) is not None:
        refusals[Action.INITIALIZE] = reason
    if Action.EVALUATE in refusals:  # what is shared is an evaluated result
        refusals[Action.SHARE] = refusals[Action.EVALUATE]
    elif candidate.share is None:
        refusals.setdefault(Action.SHARE, "no other reader of its sources could read the result instead")
    return replace(candidate, refusals=refusals)


_LATE_REFUSALS = {
    Action.EVALUATE: "IREE evaluates nothing that is hoisted in dispatch-creation: an encoding's layout is fixed later",
    Action.SHARE: "what is hoisted in dispatch-creation is never evaluated, and so cannot be shared",
    Action.FUSE: "dispatches are formed already: it can be computed where it is read only as a dispatch of its own",
}


def with_late_refusals(program: Program) -> Program:
    """The program of what DispatchCreation hoisted, with the refusals that hold there."""
    candidates = (replace(c, refusals={**c.refusals, **_LATE_REFUSALS}) for c in program.candidates)
    return replace(program, candidates=tuple(candidates))
