"""`constpolicy diff`: what changed between two reports, or is decided otherwise by two policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from constpolicy.records import ConstPolicyError

if TYPE_CHECKING:
    from constpolicy.report.model import Report


@click.command("diff")
@click.argument("before", metavar="A.json|MODEL")
@click.argument("after", metavar="B.json", required=False)
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
@click.option("--policies", metavar="A,B", help="Compare the decisions of two policies about MODEL.")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json", "markdown", "html"]), default="text", show_default=True
)
def command(before: str, after: str | None, flags: tuple[str, ...], policies: str | None, format_: str) -> int:
    """Show what changed between two reports, by candidate, the largest change first.

    The reports are those that `compile --policy-report` and `explain --json` write: of two policies, two versions of a
    model or two versions of IREE. With --policies, MODEL is explained under both; FLAGS, after `--`, are
    iree-compile's.
    """
    from constpolicy.cli import reporting
    from constpolicy.policy.plain import plain
    from constpolicy.report import diff

    if policies is not None:
        arguments = [argument for argument in (after, *flags) if argument is not None]
        reports = [_explained(before, name, arguments) for name in _two(policies)]
    elif after is None:
        raise ConstPolicyError("diff takes two reports, or a model with --policies A,B")
    else:
        reports = [reporting.read(before), reporting.read(after)]
    difference = diff.compare(*reports)
    if format_ == "json":
        click.echo(difference.model_dump_json(indent=2))
    elif format_ == "html":
        from constpolicy.report.html import difference_page

        click.echo(difference_page(difference), nl=False)
    else:
        written = diff.lines(difference) if format_ == "text" else diff.markdown(difference)
        click.echo("\n".join(plain(line) for line in written))
    return 0


def _two(policies: str) -> tuple[str, str]:
    first, comma, second = policies.partition(",")
    if not (first and comma and second):
        raise ConstPolicyError(f"--policies {policies}: name two, as in balanced,small")
    return first, second


def _explained(model: str, policy: str, flags: list[str]) -> Report:
    from constpolicy import driver
    from constpolicy.compiler.flags import parse
    from constpolicy.policy.load import load_policy
    from constpolicy.report.build import build

    line = parse([model, *flags])
    if line.hand_over is not None:
        raise ConstPolicyError(f"there is nothing to compare: {line.hand_over}")
    compiled = driver.explain(line, load_policy(policy))
    if compiled.exit_code != 0:
        raise ConstPolicyError(f"{model} does not compile")
    return build(line, compiled, finished=False)
