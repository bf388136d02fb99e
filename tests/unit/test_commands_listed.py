"""Every command that `constpolicy --help` lists is there and explains itself."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from constpolicy.cli.main import command


@pytest.mark.parametrize("name", command.list_commands(click.Context(command)))
def test_a_listed_command_explains_itself(name: str) -> None:
    option = "--policy-help" if name == "compile" else "--help"
    result = CliRunner().invoke(command, [name, option])
    assert result.exit_code == 0, result.output
    assert "Usage:" in result.output
