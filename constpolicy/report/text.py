"""The report as a table for the terminal. What comes from a model is shown as it is, never as markup."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from rich.console import Console
from rich.table import Table
from rich.text import Text

from constpolicy.policy.plain import plain
from constpolicy.policy.units import format_size
from constpolicy.report import file_text
from constpolicy.report.model import CandidateReport, Report

Order: TypeAlias = Literal["size", "growth", "work", "program"]
_SHOWN = 12
_WORTH_SHOWING = 4096  # bytes of result or growth below which candidates are summed up


def show(
    report: Report,
    console: Console,
    *,
    all_candidates: bool = False,
    kinds: Sequence[str] = (),
    order: Order = "size",
) -> None:
    """Prints the candidates that matter most, the totals and the warnings.

    `all_candidates` leaves none out; `kinds` shows only candidates that contain one of them.
    """
    wanted = [c for c in report.candidates if not kinds or set(kinds) & set(c.contains)]
    ordered = wanted if order == "program" else sorted(wanted, key=_ORDERS[order], reverse=True)
    groups = [[candidate] for candidate in ordered] if all_candidates else _alike(ordered)
    shown = groups if all_candidates else [group for group in groups if _weight(group[0]) >= _WORTH_SHOWING][:_SHOWN]
    console.print(_text(f"policy {report.policy.name} ({report.policy.origin})"), highlight=False)
    if shown:
        console.print(_table(shown), highlight=False)
    rest = [candidate for group in groups[len(shown) :] for candidate in group]
    for line in (*([_summed_up(rest)] if rest else ()), *_totals(report), *_stored_once(report), *report.budgets):
        console.print(_text(line), highlight=False)
    for warning in (*report.fallbacks, *report.warnings):
        console.print(_text(f"warning: {warning}", style="yellow"), highlight=False)


_ORDERS: dict[str, Callable[[CandidateReport], int]] = {
    "size": lambda candidate: _weight(candidate),
    "growth": lambda candidate: candidate.growth_bytes,
    "work": lambda candidate: candidate.work_bytes,
}


def _weight(candidate: CandidateReport) -> int:
    return max(candidate.result_bytes, abs(candidate.growth_bytes))


def _alike(ordered: list[CandidateReport]) -> list[list[CandidateReport]]:
    """The candidates in groups of one kind, type and fate, each where its first stands."""
    groups: dict[tuple[object, ...], list[CandidateReport]] = {}
    for candidate in ordered:
        fate = (candidate.outcome or candidate.action, candidate.decided_by, candidate.growth_bytes)
        groups.setdefault((candidate.kind, candidate.type, *fate), []).append(candidate)
    return list(groups.values())


def _table(groups: list[list[CandidateReport]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("id", no_wrap=True)
    table.add_column("kind", no_wrap=True)
    table.add_column("source", overflow="ellipsis", max_width=28, no_wrap=True)
    table.add_column("result", justify="right", no_wrap=True)
    table.add_column("growth", justify="right", no_wrap=True)
    table.add_column("action", no_wrap=True)
    table.add_column("why", overflow="fold", min_width=24)
    for group in groups:
        candidate = group[0]
        table.add_row(
            _text(candidate.id),
            _text(candidate.kind if len(group) == 1 else f"{len(group)} x {candidate.kind}"),
            _text(_sources(candidate) if len(group) == 1 else f"{_sources(candidate)}, ..."),
            _text(format_size(candidate.result_bytes)),
            _text(format_size(candidate.growth_bytes)),
            _text(candidate.outcome or candidate.action),
            _text(candidate.reason),
        )
    return table


def _sources(candidate: CandidateReport) -> str:
    names = [source.name for source in sorted(candidate.sources, key=lambda source: -source.bytes)]
    return names[0] + (f" +{len(names) - 1}" if len(names) > 1 else "") if names else "none"


def _summed_up(candidates: list[CandidateReport]) -> str:
    by_action: dict[str, list[CandidateReport]] = {}
    for candidate in candidates:
        by_action.setdefault(candidate.outcome or candidate.action, []).append(candidate)
    parts = (f"{len(group)} {action}" for action, group in sorted(by_action.items()))
    total = format_size(sum(candidate.result_bytes for candidate in candidates))
    return f"and {len(candidates)} smaller ones ({total}): {', '.join(parts)}"


def _totals(report: Report) -> list[str]:
    totals = report.totals
    actions = ", ".join(f"{count} {action}" for action, count in totals.actions.items()) or "none"
    growth = totals.predicted_growth_bytes
    change = f"{'+' if growth >= 0 else ''}{format_size(growth)}"
    lines = [
        f"candidates: {totals.candidates} ({actions})",
        f"constants: {format_size(totals.constant_bytes)} in the program,"
        f" {format_size(totals.constant_bytes + growth)} predicted in the file ({change})",
    ]
    fates = [(c.outcome or c.action, c.result_bytes) for c in report.candidates]
    if at_load := [size for fate, size in fates if fate in ("initialize", "rejected", "failed")]:
        lines.append(f"at load: {_results(at_load)} computed, {format_size(sum(at_load))} of memory")
    if not report.decided_late and (fused := [size for fate, size in fates if fate == "fuse"]):
        lines.append(
            f"fused: {_results(fused)}, {format_size(sum(fused))}; what IREE does not fuse is computed at load"
        )
    if totals.file_bytes is not None:
        lines.append(f"file: {totals.file_bytes:,} bytes; const-eval took {report.timing.evaluation:.1f} s")
    if report.file is not None:
        lines += file_text.totals(report.file)
    return lines


def _results(sizes: Sequence[int]) -> str:
    return f"{len(sizes)} result{'' if len(sizes) == 1 else 's'}"


def _stored_once(report: Report) -> list[str]:
    return [
        f"stored once: {duplicate.name} as {' and '.join(duplicate.types)}, saving {format_size(duplicate.saved_bytes)}"
        for duplicate in report.duplicates
    ]


def _text(text: str, style: str = "") -> Text:
    """The text as it is to be printed; nothing in it reaches the terminal as a control character."""
    return Text(plain(text), style=style)
