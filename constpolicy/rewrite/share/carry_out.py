"""Carries out the decisions to share: chooses one home per source, then edits the readers once it is evaluated."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from iree.compiler import ir

from constpolicy.records import INITIALIZER_BYTES, Action, Evaluation
from constpolicy.rewrite.evaluate import evaluable_by_user
from constpolicy.rewrite.globals import INITIALIZER, loads_by_global, top_level
from constpolicy.rewrite.share import apply_edits
from constpolicy.rewrite.share.module_index import ModuleIndex, index_module
from constpolicy.rewrite.share.plan import Home, Plan, source_readers
from constpolicy.rewrite.share.readers import Readers
from constpolicy.rewrite.share.refusal import Refusal
from constpolicy.rewrite.share.trace import Origin


@dataclass(frozen=True)
class Settled:
    """The actions as they can be carried out, the homes with the sources that die for them, and why others are not."""

    actions: Mapping[str, Action]
    homes: Mapping[str, tuple[Home, tuple[Origin, ...]]] = field(default_factory=dict)
    not_shared: Mapping[str, str] = field(default_factory=dict)


def settle(
    module: ir.Operation,
    plan: Plan,
    initializers: Mapping[str, ir.Operation],
    actions: Mapping[str, Action],
    existing_globals: Collection[str],
) -> Settled:
    """Chooses one home for each source, after other candidates were put back and before any is evaluated.

    The home with the smallest result wins. The others are computed from it at load time; small ones are stored.
    """
    wanted = [plan.homes[id] for id, action in actions.items() if action is Action.SHARE]
    if not wanted:
        return Settled(actions)
    index = index_module(module, plan.contents)
    evaluated = _to_be_evaluated(module, initializers, actions, existing_globals)
    settled, not_shared = dict(actions), {}
    homes: dict[str, tuple[Home, tuple[Origin, ...]]] = {}
    taken: dict[str, Home] = {}
    for home in sorted(wanted, key=_preference):
        won: list[Origin] = []
        reasons: list[str] = []
        for origin in home.origins:
            if (other := taken.get(origin.content.key)) is not None:
                reasons.append(f"its source is shared through @{other.name}")
                continue
            try:
                if source_readers(home, origin, index, evaluated.__contains__).edits:
                    won.append(origin)
                    taken[origin.content.key] = home
            except Refusal as refusal:
                reasons.append(str(refusal))
        id = home.candidate.id
        if won:
            homes[id] = (home, tuple(won))
            continue
        settled[id] = _instead(home, reasons)
        not_shared[id] = f"{', '.join(reasons) or 'nothing reads its source any more'}: {settled[id]} instead"
    return Settled(settled, homes, not_shared)


def _preference(home: Home) -> tuple[bool, int]:
    assert home.candidate.share is not None, "a candidate that is decided to be shared has an offer"
    return home.candidate.share.whole_table, home.candidate.result_bytes


def _instead(home: Home, reasons: Sequence[str]) -> Action:
    """Without a reason against sharing, the source dies anyway, and the result costs nothing."""
    cheap = not reasons or home.candidate.result_bytes <= INITIALIZER_BYTES
    return Action.EVALUATE if cheap or not home.candidate.allows(Action.INITIALIZE) else Action.INITIALIZE


def _to_be_evaluated(
    module: ir.Operation,
    initializers: Mapping[str, ir.Operation],
    actions: Mapping[str, Action],
    existing_globals: Collection[str],
) -> frozenset[ir.Operation]:
    """The initializers whose reads do not count, since const-eval removes them."""
    chosen = {initializers[id] for id, action in actions.items() if action in (Action.EVALUATE, Action.SHARE)}
    own = {op for op in top_level(module) if op.name == INITIALIZER and evaluable_by_user(op, existing_globals)}
    return frozenset(chosen | own)


def carry_out(module: ir.Operation, plan: Plan, settled: Settled, evaluation: Evaluation) -> Evaluation:
    """Makes the sources' readers read the homes that were evaluated, so that the sources die.

    Returns the evaluation with what was shared, and what was to be and is not.
    """
    shared: list[str] = []
    not_shared = dict(settled.not_shared)
    for id, (home, origins) in settled.homes.items():
        if id not in evaluation.evaluated:
            not_shared[id] = f"const-eval did not evaluate it: {Action.INITIALIZE} instead"
            continue
        index = index_module(module, plan.contents)
        reasons = [reason for origin in origins if (reason := _share(home, origin, index)) is not None]
        if len(reasons) < len(origins):
            shared.append(id)
            _rename(module, index, home, origins[0])
        else:
            not_shared[id] = f"{', '.join(reasons)}: {Action.EVALUATE} instead"
    return replace(evaluation, shared=tuple(shared), not_shared=not_shared)


def _share(home: Home, origin: Origin, index: ModuleIndex) -> str | None:
    """Changes all readers of one source; says why if that is not possible, with nothing changed."""
    try:
        readers = source_readers(home, origin, index, lambda holder: False)
    except Refusal as refusal:
        return str(refusal)
    _move_before_readers(index, home, readers)
    table = apply_edits.Home(index.loads(home.name)[0].op, origin.change)
    for edit in readers.edits:
        apply_edits.apply(edit, table)
    for op in [*reversed(readers.views), *(placed.op for placed in readers.constants)]:
        if next(iter(op.results[0].uses), None) is None:
            op.erase()
    return None


def _rename(module: ir.Operation, index: ModuleIndex, home: Home, origin: Origin) -> None:
    """Names the global after the source that it stands for: an exported parameter archive shows these names."""
    source = re.sub(r"\W", "_", origin.content.name)
    layout = "x".join([*map(str, home.shape), home.candidate.type.element_type])
    name = f"__shared_{source}_{layout}"
    while name in index.globals:
        name += "_"
    for load in loads_by_global(module)[home.name]:
        load.attributes["global"] = ir.FlatSymbolRefAttr.get(name)
    index.globals[home.name].attributes["sym_name"] = ir.StringAttr.get(name)


def _move_before_readers(index: ModuleIndex, home: Home, readers: Readers) -> None:
    """IREE wants a global to be declared before what reads it."""
    holders = {edit.holder for edit in readers.edits}
    first = next((holder for holder in index.holders if holder in holders), None)
    declaration = index.globals[home.name]
    if first is not None and first.is_before_in_block(declaration):
        declaration.move_before(first)
