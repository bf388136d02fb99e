"""One candidate in full: its expression, its sources, what each action would cost, what decided, what to write."""

from __future__ import annotations

from collections.abc import Iterator

from constpolicy.policy.plain import plain
from constpolicy.policy.units import format_size
from constpolicy.records import Action, Phase
from constpolicy.report.model import CandidateReport, Report


def detail(report: Report, candidate: CandidateReport, expression: str) -> Iterator[str]:
    """The lines that `explain --id` prints; `expression` is the candidate's IR with constants elided."""
    yield f"{candidate.id}  {candidate.kind}, {candidate.type}, {format_size(candidate.result_bytes)}"
    yield f"  hoisted in  {candidate.phase} as {candidate.symbol}"
    named = f", named {', '.join(candidate.names)}" if candidate.names else ""
    yield f"  from        {candidate.location or 'an unknown place'}{named}"
    yield f"  contains    {', '.join(candidate.contains)}"
    yield f"  read by     {', '.join(candidate.functions) or 'initializers only'} ({candidate.uses} uses)"
    yield "sources"
    for source in candidate.sources:
        splat = ", a splat" if source.splat else ""
        readers = f"also read by {', '.join(source.readers)}" if source.readers else "read by const-exprs only"
        yield f"  {source.name}  {source.type}, {format_size(source.bytes)}, {source.origin}{splat}: {readers}"
    yield "actions"
    for action in Action:
        mark = "*" if str(action) == candidate.action else " "
        yield f" {mark}{action!s:<11}{candidate.refusals.get(str(action)) or _cost(candidate, action)}"
    yield f"decided by {candidate.decided_by}: {candidate.reason}"
    yield "to decide otherwise, write in a policy"
    yield "  rules:"
    yield f'    - when: {{id: "{candidate.id}"{_phase(candidate)}}}'
    yield f"      action: {_other(candidate)}"
    yield "expression"
    for line in expression.splitlines():
        yield f"  {line}"


def text(report: Report, id: str, expression: str) -> str:
    """The candidate of that id, as text without control characters."""
    candidate = next(candidate for candidate in report.candidates if candidate.id == id)
    return "\n".join(plain(line) for line in detail(report, candidate, expression))


def _cost(candidate: CandidateReport, action: Action) -> str:
    result, work = format_size(candidate.result_bytes), format_size(candidate.work_bytes)
    # What is shared would be a second copy if it were evaluated.
    added = candidate.result_bytes if candidate.action == str(Action.SHARE) else candidate.growth_bytes
    growth = f"{'+' if added >= 0 else ''}{format_size(added)}"
    costs = {
        Action.EVALUATE: f"file {growth}, mapped; nothing at load or per call",
        Action.INITIALIZE: f"file about 1 KiB; at load {work} of work and {result} of memory",
        Action.INLINE: f"no room; on every call {work} of work",
        Action.FUSE: "no room; on every call, fused into its readers, or as initialize where nothing takes it",
        Action.SHARE: "file: the result in place of the source; gathers from it take longer strides",
    }
    return costs[action]


def _phase(candidate: CandidateReport) -> str:
    """What a rule has to say besides the id: those that say no phase are about GlobalOptimization alone."""
    return f", phase: {candidate.phase}" if candidate.phase == str(Phase.DISPATCH_CREATION) else ""


def _other(candidate: CandidateReport) -> str:
    """An action that is possible and not the one decided."""
    possible = [str(action) for action in Action if str(action) not in candidate.refusals]
    return next((action for action in possible if action != candidate.action), candidate.action)
