"""Commands that take iree-compile's command line: their own options all begin with `--policy`, the rest is its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from constpolicy.compiler.flags import CommandLine, parse

KEY = "constpolicy.command_line"


class DropInCommand(click.Command):
    """Splits the arguments: `--policy...` options for click, everything else, untouched, for iree-compile."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("context_settings", {"help_option_names": ["--policy-help"], "max_content_width": 100})
        super().__init__(*args, **kwargs)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own, compiler = split(args, self._options_with_value(ctx))
        ctx.meta[KEY] = parse(compiler)
        return super().parse_args(ctx, own)

    def _options_with_value(self, ctx: click.Context) -> frozenset[str]:
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        return frozenset(name for option in options if not option.is_flag for name in option.opts)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[--policy...]", "[IREE-COMPILE OPTIONS]", "MODEL"]


def split(arguments: Sequence[str], with_value: frozenset[str]) -> tuple[list[str], list[str]]:
    """(constpolicy's own options, iree-compile's arguments). What follows `--` is iree-compile's."""
    own: list[str] = []
    compiler: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            compiler += [argument, *rest]
        elif argument.startswith("--policy"):
            own.append(argument)
            if argument in with_value:
                own += [value for value in [next(rest, None)] if value is not None]
        else:
            compiler.append(argument)
    return own, compiler


def command_line(ctx: click.Context) -> CommandLine:
    """The iree-compile command line that a DropInCommand was given."""
    given: CommandLine = ctx.meta[KEY]
    return given
