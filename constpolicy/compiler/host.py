"""What the CPU of this machine can do, in LLVM's words, as the compiler itself finds out."""

from __future__ import annotations

import functools
import subprocess

from constpolicy.compiler import tool
from constpolicy.compiler.facts import ExecutableTarget, read_targets

HOST_FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)
"""The iree-compile flags that make code for exactly this CPU."""

_PROGRAM = "func.func @f(%x: tensor<1xf32>) -> tensor<1xf32> { return %x : tensor<1xf32> }"


@functools.cache
def target() -> ExecutableTarget | None:
    """What HOST_FLAGS make code for; None if the installed compiler cannot."""
    command = [str(tool.executable()), "-", "--compile-to=preprocessing", *HOST_FLAGS]
    ended = subprocess.run(command, input=_PROGRAM, capture_output=True, text=True)
    return next(read_targets(ended.stdout), None)
