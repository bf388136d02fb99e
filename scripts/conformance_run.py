"""One command line given to both compilers, each in an empty folder of its own, and what differs afterwards."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from constpolicy.compiler import tool
from scripts.bench_compile import environment

_CRASHES = frozenset(
    128 + number for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGTRAP, signal.SIGILL, signal.SIGBUS)
)
_RANDOM_NAME = re.compile(r"(?<=-)[0-9a-f]{6}(?=\b)")  # LLVM's temporary files: name-1a2b3c.o


@dataclass(frozen=True)
class Observed:
    """What can be seen of a compile. A process that a signal ended has exit code 128 + N, as shells have it.

    `stderr` has the paths of the tool and of its folder replaced; `files` are what it left behind, by relative
    name, as hashes of their content.
    """

    exit_code: int
    stdout: bytes
    stderr: str
    files: Mapping[str, str]

    @property
    def crashed(self) -> bool:
        return self.exit_code in _CRASHES


@dataclass(frozen=True)
class Timeout:
    """The compile did not end in time."""

    seconds: float


def observe(command: Sequence[str], timeout: float, stdin: bytes = b"") -> Observed | Timeout:
    """Runs the command in an empty folder, with everything that it starts ended after `timeout` seconds."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            stdout, stderr = process.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return Timeout(timeout)
        code = process.returncode
        return Observed(128 - code if code < 0 else code, stdout, _normalised(stderr, folder), _files(Path(folder)))


def differences(expected: Observed, actual: Observed) -> list[str]:
    """What differs, each in one line: "exit code 1 instead of 0". Nothing if all is the same.

    When iree-compile crashes, its stack trace is not compared: constpolicy says in one line what happened instead.
    """
    found = []
    if actual.exit_code != expected.exit_code:
        found.append(f"exit code {actual.exit_code} instead of {expected.exit_code}")
    if actual.stdout != expected.stdout:
        found.append(f"stdout: {_first_difference(_text(expected.stdout), _text(actual.stdout))}")
    if actual.stderr != expected.stderr and not expected.crashed:
        found.append(f"stderr: {_first_difference(expected.stderr, actual.stderr)}")
    for name in sorted({*expected.files, *actual.files}):
        ours, theirs = actual.files.get(name), expected.files.get(name)
        if ours != theirs:
            found.append(f"{name}: {'missing' if ours is None else 'extra' if theirs is None else 'other bytes'}")
    return found


def _normalised(stderr: bytes, folder: str) -> str:
    text = _text(stderr).replace(str(tool.executable()), "iree-compile")
    for path in {folder, os.path.realpath(folder)}:
        text = text.replace(path, "<folder>")
    return _RANDOM_NAME.sub("<random>", text)


def _text(data: bytes) -> str:
    return data.decode(errors="backslashreplace")


def _files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _first_difference(expected: str, actual: str) -> str:
    theirs, ours = expected.splitlines(), actual.splitlines()
    for number in range(max(len(theirs), len(ours))):
        pair = [lines[number][:300] if number < len(lines) else None for lines in (theirs, ours)]
        if pair[0] != pair[1]:
            return f"line {number + 1} is {pair[1]!r} instead of {pair[0]!r}"
    return "other line ends"
