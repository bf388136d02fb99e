"""Carries decisions out on the module: what goes back to its readers, then what is evaluated."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from iree.compiler import ir

from constpolicy.compiler.session import Session
from constpolicy.records import Action, Evaluation
from constpolicy.rewrite import evaluate
from constpolicy.rewrite.fuse import fuse
from constpolicy.rewrite.globals import INITIALIZER, loads_by_global, stored_by, symbol, top_level
from constpolicy.rewrite.inline import inline

_PUT_BACK = {Action.INLINE: inline, Action.FUSE: fuse}


def put_back(module: ir.Operation, initializers: Mapping[str, ir.Operation], actions: Mapping[str, Action]) -> None:
    """Inlines and fuses the candidates (ids) decided so. One that reads another's global comes after it."""
    chosen = [id for id, action in actions.items() if action in _PUT_BACK]
    if not chosen:
        return
    loads = loads_by_global(module)
    globals_by_name = {symbol(op): op for op in top_level(module) if op.name == "util.global"}
    for id in chosen:
        _PUT_BACK[actions[id]](initializers[id], globals_by_name, loads)


def evaluate_chosen(
    session: Session,
    module: ir.Operation,
    initializers: Mapping[str, ir.Operation],
    actions: Mapping[str, Action],
    existing_globals: Collection[str],
    *,
    survive: bool,
) -> Evaluation:
    """Evaluates the candidates decided so, and the user's own initializers as IREE does.

    With `survive`, candidates on which const-eval fails are left for load time. Raises CompileFailed.
    """
    ids = {initializers[id]: id for id, action in actions.items() if action in (Action.EVALUATE, Action.SHARE)}
    chosen = [
        op
        for op in top_level(module)
        if op.name == INITIALIZER and (op in ids or evaluate.evaluable_by_user(op, existing_globals))
    ]
    id_of = {name: ids[op] for op in chosen if op in ids for name in stored_by(op)}
    outcome = evaluate.evaluate(session, module, chosen, survive=survive)

    def candidates(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(id_of[name] for name in names if name in id_of))

    return Evaluation(
        candidates(outcome.evaluated), candidates(outcome.rejected), candidates(outcome.failed), outcome.seconds
    )
