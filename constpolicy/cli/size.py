"""`constpolicy size`: what a .vmfb holds, whoever compiled it."""

from __future__ import annotations

import click


@click.command("size")
@click.argument("file", metavar="FILE.vmfb")
@click.option("--all", "all_parts", is_flag=True, help="Show every part, in the order of the file.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(file: str, all_parts: bool, as_json: bool) -> int:
    """Show what FILE.vmfb holds, to the byte: constants, executables, bytecode and the rest."""
    from pathlib import Path

    from constpolicy.report import segments
    from constpolicy.report.file_text import lines

    report = segments.read(Path(file))
    if as_json:
        click.echo(report.model_dump_json(indent=2))
    else:
        click.echo("\n".join(lines(report, all_parts=all_parts)))
    return 0
