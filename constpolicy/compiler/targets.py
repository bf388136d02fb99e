"""The devices that a program is compiled for, with the kinds of code for each, as IREE resolved them from the flags."""

from __future__ import annotations

import re
from collections.abc import Iterator

from constpolicy.compiler.facts import ExecutableTarget
from constpolicy.compiler.library import ir

_DEVICE = re.compile(r'#hal\.device\.target<"(?P<name>[^"]+)"')
_EXECUTABLE = re.compile(r'#hal\.executable\.target<"(?P<backend>[^"]+)", "(?P<format>[^"]+)"')
_CPU = re.compile(r'\bcpu = "(?P<cpu>[^"]*)"')
_FEATURES = re.compile(r'\bcpu_features = "(?P<features>[^"]*)"')


def executable_targets(module: ir.Operation) -> tuple[ExecutableTarget, ...]:
    """The targets of every device global of the module, each once. Devices are assigned by the `abi` phase."""
    found: dict[ExecutableTarget, None] = {}
    for op in module.regions[0].blocks[0].operations:
        if (
            op.name == "util.global"
            and str(op.attributes["type"]) == "!hal.device"
            and "initial_value" in op.attributes
        ):
            found.update(dict.fromkeys(read_targets(str(op.attributes["initial_value"]))))
    return tuple(found)


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
