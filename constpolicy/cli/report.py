"""`constpolicy report`: what `--policy-report` has written, shown in other forms."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.group("report")
def command() -> None:
    """Show a report that `compile --policy-report` or `explain --json` has written."""


@command.command("schema")
def schema() -> None:
    """Print the JSON schema of reports."""
    from constpolicy.report.model import Report

    click.echo(json.dumps(Report.model_json_schema(mode="serialization"), indent=2))


@command.command("text")
@click.argument("report", metavar="REPORT.json")
@click.option("--all", "all_candidates", is_flag=True, help="Show every candidate.")
def text(report: str, all_candidates: bool) -> None:
    """Print the report as a table."""
    from constpolicy.cli import reporting

    reporting.show(reporting.read(report), to_stderr=False, all_candidates=all_candidates)


@command.command("html")
@click.argument("report", metavar="REPORT.json")
@click.option("-o", "--output", metavar="FILE.html", help='The file to write; "-" is stdout. [default: REPORT.html]')
def html(report: str, output: str | None) -> None:
    """Write the report as one HTML file that needs no network."""
    from constpolicy.cli import reporting
    from constpolicy.report.html import report_page

    target = output or str(Path(report).with_suffix(".html"))
    reporting.write_text(report_page(reporting.read(report)), target)
    if target != "-":
        click.echo(f"wrote {target}")


@command.command("markdown")
@click.argument("report", metavar="REPORT.json")
def markdown(report: str) -> None:
    """Print a summary in Markdown, for a pull request."""
    from constpolicy.cli import reporting
    from constpolicy.report import markdown

    click.echo("\n".join(markdown.lines(reporting.read(report))))


@command.command("github")
@click.argument("report", metavar="REPORT.json")
@click.option("--gate", "gates", multiple=True, metavar="GATE", help="As --policy-gate; exceeded, it is an error.")
def github(report: str, gates: tuple[str, ...]) -> int:
    """Print warnings, and gates that are exceeded, as annotations that GitHub shows beside the model's lines.

    Ends with 4 if a gate is exceeded.
    """
    from constpolicy.cli import reporting
    from constpolicy.cli.exit_codes import GATE_EXCEEDED
    from constpolicy.report.gate import Gate
    from constpolicy.report.github import lines

    shown = reporting.read(report)
    exceeded = [message for gate in gates if (message := Gate.parse(gate).exceeded(shown)) is not None]
    for line in lines(shown, exceeded):
        click.echo(line)
    return GATE_EXCEEDED if exceeded else 0
