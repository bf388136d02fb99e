"""The compile itself: parse, find, decide, rewrite, evaluate, finish. Runs in the child process.

Everything happens in one compiler session and on one module, which the steps edit in place; the policy stays with
the caller, who is asked for the flags that it sets and for its decisions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from constpolicy.compiler.child import Link, Step
from constpolicy.compiler.facts import ProgramFacts
from constpolicy.compiler.flags import CommandLine
from constpolicy.compiler.phases import BEFORE_HOISTING, HOISTING, LATE_HOISTING, OUTLINED, PACKED, before
from constpolicy.records import (
    Action,
    Byproducts,
    CheckModule,
    Evaluation,
    Phase,
    Program,
    StoredConstants,
    StoredPiece,
)

if TYPE_CHECKING:
    from iree.compiler import ir

    from constpolicy.candidates.find import Found
    from constpolicy.compiler.held_stderr import HeldStderr
    from constpolicy.compiler.phase_dump import DelayedDump
    from constpolicy.compiler.session import Session
    from constpolicy.rewrite.check_build import CheckBuild
    from constpolicy.rewrite.share.plan import Plan


_NOBODY_READS = 74  # how LLVM's tools end when the pipe that they write to is closed


@dataclass(frozen=True)
class WantsFlags:
    """The question for the iree-compile flags that the policy sets; the answer is a tuple of flags."""


@dataclass(frozen=True)
class WantsDecisions:
    """The question what becomes of the candidates; the answer are the Orders, or None to end the compile here."""

    program: Program


@dataclass(frozen=True)
class WantsLateDecisions:
    """The question what becomes of the candidates that DispatchCreation hoists; the answer are actions by id."""

    program: Program


@dataclass(frozen=True)
class WantsConsent:
    """The question whether to go on although const-eval left these candidates (ids) for load time, unforeseen.

    Whoever does not want that, raises an error instead of answering.
    """

    ids: tuple[str, ...]


@dataclass(frozen=True)
class Orders:
    """What becomes of each candidate (by id), and whether to survive those on which const-eval fails."""

    actions: Mapping[str, Action]
    survive_const_eval: bool
    only_evaluate: bool = False  # end after const-eval, without an output
    second_stop: bool = False  # ask about what DispatchCreation hoists, too
    only_decide: bool = False  # end when everything is decided, without an output
    store_once: bool = False  # constants of equal content under several types
    retried: bool = False  # a failure is followed by another attempt, whose diagnostics are the ones to show
    tells_steps: bool = False  # tell which candidate const-eval is at
    wants_all_evaluated: bool = False  # ask for consent where const-eval leaves candidates for load time, unforeseen
    byproducts: Byproducts = field(default_factory=Byproducts)


@dataclass(frozen=True)
class Finished:
    """The compile came to an end: with exit code 0, or with 1 after the compiler has said on stderr what is wrong.

    With Orders.retried, it has not, and `first_error` is the first line of what it would have said.
    """

    exit_code: int
    evaluation: Evaluation = field(default_factory=Evaluation)
    declarations: Mapping[str, str] = field(default_factory=dict)  # of the public functions, by name
    expressions: Mapping[str, str] = field(default_factory=dict)  # IR of the candidates by id, if it ends with deciding
    first_error: str = ""
    facts: ProgramFacts = field(default_factory=ProgramFacts)
    check: CheckModule | None = None  # if it is wanted (Orders.byproducts), and const-eval is on
    stored: StoredConstants = field(default_factory=StoredConstants)  # if they are wanted


def compile_module(command: CommandLine, output: str, policy_flags: Sequence[str] | None, link: Link) -> Finished:
    """Compiles as the command line says, with the result written to `output`.

    `policy_flags` are those that the policy sets; None asks for them.
    """
    set_by_policy: Sequence[str] = link.ask(WantsFlags()) if policy_flags is None else policy_flags
    return _ended((*set_by_policy, *command.library_flags), command, output, link, _steps)


def compile_undecided(command: CommandLine, output: str, link: Link) -> Finished:
    """Compiles as iree-compile does: there is nothing to decide, and nobody looks at candidates."""
    return _ended(command.library_flags, command, output, link, _straight)


_Steps: TypeAlias = "Callable[[Session, CommandLine, str, Link, HeldStderr], Finished]"


def _ended(flags: Sequence[str], command: CommandLine, output: str, link: Link, steps: _Steps) -> Finished:
    """What the steps come to in a session of these flags; what the compiler has to say is said."""
    from constpolicy.compiler.held_stderr import HeldStderr
    from constpolicy.compiler.session import CompileFailed, Session

    try:
        session = Session(flags, verify_ir=command.verify_ir, on_phase=link.phase)
    except CompileFailed:
        return Finished(1)
    session.dump_phases_to = command.dump_phases_to
    with HeldStderr() as held:
        try:
            with session.context:
                return steps(session, command, output, link, held)
        except CompileFailed:
            return Finished(1, first_error=held.drop())
        except BrokenPipeError:
            return Finished(_NOBODY_READS)
        except OSError as error:  # in iree-compile's words, for the input as for the output
            print(f"error opening input file: {error}", file=sys.stderr)
            return Finished(1)


def _straight(session: Session, command: CommandLine, output: str, link: Link, held: HeldStderr) -> Finished:
    from constpolicy.compiler.emit import emit

    start, end = command.compile_from, command.compile_to
    session.compile(command.input, start=start, end=end, write=lambda inv: emit(inv, command, output))
    return Finished(0)


def _steps(session: Session, command: CommandLine, output: str, link: Link, held: HeldStderr) -> Finished:
    prepared = prepare(session, command)
    orders: Orders | None = link.ask(WantsDecisions(prepared.program))
    if orders is None:
        return Finished(
            0, declarations=prepared.declarations, expressions=_texts(prepared.found.initializers), facts=prepared.facts
        )
    if orders.retried:
        held.begin()
    finished = carry_out(session, command, prepared, orders, output, link)
    return replace(finished, facts=prepared.facts)


@dataclass(frozen=True)
class Prepared:
    """The program at the point where the policy decides: hoisted, and nothing evaluated yet."""

    module: ir.Operation
    existing: frozenset[str]  # globals that are the program's own
    declarations: Mapping[str, str]  # of the public functions, by name
    found: Found
    sharing: Plan
    program: Program  # what there is to decide about
    const_eval: bool
    dump: DelayedDump
    facts: ProgramFacts = field(default_factory=ProgramFacts)


def prepare(session: Session, command: CommandLine) -> Prepared:
    """Parses the program and runs IREE up to its hoisting, without const-eval; finds what there is to decide about."""
    from constpolicy.candidates.find import global_names
    from constpolicy.compiler import deferred
    from constpolicy.compiler.declarations import declarations
    from constpolicy.compiler.index_bounds import index_bounds
    from constpolicy.compiler.phase_dump import DelayedDump
    from constpolicy.compiler.targets import executable_targets

    start = command.compile_from
    module = session.parse(command.input, start=start, end=BEFORE_HOISTING if before(start, BEFORE_HOISTING) else start)
    existing = global_names(module)
    declared, facts = declarations(module), ProgramFacts(executable_targets(module), index_bounds(module))
    flags = session.flags()
    with session.override({"iree-opt-const-eval": "false", **deferred.switched_off(flags)}):
        session.run(module, start=BEFORE_HOISTING, end=HOISTING)
    return replace(look_at(session, module, existing, declared, DelayedDump(session)), facts=facts)


def look_at(
    session: Session,
    module: ir.Operation,
    existing: frozenset[str],
    declarations: Mapping[str, str],
    dump: DelayedDump,
) -> Prepared:
    """Finds the candidates of the module, which has been hoisted, and what is legal for each."""
    from constpolicy.candidates.find import find
    from constpolicy.rewrite import legality
    from constpolicy.rewrite.share.plan import plan

    const_eval = session.flags()["iree-opt-const-eval"] == "true"
    found = find(module, existing)
    sharing = plan(module, found.program, found.initializers)
    program = legality.with_refusals(sharing.program, const_eval=const_eval)
    return Prepared(module, existing, declarations, found, sharing, program, const_eval, dump)


def carry_out(
    session: Session, command: CommandLine, prepared: Prepared, orders: Orders, output: str, link: Link
) -> Finished:
    """Rewrites the module as ordered, evaluates, and compiles on to the output."""
    from constpolicy.candidates import stored
    from constpolicy.compiler import deferred
    from constpolicy.compiler.emit import emit
    from constpolicy.rewrite.check_build import CheckBuild
    from constpolicy.rewrite.share.duplicates import store_once

    module, end, flags = prepared.module, command.compile_to, session.flags()
    traces = orders.byproducts.stored_constants
    expressions = _texts(prepared.found.initializers) if orders.only_decide else {}
    origins = stored.origins(module) if traces else {}
    check = CheckBuild(session, module, prepared.program.candidates, orders.byproducts.check_module)
    session.on_step = _telling(link, prepared.program) if orders.tells_steps else None
    done = Finished(0, _edited(session, prepared, orders, flags, check), prepared.declarations)
    if orders.wants_all_evaluated and done.evaluation.unforeseen:
        link.ask(WantsConsent(done.evaluation.unforeseen))
    if orders.only_evaluate:
        return done
    if traces:
        origins = stored.results(module, prepared.program.candidates) | origins
    deferred.run(session, module, flags)
    prepared.dump.write(module)
    reached = HOISTING
    if orders.second_stop and before(LATE_HOISTING, end):
        expressions |= _second_stop(session, module, link, orders)
        reached = LATE_HOISTING
    if orders.only_decide:
        return replace(done, expressions=expressions)
    if orders.store_once and before(OUTLINED, end):
        session.run(module, start=reached, end=OUTLINED)
        reached, done = OUTLINED, replace(done, evaluation=replace(done.evaluation, duplicates=store_once(module)))
    packed: tuple[tuple[StoredPiece, ...], ...] = ()
    if traces and before(PACKED, end):
        session.run(module, start=reached, end=PACKED)
        reached, packed = PACKED, stored.segments(module)
    session.finish(module, start=reached, end=end, write=lambda invocation: emit(invocation, command, output))
    return replace(done, check=check.compile(), stored=StoredConstants(packed, origins))


def _edited(
    session: Session, prepared: Prepared, orders: Orders, flags: Mapping[str, str], check: CheckBuild
) -> Evaluation:
    """Carries out the actions on the module: const-eval, with it on in `flags`, computes what is to be stored."""
    from constpolicy.compiler import deferred
    from constpolicy.rewrite import apply
    from constpolicy.rewrite.share.carry_out import carry_out as carry_out_sharing
    from constpolicy.rewrite.share.carry_out import settle

    module, initializers, existing = prepared.module, prepared.found.initializers, prepared.existing
    apply.put_back(module, initializers, orders.actions)
    settled = settle(module, prepared.sharing, initializers, orders.actions, existing)
    if not prepared.const_eval:
        return Evaluation()
    with session.override(deferred.switched_off(flags)):
        evaluation = apply.evaluate_chosen(
            session, module, initializers, settled.actions, existing, survive=orders.survive_const_eval
        )
    check.build()
    foreseen = {c.id for c in prepared.program.candidates if not c.allows(Action.EVALUATE)}
    unforeseen = tuple(id for id in evaluation.rejected if id not in foreseen)
    return carry_out_sharing(module, prepared.sharing, settled, replace(evaluation, unforeseen=unforeseen))


def _telling(link: Link, program: Program) -> Callable[[Step], None]:
    """Tells of a step by the candidate that it is about, not by its global."""
    names = {g.symbol: f"{c.id} ({c.kind}, {c.type.text})" for c in program.candidates for g in c.globals}
    return lambda step: link.step(replace(step, name=names.get(step.name, step.name)))


def _second_stop(session: Session, module: ir.Operation, link: Link, orders: Orders) -> dict[str, str]:
    """Runs on to where DispatchCreation has hoisted, asks about that and carries it out.

    With Orders.only_decide, nothing is carried out; the IR of these candidates by id is returned then.
    """
    from constpolicy.candidates.find import find, global_names
    from constpolicy.rewrite import apply, legality

    existing = global_names(module)
    session.run(module, start=HOISTING, end=LATE_HOISTING)
    late = find(module, existing, Phase.DISPATCH_CREATION)
    actions: Mapping[str, Action] = link.ask(WantsLateDecisions(legality.with_late_refusals(late.program)))
    if orders.only_decide:
        return _texts(late.initializers)
    # Nothing hoists after this phase, so what is put back stays, without any barrier.
    inlined = {id: Action.FUSE for id, action in actions.items() if action is Action.INLINE}
    apply.put_back(module, late.initializers, inlined)
    return {}


def _texts(initializers: Mapping[str, ir.Operation]) -> dict[str, str]:
    """The IR of each candidate by id, with large constants elided."""
    from constpolicy.compiler.text import short_text

    return {id: short_text(op) for id, op in initializers.items()}
