"""`constpolicy verify`: run a model under a policy and under upstream, and compare the numbers."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from constpolicy.cli.drop_in import DropInCommand, command_line, policy_choice
from constpolicy.cli.exit_codes import NUMBERS_DIFFER
from constpolicy.compiler import flags as command_lines
from constpolicy.records import ConstPolicyError

if TYPE_CHECKING:
    from constpolicy.compiler.flags import CommandLine
    from constpolicy.verify import InputSpec, Limits, Tolerance, Verification
    from constpolicy.verify.settings import Settings

_AGAINST = ("upstream", "const-eval-off", "iree-compile", "onnxruntime")
_BOUNDS = ("rtol", "atol", "statistic", "quantile", "ulp", "top_k", "cosine")


@click.command("verify", cls=DropInCommand, context_settings={"help_option_names": ["--help"]})
@click.option("--policy", metavar="NAME|FILE", help="The policy to verify; without it, as for `compile`.")
@click.option("--against", multiple=True, type=click.Choice(_AGAINST), help="Compare with this. [default: upstream]")
@click.option("--expected_output", "expected", multiple=True, metavar="TYPE=VALUES|@FILE", help="Compare with these.")
@click.option("--onnx", metavar="FILE.onnx", help="The model that ONNX Runtime runs, if MODEL is not .onnx itself.")
@click.option("--seed", type=click.IntRange(0), help="Seed of the random inputs. [default: 0]")
@click.option("--iterations", type=click.IntRange(1), help="Calls of each function. [default: 1]")
@click.option("--range", "ranges", multiple=True, metavar="[NAME:]LO,HI", help="Bounds of an input's values.")
@click.option("--shape", "shapes", multiple=True, metavar="[NAME:]2x128", help="Shape of an input with dynamic dims.")
@click.option("--input", "values", multiple=True, metavar="TYPE=VALUES|@FILE", help="As iree-run-module takes them.")
@click.option("--input-set", "sets", multiple=True, help="seeded, zeros, ones, extremes, nan or inf. [default: seeded]")
@click.option("--input-script", metavar="FILE.py", help="A Python file, which is run: its inputs() yields the inputs.")
@click.option("--function", "functions", multiple=True, help="Functions to call. [default: all exported]")
@click.option("--parameters", multiple=True, metavar="[SCOPE=]FILE", help="As iree-run-module takes them.")
@click.option("--rtol", multiple=True, metavar="[OUTPUT:]NUMBER", help="Relative tolerance, instead of the policy's.")
@click.option("--atol", multiple=True, metavar="[OUTPUT:]NUMBER", help="Absolute tolerance, instead of the policy's.")
@click.option("--statistic", multiple=True, metavar="[OUTPUT:]NAME", help="elementwise, max, mean, median or quantile.")
@click.option("--quantile", multiple=True, metavar="[OUTPUT:]NUMBER", help="Which one `quantile` is. [default: 0.99]")
@click.option("--ulp", multiple=True, metavar="[OUTPUT:]NUMBER", help="Most representable values between two elements.")
@click.option("--top-k", multiple=True, metavar="[OUTPUT:]NUMBER", help="The largest so many must stand at one place.")
@click.option("--cosine", multiple=True, metavar="[OUTPUT:]NUMBER", help="Least cosine similarity along the last axis.")
@click.option("--timeout", type=float, metavar="SECONDS", help="For loading and for each call. [default: 600]")
@click.option("--memory-limit", metavar="SIZE", help="What a module may allocate, as in 2GiB. [default: no limit]")
@click.option("--tensors", is_flag=True, help="Check every evaluated result by itself, too.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON: an object, or a list if several.")
@click.pass_context
def command(ctx: click.Context, /, policy: str | None, as_json: bool, **options: Any) -> int:
    """Compile MODEL under a policy and under `upstream`, run both here on the same inputs, and compare the outputs.

    Ends with 3 if the numbers differ by more than the standard that is named, which follows from the decisions.
    Every flag of iree-compile is taken, as by `constpolicy compile`. MODEL may be an .onnx file.
    """
    from constpolicy.verify.model import verify_model

    line = command_line(ctx)
    settings = _settings(options, line)
    with tempfile.TemporaryDirectory(prefix="constpolicy-") as folder:
        line = imported(line, Path(folder))
        if line.hand_over is not None:
            raise ConstPolicyError(f"there is nothing to verify: {line.hand_over}")
        compiled, verifications = verify_model(line, policy_choice(ctx, policy), settings)
    if not verifications:
        return compiled.exit_code
    _show(verifications, as_json)
    return 0 if all(verification.passed for verification in verifications) else NUMBERS_DIFFER


def imported(line: CommandLine, folder: Path) -> CommandLine:
    """The command line with the .mlir in the place of an .onnx file."""
    if Path(line.input).suffix != ".onnx":
        return line
    from constpolicy.verify.onnx import import_model

    imported = import_model(Path(line.input), folder)
    return command_lines.parse((str(imported), *line.without_output[1:]))


def _settings(options: dict[str, Any], line: CommandLine) -> Settings:
    from constpolicy.verify.messages import ParameterArchive
    from constpolicy.verify.settings import Against, Settings

    model = options["onnx"] or (line.input if Path(line.input).suffix == ".onnx" else None)
    against = [Against(name) for name in options["against"]]
    if options["onnx"] and not against:
        against.append(Against.ONNX_RUNTIME)
    if options["expected"]:
        against.append(Against.EXPECTED)
    settings = Settings(
        inputs=inputs_asked(options),
        limits=limits_asked(options["timeout"], options["memory_limit"]),
        tolerance=tolerance_asked(options),
        expected=options["expected"],
        onnx=Path(model) if model else None,
        parameters=tuple(ParameterArchive.parse(text) for text in options["parameters"]),
        tensors=options["tensors"],
    )
    return replace(settings, against=tuple(dict.fromkeys(against))) if against else settings


def inputs_asked(options: dict[str, Any]) -> InputSpec:
    """The inputs that are asked for; what is not, is left to the policy."""
    from constpolicy.verify import InputRange, InputSet, InputShape, InputSpec

    unknown = [name for name in options["sets"] if name not in [*map(str, InputSet)]]
    if unknown:
        raise ConstPolicyError(f"--input-set {unknown[0]}: there are {', '.join(map(str, InputSet))}")
    given = {
        "seed": options["seed"],
        "iterations": options["iterations"],
        "sets": options["sets"],
        "ranges": tuple(InputRange.parse(text) for text in options["ranges"]),
        "shapes": tuple(InputShape.parse(text) for text in options["shapes"]),
        "values": options["values"],
        "script": options["input_script"],
        "functions": options["functions"],
    }
    return InputSpec.model_validate({key: value for key, value in given.items() if value not in (None, ())})


def limits_asked(seconds: float | None, memory: str | None) -> Limits:
    """What the modules may use. Raises ConstPolicyError."""
    from constpolicy.policy.units import parse_size
    from constpolicy.verify import Limits

    if seconds is not None and not seconds > 0:
        raise ConstPolicyError(f"--timeout {seconds:g}: write a number of seconds above zero")
    given: dict[str, Any] = {} if seconds is None else {"seconds": seconds}
    if memory is not None:
        try:
            given["memory_bytes"] = parse_size(memory)
        except ValueError as error:
            raise ConstPolicyError(f"--memory-limit: {error}") from None
        if not given["memory_bytes"]:
            raise ConstPolicyError("--memory-limit 0: nothing can run without memory")
    return Limits.model_validate(given)


def tolerance_asked(options: dict[str, Any]) -> Tolerance | None:
    """The tolerance that is asked for, if one is. Raises ConstPolicyError."""
    from constpolicy.verify.tolerance import parse

    given = {name: options[name] for name in _BOUNDS if options[name]}
    return parse(given) if given else None


def _show(verifications: Sequence[Verification], as_json: bool) -> None:
    if as_json:
        data = [verification.model_dump(mode="json") for verification in verifications]
        click.echo(json.dumps(data if len(data) > 1 else data[0], indent=2))
        return
    from constpolicy.verify.text import lines

    for verification in verifications:
        for line in lines(verification):
            click.echo(line)
