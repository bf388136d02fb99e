"""What the command line compiles for, as far as it matters for what this machine can run and compare."""

from __future__ import annotations

from constpolicy.compiler.flags import CommandLine


def is_host(command: CommandLine) -> bool:
    """Whether the code is made for exactly this machine's CPU, which also evaluates the constants."""
    values = dict(flag.lstrip("-").partition("=")[::2] for flag in command.library_flags)
    return values.get("iree-llvmcpu-target-cpu") == "host" and not values.get("iree-llvmcpu-target-triple")
