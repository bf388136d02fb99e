"""Standard input that can be read once more, for a second attempt at a compile."""

from __future__ import annotations

import functools
import os
import shutil
import sys
import tempfile


def rewind() -> None:
    """Makes the next reader of file descriptor 0, in this process or a child, see the input from its start."""
    os.lseek(0, _start(), os.SEEK_SET)


@functools.cache
def _start() -> int:
    """Where the input starts; a pipe or terminal is read to its end first and replaced by a nameless file."""
    try:
        return os.lseek(0, 0, os.SEEK_CUR)
    except OSError:
        pass
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        os.dup2(copy.fileno(), 0)
    return 0
