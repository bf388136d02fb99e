"""What the finished file holds, by what it comes from, as far as the report knows: the parts of the treemap."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from constpolicy.report.file_report import FilePart
from constpolicy.report.model import CandidateReport, Report, SourceReport

_STORED = ("evaluate", "share")


class Part(BaseModel):
    """Some bytes of the file. `group` is "source constants", "evaluated results" or "code and the rest"."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    group: str
    name: str
    bytes: int
    candidate: str | None = None  # id, of what was evaluated


def parts(report: Report) -> list[Part]:
    """The parts of the file, largest first; they add up to its size, or to the constants' if there is no file.

    They are the measured ones, where the report has them. Else they are predicted, and constants that are read by no
    candidate are one part, as their names are not in the report.
    """
    if report.file is not None:
        return sorted((_measured(part, report) for part in report.file.parts), key=lambda part: -part.bytes)
    results = [
        Part(group="evaluated results", name=_name(c), bytes=c.result_bytes, candidate=c.id)
        for c in report.candidates
        if c.action in _STORED and c.outcome not in ("failed", "rejected")
    ]
    known = {(source.name, source.type): source for c in report.candidates for source in c.sources}
    alive = [source for source in known.values() if source.stored_bytes and not _dies(report, source)]
    sources = [Part(group="source constants", name=s.name, bytes=s.stored_bytes) for s in alive]
    of_candidates = sum(source.stored_bytes for source in known.values())
    if (others := report.totals.constant_bytes - of_candidates) > 0:
        sources.append(Part(group="source constants", name="constants that no candidate reads", bytes=others))
    found = sorted([*results, *sources], key=lambda part: -part.bytes)
    rest = (report.totals.file_bytes or 0) - sum(part.bytes for part in found)
    return [*found, Part(group="code and the rest", name="code and the rest", bytes=rest)] if rest > 0 else found


def _measured(part: FilePart, report: Report) -> Part:
    if part.group != "constants":
        return Part(group="code and the rest", name=part.name, bytes=part.bytes)
    again = ", stored again" if part.same_as is not None else ""
    evaluated = next((c for c in report.candidates if c.id == part.candidate), None)
    if evaluated is not None:
        name = f"{_name(evaluated)}{again}"
        return Part(group="evaluated results", name=name, bytes=part.bytes, candidate=evaluated.id)
    return Part(group="source constants", name=f"{part.source or part.name}{again}", bytes=part.bytes)


def _dies(report: Report, source: SourceReport) -> bool:
    """Whether nothing needs the source any more: all that read it were evaluated, or it was shared."""
    readers = [c for c in report.candidates if any((s.name, s.type) == (source.name, source.type) for s in c.sources)]
    if any(c.action == "share" and c.outcome != "initialize" for c in readers):
        return True
    return not source.readers and all(c.action in _STORED for c in readers)


def _name(candidate: CandidateReport) -> str:
    sources = ", ".join(source.name for source in candidate.sources) or "nothing"
    return f"{candidate.kind} of {sources}"
