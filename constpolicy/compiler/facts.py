"""What a program says about where it is to run and what its functions can take, as data. Loads nothing of IREE."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_DEVICE = re.compile(r'#hal\.device\.target<"(?P<name>[^"]+)"')
_EXECUTABLE = re.compile(r'#hal\.executable\.target<"(?P<backend>[^"]+)", "(?P<format>[^"]+)"')
_CPU = re.compile(r'\bcpu = "(?P<cpu>[^"]*)"')
_FEATURES = re.compile(r'\bcpu_features = "(?P<features>[^"]*)"')


@dataclass(frozen=True)
class ExecutableTarget:
    """One kind of code that the program is compiled to, and the device that it is for.

    `device` is "local", "vulkan", "hip", "cuda"; `backend` "llvm-cpu", "vulkan-spirv"; `format` what the runtime
    loads: "embedded-elf-x86_64". `cpu` and `cpu_features` ("+avx512f") are LLVM's names, and empty for the baseline.
    """

    device: str
    backend: str
    format: str
    cpu: str = ""
    cpu_features: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ProgramFacts:
    """`index_bounds` hold, for each public function, the position of an integer input that is only ever used as an
    index, with the largest index that every table read by it has.
    """

    targets: tuple[ExecutableTarget, ...] = ()
    index_bounds: Mapping[str, Mapping[int, int]] = field(default_factory=dict)


def read_targets(text: str) -> Iterator[ExecutableTarget]:
    """The targets in the text of a device attribute."""
    devices = list(_DEVICE.finditer(text))
    for position, device in enumerate(devices):
        end = devices[position + 1].start() if position + 1 < len(devices) else len(text)
        executables = list(_EXECUTABLE.finditer(text, device.end(), end))
        for number, executable in enumerate(executables):
            stop = executables[number + 1].start() if number + 1 < len(executables) else end
            cpu, features = (pattern.search(text, executable.end(), stop) for pattern in (_CPU, _FEATURES))
            yield ExecutableTarget(
                device["name"],
                executable["backend"],
                executable["format"],
                cpu["cpu"] if cpu else "",
                effective(features["features"]) if features else frozenset(),
            )


def effective(features: str) -> frozenset[str]:
    """The names of the features that a list in LLVM's syntax switches on; the last mention of a feature counts."""
    state = {name[1:]: name[0] == "+" for name in features.split(",") if name}
    return frozenset(name for name, on in state.items() if on)
