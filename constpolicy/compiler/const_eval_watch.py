"""Which expression const-eval is evaluating, as it tells on stderr when it is asked to debug itself."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_ASK = "IREE_COMPILER_DEBUG_CONSTEVAL"
_COMPILING = b"::: COMPILING JIT"
_FUNCTION = re.compile(rb"\s*util\.func public @(?P<name>jit_eval\w*)\(.*\) -> (?P<types>.+) \{$")
_INVOKING = re.compile(rb"::: Invoking (?P<name>\w+)$")


@contextmanager
def watched(begins: Callable[[int, tuple[str, ...]], None]) -> Iterator[None]:
    """Inside the `with`, `begins` is told of each expression before it is evaluated, on another thread.

    It gets the position among all that are evaluated, and the result types. Whatever else is written to stderr
    meanwhile is dropped: it is a dump of the program.
    """
    sys.stderr.flush()
    reader, writer = os.pipe()
    real, asked = os.dup(2), os.environ.get(_ASK)
    os.dup2(writer, 2)
    os.close(writer)
    os.environ[_ASK] = "1"
    listening = threading.Thread(target=_listen, args=(reader, begins), daemon=True)
    listening.start()
    try:
        yield
    finally:
        os.environ.pop(_ASK)
        if asked is not None:
            os.environ[_ASK] = asked
        os.dup2(real, 2)  # closes the only writer, so that the thread comes to its end
        os.close(real)
        listening.join()


def _listen(reader: int, begins: Callable[[int, tuple[str, ...]], None]) -> None:
    functions: dict[bytes, tuple[int, tuple[str, ...]]] = {}
    with os.fdopen(reader, "rb") as lines:
        for line in lines:
            line = line.rstrip(b"\n")
            if line.startswith(_COMPILING):
                functions.clear()
            elif match := _FUNCTION.match(line):
                functions[match["name"]] = (len(functions), _types(match["types"].decode(errors="replace")))
            elif (match := _INVOKING.match(line)) and match["name"] in functions:
                begins(*functions[match["name"]])


def _types(text: str) -> tuple[str, ...]:
    """The result types of a function: one, or several in parentheses."""
    if not text.startswith("("):
        return (text,)
    types, depth, start = [], 0, 1
    for position, char in enumerate(text):
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(char, 0)
        if (char == "," and depth == 1) or depth == 0:
            types.append(text[start:position].strip())
            start = position + 1
    return tuple(types)
