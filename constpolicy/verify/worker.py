"""The process in which a module runs: loads it, calls its functions, and answers with outputs, times and memory.

It may crash or hang with the compiled code; run.py is the side that survives this. The only module that imports
iree.runtime.
"""

from __future__ import annotations

import math
import os
import re
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from iree import runtime

from constpolicy.verify import messages
from constpolicy.verify.element_types import ElementType, Family, of_dtype
from constpolicy.verify.input_values import Array
from constpolicy.verify.messages import Answer, Call, Failed, Load, Loaded, Memory, Returned
from constpolicy.verify.packing import packed, unpacked
from constpolicy.verify.signature import Signature, Value, signatures

_HAL_TYPES = {
    "i4": "INT_4",
    "ui4": "UINT_4",
    "i1": "BOOL_8",
    "i8": "SINT_8",
    "i16": "SINT_16",
    "i32": "SINT_32",
    "i64": "SINT_64",
    "ui8": "UINT_8",
    "ui16": "UINT_16",
    "ui32": "UINT_32",
    "ui64": "UINT_64",
    "f16": "FLOAT_16",
    "bf16": "BFLOAT_16",
    "f32": "FLOAT_32",
    "f64": "FLOAT_64",
    "f8E4M3FN": "FLOAT_8_E4M3_FN",
    "f8E4M3FNUZ": "FLOAT_8_E4M3_FNUZ",
    "f8E5M2": "FLOAT_8_E5M2",
    "f8E5M2FNUZ": "FLOAT_8_E5M2_FNUZ",
    "f8E8M0FNU": "FLOAT_8_E8M0_FNU",
    "complex<f32>": "COMPLEX_64",
    "complex<f64>": "COMPLEX_128",
}


class Module:
    """A loaded module with its state."""

    def __init__(self, load: Load) -> None:
        self._device = runtime.get_device(load.device)
        instance = runtime.VmInstance()
        modules = [runtime.create_hal_module(instance, self._device)]
        if load.parameters:
            providers = [_provider(scope, load) for scope in dict.fromkeys(p.scope for p in load.parameters)]
            modules.append(runtime.create_io_parameters_module(instance, *providers))
        before = self.memory()
        start = time.perf_counter()
        self._module = runtime.VmModule.mmap(instance, str(load.module))
        self._context = runtime.VmContext(instance, [*modules, self._module])
        seconds = time.perf_counter() - start
        functions = {name: self._module.lookup_function(name) for name in self._module.function_names}
        self._functions = {name: f for name, f in functions.items() if f is not None and not name.startswith("__")}
        declarations = {
            name: f.reflection.get("iree.abi.declaration", "") or load.declarations.get(name, "")
            for name, f in self._functions.items()
        }
        self._signatures = signatures(declarations)
        self.loaded = Loaded(declarations, seconds, before, self.memory())

    def call(self, call: Call) -> Returned:
        signature = self._signatures[call.function]
        arguments, fence = self._arguments(signature, call.arrays)
        results = runtime.VmVariantList(len(signature.results))
        start = time.perf_counter()
        self._context.invoke(self._functions[call.function], arguments, results)
        if fence is not None:
            fence.wait()
        seconds = time.perf_counter() - start
        arrays = []
        if call.returns_outputs:
            arrays = [_output(results, position, value) for position, value in enumerate(signature.results)]
        return Returned(tuple(arrays), seconds)

    def memory(self) -> Memory:
        allocator = self._device.allocator
        resident, proportional = _process_memory()
        return Memory(resident, proportional, dict(allocator.statistics) if allocator.has_statistics else {})

    def _arguments(
        self, signature: Signature, arrays: Sequence[Array]
    ) -> tuple[runtime.VmVariantList, runtime.HalFence | None]:
        arguments = runtime.VmVariantList(len(signature.arguments) + 2)
        given = iter(arrays)
        for value in signature.arguments:
            array = _storage(value) if value.is_storage else next(given)
            if value.shape is not None:
                arguments.push_ref(self._buffer_view(array, value.element))
            elif value.element.family is Family.FLOAT and array.dtype.itemsize == 2:
                arguments.push_int(int(array.view(np.uint16).item()))  # the VM passes their bits
            elif value.element.family is Family.FLOAT:
                arguments.push_float(array.item())
            else:
                arguments.push_int(int(array.item()))
        if not signature.is_async:
            return arguments, None
        done = runtime.HalFence.create_at(self._device.create_semaphore(0), 1)
        arguments.push_ref(runtime.HalFence(0))  # nothing to wait for
        arguments.push_ref(done)
        return arguments, done

    def _buffer_view(self, array: Array, element: ElementType) -> runtime.HalBufferView:
        data = np.ascontiguousarray(array).reshape(array.shape)
        if element.bits is not None:  # the binding takes the view's shape from the array, which is longer than needed
            data = np.zeros(array.shape, np.uint8)
            data.reshape(-1)[: array.size // 2] = packed(array)
        return self._device.allocator.allocate_buffer_copy(
            memory_type=runtime.MemoryType.DEVICE_LOCAL,
            allowed_usage=runtime.BufferUsage.DEFAULT,
            device=self._device,
            buffer=data,
            element_type=getattr(runtime.HalElementType, _HAL_TYPES[_hal_name(array.dtype, element)]),
        )


def _hal_name(dtype: np.dtype[Any], element: ElementType) -> str:
    if element.bits is not None:
        return element.name.removeprefix("s")
    return f"ui{dtype.itemsize * 8}" if dtype.kind == "u" else of_dtype(dtype).name


def _storage(value: Value) -> Array:
    if value.shape is None or None in value.shape:
        raise ValueError(f"{value.name} is storage for an output of unknown shape")
    return np.zeros([size for size in value.shape if size is not None], value.element.dtype)


def _output(results: runtime.VmVariantList, position: int, value: Value) -> Array:
    """The result as an array that outlives the module's buffers, with the dtype that the declaration names."""
    if value.shape is None:
        variant = np.asarray(results.get_variant(position))
        if value.element.family is Family.FLOAT and value.element.dtype.itemsize == 2:
            return variant.astype(np.uint16).view(value.element.dtype)
        return variant.astype(value.element.dtype)
    view = results.get_as_object(position, runtime.HalBufferView)
    if value.element.bits is not None:
        data = view.map().asarray([math.prod(view.shape) // 2], np.dtype(np.uint8))
        return np.asarray(unpacked(np.array(data), value.element).reshape(view.shape))
    dtype = runtime.HalElementType.map_to_dtype(view.element_type)
    array = np.array(view.map().asarray(view.shape, dtype))
    # Signless integers come back signed or unsigned, as they were passed: the bits are the same.
    return (
        array
        if dtype == value.element.dtype or dtype.itemsize != value.element.dtype.itemsize
        else array.view(value.element.dtype)
    )


def _provider(scope: str, load: Load) -> runtime.ParameterProvider:
    index = runtime.ParameterIndex()
    for archive in load.parameters:
        if archive.scope == scope:
            index.load(str(archive.path))
    return index.create_provider(scope=scope)


def _process_memory() -> tuple[int | None, int | None]:
    try:
        text = Path("/proc/self/smaps_rollup").read_text()
    except OSError:
        return None, None
    kibibytes = {name: int(number) for name, number in re.findall(r"^(Rss|Pss): +(\d+) kB", text, re.MULTILINE)}
    return kibibytes["Rss"] * 1024, kibibytes["Pss"] * 1024


def _answer(module: Module | None, request: messages.Request) -> tuple[Module | None, Answer]:
    try:
        if isinstance(request, Load):
            module = Module(request)
            return module, module.loaded
        assert module is not None
        return module, module.call(request) if isinstance(request, Call) else module.memory()
    except MemoryError:
        return module, Failed("out of memory", out_of_memory=True)
    except (RuntimeError, ValueError, OSError) as error:  # what the bindings make of IREE's statuses
        text = " ".join(str(error).split())
        return module, Failed(text, out_of_memory="RESOURCE_EXHAUSTED" in text)


def main(request_fd: int, answer_fd: int) -> None:
    """Serves until the other side closes its end."""
    os.dup2(2, 1)  # what compiled code prints must not get into the caller's output
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    code = 70  # an error of ours: the traceback is on stderr
    try:
        _serve(os.fdopen(request_fd, "rb"), os.fdopen(answer_fd, "wb"))
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)  # without tearing the device down, which may hang, and which nobody needs any more


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    module: Module | None = None
    while True:
        try:
            request = messages.receive(requests)
        except EOFError:
            return
        if isinstance(request, Load) and request.memory_bytes is not None:
            _limit_memory(request.memory_bytes)
        module, answer = _answer(module, request)
        messages.send(answers, answer)


def _limit_memory(more: int) -> None:
    """Lets the process allocate so much more. Mappings of files, such as the module's, do not count."""
    status = Path("/proc/self/status")
    used = 0
    if status.exists() and (data := re.search(r"^VmData:\s+(\d+) kB", status.read_text(), re.MULTILINE)):
        used = int(data[1]) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (used + more, used + more))
