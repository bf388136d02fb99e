"""The devices that a program is compiled for, with the kinds of code for each, as IREE resolved them from the flags."""

from __future__ import annotations

from constpolicy.compiler.facts import ExecutableTarget, read_targets
from constpolicy.compiler.library import ir


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
