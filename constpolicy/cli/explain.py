"""`constpolicy explain`: the candidates and decisions, without finishing the compile."""

from __future__ import annotations

import click

from constpolicy import driver
from constpolicy.cli.drop_in import DropInCommand, command_line, policy_loader
from constpolicy.records import ConstPolicyError


@click.command("explain", cls=DropInCommand, context_settings={"help_option_names": ["--help"]})
@click.option("--policy", metavar="NAME|FILE", help="The policy to explain; without it, as for `compile`.")
@click.option("--all", "all_candidates", is_flag=True, help="Show every candidate.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_context
def command(ctx: click.Context, policy: str | None, all_candidates: bool, as_json: bool) -> int:
    """Show which constant expressions of MODEL are hoisted and what a policy decides about them, and why.

    Nothing is written. Every flag of iree-compile is taken, as by `constpolicy compile`.
    """
    from constpolicy.cli import reporting
    from constpolicy.report.build import build

    line = command_line(ctx)
    if line.hand_over is not None:
        raise ConstPolicyError(f"there is nothing to explain: {line.hand_over}")
    compiled = driver.explain(line, policy_loader(ctx, policy))
    if compiled.exit_code != 0:
        return compiled.exit_code
    report = build(line, compiled, finished=False)
    if as_json:
        reporting.write(report, "-")
    else:
        reporting.show(report, to_stderr=False, all_candidates=all_candidates)
    return 0
