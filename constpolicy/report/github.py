"""The report as GitHub's workflow commands, which show as annotations beside the lines of the model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from constpolicy.report.model import Report

_PLACE = re.compile(r"(?P<file>.+):(?P<line>\d+):(?P<column>\d+)")
_MOST = 10  # GitHub shows no more of one kind in a step


def lines(report: Report, exceeded: Sequence[str]) -> Iterator[str]:
    """An error for each gate that is exceeded, at the candidate that grows most; a warning for each of the report's."""
    growing = max(report.candidates, key=lambda candidate: candidate.growth_bytes, default=None)
    place = growing.location if growing is not None and growing.growth_bytes > 0 else None
    yield from (_command("error", "constpolicy gate", text, place) for text in exceeded[:_MOST])
    warnings = [*report.fallbacks, *report.warnings]
    yield from (_command("warning", "constpolicy", text, None) for text in warnings[:_MOST])


def _command(kind: str, title: str, text: str, place: str | None) -> str:
    properties = {"title": title}
    if place is not None and (match := _PLACE.fullmatch(place)):
        properties |= {"file": match["file"], "line": match["line"], "col": match["column"]}
    given = ",".join(f"{name}={_escaped(value, property=True)}" for name, value in properties.items())
    return f"::{kind} {given}::{_escaped(text)}"


def _escaped(text: str, *, property: bool = False) -> str:
    """The text as GitHub's commands take it."""
    shown = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return shown.replace(":", "%3A").replace(",", "%2C") if property else shown
