"""`constpolicy verify`: run a model under a policy and under upstream, and compare the numbers."""

from __future__ import annotations

import click

from constpolicy.cli.drop_in import DropInCommand, command_line, policy_choice
from constpolicy.cli.exit_codes import NUMBERS_DIFFER
from constpolicy.records import ConstPolicyError


@click.command("verify", cls=DropInCommand, context_settings={"help_option_names": ["--help"]})
@click.option("--policy", metavar="NAME|FILE", help="The policy to verify; without it, as for `compile`.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random inputs.")
@click.option("--iterations", type=click.IntRange(1), default=1, show_default=True, help="Calls of each function.")
@click.option("--range", "ranges", multiple=True, metavar="[NAME:]LO,HI", help="Bounds of an input's values.")
@click.option("--shape", "shapes", multiple=True, metavar="[NAME:]2x128", help="Shape of an input with dynamic dims.")
@click.option("--input", "values", multiple=True, metavar="TYPE=VALUES|@FILE", help="As iree-run-module takes them.")
@click.option("--input-set", "sets", multiple=True, help="seeded, zeros, ones, extremes, nan or inf. [default: seeded]")
@click.option("--input-script", metavar="FILE.py", help="A Python file, which is run: its inputs() yields the inputs.")
@click.option("--function", "functions", multiple=True, help="Functions to call. [default: all exported]")
@click.option("--rtol", multiple=True, metavar="[OUTPUT:]NUMBER", help="Relative tolerance, instead of the policy's.")
@click.option("--atol", multiple=True, metavar="[OUTPUT:]NUMBER", help="Absolute tolerance, instead of the policy's.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def command(
    ctx: click.Context,
    policy: str | None,
    seed: int,
    iterations: int,
    ranges: tuple[str, ...],
    shapes: tuple[str, ...],
    values: tuple[str, ...],
    sets: tuple[str, ...],
    input_script: str | None,
    functions: tuple[str, ...],
    rtol: tuple[str, ...],
    atol: tuple[str, ...],
    as_json: bool,
) -> int:
    """Compile MODEL under a policy and under `upstream`, run both here on the same inputs, and compare the outputs.

    Ends with 3 if the numbers differ by more than the standard that is named, which follows from the decisions.
    Every flag of iree-compile is taken, as by `constpolicy compile`.
    """
    from constpolicy.verify import InputRange, InputShape, InputSpec, Limits
    from constpolicy.verify.model import Settings, verify_model
    from constpolicy.verify.tolerance import parse

    line = command_line(ctx)
    if line.hand_over is not None:
        raise ConstPolicyError(f"there is nothing to verify: {line.hand_over}")
    inputs = InputSpec.model_validate(
        {
            "seed": seed,
            "iterations": iterations,
            "ranges": tuple(InputRange.parse(text) for text in ranges),
            "shapes": tuple(InputShape.parse(text) for text in shapes),
            "values": values,
            "script": input_script,
            "functions": functions,
            **({"sets": sets} if sets else {}),
        }
    )
    tolerance = parse(rtol, atol) if rtol or atol else None
    compiled, verification = verify_model(line, policy_choice(ctx, policy), Settings(inputs, Limits(), tolerance))
    if verification is None:
        return compiled.exit_code
    if as_json:
        click.echo(verification.model_dump_json(indent=2))
    else:
        click.echo(f"standard: {verification.reason}")
        click.echo(verification.summary())
    return 0 if verification.passed else NUMBERS_DIFFER
