"""`constpolicy explain`: the candidates and decisions, without finishing the compile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from constpolicy import driver
from constpolicy.cli.drop_in import DropInCommand, command_line, policy_choice
from constpolicy.records import ConstPolicyError

if TYPE_CHECKING:
    from constpolicy.report.model import Report
    from constpolicy.report.text import Order

_LATE_HELP = "Also what DispatchCreation hoists, which takes const-eval's time; implied by rules about that phase."


@click.command("explain", cls=DropInCommand, context_settings={"help_option_names": ["--help"]})
@click.option("--policy", metavar="NAME|FILE", help="The policy to explain; without it, as for `compile`.")
@click.option("--id", "id_", metavar="ID", help="Show one candidate in full; the beginning of its id is enough.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only candidates that contain this kind of op.")
@click.option("--sort", type=click.Choice(["size", "growth", "work", "program"]), default="size", help="Order of rows.")
@click.option("--all", "all_candidates", is_flag=True, help="Show every candidate.")
@click.option("--dispatch-creation", is_flag=True, help=_LATE_HELP)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_context
def command(
    ctx: click.Context,
    policy: str | None,
    id_: str | None,
    kinds: tuple[str, ...],
    sort: Order,
    all_candidates: bool,
    dispatch_creation: bool,
    as_json: bool,
) -> int:
    """Show which constant expressions of MODEL are hoisted and what a policy decides about them, and why.

    Nothing is written. Every flag of iree-compile is taken, as by `constpolicy compile`.
    """
    from constpolicy.cli import reporting
    from constpolicy.report import detail
    from constpolicy.report.build import build

    line = command_line(ctx)
    if line.hand_over is not None:
        raise ConstPolicyError(f"there is nothing to explain: {line.hand_over}")
    compiled = driver.explain(line, policy_choice(ctx, policy), second_stop=dispatch_creation)
    if compiled.exit_code != 0:
        return compiled.exit_code
    report = build(line, compiled, finished=False)
    if id_ is not None:
        click.echo(detail.text(report, found := _one(report, id_), compiled.expressions[found]))
    elif as_json:
        reporting.write(report, "-")
    else:
        reporting.show(report, to_stderr=False, all_candidates=all_candidates, kinds=kinds, order=sort)
    return 0


def _one(report: Report, id: str) -> str:
    """The id that begins so. Raises ConstPolicyError if none does, or several do."""
    found = [candidate.id for candidate in report.candidates if candidate.id.startswith(id)]
    if id in found:
        return id
    if len(found) != 1:
        raise ConstPolicyError(f"--id {id}: {len(found)} of {len(report.candidates)} candidates have an id like this")
    return found[0]
