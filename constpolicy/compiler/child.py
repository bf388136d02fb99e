"""The compile's own process: the compiler library may end or crash it, and the caller learns where.

The work runs in a fork made before the compiler library is loaded, which costs no second interpreter; where the
platform has no fork, in a spawned interpreter. The work's result comes back through a pipe, together with the
phases that it passed through.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import BinaryIO, Generic, TypeVar

Result = TypeVar("Result")
Work = Callable[[Callable[[str], None]], Result]  # called with `on_phase`


@dataclass(frozen=True)
class Ended(Generic[Result]):
    """How the child ended: with a result, or in `phase` with an exit code or a signal."""

    result: Result | None
    exit_code: int
    signal: int | None
    phase: str

    @property
    def crash(self) -> str | None:
        """What to tell the user if the process did not come to its end; None if it did."""
        if self.result is not None:
            return None
        how = f"by {signal.Signals(self.signal).name}" if self.signal else f"with exit code {self.exit_code}"
        return f"the compiler was ended {how} in phase '{self.phase}'"


def run(work: Work[Result], on_phase: Callable[[str], None] = lambda phase: None) -> Ended[Result]:
    """Runs the work in a child process and waits for it. SIGINT and SIGTERM end the child too, then act here."""
    read, write = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(read)
        _be_child(work, write)
    os.close(write)
    with _passing_signals_to(child), os.fdopen(read, "rb") as messages:
        result, phase = _listen(messages, on_phase)
        _, status = os.waitpid(child, 0)
    killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + (killed or 0)
    return Ended(result, code, killed, phase)


def _be_child(work: Work[Result], channel: int) -> None:
    code = 70  # an error of ours: the traceback is on stderr
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        with os.fdopen(channel, "wb") as messages:
            result = work(lambda phase: _send(messages, ("phase", phase)))
            sys.stdout.flush()
            _send(messages, ("result", result))
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)  # without unwinding the parent's stack or the compiler library


def _send(messages: BinaryIO, message: tuple[str, object]) -> None:
    data = pickle.dumps(message)
    messages.write(struct.pack("<Q", len(data)) + data)
    messages.flush()


def _listen(messages: BinaryIO, on_phase: Callable[[str], None]) -> tuple[Result | None, str]:
    result: Result | None = None
    phase = "start"
    while header := messages.read(8):
        data = messages.read(struct.unpack("<Q", header)[0])
        try:
            kind, content = pickle.loads(data)
        except (EOFError, pickle.UnpicklingError):
            break  # the child died while it wrote
        if kind == "result":
            result = content
        else:
            phase = content
            on_phase(phase)
    return result, phase


class _passing_signals_to:
    """While open, SIGINT and SIGTERM are passed on to the child, and raise here as KeyboardInterrupt or SystemExit."""

    def __init__(self, child: int) -> None:
        self._child = child
        self._previous: dict[int, object] = {}

    def __enter__(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._previous[number] = signal.signal(number, self._pass_on)

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        os.kill(self._child, signal.SIGKILL if number == signal.SIGTERM else number)
        os.waitpid(self._child, 0)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
