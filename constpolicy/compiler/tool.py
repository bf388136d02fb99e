"""The real iree-compile: where it is, what flags it has, handing a command line over to it.

Nothing here loads the compiler library or imports the `iree.compiler` package.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from constpolicy.records import ConstPolicyError

_VALUE_FLAG = re.compile(r"^\s+--?([^\s=\[]+)=<", re.MULTILINE)


@functools.cache
def executable() -> Path:
    """The iree-compile binary of the installed iree-base-compiler; raises ConstPolicyError if there is none."""
    spec = importlib.util.find_spec("iree")
    name = "iree-compile.exe" if os.name == "nt" else "iree-compile"
    for root in (spec.submodule_search_locations if spec else None) or ():
        binary = Path(root) / "compiler" / "_mlir_libs" / name
        if binary.exists():
            return binary
    raise ConstPolicyError("iree-compile was not found: install the package iree-base-compiler")


@functools.cache
def flags_with_value() -> frozenset[str]:
    """Names (without dashes) of the flags that consume the next argument when written without `=`."""
    import subprocess  # late: a compile in which nothing is irregular does without

    listing = subprocess.run([executable(), "--help-hidden"], capture_output=True, text=True, check=True)
    return frozenset(_VALUE_FLAG.findall(listing.stdout))


def run_quietly(arguments: Sequence[str]) -> int:
    """Runs iree-compile; what it prints on stderr is passed on only if it did not crash.

    Returns its exit code (128 + N if signal N ended it).
    """
    import subprocess

    ended = subprocess.run([executable(), *arguments], stderr=subprocess.PIPE, close_fds=False)  # /dev/fd/N
    if ended.returncode >= 0:
        sys.stderr.buffer.write(ended.stderr)
        return ended.returncode
    return 128 - ended.returncode


def become(arguments: Sequence[str]) -> NoReturn:
    """Replaces this process by iree-compile, so that nothing of it can differ."""
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "nt":
        import subprocess

        raise SystemExit(subprocess.call([executable(), *arguments]))
    os.execv(executable(), [str(executable()), *arguments])
