"""`constpolicy policy`: list, show, check and begin policies."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from constpolicy.records import ConstPolicyError

if TYPE_CHECKING:
    from constpolicy.compiler.flags import CommandLine

_BESIDE_MODEL = ".constpolicy.yaml"


@click.group("policy")
def command() -> None:
    """List, show, check and begin policies."""


@command.command("list")
def list_policies() -> None:
    """List the built-in policies with their descriptions.

    Which one is used: that of --policy, else of the environment variable CONSTPOLICY_POLICY, else the file
    MODEL.constpolicy.yaml beside the model, else balanced.
    """
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
    click.echo(f"# {loaded.origin}\n{as_yaml(loaded.policy, loaded.written if resolved else None)}")


@command.command("check")
@click.argument("reference", metavar="NAME|FILE")
@click.option("--model", type=click.Path(exists=True, dir_okay=False), help="Also decide about this model.")
@click.option("--strict", is_flag=True, help="End with 2 if there are warnings, too.")
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
def check(reference: str, model: str | None, strict: bool, flags: tuple[str, ...]) -> int:
    """Check a policy file; with --model, also whether its rules and ids match something there.

    FLAGS, after `--`, are iree-compile's for the model. Ends with 2 if something is wrong.
    """
    from constpolicy import driver
    from constpolicy.policy.document import read
    from constpolicy.policy.load import load_policy, refusal_beside_model
    from constpolicy.policy.plain import plain

    loaded = load_policy(reference)
    warnings = list(loaded.warnings)
    if reference.endswith(_BESIDE_MODEL) and (refusal := refusal_beside_model(read(Path(reference)), Path(reference))):
        click.echo(f"note: beside a model, where nobody has named it, it would be refused: {refusal}", err=True)
    if model is not None:
        compiled = driver.explain(_command_line(model, flags), loaded)
        if compiled.exit_code != 0:
            return compiled.exit_code
        warnings += compiled.outcome.warnings if compiled.outcome else ()
    warnings = list(dict.fromkeys(warnings))
    for warning in warnings:
        click.echo(f"warning: {plain(warning)}", err=True)
    click.echo(f"{plain(loaded.policy.name)}: {len(loaded.policy.rules)} rules, {len(warnings)} warnings")
    return 2 if strict and warnings else 0


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
@click.option("-o", "--output", help="The file to write, or - for stdout. [default: beside the model]")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def init(model: str, flags: tuple[str, ...], extends: str, output: str | None, force: bool) -> int:
    """Write a policy for MODEL that states today's decisions, with the large candidates pinned by id.

    FLAGS, after `--`, are iree-compile's for the model.
    """
    from constpolicy import driver
    from constpolicy.policy.document import parse
    from constpolicy.policy.extend import PolicyFile, extended
    from constpolicy.policy.load import load_policy, refusal_beside_model
    from constpolicy.policy.pin import pinned_policy, reference_from
    from constpolicy.policy.plain import plain

    beside = Path(model).with_suffix(_BESIDE_MODEL)
    target = None if output == "-" else Path(output or beside)
    if target is not None:
        _check_free(target, force)
    compiled = driver.explain(_command_line(model, flags), load_policy(extends))
    if compiled.program is None or compiled.outcome is None:
        return compiled.exit_code
    base = reference_from(target.parent if target else Path(), extends)
    text = pinned_policy(Path(model).stem, base, compiled.program, compiled.outcome.decisions)
    value = parse(plain(str(target or "-")), text)  # not all that a file may be called can be written in a policy
    if target is None:
        click.echo(text.removesuffix("\n"))
        return 0
    extended(PolicyFile(value, os.path.realpath(target), target.parent))  # refuses one that would extend itself
    is_found = os.path.realpath(target) == os.path.realpath(beside)
    if is_found and (refusal := refusal_beside_model(value, target)):
        raise ConstPolicyError(f"beside the model, it would be refused: {refusal}; write it elsewhere with -o")
    _write(target, text)
    click.echo(f"wrote {plain(str(target))}")
    return 0


def _command_line(model: str, flags: Sequence[str]) -> CommandLine:
    """The line that compiles the model. Raises ConstPolicyError if it compiles nothing, or something else."""
    from constpolicy.compiler.flags import parse

    line = parse([model, *flags])
    if line.hand_over is not None:
        raise ConstPolicyError(f"there is nothing to decide: {line.hand_over}")
    return line


def _check_free(target: Path, force: bool) -> None:
    if os.path.isdir(target):
        raise ConstPolicyError(f"{target} is a folder: name a file with -o")
    if os.path.lexists(target) and not force:
        raise ConstPolicyError(f"{target} is there already: write over it with --force, or name another with -o")


def _write(target: Path, text: str) -> None:
    from constpolicy.compiler.output import replacing

    try:
        with replacing(str(target)) as file:
            Path(file.path).write_text(text, encoding="utf-8")
            file.commit()
    except OSError as error:
        raise ConstPolicyError(f"cannot write {target}: {error.strerror}") from None
