"""What a process that runs a module is told, and what it answers."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from constpolicy.verify.input_values import Array


@dataclass(frozen=True)
class ParameterArchive:
    """A file with parameters (.irpa, .safetensors, .gguf) for the modules' `#flow.parameter.named` of this scope."""

    path: Path
    scope: str = ""

    @classmethod
    def parse(cls, text: str) -> ParameterArchive:
        """Reads `[scope=]file`, as iree-run-module's --parameters."""
        scope, _, path = text.rpartition("=")
        return cls(Path(path), scope)


@dataclass(frozen=True)
class Load:
    """Load a module; comes first. `memory_bytes` limits what the process may allocate, the file's mapping aside.

    `declarations` are taken for the functions of which the module itself carries none.
    """

    module: Path
    device: str
    parameters: tuple[ParameterArchive, ...] = ()
    memory_bytes: int | None = None
    declarations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """Call a function with one array for each argument that carries data (0-d for scalars)."""

    function: str
    arrays: tuple[Array, ...]
    returns_outputs: bool = True  # else only the time is of interest


@dataclass(frozen=True)
class MeasureMemory:
    """Answer with the memory in use now."""


@dataclass(frozen=True)
class Memory:
    """Bytes in use by the process (None where the platform does not say) and by the device's allocator."""

    resident: int | None
    proportional: int | None  # shared pages divided among those who share them
    allocator: Mapping[str, int]  # IREE's own statistics, by its names; empty if it keeps none


@dataclass(frozen=True)
class Loaded:
    """The module is loaded and its initializers have run; `declarations` by function name, in the module's order."""

    declarations: Mapping[str, str]
    seconds: float
    before: Memory
    after: Memory


@dataclass(frozen=True)
class Returned:
    """The outputs, on the host; `seconds` is the time of the call alone."""

    arrays: tuple[Array, ...]
    seconds: float


@dataclass(frozen=True)
class Failed:
    """The runtime refused or gave an error; the process goes on."""

    text: str
    out_of_memory: bool = False


Request = Load | Call | MeasureMemory
Answer = Loaded | Returned | Memory | Failed


def send(stream: BinaryIO, message: Request | Answer) -> None:
    data = pickle.dumps(message, protocol=5)
    stream.write(struct.pack("<Q", len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """The next message; raises EOFError when the other side is gone, even if in the middle of one."""
    header = stream.read(8)
    data = stream.read(struct.unpack("<Q", header)[0]) if len(header) == 8 else b""
    if not data or len(data) != struct.unpack("<Q", header)[0]:
        raise EOFError
    return pickle.loads(data)
