"""Both compilers on one command line, and the check that nothing tells them apart."""

from __future__ import annotations

import sys
from pathlib import Path

from constpolicy.compiler import tool
from scripts.conformance_main import DECIDED, TARGET
from scripts.conformance_run import Observed, Timeout, differences, observe

PROGRAMS = Path(__file__).parent / "programs"
CONSTPOLICY = (sys.executable, "-m", "constpolicy.cli.compile_main")
TIMEOUT = 120.0

__all__ = [
    "CONSTPOLICY",
    "DECIDED",
    "PROGRAMS",
    "TARGET",
    "TIMEOUT",
    "assert_alike",
    "constpolicy",
    "iree_compile",
    "program",
]


def program(name: str) -> str:
    """The path of one of the test programs."""
    return str(PROGRAMS / f"{name}.mlir")


def iree_compile(*arguments: str, stdin: bytes = b"") -> Observed:
    """What the real iree-compile does, in an empty folder."""
    return _finished(observe([str(tool.executable()), *arguments], TIMEOUT, stdin))


def constpolicy(*arguments: str, policy: str = str(DECIDED), stdin: bytes = b"") -> Observed:
    """What constpolicy-compile does, in an empty folder."""
    return _finished(observe([*CONSTPOLICY, "--policy", policy, *arguments], TIMEOUT, stdin))


def assert_alike(*arguments: str, policy: str = str(DECIDED), stdin: bytes = b"") -> Observed:
    """Fails if exit code, stdout, stderr or files differ under what upstream does; returns what both did."""
    expected, actual = iree_compile(*arguments, stdin=stdin), constpolicy(*arguments, policy=policy, stdin=stdin)
    assert not differences(expected, actual), f"{' '.join(arguments)}: {differences(expected, actual)}"
    return actual


def _finished(observed: Observed | Timeout) -> Observed:
    assert isinstance(observed, Observed), observed
    return observed
