"""What the functions of a module do, from the disassembly that IREE's own iree-dump-module prints."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from constpolicy.report.vmfb import Module

_SECONDS = 60
_DISPATCH = "@hal.command_buffer.dispatch"
_FUNCTION = re.compile(r"vm\.func @([^(]+)")
_CALL = re.compile(r"(?:%[rR](\d+) = )?vm\.call\S* @([^\s(]+)")
_LOCAL = re.compile(r"[^@]*:(\d+)$")
_LOAD = re.compile(r"vm\.global\.load\.ref \.refs\[(\d+)\]")
_STORE = re.compile(r"vm\.global\.store\.ref (?:%[rR](\d+), \.refs\[(\d+)\]|\.refs\[(\d+)\], %[rR](\d+))")
_ASSIGNED = re.compile(r"^%r(\d+)\b")


@dataclass
class Function:
    """What stands in the bytecode of one function. `calls` are ordinals; `stores` are calls by global slot."""

    dispatches: int = 0
    calls: list[int] = field(default_factory=list)
    loads: set[int] = field(default_factory=set)
    stores: dict[int, int] = field(default_factory=dict)


def functions(data: memoryview, module: Module) -> tuple[Function, ...]:
    """The module's functions by ordinal; none if the installed runtime has no iree-dump-module that can read it."""
    tool = _tool()
    if tool is None:
        return ()
    with tempfile.TemporaryDirectory(prefix="constpolicy-") as folder:
        path = Path(folder) / "module.vmfb"
        path.write_bytes(_without_segments(data, module))
        command = [str(tool), "--output=disassembly", str(path)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            return ()
    return parse(done.stdout.splitlines()) if done.returncode == 0 else ()


def parse(lines: Sequence[str]) -> tuple[Function, ...]:
    """The functions in a disassembly, in its order, which is that of their ordinals."""
    names: dict[str, int] = {}
    headers = (match for line in lines if (match := _FUNCTION.match(line)))
    for ordinal, header in enumerate(headers):
        names.setdefault(header[1], ordinal)  # an unnamed function has the name of another, and it alone is called
    found: list[Function] = []
    results: dict[str, int] = {}  # ordinals of the functions whose result is in a register, by that
    for text in lines:
        line = text.strip()
        if _FUNCTION.match(line):
            found.append(Function())
            results = {}
        elif found:
            _read(line, found[-1], results, names)
    return tuple(found)


def _read(line: str, function: Function, results: dict[str, int], names: dict[str, int]) -> None:
    if stored := _STORE.search(line):
        register, slot = (stored[1], stored[2]) if stored[2] else (stored[4], stored[3])
        if register in results:
            function.stores[int(slot)] = results[register]
    if assigned := _ASSIGNED.match(line):
        results.pop(assigned[1], None)
    if loaded := _LOAD.search(line):
        function.loads.add(int(loaded[1]))
    if call := _CALL.search(line):
        if call[2] == _DISPATCH[1:]:
            function.dispatches += 1
        local = _LOCAL.match(call[2])
        callee = int(local[1]) if local else names.get(call[2].partition(".")[2])
        if callee is not None:
            function.calls.append(callee)
            if call[1]:
                results[call[1]] = callee


def dispatches(of: int, functions: tuple[Function, ...]) -> int:
    """The dispatches that a call of the function has.

    They stand in it and in the functions that it calls; where it runs a command buffer that was recorded at load, they
    stand in the function that recorded it. The recording itself counts for the calls that run it, not for loading.
    """
    recorded = {slot: callee for function in functions for slot, callee in function.stores.items()}
    pending, seen = [of], set[int]()
    total = 0
    while pending:
        ordinal = pending.pop()
        if ordinal in seen or ordinal >= len(functions):
            continue
        seen.add(ordinal)
        function = functions[ordinal]
        total += function.dispatches
        pending += [callee for callee in function.calls if callee not in function.stores.values()]
        pending += [recorded[slot] for slot in function.loads if slot in recorded and slot not in function.stores]
    return total


def _without_segments(data: memoryview, module: Module) -> bytes:
    """The module with its external segments empty: the tool would print all their bytes."""
    copy = bytearray(data[: module.flatbuffer.end])
    for rodata in module.rodata:
        for at in rodata.fields:
            copy[at : at + 8] = bytes(8)
    return bytes(copy) + bytes(2 * 64)


def _tool() -> Path | None:
    """The iree-dump-module of the installed iree-base-runtime."""
    spec = importlib.util.find_spec("iree")
    name = "iree-dump-module.exe" if os.name == "nt" else "iree-dump-module"
    for root in (spec.submodule_search_locations if spec else None) or ():
        binary = Path(root) / "_runtime_libs" / name
        if binary.exists():
            return binary
    return None
