"""Makes the report of a compile from what the driver returns."""

from __future__ import annotations

from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

from constpolicy.attempt import left_for_load_time
from constpolicy.compiler.flags import CommandLine
from constpolicy.driver import Compiled
from constpolicy.policy.growth import Liveness
from constpolicy.records import Action, Candidate, ConstPolicyError, Decision, Evaluation, Program, Source
from constpolicy.report import segments
from constpolicy.report.file_report import FileReport
from constpolicy.report.model import (
    CandidateReport,
    DuplicateReport,
    PolicyReport,
    Report,
    SourceReport,
    Timing,
    Totals,
    Versions,
)
from constpolicy.report.trace import Trace


def build(
    command: CommandLine, compiled: Compiled, *, finished: bool, verification: dict[str, Any] | None = None
) -> Report:
    """The report of a compile (`finished`) or of an explain.

    Raises ConstPolicyError if the program ended before there was anything to decide.
    """
    if compiled.program is None or compiled.outcome is None or compiled.policy is None:
        raise ConstPolicyError("there is no report: the compile ended before there was anything to decide")
    decisions = {decision.candidate_id: decision for decision in compiled.outcome.decisions}
    evaluation = compiled.evaluation if finished else None
    file, unread = _file(command, compiled) if finished else (None, [])
    left = _not_as_decided(compiled)
    return Report(
        input=command.input,
        output=command.output if finished else None,
        flags=list(command.library_flags),
        versions=Versions(constpolicy=metadata.version("constpolicy"), iree_compiler=iree_version()),
        policy=PolicyReport(
            name=compiled.policy.policy.name, origin=compiled.policy.origin, content=compiled.policy.policy.as_data()
        ),
        candidates=[_candidate(c, decisions[c.id], evaluation) for c in compiled.program.candidates],
        totals=_totals(command, compiled, decisions, finished),
        duplicates=[
            DuplicateReport(name=d.name, types=list(d.types), saved_bytes=d.saved_bytes)
            for d in compiled.evaluation.duplicates
        ],
        budgets=[*map(str, compiled.outcome.budgets), *compiled.outcome.budget_notes],
        fallbacks=list(compiled.fallbacks),
        warnings=list(dict.fromkeys((*compiled.policy.warnings, *compiled.outcome.warnings, *left, *unread))),
        verification=verification,
        file=file,
        decided_late=compiled.outcome.decided_late,
        timing=Timing(phases=dict(compiled.seconds), evaluation=compiled.evaluation.seconds),
    )


def _file(command: CommandLine, compiled: Compiled) -> tuple[FileReport | None, list[str]]:
    """What the .vmfb holds, None if the output is none or is not a file that stays; and a warning if it is not read."""
    output = Path(command.output)
    if command.compile_to != "end" or not command.writes_binary or not output.is_file():
        return None, []
    try:
        return segments.read(output, Trace(compiled.stored)), []
    except ConstPolicyError as error:
        return None, [f"the report does not say what the file holds: {error}"]


def _not_as_decided(compiled: Compiled) -> list[str]:
    """Warnings of what became something else than was decided; `upstream` decides nothing but what becomes of it."""
    evaluation = compiled.evaluation
    not_shared = [f"candidate {id} was not shared: {reason}" for id, reason in evaluation.not_shared.items()]
    if compiled.policy is None or compiled.policy.policy.name == "upstream":
        return not_shared
    left = left_for_load_time(id for id in evaluation.unforeseen if id not in evaluation.not_shared)
    return [*not_shared, *left]


def iree_version() -> str:
    """The version of the compiler that is installed."""
    for package in ("iree-base-compiler", "iree-compiler"):
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return "unknown"


def _candidate(candidate: Candidate, decision: Decision, evaluation: Evaluation | None) -> CandidateReport:
    return CandidateReport(
        id=candidate.id,
        symbol=candidate.symbol,
        type=candidate.type.text,
        result_bytes=candidate.result_bytes,
        kind=str(candidate.kind),
        contains=sorted(map(str, candidate.kinds)),
        phase=str(candidate.phase),
        location=candidate.location,
        names=list(candidate.names),
        sources=[_source(source) for source in candidate.sources],
        functions=list(candidate.functions),
        uses=len(candidate.readers),
        affinity=candidate.affinity,
        work_bytes=candidate.work_bytes,
        refusals={str(action): reason for action, reason in candidate.refusals.items()},
        action=str(decision.action),
        reason=decision.reason,
        decided_by=decision.decided_by,
        growth_bytes=decision.growth_bytes,
        warnings=list(decision.warnings),
        outcome=None if evaluation is None else _outcome(decision, evaluation),
    )


def _outcome(decision: Decision, evaluation: Evaluation) -> str:
    for name in ("failed", "rejected", "shared", "evaluated"):
        if decision.candidate_id in getattr(evaluation, name):
            return name
    return str(decision.action)


def _source(source: Source) -> SourceReport:
    return SourceReport(
        name=source.name,
        type=source.type.text,
        bytes=source.bytes,
        stored_bytes=source.stored_bytes,
        origin=str(source.origin),
        splat=source.splat,
        readers=[f"{reader.symbol} ({reader.kind})" for reader in source.readers],
        location=source.location,
    )


def _totals(command: CommandLine, compiled: Compiled, decisions: dict[str, Decision], finished: bool) -> Totals:
    assert compiled.program is not None
    assert compiled.outcome is not None
    stored = [c for c in compiled.program.candidates if decisions[c.id].action in (Action.EVALUATE, Action.SHARE)]
    output = Path(command.output)
    return Totals(
        candidates=len(compiled.program.candidates),
        constant_bytes=compiled.program.constant_bytes,
        actions=dict(sorted(Counter(str(d.action) for d in decisions.values()).items())),
        evaluated_bytes=sum(c.result_bytes for c in stored),
        predicted_growth_bytes=compiled.outcome.predicted_growth_bytes,
        upstream_growth_bytes=_upstream_growth(compiled.program),
        file_bytes=output.stat().st_size if finished and output.is_file() else None,
    )


def _upstream_growth(program: Program) -> int:
    """What the constants grow by where const-eval evaluates all that it can."""
    actions = {c.id: Action.EVALUATE if c.allows(Action.EVALUATE) else Action.INITIALIZE for c in program.candidates}
    return Liveness(program).file_growth(actions)
