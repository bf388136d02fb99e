"""`constpolicy policy`: list, show, check and begin policies."""

from __future__ import annotations

import json
from pathlib import Path

import click

from constpolicy.records import ConstPolicyError


@click.group("policy")
def command() -> None:
    """List, show, check and begin policies."""


@command.command("list")
def list_policies() -> None:
    """List the built-in policies with their descriptions."""
    from constpolicy.policy.load import builtin_names, load_policy

    for name in builtin_names():
        text = click.wrap_text(
            load_policy(name).policy.description, 88, initial_indent=f"{name:<12}", subsequent_indent=" " * 12
        )
        click.echo(text)


@command.command("show")
@click.argument("reference", metavar="NAME|FILE")
@click.option("--resolved", is_flag=True, help="Add where each value comes from.")
def show(reference: str, resolved: bool) -> None:
    """Print a policy with everything that it extends, as YAML."""
    from constpolicy.policy.load import load_policy
    from constpolicy.policy.written import as_yaml

    loaded = load_policy(reference)
    click.echo(f"# {loaded.origin}")
    click.echo(as_yaml(loaded.policy, loaded.written if resolved else None))


@command.command("check")
@click.argument("reference", metavar="NAME|FILE")
@click.option("--model", type=click.Path(exists=True, dir_okay=False), help="Also decide about this model.")
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
def check(reference: str, model: str | None, flags: tuple[str, ...]) -> int:
    """Check a policy file; with --model, also whether its rules and ids match something there.

    FLAGS, after `--`, are iree-compile's for the model. Ends with 2 if something is wrong.
    """
    from constpolicy import driver
    from constpolicy.compiler.flags import parse
    from constpolicy.policy.load import load_policy

    loaded = load_policy(reference)
    warnings = list(loaded.warnings)
    if model is not None:
        compiled = driver.explain(parse([model, *flags]), loaded)
        if compiled.exit_code != 0:
            return compiled.exit_code
        warnings += compiled.outcome.warnings if compiled.outcome else ()
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    click.echo(f"{loaded.policy.name}: {len(loaded.policy.rules)} rules, {len(warnings)} warnings")
    return 2 if warnings else 0


@command.command("schema")
def schema() -> None:
    """Print the JSON schema of policy files, for editors."""
    from constpolicy.policy.json_schema import json_schema
    from constpolicy.policy.schema import Policy

    click.echo(json.dumps(json_schema(Policy), indent=2))


@command.command("init")
@click.argument("model", type=click.Path(exists=True, dir_okay=False))
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
@click.option("--extends", default="balanced", show_default=True, help="The policy that the new one builds on.")
@click.option("-o", "--output", help="The file to write. [default: beside the model]")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def init(model: str, flags: tuple[str, ...], extends: str, output: str | None, force: bool) -> int:
    """Write a policy for MODEL that states today's decisions, with the large candidates pinned by id.

    FLAGS, after `--`, are iree-compile's for the model.
    """
    from constpolicy import driver
    from constpolicy.compiler.flags import parse
    from constpolicy.compiler.output import replacing
    from constpolicy.policy.load import load_policy
    from constpolicy.policy.pin import pinned_policy

    target = Path(output) if output else Path(model).with_suffix(".constpolicy.yaml")
    if target.exists() and not force:
        raise ConstPolicyError(f"{target} is there already: write over it with --force, or name another with -o")
    compiled = driver.explain(parse([model, *flags]), load_policy(extends))
    if compiled.program is None or compiled.outcome is None:
        return compiled.exit_code
    text = pinned_policy(Path(model).stem, extends, compiled.program, compiled.outcome.decisions)
    with replacing(str(target)) as file:
        Path(file.path).write_text(text, encoding="utf-8")
        file.commit()
    click.echo(f"wrote {target}")
    return 0
