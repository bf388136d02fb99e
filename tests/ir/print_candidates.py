"""Prints the candidates of a program as FileCheck likes them: `python -m tests.ir.print_candidates FILE [FLAGS]`.

Before the flags can stand: `--stop-at=dispatch-creation`, to show what DispatchCreation hoists as well, or
`--ask-const-eval`, to print instead which globals const-eval itself leaves to initializers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from constpolicy.compiler.phases import BEFORE_HOISTING
from constpolicy.compiler.session import Session
from constpolicy.records import Action, Candidate, Phase, Program, Reader, Source

_STOP_AT = "--stop-at="
_ASK_CONST_EVAL = "--ask-const-eval"


def main(path: str, flags: Sequence[str]) -> None:
    if flags and flags[0] == _ASK_CONST_EVAL:
        names = left_by_const_eval(path, flags[1:])
        print("left for load time:", *(f"@{name}" for name in names) if names else ("none",))
        return
    phase = Phase.GLOBAL_OPTIMIZATION
    if flags and flags[0].startswith(_STOP_AT):
        phase, flags = Phase(flags[0].removeprefix(_STOP_AT)), flags[1:]
    for line in lines(program(path, flags, phase)):
        print(line)


def program(path: str, flags: Sequence[str], phase: Phase = Phase.GLOBAL_OPTIMIZATION) -> Program:
    """Runs the compiler on the file up to the phase, with const-eval off, and finds the candidates."""
    from constpolicy.candidates.find import find, global_names

    session = Session(flags, on_phase=lambda phase: None)
    with session.context, session.override({"iree-opt-const-eval": "false"}):
        module = session.parse(path, start="start", end=BEFORE_HOISTING)
        existing = global_names(module)
        start = BEFORE_HOISTING
        if phase is Phase.DISPATCH_CREATION:
            session.run(module, start=start, end=str(Phase.GLOBAL_OPTIMIZATION))
            start, existing = str(Phase.GLOBAL_OPTIMIZATION), global_names(module)
        session.run(module, start=start, end=str(phase))
        return find(module, existing, phase).program


def left_by_const_eval(path: str, flags: Sequence[str]) -> tuple[str, ...]:
    """The globals, in program order, that initializers still store to after const-eval has run."""
    from constpolicy.candidates.index import index

    session = Session(flags, on_phase=lambda phase: None)
    with session.context:
        module = session.parse(path, start="start", end=str(Phase.GLOBAL_OPTIMIZATION))
        return tuple(name for section in index(module).sections for name in section.stored)


def lines(program: Program) -> Iterator[str]:
    for candidate in program.candidates:
        yield from _candidate(candidate)
    yield f"constant bytes: {program.constant_bytes}"


def _candidate(candidate: Candidate) -> Iterator[str]:
    kinds = ", ".join(sorted(map(str, candidate.kinds)))
    yield f"candidate {candidate.id}: {candidate.kind} of [{kinds}], {candidate.phase}"
    for each in candidate.globals:
        yield f"  global {each.symbol}: {each.type.text}, {each.bytes} bytes"
    if candidate.affinity is not None:
        yield f"  affinity {candidate.affinity}"
    named = f" ({', '.join(candidate.names)})" if candidate.names else ""
    yield f"  at {candidate.location}{named}, moves {candidate.work_bytes} bytes"
    for source in candidate.sources:
        yield from _source(source)
    for reader in candidate.readers:
        yield f"  read by {_reader(reader)}"
    for action, reason in candidate.refusals.items():
        yield f"  cannot {Action(action)}: {reason}"


def _source(source: Source) -> Iterator[str]:
    splat = " splat" if source.splat else ""
    size = f"{source.bytes} bytes, {source.stored_bytes} stored"
    yield f"  source {source.origin}{splat} {source.name}: {source.type.text}, {size}, at {source.location}"
    for reader in source.readers:
        yield f"    also read by {_reader(reader)}"


def _reader(reader: Reader) -> str:
    return f"{reader.symbol} ({reader.kind}) at {reader.location}"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
