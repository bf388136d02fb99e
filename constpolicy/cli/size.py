"""`constpolicy size`: what a .vmfb holds, whoever compiled it."""

from __future__ import annotations

import click


@click.command("size")
@click.argument("file", metavar="FILE.vmfb")
@click.option("--all", "all_parts", is_flag=True, help="Show every part, in the order of the file.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--run", is_flag=True, help="Load it and call its functions here: memory, load time, time of a call.")
def command(file: str, all_parts: bool, as_json: bool, run: bool) -> int:
    """Show what FILE.vmfb holds, to the byte: constants, executables, bytecode and the rest."""
    import json
    from pathlib import Path

    from constpolicy.report import segments
    from constpolicy.report.file_text import lines, taken_lines

    report = segments.read(Path(file))
    taken = None
    if run:
        from constpolicy.verify.footprint import footprint
        from constpolicy.verify.input_spec import InputSpec

        taken = footprint(Path(file), InputSpec())
    if as_json:
        data = {"file": report.model_dump(mode="json"), "run": taken.model_dump(mode="json") if taken else None}
        click.echo(json.dumps(data, indent=2))
        return 0
    click.echo("\n".join(lines(report, all_parts=all_parts)))
    if taken:
        click.echo("\n".join(("", *taken_lines(taken))))
    return 0
