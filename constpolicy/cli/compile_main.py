"""The executable `constpolicy-compile`: `constpolicy compile` for build systems that take a compiler's path."""

from __future__ import annotations

from constpolicy.cli.compile import command
from constpolicy.cli.main import run


def main() -> None:
    """Entry point of `constpolicy-compile`."""
    run(command)


if __name__ == "__main__":
    main()
