"""Both compilers on one command line, and the check that nothing tells them apart."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Literal

from constpolicy.compiler import tool
from scripts.bench_compile import environment
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
    "on_a_terminal",
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


def on_a_terminal(*arguments: str, policy: str, stream: Literal["stdout", "stderr"]) -> tuple[int, bytes]:
    """Exit code of constpolicy-compile with the stream on a terminal (the other is dropped), and what that is told."""
    ours, theirs = pty.openpty()
    command = [*CONSTPOLICY, "--policy", policy, *arguments]
    stdout, stderr = (theirs, subprocess.DEVNULL) if stream == "stdout" else (subprocess.DEVNULL, theirs)
    ended = subprocess.Popen(command, env=environment(), stdout=stdout, stderr=stderr)
    os.close(theirs)
    shown = b""
    try:
        while data := os.read(ours, 65536):
            shown += data
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(ours)
    return ended.wait(TIMEOUT), shown
