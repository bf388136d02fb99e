"""Showing and writing reports, for the commands that have one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from constpolicy.compiler.output import replacing
from constpolicy.records import ConstPolicyError

if TYPE_CHECKING:
    from constpolicy.report.model import Report
    from constpolicy.report.text import Order


def read(path: str) -> Report:
    """Reads a report that was written as JSON. Raises ConstPolicyError if it is none."""
    from pydantic import ValidationError

    from constpolicy.report.model import Report

    try:
        return Report.model_validate_json(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConstPolicyError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValidationError, UnicodeDecodeError):
        raise ConstPolicyError(f"{path}: this is no report of this version of constpolicy") from None


def write(report: Report, path: str) -> None:
    """Writes the report: as HTML to a file of that suffix, else as JSON; "-" is stdout."""
    if Path(path).suffix.lower() in (".html", ".htm"):
        from constpolicy.report.html import report_page

        write_text(report_page(report), path)
    else:
        write_text(report.model_dump_json(indent=2) + "\n", path)


def write_text(text: str, path: str) -> None:
    """Writes the text to a file, which is replaced only by all of it, or to stdout ("-")."""
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
