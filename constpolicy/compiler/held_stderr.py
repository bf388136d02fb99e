"""Diagnostics that are shown only if nothing better comes: what the compiler library prints, kept aside."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from types import TracebackType
from typing import IO


class HeldStderr:
    """From `begin` to the end of its `with`, holds back what this process prints to stderr, and then shows it.

    If the process ends in between, what was held is gone.
    """

    def __init__(self) -> None:
        self._real: int | None = None
        self._file: IO[bytes] | None = None

    def begin(self) -> None:
        """Holds back from now on."""
        sys.stderr.flush()
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `_end`
        self._real = os.dup(2)
        os.dup2(self._file.fileno(), 2)

    def drop(self) -> str:
        """Shows nothing of what was held, and prints again. Returns the first line that tells of an error, or ""."""
        if (held := self._end()) is None:
            return ""
        with held:
            lines = [line.decode(errors="replace").strip() for line in held]
        return next((line for line in lines if "error:" in line or "ERROR" in line), "")

    def __enter__(self) -> HeldStderr:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None) -> None:
        if (held := self._end()) is not None:
            with held:
                shutil.copyfileobj(held, sys.stderr.buffer)
            sys.stderr.flush()

    def _end(self) -> IO[bytes] | None:
        """Prints again; returns what was held, from its start, or None if nothing is being held."""
        if self._real is None or self._file is None:
            return None
        sys.stderr.flush()
        os.dup2(self._real, 2)
        os.close(self._real)
        held, self._file, self._real = self._file, None, None
        held.seek(0)
        return held
