"""`constpolicy bisect`: find the decisions that make a check fail."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from constpolicy.cli import verify
from constpolicy.cli.drop_in import DropInCommand, command_line, policy_choice
from constpolicy.compiler import child
from constpolicy.compiler.output import replacing
from constpolicy.policy.choice import Choice, choose
from constpolicy.records import Action, ConstPolicyError

if TYPE_CHECKING:
    from constpolicy.compiler.flags import CommandLine
    from constpolicy.policy.load import LoadedPolicy
    from constpolicy.verify.bisect import Found
    from constpolicy.verify.bisect_check import Check
    from constpolicy.verify.bisect_record import Bisection, Trial

_OF_VERIFY = (  # how the numbers are checked
    *("seed", "iterations", "ranges", "shapes", "values", "sets", "input_script", "functions", "parameters"),
    *("rtol", "atol", "statistic", "quantile", "ulp", "top_k", "cosine", "timeout", "memory_limit"),
)
_SHARED = [parameter for parameter in verify.command.params if parameter.name in _OF_VERIFY]
_CHECK_HELP = "A command that fails on a faulty build; {vmfb} stands for the file. [default: compare the outputs]"


@click.command("bisect", cls=DropInCommand, context_settings={"help_option_names": ["--help"]}, params=[*_SHARED])
@click.option("--policy", metavar="NAME|FILE", help="The policy that fails; without it, as for `compile`.")
@click.option("--baseline", metavar="NAME|FILE", default="upstream", show_default=True, help="A policy that does not.")
@click.option("--check", "check_text", metavar="'CMD {vmfb}'", help=_CHECK_HELP)
@click.option("-o", "output", metavar="FILE.yaml", help="Write a policy that avoids these decisions.")
@click.option("--report", "report_folder", metavar="DIR", help="Write a report, with the expressions as programs.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    policy: str | None,
    baseline: str,
    check_text: str | None,
    output: str | None,
    report_folder: str | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Find the smallest set of decisions that make MODEL's build fail a check, though the baseline's passes.

    The check is that the outputs are those of the baseline's build, or a command of yours. If the compile itself
    fails or crashes under the policy, that is looked for. Every flag of iree-compile is taken. MODEL may be .onnx.
    """
    from constpolicy.policy.load import load_chosen
    from constpolicy.report.bisection import recorded
    from constpolicy.verify.bisect import find_causes

    chosen = policy_choice(ctx, policy)
    tried, base = load_chosen(chosen), load_chosen(choose(baseline, None))
    with ExitStack() as stack:
        stack.enter_context(child.interruptible())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="constpolicy-")))
        line = verify.imported(command_line(ctx), folder)
        if line.hand_over is not None or line.input == "-":
            raise ConstPolicyError(f"there is nothing to bisect: {line.hand_over or 'give a file instead of stdin'}")
        check = _Checks(line, tried, check_text, options)
        reports = None if report_folder is None else _made(Path(report_folder))
        found = find_causes(line, tried, base, check, folder, reduce_to=reports, tell=_Told())
    result = recorded(line, tried, base, check.name, found)
    if output is not None:
        _write_policy(output, line, chosen, found)
    if reports is not None:
        _write_report(reports, result, _pinned(reports / "policy.yaml", line, chosen, found))
    _show(result, as_json)
    return 0


class _Checks:
    """Makes the check that is asked for, and knows its name."""

    def __init__(self, line: CommandLine, policy: LoadedPolicy, text: str | None, options: dict[str, Any]) -> None:
        from constpolicy.verify.bisect_check import CommandCheck
        from constpolicy.verify.messages import ParameterArchive
        from constpolicy.verify.settings import Settings

        self._line, self._verify = line, policy.policy.verify
        self._settings = Settings(
            inputs=verify.inputs_asked(options),
            limits=verify.limits_asked(options["timeout"], options["memory_limit"]),
            tolerance=verify.tolerance_asked(options),
            parameters=tuple(ParameterArchive.parse(archive) for archive in options["parameters"]),
        )
        seconds = self._settings.limits.seconds
        self._command = None if text is None else CommandCheck.parse(text, seconds)
        self.name = "the outputs are those of the baseline's build" if text is None else text

    def __call__(self, actions: Sequence[Action]) -> Check:
        from constpolicy.verify.bisect_check import NumericCheck

        return self._command or NumericCheck(self._line, self._verify, actions, self._settings)


class _Told:
    """Says on stderr what came out of each build."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, trial: Trial) -> None:
        from constpolicy.policy.plain import plain
        from constpolicy.verify.bisect_text import trial_line

        self._count += 1
        click.echo(f"constpolicy: {plain(trial_line(self._count, trial))}", err=True)


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConstPolicyError(f"--report {folder}: {error.strerror}") from None
    return folder


def _pinned(target: Path, line: CommandLine, chosen: Choice, found: Found) -> str:
    from constpolicy.policy.pin import avoiding_policy, reference_from

    extends = reference_from(target.parent, chosen.reference)
    avoided = [
        (d.candidate, d.baseline, f"under {chosen.reference}: {d.action}, with which {found.failure}")
        for cause in found.causes
        for d in cause
    ]
    return avoiding_policy(Path(line.input).stem, extends, avoided)


def _write_policy(output: str, line: CommandLine, chosen: Choice, found: Found) -> None:
    with replacing(output) as file:
        Path(file.path).write_text(_pinned(Path(output), line, chosen, found), encoding="utf-8")
        file.commit()


def _write_report(folder: Path, result: Bisection, policy: str) -> None:
    from constpolicy.policy.plain import plain
    from constpolicy.verify.bisect_text import lines, report_lines

    texts = {
        "report.json": result.model_dump_json(indent=2),
        "report.txt": "\n".join(plain(line) for line in (*report_lines(result), *lines(result))),
        "policy.yaml": policy.rstrip("\n"),
    }
    for name, text in texts.items():
        with replacing(str(folder / name)) as file:
            Path(file.path).write_text(text + "\n", encoding="utf-8")
            file.commit()


def _show(result: Bisection, as_json: bool) -> None:
    from constpolicy.policy.plain import plain
    from constpolicy.verify.bisect_text import lines

    if as_json:
        click.echo(result.model_dump_json(indent=2))
        return
    for line in lines(result):
        click.echo(plain(line))
