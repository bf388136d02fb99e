"""Compile with one tool after another, and measure each process: wall time and peak memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

BASELINE = "iree-compile"
SCRIPT = "iree-compile-script"
# What people do today instead of a policy; named like policies on the command line.
SWITCHES = {
    "const-eval-off": "--iree-opt-const-eval=false",
    "hoisting-off": "--iree-opt-const-expr-hoisting=false",
}


@dataclass(frozen=True)
class Tool:
    """A compiler: its command up to the model, and the flags that follow it."""

    name: str
    command: tuple[str, ...]
    flags: tuple[str, ...] = ()

    def compiling(self, model: Path, output: Path, flags: tuple[str, ...]) -> list[str]:
        return [*self.command, str(model), "-o", str(output), *flags, *self.flags]


@dataclass(frozen=True)
class CompileRun:
    """One process: wall time in seconds, peak resident bytes of the largest of its processes, how it ended."""

    seconds: float
    peak_bytes: int
    exit_code: int
    message: str


def tools(policies: list[str]) -> list[Tool]:
    """The baseline (the real binary), its console script, and one tool for each policy or switch."""
    real = _real_binary()
    script = _console_script("iree-compile", "iree.compiler.tools.scripts.iree_compile")
    given = [Tool(BASELINE, (real,)), Tool(SCRIPT, script)]
    for name in policies:
        if name in SWITCHES:
            given.append(Tool(name, (real,), (SWITCHES[name],)))
        else:
            command = (*_console_script("constpolicy", "constpolicy"), "compile")
            given.append(Tool(name, command, ("--policy", name)))
    return given


def _real_binary() -> str:
    # In another process, since the import makes this one larger than small compiles are.
    code = "from iree.compiler.tools.binaries import find_tool; print(find_tool('iree-compile'))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def _console_script(name: str, module: str) -> tuple[str, ...]:
    """The script beside this Python, or else the module that does the same."""
    script = shutil.which(name, path=str(Path(sys.executable).parent))
    return (script,) if script else (sys.executable, "-m", module)


def environment() -> dict[str, str]:
    """This process' environment, in which Python also finds the modules of this repository."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def run(command: list[str]) -> CompileRun:
    """Runs the command and waits for it.

    The kernel counts this process' own memory towards the child's peak, until the child is another program: whoever
    calls this must be smaller than what it measures.
    """
    with tempfile.TemporaryFile() as errors:
        redirect = [(os.POSIX_SPAWN_DUP2, errors.fileno(), 2)]
        start = time.perf_counter()
        pid = os.posix_spawn(command[0], command, environment(), file_actions=redirect)
        _, status, usage = os.wait4(pid, 0)
        seconds = time.perf_counter() - start
        errors.seek(0)
        message = errors.read().decode(errors="replace").strip()
    return CompileRun(seconds, usage.ru_maxrss * 1024, os.waitstatus_to_exitcode(status), message)
