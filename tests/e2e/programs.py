"""Compiling small programs in the end-to-end tests: by constpolicy, and by the real iree-compile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from constpolicy.compiler import tool

CPU = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)
DATA_TILING = "--iree-global-opt-data-tiling"


def constpolicy(command: str, *arguments: str | Path, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """Runs a constpolicy command in a process of its own."""
    words = [sys.executable, "-m", "constpolicy", command, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, input=stdin)


def compile_under(policy: str | Path, source: Path, output: Path, *flags: str) -> None:
    """Compiles with constpolicy for the host's CPU; fails the test with the compiler's words if that fails."""
    ended = constpolicy("compile", source, "-o", output, "--policy", policy, *CPU, *flags)
    assert ended.returncode == 0, ended.stderr.decode()


def compile_upstream(source: Path, output: Path, *flags: str) -> None:
    """Compiles with iree-compile itself for the host's CPU."""
    ended = subprocess.run([tool.executable(), source, "-o", output, *CPU, *flags], capture_output=True)
    assert ended.returncode == 0, ended.stderr.decode()


def action_policy(folder: Path, action: str) -> Path:
    """A policy file under which every candidate takes the action where it is legal."""
    file = folder / f"{action}.yaml"
    file.write_text(f"schema: 1\nname: all-{action}\ndescription: All of one kind.\ndefault: {action}\n")
    return file
