"""The parts of the benchmark that need a process of their own; each prints one line of JSON.

python -m scripts.bench_worker locate MODEL
python -m scripts.bench_worker load FILE.vmfb DEVICE
python -m scripts.bench_worker calls MODEL DEVICE SAMPLES FILE.vmfb ...
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from constpolicy.verify.measure import measure_load
from scripts.models import cases, fetch
from scripts.models.registry import MODELS, Input

Array = npt.NDArray[Any]

# One sample is as many calls as fill this time, so that the clock and a wake-up do not count.
_SAMPLE_SECONDS = 0.02
_DTYPES = {"f32": "float32", "f16": "float16", "f64": "float64", "i64": "int64", "i32": "int32", "i8": "int8"}
_ELEMENT_TYPES = {
    "float32": "FLOAT_32",
    "float16": "FLOAT_16",
    "float64": "FLOAT_64",
    "int64": "SINT_64",
    "int32": "SINT_32",
    "int8": "SINT_8",
}


def locate(model: str) -> Path:
    """The program of that name: a file, a model of the registry, or one of the small cases."""
    if Path(model).is_file():
        return Path(model).resolve()
    if model in MODELS:
        return fetch.get(model)
    if model not in (names := [case.name for case in cases.CASES]):
        raise ValueError(f"no such model or case: {model}; there are {', '.join([*MODELS, *names])}")
    return cases.write(fetch.cache_folder() / "cases", [model])[0]


def declared_inputs(declaration: str, rows: int | None = None) -> list[Input]:
    """The inputs of an `iree.abi.declaration`, with integers in [0, rows) and floats in [-1, 1).

    Raises ValueError for one that no values can be made up for: a dynamic shape, an element type not known here.
    """
    declared = []
    for i, (shape, element) in enumerate(re.findall(r"%input\d+: (?:tensor<)?((?:[\d?]+x)*)(\w+)>?", declaration)):
        if "?" in shape or element not in _DTYPES:
            raise ValueError(f"no values can be made up for the inputs of {declaration}")
        dtype = _DTYPES[element]
        low, high = (0, rows or 2) if dtype.startswith("int") else (-1, 1)
        declared.append(Input(f"input{i}", tuple(int(n) for n in shape.split("x") if n), dtype, low, high))
    return declared


def make_inputs(inputs: Sequence[Input]) -> list[Array]:
    """Seeded random values of each input's shape and type, within its range."""
    rng = np.random.default_rng(0)
    return [
        np.asarray(
            rng.integers(int(i.low), int(i.high), i.shape)
            if i.dtype.startswith("int")
            else rng.uniform(i.low, i.high, i.shape),
            dtype=i.dtype,
        )
        for i in inputs
    ]


@dataclass(frozen=True)
class Loaded:
    """A module in a context of its own, with what keeps it alive."""

    config: rt.Config
    context: rt.VmContext
    function: rt.VmFunction

    @property
    def declaration(self) -> str:
        return self.function.reflection.get("iree.abi.declaration", "")


def load_module(path: str, device: str) -> Loaded:
    """Loads the file, runs its initializers, and finds the function to call: `@main`, or else the first one.

    What constpolicy.verify calls has to declare its inputs, which programs imported from ONNX do not.
    """
    config = rt.Config(device)
    module = rt.VmModule.mmap(config.vm_instance, path)
    context = rt.VmContext(config.vm_instance, [*config.default_vm_modules, module])
    names = [name for name in module.function_names if not name.startswith("__") and not name.endswith("$async")]
    function = module.lookup_function("main" if "main" in names else names[0])
    if function is None:
        raise ValueError(f"{path} exports no function")
    return Loaded(config, context, function)


def load(path: str, device: str) -> dict[str, float]:
    """The time of one load in seconds, and by how many bytes the process grew."""
    figures = measure_load(Path(path), device=device)
    if figures.resident_bytes is None:
        raise RuntimeError("this system does not tell how much memory is resident")
    return {"seconds": figures.seconds, "resident_bytes": figures.resident_bytes}


def _caller(loaded: Loaded, inputs: list[Array]) -> Callable[[], list[Array]]:
    """A function that calls the module and gives views of the outputs."""
    views = [_to_device(loaded.config.device, array) for array in inputs]

    def call() -> list[Array]:
        arguments, results = rt.VmVariantList(len(views)), rt.VmVariantList(1)
        for view in views:
            arguments.push_ref(view)
        loaded.context.invoke(loaded.function, arguments, results)
        return [_to_host(results.get_as_object(i, rt.HalBufferView)) for i in range(len(results))]

    return call


def _to_device(device: rt.HalDevice, array: Array) -> rt.HalBufferView:
    element: rt.HalElementType = getattr(rt.HalElementType, _ELEMENT_TYPES[array.dtype.name])
    memory, usage = rt.MemoryType.DEVICE_LOCAL, rt.BufferUsage.DEFAULT
    return device.allocator.allocate_buffer_copy(memory, usage, device, np.ascontiguousarray(array), element)


def _to_host(view: rt.HalBufferView) -> Array:
    return view.map().asarray(view.shape, rt.HalElementType.map_to_dtype(view.element_type))


def call_once(path: str, inputs: list[Array]) -> list[Array]:
    """The outputs of one call of the module at that path."""
    return [output.copy() for output in _caller(load_module(path, "local-sync"), inputs)()]


def calls(model: str, device: str, samples: int, paths: list[str]) -> list[dict[str, Any]]:
    """For each module, interleaved: seconds per call of each sample; the outputs' largest difference to the first's."""
    loaded = [load_module(path, device) for path in paths]
    inputs = make_inputs(_inputs(model, loaded[0]))
    callers = [_caller(module, inputs) for module in loaded]
    outputs = [[output.copy() for output in call()] for call in callers]
    seconds: list[list[float]] = [[] for _ in paths]
    repeats = _repeats(callers)
    for sample in range(samples):
        order = range(len(callers)) if sample % 2 == 0 else reversed(range(len(callers)))
        for i in order:
            seconds[i].append(_time(callers[i], repeats))
    return [
        {"seconds": seconds[i], "difference": max(map(difference, outputs[0], outputs[i]), default=0.0)}
        for i in range(len(paths))
    ]


def _inputs(model: str, loaded: Loaded) -> Sequence[Input]:
    if model in MODELS:
        return MODELS[model].inputs
    if not loaded.declaration:
        raise ValueError(f"{model} does not declare its inputs, as programs imported from ONNX do not")
    return declared_inputs(loaded.declaration, next((c.rows for c in cases.CASES if c.name == model), None))


def _repeats(callers: list[Callable[[], list[Array]]]) -> int:
    # All modules the same number, so that none is measured warmer than another.
    longest = max(statistics.median(_time(call, 1) for _ in range(3)) for call in callers)
    return max(1, min(1000, int(_SAMPLE_SECONDS / longest)))


def _time(call: Callable[[], list[Array]], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def difference(expected: Array, actual: Array) -> float:
    """The largest absolute difference; 0 means equal bits, and infinity that only one is a number somewhere."""
    if expected.shape != actual.shape:
        return float("inf")
    if expected.tobytes() == actual.tobytes():
        return 0.0
    if not np.array_equal(np.isnan(expected), np.isnan(actual)):
        return float("inf")
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    return float(np.nanmax(np.abs(expected.astype(wide) - actual.astype(wide)), initial=0.0)) or 5e-324


def main(arguments: list[str]) -> None:
    match arguments:
        case ["locate", model]:
            print(json.dumps(str(locate(model))))
        case ["load", path, device]:
            print(json.dumps(load(path, device)))
        case ["calls", model, device, samples, *paths]:
            print(json.dumps(calls(model, device, int(samples), paths)))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {error}")
