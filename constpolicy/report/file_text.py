"""What a finished file holds, as text for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constpolicy.policy.plain import plain
from constpolicy.policy.units import format_size
from constpolicy.report.file_report import FilePart, FileReport

if TYPE_CHECKING:
    from constpolicy.verify.footprint import Footprint

_SHOWN = 12
_NAMED = 3  # of the constants that are stored more than once


def lines(report: FileReport, *, all_parts: bool = False) -> list[str]:
    """The sizes by group, the largest parts (or all, in the order of the file), the duplicates, the functions."""
    shown = report.parts if all_parts else sorted(report.parts, key=lambda part: -part.bytes)[:_SHOWN]
    text = [*totals(report), "", *(_row(part) for part in shown)]
    if rest := len(report.parts) - len(shown):
        size = sum(part.bytes for part in report.parts) - sum(part.bytes for part in shown)
        text.append(f"{size:>15,}  {rest} smaller parts")
    if report.functions:
        text += ["", f"{'bytecode':>15}  {'dispatches':>10}  function"]
        text += [
            f"{function.bytes:>15,}  {function.dispatches:>10}  {plain(function.name)}" for function in report.functions
        ]
    return text


def totals(report: FileReport) -> list[str]:
    """One line for each group, and one for the file."""
    counts = {group: sum(part.group == group for part in report.parts) for group in report.totals}
    text = [
        f"{size:>15,}  {100 * size / report.bytes:5.1f} %  {group} ({counts[group]})"
        for group, size in report.totals.items()
    ]
    text.append(f"{report.bytes:>15,}  100.0 %  the file")
    if duplicates := report.duplicates:
        twice = sum(part.bytes for part in duplicates)
        text.append(f"stored more than once: {len(duplicates)} copies, {format_size(twice)}")
        largest = sorted(duplicates, key=lambda part: -part.bytes)[:_NAMED]
        text += [f"  {plain(part.name)} {part.type or ''}, {format_size(part.bytes)}" for part in largest]
    return text


def taken_lines(taken: Footprint) -> list[str]:
    """What loading takes, and what each call does."""
    text = [
        f"{_bytes(taken.allocated_bytes)}  allocated at load",
        f"{_bytes(taken.resident_bytes)}  more resident memory after loading",
        f"{1000 * taken.load_seconds:>12.2f} ms  to load",
    ]
    for call in taken.calls:
        text.append(f"{_bytes(call.peak_bytes)}  more at the peak of a call of {plain(call.function)}")
        text.append(f"{1000 * call.seconds:>12.2f} ms  for a call of {plain(call.function)}")
    text += [f"{'':>15}  {plain(name)} is not called: {plain(why)}" for name, why in taken.not_called.items()]
    return text


def _bytes(number: int | None) -> str:
    return f"{'not known' if number is None else format(number, ','):>15}"


def _row(part: FilePart) -> str:
    about = [part.group, plain(part.name)]
    about += [part.type] if part.type else []
    about += [f"from {plain(part.source)}"] if part.source and part.source != part.name else []
    about += [f"result of {part.candidate}"] if part.candidate and part.candidate not in part.name else []
    about += [f"every element 0x{part.splat}"] if part.splat else []
    about += [f"the same bytes as at {part.same_as:,}"] if part.same_as is not None else []
    about += ["constants that are not told apart"] if part.not_told_apart else []
    return f"{part.bytes:>15,}  at {part.offset:<13,}  {', '.join(about)}"
