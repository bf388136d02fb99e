"""The report as Markdown, for a pull request: the totals, and the candidates that matter most."""

from __future__ import annotations

from collections.abc import Iterator

from constpolicy.policy.units import format_size
from constpolicy.report.model import CandidateReport, Report

_SHOWN = 10


def lines(report: Report) -> Iterator[str]:
    """The summary. What comes from a model is shown as it is, never as markup."""
    totals = report.totals
    yield f"**{cell(report.input)}** under the policy **{cell(report.policy.name)}**"
    yield ""
    if totals.file_bytes is not None:
        yield f"- file: {format_size(totals.file_bytes)} ({totals.file_bytes:,} bytes)"
    yield f"- constants: {format_size(totals.constant_bytes)}, evaluated {_signed(totals.predicted_growth_bytes)}"
    if totals.upstream_growth_bytes is not None:
        yield f"- iree-compile alone: {_signed(totals.upstream_growth_bytes)}"
    actions = ", ".join(f"{number} {action}" for action, number in totals.actions.items()) or "none"
    yield f"- candidates: {totals.candidates} ({actions})"
    if report.verification is not None:
        yield f"- verification: {'passed' if report.verification.get('passed') else '**failed**'}"
    yield from (f"- :warning: {cell(text)}" for text in (*report.fallbacks, *report.warnings))
    ordered = sorted(report.candidates, key=_weight, reverse=True)[:_SHOWN]
    if ordered:
        yield ""
        yield "| growth | result | candidate | what | action | where |"
        yield "|--:|--:|---|---|---|---|"
    for candidate in ordered:
        sources = ", ".join(source.name for source in candidate.sources) or "nothing"
        numbers = (_signed(candidate.growth_bytes), format_size(candidate.result_bytes))
        texts = (candidate.id, f"{candidate.kind} of {sources}", candidate.outcome or candidate.action)
        place = candidate.location or ""
        yield f"| {' | '.join(numbers)} | {' | '.join(cell(text) for text in (*texts, place))} |"


def cell(text: str) -> str:
    """A model's or policy's text as Markdown that shows it and nothing else."""
    shown = (char for char in text if char.isprintable())
    return "".join(char if char.isalnum() or char in " /:.,-" else f"&#{ord(char)};" for char in shown)


def _weight(candidate: CandidateReport) -> tuple[int, int]:
    return abs(candidate.growth_bytes), candidate.result_bytes


def _signed(size: int) -> str:
    return f"{'+' if size >= 0 else ''}{format_size(size)}"
