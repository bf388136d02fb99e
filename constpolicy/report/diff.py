"""What changed between two reports, by candidate, the largest change first."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict

from constpolicy.policy.units import format_size
from constpolicy.report.markdown import cell
from constpolicy.report.model import CandidateReport, Report


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CandidateChange(_Record):
    """A candidate that is decided otherwise, is new, or is gone. `bytes` is what it adds to the file's constants."""

    id: str
    kind: str
    type: str
    source: str
    location: str | None
    before: str | None  # the action; None where there is no such candidate
    after: str | None
    bytes: int


class Difference(_Record):
    """The changes from one report to another; sizes in bytes, None where a report is of no finished file."""

    before: str
    after: str
    file_bytes: int | None
    constant_bytes: int
    growth_bytes: int
    candidates: list[CandidateChange]


def compare(before: Report, after: Report) -> Difference:
    """The difference of two reports; candidates are the same if their ids are."""
    old = {candidate.id: candidate for candidate in before.candidates}
    new = {candidate.id: candidate for candidate in after.candidates}
    changes = [
        change for id in dict.fromkeys([*old, *new]) if (change := _change(old.get(id), new.get(id))) is not None
    ]
    sizes = (before.totals.file_bytes, after.totals.file_bytes)
    return Difference(
        before=_title(before),
        after=_title(after),
        file_bytes=None if sizes[0] is None or sizes[1] is None else sizes[1] - sizes[0],
        constant_bytes=after.totals.constant_bytes - before.totals.constant_bytes,
        growth_bytes=after.totals.predicted_growth_bytes - before.totals.predicted_growth_bytes,
        candidates=sorted(changes, key=lambda change: (-abs(change.bytes), change.id)),
    )


def _title(report: Report) -> str:
    return f"{report.input} under {report.policy.name}, IREE {report.versions.iree_compiler}"


def _change(old: CandidateReport | None, new: CandidateReport | None) -> CandidateChange | None:
    shown = new or old
    assert shown is not None
    actions = (_fate(old), _fate(new))
    if actions[0] == actions[1]:
        return None
    return CandidateChange(
        id=shown.id,
        kind=shown.kind,
        type=shown.type,
        source=max(shown.sources, key=lambda source: source.bytes).name if shown.sources else "nothing",
        location=shown.location,
        before=actions[0],
        after=actions[1],
        bytes=_stored(new) - _stored(old),
    )


def _fate(candidate: CandidateReport | None) -> str | None:
    return None if candidate is None else candidate.action


def _stored(candidate: CandidateReport | None) -> int:
    """What the candidate adds to the file's constants as it is decided."""
    stored = candidate is not None and candidate.action in ("evaluate", "share")
    return candidate.growth_bytes if candidate is not None and stored else 0


def lines(difference: Difference) -> Iterator[str]:
    """The difference for the terminal."""
    yield f"before: {difference.before}"
    yield f"after:  {difference.after}"
    yield from _totals(difference)
    for change in difference.candidates:
        place = f" at {change.location}" if change.location else ""
        yield (
            f"{_signed(change.bytes):>10}  {change.id}  {change.before or 'absent'} -> {change.after or 'gone'}:"
            f" {change.kind} of {change.source} to {change.type}{place}"
        )


def markdown(difference: Difference) -> Iterator[str]:
    """The difference as Markdown, for a pull request."""
    yield f"**{cell(difference.before)}** → **{cell(difference.after)}**"
    yield ""
    yield from (f"- {line}" for line in _totals(difference))
    if difference.candidates:
        yield ""
        yield "| bytes | candidate | before | after | what | where |"
        yield "|--:|---|---|---|---|---|"
    for change in difference.candidates:
        what = f"{change.kind} of {change.source} to {change.type}"
        cells = (change.id, change.before or "absent", change.after or "gone", what, change.location or "")
        yield f"| {_signed(change.bytes)} | {' | '.join(cell(text) for text in cells)} |"


def _totals(difference: Difference) -> Iterator[str]:
    if difference.file_bytes is not None:
        yield f"file: {_signed(difference.file_bytes)}"
    yield f"constants of the program: {_signed(difference.constant_bytes)}"
    yield f"predicted growth: {_signed(difference.growth_bytes)}"
    yield f"candidates decided otherwise: {len(difference.candidates)}"


def _signed(size: int) -> str:
    return f"{'+' if size >= 0 else ''}{format_size(size)}"
