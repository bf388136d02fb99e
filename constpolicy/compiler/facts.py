"""What a program says about where it is to run and what its functions can take, as data. Loads nothing of IREE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
