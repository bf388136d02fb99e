"""`constpolicy policy`: list and show policies."""

from __future__ import annotations

import click


@click.group("policy")
def command() -> None:
    """List and show policies."""


@command.command("list")
def list_policies() -> None:
    """List the built-in policies with their descriptions."""
    from constpolicy.policy.load import builtin_names, load_policy

    for name in builtin_names():
        description = load_policy(name).policy.description
        click.echo(f"{name:<12}{' '.join(description.split())}")


@command.command("show")
@click.argument("reference", metavar="NAME|FILE")
def show(reference: str) -> None:
    """Print a policy with everything that it extends, as YAML."""
    import yaml

    from constpolicy.policy.load import load_policy

    loaded = load_policy(reference)
    click.echo(f"# {loaded.origin}")
    click.echo(yaml.safe_dump(loaded.policy.model_dump(mode="json", exclude_unset=True), sort_keys=False), nl=False)
