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
