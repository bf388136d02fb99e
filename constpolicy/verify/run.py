"""Running a module in a process of its own, which the compiled code may crash, hang or fill.

The process is a fresh interpreter rather than a fork: it holds nothing but the module, so that its memory can be
measured, and the caller may have threads.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from constpolicy.records import ConstPolicyError
from constpolicy.verify import messages
from constpolicy.verify.input_values import Array
from constpolicy.verify.messages import Call, Failed, Load, Loaded, MeasureMemory, Memory, ParameterArchive, Returned
from constpolicy.verify.record import FailureKind
from constpolicy.verify.signature import Signature, signatures

AnswerType = TypeVar("AnswerType", Loaded, Returned, Memory)


class Limits(BaseModel):
    """What a module may use: seconds for loading and for each call, bytes of memory beside the file's mapping."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seconds: float = Field(default=600.0, gt=0)
    memory_bytes: int | None = Field(default=None, gt=0)


class RunError(Exception):
    """The module could not be loaded, or a call did not return. The text has no subject: "was ended by SIGSEGV"."""

    def __init__(self, kind: FailureKind, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class ModuleProcess:
    """A module loaded in a child process, with its state. To be used as a context manager.

    Raises RunError when loading fails, and ConstPolicyError if the file is not there.
    """

    def __init__(
        self,
        module: Path,
        *,
        parameters: tuple[ParameterArchive, ...] = (),
        limits: Limits | None = None,
        device: str = "local-task",
        declarations: Mapping[str, str] | None = None,
    ) -> None:
        for path in (module, *(archive.path for archive in parameters)):
            if not path.is_file():
                raise ConstPolicyError(f"{path}: there is no such file")
        self._limits = limits or Limits()
        self._load = Load(module.resolve(), device, parameters, self._limits.memory_bytes, declarations or {})
        self._start()

    def _start(self) -> None:
        request_reader, request_writer = os.pipe()
        answer_reader, answer_writer = os.pipe()
        # The paths of this interpreter, whatever the folder: a user's json.py must not get in the way.
        code = (
            f"import sys; sys.path[:] = {sys.path!r}\n"
            f"from constpolicy.verify import worker; worker.main({request_reader}, {answer_writer})"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.DEVNULL, pass_fds=(request_reader, answer_writer)
        )
        os.close(request_reader)
        os.close(answer_writer)
        self._requests, self._answers = os.fdopen(request_writer, "wb"), os.fdopen(answer_reader, "rb")
        try:
            self.loaded = self._ask(self._load, Loaded, "loading")
        except BaseException:
            self.close()
            raise
        self.signatures: Mapping[str, Signature] = signatures(self.loaded.declarations)

    def call(self, function: str, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        """The function's outputs; raises RunError if it does not return."""
        return self._ask(Call(function, arrays), Returned, "the call").arrays

    def seconds(self, function: str, arrays: tuple[Array, ...]) -> float:
        """The time that a call takes, its arguments on the device already and its outputs left there."""
        return self._ask(Call(function, arrays, returns_outputs=False), Returned, "the call").seconds

    def memory(self) -> Memory:
        """The memory in use now."""
        return self._ask(MeasureMemory(), Memory, "reading its memory use")

    def restart(self) -> None:
        """Loads the module afresh, after a crash too."""
        self.close()
        self._start()

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._requests, self._answers):
            with contextlib.suppress(BrokenPipeError):  # what was still to be written has no reader any more
                stream.close()

    def __enter__(self) -> ModuleProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, request: messages.Request, expected: type[AnswerType], doing: str) -> AnswerType:
        answer = self._exchange(request, doing)
        if isinstance(answer, Failed):
            limit = self._limits.memory_bytes
            if answer.out_of_memory and limit is not None:
                raise RunError(FailureKind.MEMORY, f"needs more memory than the limit of {limit} bytes")
            if isinstance(request, Load):
                raise RunError(FailureKind.LOAD, f"cannot be loaded: {answer.text}")
            raise RunError(FailureKind.ERROR, f"gave an error: {answer.text}")
        assert isinstance(answer, expected)
        return answer

    def _exchange(self, request: messages.Request, doing: str) -> Any:
        try:
            messages.send(self._requests, request)
            ready, _, _ = select.select([self._answers], [], [], self._limits.seconds)
            if not ready:
                self._process.kill()
                raise RunError(FailureKind.TIMEOUT, f"did not come back from {doing} in {self._limits.seconds:g} s")
            return messages.receive(self._answers)
        except (EOFError, BrokenPipeError):
            raise RunError(*_end(self._process.wait())) from None


def _end(status: int) -> tuple[FailureKind, str]:
    """What the end of the process means: subprocess's return code, negative for a signal."""
    if status < 0:
        name = signal.Signals(-status).name
        hint = " (an instruction that this CPU does not have)" if name == "SIGILL" else ""
        hint = " (by the system, perhaps for want of memory)" if name == "SIGKILL" else hint
        return FailureKind.CRASH, f"was ended by {name}{hint}"
    return FailureKind.CRASH, f"ended the process with exit code {status}"
