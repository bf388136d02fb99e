"""What a module takes when it runs: memory at load, the peak of a call, and the time for both."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from constpolicy.verify.input_spec import InputSpec
from constpolicy.verify.inputs import selected
from constpolicy.verify.measure import LoadFigures, measure_latency, measure_load
from constpolicy.verify.run import ModuleProcess

_ROUNDS = 5
_KINDS = ("host", "device")
_COUNTING = "local-sync"  # the CPU device whose allocator counts everything; that of local-task does not see its pools


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CallFootprint(_Record):
    """One call of a function, with its inputs and outputs.

    `peak_bytes` is how much more than after loading was allocated at one time, by IREE's own statistics; None if they
    do not show it: the device keeps none, or loading took more for a while.
    """

    function: str
    peak_bytes: int | None
    seconds: float


class Footprint(_Record):
    """Loading a module, in seconds and bytes.

    `allocated_bytes` are in use on the device after loading, by IREE's own statistics: results of initializers, and
    constants where they are copied out of the file's mapping. `resident_bytes` is the growth of the process.
    `not_called` are the functions that cannot be called from here, each with the reason.
    """

    load_seconds: float
    allocated_bytes: int | None
    resident_bytes: int | None
    calls: list[CallFootprint]
    not_called: dict[str, str]


def footprint(module: Path, inputs: InputSpec) -> Footprint:
    """Loads the module on the CPU and calls each of its functions, each time in a process of its own.

    Raises RunError if it cannot be loaded or a call fails, ConstPolicyError if inputs cannot be made.
    """
    with ModuleProcess(module) as process:
        functions = selected(inputs, process.signatures)
    loaded = measure_load(module, device=_COUNTING)
    return Footprint(
        load_seconds=measure_load(module).seconds,
        allocated_bytes=_in_use(loaded.allocator),
        resident_bytes=loaded.resident_bytes,
        calls=[_call(module, _only(inputs, f.name), loaded) for f in functions if f.unsupported is None],
        not_called={f.name: f.unsupported for f in functions if f.unsupported is not None},
    )


def _only(inputs: InputSpec, function: str) -> InputSpec:
    return inputs.model_copy(update={"functions": (function,)})


def _call(module: Path, inputs: InputSpec, loaded: LoadFigures) -> CallFootprint:
    called = measure_load(module, inputs=inputs, device=_COUNTING)
    (latency,) = measure_latency([module], inputs, _ROUNDS)
    peak, before = _peak(called.allocator), _in_use(loaded.allocator)
    shows = peak is not None and before is not None and peak > (_peak(loaded.allocator) or 0)
    return CallFootprint(
        function=inputs.functions[0],
        peak_bytes=peak - before if shows and peak is not None and before is not None else None,
        seconds=latency.best,
    )


def _in_use(allocator: Mapping[str, int]) -> int | None:
    if not allocator:
        return None
    return sum(allocator[f"{kind}_bytes_allocated"] - allocator[f"{kind}_bytes_freed"] for kind in _KINDS)


def _peak(allocator: Mapping[str, int]) -> int | None:
    return sum(allocator[f"{kind}_bytes_peak"] for kind in _KINDS) if allocator else None
