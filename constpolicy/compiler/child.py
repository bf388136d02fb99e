"""The compile's own process: the compiler library may end or crash it, and the caller learns where.

The work runs in a fork made before the compiler library is loaded, which costs no second interpreter. Both sides
talk through pipes: the work tells its phases, asks the caller questions (what does the policy say?) and returns a
result, all pickled.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import select
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import RawIOBase
from types import FrameType
from typing import Any, BinaryIO, Generic, TypeVar

from constpolicy.records import ConstPolicyError

Result = TypeVar("Result")


INTERNAL_ERROR = 70  # exit code of the child after an exception, whose traceback is on stderr
_ENDING = (signal.SIGTERM, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1  # of <sys/prctl.h>
_TICK_SECONDS = 0.2
_GRACE_SECONDS = 2.0  # for the child to remove its temporary files


class Interrupted(BaseException):
    """SIGTERM or SIGHUP asked this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass(frozen=True)
class Step:
    """The work begins with `name`, the `number`-th (from 0) of `total` like it."""

    number: int
    total: int
    name: str


class Listener:
    """Is told of the work while it runs; what it does not care for, it leaves as it is here.

    Nothing of it may hold a lock or run a thread outside `begin` ... `end`: the process forks there.
    """

    def begin(self) -> None:
        """The work has begun, in a process of its own."""

    def phase(self, name: str) -> None:
        """The phase of this name runs from now on."""

    def step(self, step: Step) -> None:
        """Within the phase, this step runs from now on."""

    def tick(self) -> None:
        """Some time has passed."""

    def end(self) -> None:
        """The work has ended, in whatever way."""


class _NobodyAsks(BaseException):
    """The process that started the work is ending, for a reason that it tells itself."""


class Link:
    """The work's side of the connection to the process that started it."""

    def __init__(self, requests: BinaryIO, answers: RawIOBase) -> None:
        self._requests, self._answers = requests, answers

    def phase(self, name: str) -> None:
        """Tells what runs from now on."""
        _send(self._requests, ("phase", name))

    def step(self, step: Step) -> None:
        """Tells which of several steps within the phase runs from now on."""
        _send(self._requests, ("step", step))

    def ask(self, question: object) -> Any:
        """Sends a question and waits for what the caller's `answer` makes of it."""
        _send(self._requests, ("ask", question))
        if (message := _receive(self._answers)) is None:
            raise _NobodyAsks
        return message[0]

    def returns(self, result: object) -> None:
        """Sends the result of the work."""
        _send(self._requests, ("result", result))


@dataclass
class Ended(Generic[Result]):
    """How the child ended: with a result, or in `phase` with an exit code or a signal.

    `seconds` holds the time spent in each phase, in their order.
    """

    result: Result | None = None
    exit_code: int = 0
    signal: int | None = None
    phase: str = "start"
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def crash(self) -> str | None:
        """What to tell the user if the process did not come to its end; None if it did."""
        if self.result is not None:
            return None
        how = f"by {signal.Signals(self.signal).name}" if self.signal else f"with exit code {self.exit_code}"
        return f"the compiler was ended {how} in phase '{self.phase}'"


def run(
    work: Callable[[Link], Result],
    *,
    answer: Callable[[object], object],
    listener: Listener | None = None,
    meanwhile: Callable[[], object] = lambda: None,
) -> Ended[Result]:
    """Runs the work in a child process, answers its questions and waits for its end.

    `meanwhile` is called here once the child has begun. What it or `answer` raises ends the child and is raised
    here; so do SIGINT (KeyboardInterrupt), SIGTERM and SIGHUP
    (Interrupted).
    """
    if not hasattr(os, "fork"):
        raise ConstPolicyError("constpolicy needs a platform that can fork a process; this one cannot")
    request_reader, request_writer = os.pipe()
    answer_reader, answer_writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        _end_with(parent)
        os.close(request_reader)
        os.close(answer_writer)
        _be_child(work, os.fdopen(request_writer, "wb"), os.fdopen(answer_reader, "rb", buffering=0))
    os.close(request_writer)
    os.close(answer_reader)
    with interruptible(), _ended_on_exception(child), os.fdopen(request_reader, "rb", buffering=0) as requests:
        with os.fdopen(answer_writer, "wb", buffering=0) as answers:
            meanwhile()
            ended: Ended[Result] = _listened(requests, answers, answer, listener)
        _, status = os.waitpid(child, 0)
    ended.signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    ended.exit_code = 128 + ended.signal if ended.signal else os.WEXITSTATUS(status)
    return ended


def _end_with(parent: int) -> None:
    """Makes this process end when its parent does, even by SIGKILL; where Linux is not there to help, soon after."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(INTERNAL_ERROR)


def _be_child(work: Callable[[Link], Result], requests: BinaryIO, answers: RawIOBase) -> None:
    code = INTERNAL_ERROR
    try:
        for number in (signal.SIGINT, *_ENDING):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        link = Link(requests, answers)
        result = work(link)
        sys.stdout.flush()
        link.returns(result)
        code = 0
    except _NobodyAsks:
        pass
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)  # without unwinding the caller's stack or the compiler library


def _listened(
    requests: RawIOBase, answers: RawIOBase, answer: Callable[[object], object], listener: Listener | None
) -> Ended[Result]:
    if listener is None:
        return _serve(requests, answers, answer, None)
    listener.begin()
    try:
        return _serve(requests, answers, answer, listener)
    finally:
        listener.end()


def _serve(
    requests: RawIOBase, answers: RawIOBase, answer: Callable[[object], object], listener: Listener | None
) -> Ended[Result]:
    ended: Ended[Result] = Ended()
    since = time.monotonic()
    while (message := _receive(requests, listener.tick if listener else None)) is not None:
        kind, content = message
        if kind == "step":
            if listener is not None:
                listener.step(content)
            continue
        if kind == "ask":
            _send(answers, (answer(content),))
            continue
        now = time.monotonic()
        ended.seconds[ended.phase] = ended.seconds.get(ended.phase, 0.0) + now - since
        since = now
        if kind == "result":
            ended.result = content
        else:
            ended.phase = content
            if listener is not None:
                listener.phase(content)
    return ended


def _send(stream: BinaryIO | RawIOBase, message: object) -> None:
    data = pickle.dumps(message)
    stream.write(struct.pack("<Q", len(data)) + data)
    stream.flush()


def _receive(stream: RawIOBase, tick: Callable[[], None] | None = None) -> Any:
    """The next message, or None when the other side is gone, even if in the middle of one.

    While there is none, `tick` is called now and then.
    """
    while tick is not None and not select.select([stream], [], [], _TICK_SECONDS)[0]:
        tick()
    if (header := _read(stream, 8)) is None:
        return None
    (size,) = struct.unpack("<Q", header)
    data = _read(stream, size)
    return None if data is None else pickle.loads(data)


def _read(stream: RawIOBase, size: int) -> bytes | None:
    """So many bytes, or None if the other side is gone before."""
    data = bytearray()
    while len(data) < size:
        if not (part := stream.read(size - len(data))):
            return None
        data += part
    return bytes(data)


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside the `with`, SIGTERM and SIGHUP raise Interrupted, so that what has been begun is cleaned up.

    What is ignored, as SIGHUP is under nohup, stays so.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Interrupted(number)

    if threading.current_thread() is not threading.main_thread():  # which alone may set handlers
        yield
        return
    heeded = [number for number in _ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, interrupt) for number in heeded}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def _ended_on_exception(child: int) -> Iterator[None]:
    """Ends and reaps the child when the block raises."""
    try:
        yield
    except BaseException:
        with suppress(ProcessLookupError, ChildProcessError):  # it has ended already
            os.kill(child, signal.SIGTERM)
            deadline = time.monotonic() + _GRACE_SECONDS
            while os.waitpid(child, os.WNOHANG) == (0, 0):
                if time.monotonic() > deadline:
                    os.kill(child, signal.SIGKILL)
                time.sleep(0.01)
        raise
