"""The action `evaluate`: const-eval computes the chosen initializers and their globals take the values.

IREE's own const-eval runs, on a second module in the same context that holds only what is to be evaluated; the
results are attributes of the context, so that moving them to the program copies no bytes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from iree.compiler import ir

from constpolicy.compiler.child import Step
from constpolicy.compiler.const_eval_watch import watched
from constpolicy.compiler.phases import BEFORE_HOISTING, HOISTING
from constpolicy.compiler.session import CompileFailed, Session
from constpolicy.ddmin import answered, causes
from constpolicy.rewrite.globals import INITIALIZER, STORE, accessed, body, loads_in, stored_by, symbol, top_level
from constpolicy.rewrite.inline import replace_loads

_AFFINITIES = ("stream.affinity", "stream.affinity.default")  # name devices, which the second module has none of
_CALLABLE_OBJECTS = ("flow.executable", "hal.executable")


@dataclass(frozen=True)
class Evaluation:
    """What became of the chosen initializers, by the names of the globals that they store."""

    evaluated: tuple[str, ...] = ()  # have a value now
    rejected: tuple[str, ...] = ()  # const-eval left them for load time
    failed: tuple[str, ...] = ()  # const-eval failed on them, and they were left out
    seconds: float = 0.0


def evaluate(session: Session, module: ir.Operation, chosen: Sequence[ir.Operation], *, survive: bool) -> Evaluation:
    """Evaluates the initializers and erases those that got values.

    When const-eval fails on some, with `survive` just these are left out, found by delta debugging;
    without, CompileFailed is raised after the compiler's own message.
    """
    started = time.monotonic()
    if not chosen:
        return Evaluation()
    _make_self_contained(module, chosen)
    failed: list[ir.Operation] = []
    values = _values(session, module, chosen, quiet=survive)
    if values is None and survive:
        found = answered(causes(chosen), lambda part: _values(session, module, part, quiet=True) is None)
        failed = [op for cause in found for op in cause]
        chosen = [op for op in chosen if op not in failed]
        _make_self_contained(module, chosen)
        values = _values(session, module, chosen, quiet=False)
    if values is None:
        raise CompileFailed("const-eval")
    evaluated, rejected = _take_over(module, chosen, values)
    names = tuple(name for op in failed for name in stored_by(op))
    return Evaluation(evaluated, rejected, names, time.monotonic() - started)


def _take_over(
    module: ir.Operation, chosen: Sequence[ir.Operation], values: Mapping[str, ir.Attribute]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Gives the globals their values and erases the initializers; the names of (evaluated, rejected) globals."""
    globals_by_name = {symbol(op): op for op in top_level(module) if op.name == "util.global"}
    evaluated: list[str] = []
    rejected: list[str] = []
    for initializer in chosen:
        names = stored_by(initializer)
        if not all(name in values for name in names):
            rejected += names
            continue
        for name in names:
            globals_by_name[name].attributes["initial_value"] = values[name]
        initializer.erase()
        evaluated += names
    return tuple(evaluated), tuple(rejected)


def _make_self_contained(module: ir.Operation, chosen: Collection[ir.Operation]) -> None:
    """Computes in place what chosen initializers load from initializers that will not be evaluated."""
    left = {
        name: op
        for op in top_level(module)
        if op.name == INITIALIZER and len(op.regions[0].blocks) == 1 and op not in chosen
        for name in stored_by(op)
    }
    for initializer in chosen:
        while loads := [load for load in loads_in(initializer) if accessed(load) in left]:
            provider = left[accessed(loads[0])]
            stored = stored_by(provider)
            replace_loads(provider, [load for load in loads if accessed(load) in stored], barriers=False)


def _second_module(module: ir.Operation, chosen: Collection[ir.Operation]) -> ir.Operation:
    """A module of all globals and the chosen initializers, in the program's order."""
    second = ir.Module.create(module.location).operation  # which errors without a place of their own name
    with ir.InsertionPoint(second.regions[0].blocks[0]):
        for op in top_level(module):
            if op.name == "util.global" and "hal.device" not in str(op.attributes["type"]):
                clone = op.clone()
                if "sym_visibility" in clone.attributes:
                    del clone.attributes["sym_visibility"]  # private globals that nothing reads would be deleted
            elif (op.name == INITIALIZER and op in chosen) or op.name in _CALLABLE_OBJECTS:
                clone = op.clone()
            else:
                continue
            for name in _AFFINITIES:
                if name in clone.attributes:
                    del clone.attributes[name]
    return second


def _values(
    session: Session, module: ir.Operation, chosen: Sequence[ir.Operation], *, quiet: bool
) -> dict[str, ir.Attribute] | None:
    """Runs const-eval and returns the values of the globals that it computed, by name; None if it failed.

    With `quiet`, the diagnostics of a failure are dropped.
    """
    second = _second_module(module, chosen)
    known = {symbol(op) for op in top_level(second) if "initial_value" in op.attributes}
    try:
        with (
            session.override({"iree-opt-const-eval": "true"}),
            session.diagnostics_held_back(quiet) as held,
            _told(session, chosen) if quiet else nullcontext(),
        ):
            session.run(second, start=BEFORE_HOISTING, end=HOISTING, name="const-eval")
    except CompileFailed:
        return None
    for line in held:
        print(line, file=sys.stderr)
    left = {name for op in top_level(second) if op.name == INITIALIZER for name in _stored_anywhere(op)}
    return {
        symbol(op): op.attributes["initial_value"]
        for op in top_level(second)
        if op.name == "util.global" and "initial_value" in op.attributes and symbol(op) not in known | left
    }


def _told(session: Session, chosen: Sequence[ir.Operation]) -> AbstractContextManager[None]:
    """Inside the `with`, the session tells what const-eval evaluates, by the names of the globals."""
    tell = session.on_step
    if tell is None:
        return nullcontext()
    left = [(f"@{stored_by(op)[0]}", _stored_types(op)) for op in chosen]

    def begins(number: int, types: tuple[str, ...]) -> None:
        # In order, but without those that it rejects: the next with such results is it.
        while left and left[0][1] != types:
            left.pop(0)
        tell(Step(number, len(chosen), left.pop(0)[0] if left else "an expression"))

    return watched(begins)


def _stored_types(initializer: ir.Operation) -> tuple[str, ...]:
    return tuple(str(op.operands[0].type) for op in body(initializer) if op.name == STORE)


def _stored_anywhere(initializer: ir.Operation) -> list[str]:
    names: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "util.global.store":
            names.append(accessed(op))
        return ir.WalkResult.ADVANCE

    initializer.walk(visit)
    return names


def evaluable_by_user(op: ir.Operation, existing: Collection[str]) -> bool:
    """Whether const-eval could evaluate this initializer of the user's own: one block, only what is in this module.

    What it stores must be globals that the program declares itself (`existing`).
    """
    if op.name != INITIALIZER or len(op.regions[0].blocks) != 1:
        return False
    if any("callee" in inner.attributes for inner in body(op)):
        return False
    stores = stored_by(op)
    return bool(stores) and all(name in existing for name in stores)
