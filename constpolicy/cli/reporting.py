"""Showing and writing reports, for the commands that have one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from constpolicy.compiler.output import replacing

if TYPE_CHECKING:
    from constpolicy.report.model import Report
    from constpolicy.report.text import Order


def write(report: Report, path: str) -> None:
    """Writes the report as JSON; "-" is stdout."""
    text = report.model_dump_json(indent=2) + "\n"
    if path == "-":
        sys.stdout.write(text)
        return
    with replacing(path) as output:
        Path(output.path).write_text(text, encoding="utf-8")
        output.commit()


def show(
    report: Report,
    *,
    to_stderr: bool,
    all_candidates: bool = False,
    kinds: Sequence[str] = (),
    order: Order = "size",
) -> None:
    """Prints the report as a table, as wide as the terminal, or 120 columns where there is none."""
    from rich.console import Console

    from constpolicy.report.text import show as show_text

    stream = sys.stderr if to_stderr else sys.stdout
    console = Console(file=stream, width=None if stream.isatty() else 120)
    show_text(report, console, all_candidates=all_candidates, kinds=kinds, order=order)
