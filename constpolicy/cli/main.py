"""The command `constpolicy`: a group whose commands are imported when they run."""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import os
import signal
import sys
from typing import NoReturn

import click

from constpolicy.compiler.child import Interrupted
from constpolicy.records import ConstPolicyError

_COMMANDS = {  # name: (module in constpolicy.cli, what `constpolicy --help` says)
    "compile": ("compile", "Compile like iree-compile, under a policy."),
    "explain": ("explain", "Show the candidates and decisions without finishing the compile."),
    "verify": ("verify", "Show on the CPU that a policy did not change the numbers."),
    "bisect": ("bisect", "Find the decisions that make a check fail."),
    "diff": ("diff", "Show what changed between two reports or policies."),
    "size": ("size", "Show what a .vmfb holds, to the byte."),
    "report": ("report", "Show a written report as a table, HTML, Markdown or annotations."),
    "policy": ("policy", "List, show and check policies."),
}


_ALLOCATIONS_BETWEEN_COLLECTIONS = 100_000  # importing makes no garbage that is worth looking for


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"constpolicy.cli.{_COMMANDS[cmd_name][0]}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="constpolicy")
def command() -> None:
    """A drop-in for iree-compile in which a policy decides what const-eval may store."""


def run(entry: click.Command) -> None:
    """Runs a command and ends the process; errors that the user can act on become one message and an exit code."""
    gc.set_threshold(_ALLOCATIONS_BETWEEN_COLLECTIONS)
    try:
        exit_code = entry.main(standalone_mode=False)
    except ConstPolicyError as error:
        click.echo(f"constpolicy: error: {error}", err=True)
        exit_code = error.exit_code
    except click.ClickException as error:
        error.show()
        exit_code = error.exit_code
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        exit_code = _tell_full(error)
    except Interrupted as interrupted:
        _end_by(interrupted.number)
    except (KeyboardInterrupt, click.Abort):
        _end_by(signal.SIGINT)
    _end(exit_code if isinstance(exit_code, int) else 0)


def _tell_full(error: OSError) -> int:
    click.echo(f"constpolicy: error: cannot write {error.filename or 'what was asked for'}: {error.strerror}", err=True)
    return ConstPolicyError.exit_code


def _end(code: int) -> NoReturn:
    """Ends at once: taking the interpreter down, module by module, takes longer than all of a small command."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = code or 1  # as click ends where nobody reads; there is nobody to tell
    except OSError as error:
        code = code or _tell_full(error)  # one error is told
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


def _end_by(number: int) -> NoReturn:
    """Ends as the signal would have, so that the shell sees that it was one and ends its script, too."""
    sys.stderr.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    sys.exit(128 + number)  # not reached, unless the signal is blocked


def main() -> None:
    """Entry point of `constpolicy`."""
    run(command)
