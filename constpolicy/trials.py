"""Many compiles of one program that differ in their decisions only, with one front end. Runs in the child process.

The program is parsed and hoisted once; each trial edits and compiles a clone of it. Attributes belong to the context,
so that a clone copies no constants. A trial that crashes ends the process, and whoever asked for it starts another.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from constpolicy.compiler.child import Link
from constpolicy.compiler.facts import ProgramFacts
from constpolicy.compiler.flags import CommandLine
from constpolicy.pipeline import Finished, Orders, Prepared, carry_out, look_at, prepare
from constpolicy.records import Program

if TYPE_CHECKING:
    from constpolicy.compiler.session import Session


@dataclass(frozen=True)
class WantsTrial:
    """The question what to do next; the answer is a Trial, a Reduction, or None to end.

    `last` is what became of the one before: None at first. The Orders of a trial can lead to more questions, as in
    `pipeline`.
    """

    program: Program
    declarations: Mapping[str, str]
    facts: ProgramFacts = field(default_factory=ProgramFacts)
    last: Finished | None = None


@dataclass(frozen=True)
class Trial:
    """A compile of the program with these orders into the file `output`."""

    orders: Orders
    output: str


@dataclass(frozen=True)
class Reduction:
    """A program of nothing but the expressions of these candidates (ids), written to `output` as MLIR text.

    Constants of more than `most_bytes` are replaced by splats.
    """

    ids: tuple[str, ...]
    output: str
    most_bytes: int


def run_trials(command: CommandLine, policy_flags: Sequence[str], link: Link) -> Finished:
    """Compiles the program as often as the caller wants, each time as the command line says.

    Returns exit code 1, after the compiler has said on stderr what is wrong, if the program does not even get to
    where the policy decides. The diagnostics of trials are not shown: the first error is in what became of them.
    """
    from constpolicy.compiler.session import CompileFailed, Session

    session = Session((*policy_flags, *command.library_flags), verify_ir=command.verify_ir, on_phase=link.phase)
    try:
        with session.context:
            _try_all(session, command, prepare(session, command), link)
    except CompileFailed:
        return Finished(1)
    except OSError as error:
        print(f"error opening input file: {error}", file=sys.stderr)
        return Finished(1)
    return Finished(0)


def _try_all(session: Session, command: CommandLine, prepared: Prepared, link: Link) -> None:
    question = WantsTrial(prepared.program, prepared.declarations, prepared.facts)
    while (task := link.ask(question)) is not None:
        done = _trial(session, command, prepared, task, link) if isinstance(task, Trial) else _reduce(prepared, task)
        question = replace(question, last=done)


def _trial(session: Session, command: CommandLine, prepared: Prepared, trial: Trial, link: Link) -> Finished:
    from constpolicy.compiler.held_stderr import HeldStderr
    from constpolicy.compiler.phase_dump import DelayedDump
    from constpolicy.compiler.session import CompileFailed

    with HeldStderr() as held:
        held.begin()
        try:
            clone = prepared.module.clone()
            copy = look_at(session, clone, prepared.existing, prepared.declarations, DelayedDump(session))
            return carry_out(session, command, copy, trial.orders, trial.output, link)
        except CompileFailed:
            return Finished(1, first_error=held.drop())
        finally:
            held.drop()


def _reduce(prepared: Prepared, reduction: Reduction) -> Finished:
    from constpolicy.rewrite.reduced import write_reduced

    found = prepared.found.initializers
    write_reduced(prepared.module, found, reduction.ids, reduction.output, most_bytes=reduction.most_bytes)
    return Finished(0)
