"""Compiling from Python: the calls of `iree.compiler.tools`, under a policy."""

from __future__ import annotations

import os
import sys
from typing import Any

from iree.compiler.tools import binaries, core
from iree.compiler.tools.debugging import TempFileSaver


def compile_file(input_file: str, *, policy: str | os.PathLike[str] | None = None, **options: Any) -> bytes | None:
    """Compiles a file as `iree.compiler.tools.compile_file` does.

    Args:
      input_file: File with MLIR text or bytecode.
      policy: A built-in policy's name or a policy file; None finds one as the command line does.
      options: What `iree.compiler.tools.CompilerOptions` takes: output_file, target_backends, extra_args, ...
    Returns:
      The compiled bytes, or None if `output_file` is given.
    Raises:
      iree.compiler.tools.CompilerToolError: the compile failed; it holds the diagnostics.
    """
    return _compile(input_file, None, policy, options)


def compile_str(
    input_str: str | bytes, *, policy: str | os.PathLike[str] | None = None, **options: Any
) -> bytes | None:
    """Compiles MLIR text or bytecode as `iree.compiler.tools.compile_str` does; see `compile_file`."""
    text = input_str.encode() if isinstance(input_str, str) else input_str
    return _compile("-", text, policy, options)


def _compile(
    input_file: str, text: bytes | None, policy: str | os.PathLike[str] | None, options: dict[str, Any]
) -> bytes | None:
    with TempFileSaver.implicit() as temporaries:
        compiler_options = core.CompilerOptions(**options)
        _, *arguments = core.build_compile_command_line(input_file, temporaries, compiler_options)
        if policy is not None:
            arguments += ["--policy", os.fspath(policy)]
        # A process of its own: the caller's may have threads, which a fork would not survive.
        command = [sys.executable, "-m", "constpolicy.cli.compile_main", *arguments]
        output: bytes = binaries.invoke_immediate(command, immediate_input=text)
        return None if compiler_options.output_file else output
