"""Standard streams that the caller has closed."""

from __future__ import annotations

import os
import sys


def opened() -> frozenset[int]:
    """Puts the null device in the place of closed standard streams, so that no other file gets their numbers.

    Returns the numbers (0, 1, 2) of those that were closed.
    """
    closed = []
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
            setattr(sys, name, os.fdopen(number, mode))
            closed.append(number)
    return frozenset(closed)
