"""`constpolicy compile`: iree-compile under a policy."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from constpolicy import driver
from constpolicy.attempt import flags
from constpolicy.cli import standard_streams
from constpolicy.cli.drop_in import DropInCommand, command_line, policy_choice
from constpolicy.cli.exit_codes import GATE_EXCEEDED, NUMBERS_DIFFER
from constpolicy.compiler import tool
from constpolicy.policy.choice import Choice, choose
from constpolicy.records import Byproducts, ConstPolicyError

if TYPE_CHECKING:
    from constpolicy.compiler.child import Listener
    from constpolicy.compiler.flags import CommandLine
    from constpolicy.report.gate import Gate
    from constpolicy.report.model import Report
    from constpolicy.verify import Verification

_POLICY_HELP = """A built-in policy or a YAML file. Without it: $CONSTPOLICY_POLICY, else MODEL.constpolicy.yaml beside
the model, else balanced."""
_GATE_HELP = "End with 4 if exceeded: 'file_bytes <= 25MiB', 'growth <= 1%', 'vs old-report.json <= +0.5%'."
_FALLBACK_HELP = "A policy to try if the compile fails, before `upstream`; repeatable."


@click.command("compile", cls=DropInCommand)
@click.option("--policy", metavar="NAME|FILE", help=_POLICY_HELP)
@click.option(
    "--policy-report", metavar="FILE.json|.html", type=click.Path(dir_okay=False), help="Write the report here."
)
@click.option("--policy-summary", is_flag=True, help="Print the decisions and sizes on stderr.")
@click.option("--policy-verify", is_flag=True, help="Run the result against upstream's; ends with 3 if they differ.")
@click.option("--policy-gate", "policy_gates", multiple=True, metavar="GATE", help=_GATE_HELP)
@click.option("--policy-fallback", "fallbacks", multiple=True, metavar="NAME|FILE", help=_FALLBACK_HELP)
@click.option("--policy-strict", is_flag=True, help="Fail instead of stepping down to another action or policy.")
@click.pass_context
def command(
    ctx: click.Context,
    policy: str | None,
    policy_report: str | None,
    policy_summary: bool,
    policy_verify: bool,
    policy_gates: tuple[str, ...],
    fallbacks: tuple[str, ...],
    policy_strict: bool,
) -> int:
    """Compile MODEL as iree-compile does, with a policy deciding about constant expressions.

    Every flag of iree-compile is taken unchanged; `--help` shows them.
    """
    line, choice = command_line(ctx), policy_choice(ctx, policy)
    gates = _gates(policy_gates)
    if fallbacks and policy_strict:
        raise ConstPolicyError("--policy-strict allows no --policy-fallback")
    rungs = [_checked(choose(fallback, None)) for fallback in fallbacks]
    if line.hand_over is not None and gates:
        raise ConstPolicyError(f"--policy-gate has nothing to measure: {line.hand_over}")
    if line.hand_over is not None:
        if policy_report or policy_summary or policy_verify:
            _warn(f"there is nothing to report: {line.hand_over}; running iree-compile itself")
        tool.become((*(flags(choice) if line.input else ()), *line.arguments))
    closed = standard_streams.opened()
    if (line.input == "-" and 0 in closed) or (line.output == "-" and 1 in closed):
        raise ConstPolicyError("the standard stream that '-' names is closed")
    if line.writes_binary and line.output == "-" and sys.stdout.isatty():
        raise ConstPolicyError("the output is binary and stdout is a terminal; name a file with -o, or pipe it on")
    with _temporary(policy_verify) as folder:
        check = folder / "check.vmfb" if folder else None
        compiled = driver.compile_program(
            line,
            choice,
            strict=policy_strict,
            fallbacks=rungs,
            listener=_progress(line),
            warn=_warn,
            byproducts=Byproducts(
                decisions=bool(policy_report or policy_summary or policy_verify or gates),
                check_module=str(check) if check else None,
                stored_constants=bool(policy_report or policy_summary),
            ),
        )
        if compiled.exit_code != 0:
            return compiled.exit_code
        if compiled.known_outcome is not None and not policy_summary:  # which shows all warnings
            for warning in compiled.known_outcome.dead_pins:
                _warn(warning)
        verification = _verified(line, compiled, check) if check else None
    exceeded = []
    if policy_report or policy_summary or gates:
        report = _report(line, compiled, verification, policy_report, policy_summary)
        exceeded = [message for gate in gates if (message := gate.exceeded(report)) is not None]
    for message in exceeded:
        click.echo(f"constpolicy: {message}", err=True)
    if verification is not None and not verification.passed:
        return NUMBERS_DIFFER
    return GATE_EXCEEDED if exceeded else 0


def _progress(line: CommandLine) -> Listener | None:
    """What shows the progress on a terminal that the compile does not itself write to; elsewhere nothing does."""
    if not sys.stderr.isatty() or (line.output == "-" and sys.stdout.isatty()):
        return None
    from constpolicy.cli.progress import Progress

    return Progress(sys.stderr)


def _checked(choice: Choice) -> driver.AnyPolicy:
    """A policy that may be needed later: a file is read now, so that what is wrong in it comes to light at once."""
    if choice.is_builtin:
        return choice
    from constpolicy.policy.load import load_chosen

    return load_chosen(choice)


def _gates(texts: tuple[str, ...]) -> list[Gate]:
    """The gates, read before anything is compiled."""
    if not texts:
        return []
    from constpolicy.report.gate import Gate

    return [Gate.parse(text) for text in texts]


@contextmanager
def _temporary(wanted: bool) -> Iterator[Path | None]:
    """A folder that is removed at the end, or none."""
    if not wanted:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="constpolicy-") as folder:
        yield Path(folder)


def _verified(line: CommandLine, compiled: driver.Compiled, check: Path) -> Verification:
    from constpolicy.verify import InputSpec, Limits
    from constpolicy.verify.model import Settings, verify_compiled
    from constpolicy.verify.text import lines

    if not line.writes_binary or line.output == "-":
        raise ConstPolicyError("--policy-verify runs the .vmfb that is written: name it with -o")
    settings = Settings(InputSpec(), Limits(), tensors=True)
    verification = verify_compiled(line, compiled, Path(line.output), settings, check=check)
    for text in lines(verification):
        click.echo(f"constpolicy: {text}" if text else "", err=True)
    return verification


def _warn(text: str) -> None:
    click.echo(f"constpolicy: warning: {text}", err=True)


def _report(
    line: CommandLine, compiled: driver.Compiled, verification: Verification | None, path: str | None, summary: bool
) -> Report:
    from constpolicy.cli import reporting
    from constpolicy.report.build import build

    verified = verification.model_dump(mode="json") if verification else None
    report = build(line, compiled, finished=True, verification=verified)
    if path is not None:
        reporting.write(report, path)
    if summary:
        reporting.show(report, to_stderr=True)
    return report
