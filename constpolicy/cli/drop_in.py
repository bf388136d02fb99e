"""Commands that take iree-compile's command line beside their own options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from constpolicy.compiler.flags import CommandLine, parse
from constpolicy.policy.choice import Choice, choose

KEY = "constpolicy.command_line"


class DropInCommand(click.Command):
    """Splits the arguments: the command's own options for click, everything else, untouched, for iree-compile."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        settings = {"help_option_names": ["--policy-help"], "max_content_width": 100}
        kwargs["context_settings"] = settings | kwargs.get("context_settings", {})
        super().__init__(*args, **kwargs)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        own, compiler = split(args, {name: not option.is_flag for option in options for name in option.opts})
        ctx.meta[KEY] = parse(compiler)
        return super().parse_args(ctx, own)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[OPTIONS]", "[IREE-COMPILE OPTIONS]", "MODEL"]


def split(arguments: Sequence[str], own_options: Mapping[str, bool]) -> tuple[list[str], list[str]]:
    """(the command's own options with their values, iree-compile's arguments).

    `own_options` says of each name whether it takes a value. What begins with `--policy` is never iree-compile's,
    so that a misspelt option is reported as such. What follows `--` is iree-compile's.
    """
    own: list[str] = []
    compiler: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        name = argument.partition("=")[0]
        if argument == "--":
            compiler += [argument, *rest]
        elif name in own_options or name.startswith("--policy"):
            own.append(argument)
            if name == argument and own_options.get(name):
                own += [value for value in [next(rest, None)] if value is not None]
        else:
            compiler.append(argument)
    return own, compiler


def command_line(ctx: click.Context) -> CommandLine:
    """The iree-compile command line that a DropInCommand was given."""
    given: CommandLine = ctx.meta[KEY]
    return given


def policy_choice(ctx: click.Context, reference: str | None) -> Choice:
    """The policy that the user named, or else the one that belongs to the model."""
    model = command_line(ctx).input
    return choose(reference, None if model == "-" else Path(model))
