"""The phases of IREE's standard pipeline, in order, and where hoisting happens among them."""

from __future__ import annotations

PHASES = (
    "start",
    "input",
    "abi",
    "preprocessing",
    "global-optimization",
    "dispatch-creation",
    "flow",
    "stream",
    "executable-sources",
    "executable-configurations",
    "executable-targets",
    "hal",
    "vm",
    "end",
)
BEFORE_HOISTING = "preprocessing"  # the last phase that ends before const-exprs are hoisted
HOISTING = "global-optimization"  # ends with HoistIntoGlobals and const-eval
LATE_HOISTING = "dispatch-creation"  # hoists again: data-tiling encodings, generics on constants
OUTLINED = "flow"  # ends with every constant in a global of its own
PACKED = "stream"  # ends with the constants packed into the segments of the file

CHECK_MODULE = "check module"  # no phase of IREE's: the check module is compiled, after the program is written


def before(phase: str, other: str) -> bool:
    """Whether `phase` ends earlier than `other`."""
    return PHASES.index(phase) < PHASES.index(other)
