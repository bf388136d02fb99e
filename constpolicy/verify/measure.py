"""What a module costs: time and memory to load, time for a call. Each figure comes from a process of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from constpolicy.records import ConstPolicyError
from constpolicy.verify.input_spec import InputSpec
from constpolicy.verify.inputs import CallInputs, calls, selected
from constpolicy.verify.messages import ParameterArchive
from constpolicy.verify.run import ModuleProcess

_SEEDED = InputSpec()


@dataclass(frozen=True)
class LoadFigures:
    """Loading one module: mapping the file, creating the context, running the initializers.

    The bytes are growth of the process: `resident_bytes` (Rss) counts pages in memory, among them those of the file's
    mapping that were touched; `proportional_bytes` (Pss) shares those out among the processes that map them. None where
    the platform does not say. `called_resident_bytes` is the growth after one call of every function, if asked for.
    `allocator` holds IREE's own statistics after that.
    """

    seconds: float
    resident_bytes: int | None
    proportional_bytes: int | None
    called_resident_bytes: int | None
    allocator: Mapping[str, int]


@dataclass(frozen=True)
class Latency:
    """The time of one round of calls (each function once) of one module, for every round, in seconds."""

    module: Path
    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return median(self.seconds)


def measure_load(
    module: Path,
    *,
    inputs: InputSpec | None = None,
    parameters: tuple[ParameterArchive, ...] = (),
    device: str = "local-task",
) -> LoadFigures:
    """Loads the module in a fresh process and, if inputs are given, calls every function once.

    Raises RunError if it cannot be loaded or a call fails, ConstPolicyError if inputs cannot be made.
    """
    with ModuleProcess(module, parameters=parameters, device=device) as process:
        before, after = process.loaded.before, process.loaded.after
        last = after
        if inputs is not None:
            for call in _round(process, inputs):
                process.seconds(call.function, call.arrays)
            last = process.memory()
        return LoadFigures(
            seconds=process.loaded.seconds,
            resident_bytes=_growth(before.resident, after.resident),
            proportional_bytes=_growth(before.proportional, after.proportional),
            called_resident_bytes=None if inputs is None else _growth(before.resident, last.resident),
            allocator=last.allocator,
        )


def measure_latency(
    modules: Sequence[Path],
    inputs: InputSpec = _SEEDED,
    rounds: int = 20,
    *,
    parameters: tuple[ParameterArchive, ...] = (),
    device: str = "local-task",
) -> tuple[Latency, ...]:
    """Calls the modules in turns, so that what else the machine does touches all alike; one round before warms up.

    The order turns by one with each round. Raises as `measure_load` does.
    """
    if rounds < 1:
        raise ConstPolicyError(f"{rounds} rounds measure nothing: ask for at least 1")
    with ExitStack() as stack:
        processes = [
            stack.enter_context(ModuleProcess(module, parameters=parameters, device=device)) for module in modules
        ]
        prepared = [_round(process, inputs) for process in processes]
        seconds: list[list[float]] = [[] for _ in processes]
        for number in range(rounds + 1):
            for turn in range(len(processes)):
                which = (turn + number) % len(processes)
                seconds[which].append(sum(processes[which].seconds(c.function, c.arrays) for c in prepared[which]))
        return tuple(Latency(module, tuple(of[1:])) for module, of in zip(modules, seconds, strict=True))


def _round(process: ModuleProcess, inputs: InputSpec) -> list[CallInputs]:
    """One call of each function that can be called."""
    functions = [signature for signature in selected(inputs, process.signatures) if signature.unsupported is None]
    if not functions:
        raise ConstPolicyError("the module exports no function that can be called from here")
    first: dict[str, CallInputs] = {}
    for call in calls(inputs, functions):
        first.setdefault(call.function, call)
        if len(first) == len(functions):
            break
    return list(first.values())


def _growth(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before
