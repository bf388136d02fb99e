"""Whether a module can run on this machine's CPU, as follows from what it was compiled for: known before it runs."""

from __future__ import annotations

import platform
from collections.abc import Sequence

from constpolicy.compiler import host
from constpolicy.compiler.facts import ExecutableTarget

_ARCHITECTURES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "arm_64", "arm64": "arm_64", "riscv64": "riscv_64"}
"""IREE's names of the architectures, by those of the operating system."""

# Instructions for the system, for synchronizing and for hints, which the compiler never chooses by itself: that a CPU
# lacks them does not keep a module from running.
# fmt: off
_NEVER_CHOSEN = frozenset(
    [
        "cldemote", "clflushopt", "clwb", "clzero", "cx8", "enqcmd", "fsgsbase", "fxsr", "hreset", "invpcid", "kl",
        "lwp", "mmx", "movdir64b", "movdiri", "mwaitx", "pconfig", "pku", "prefetchi", "prfchw", "ptwrite", "rdpid",
        "rdpru", "rdrnd", "rdseed", "rtm", "sahf", "serialize", "sgx", "shstk", "tsxldtrk", "uintr", "usermsr",
        "waitpkg", "wbnoinvd", "widekl", "xsave", "xsavec", "xsaveopt", "xsaves",
    ]
)
# fmt: on


def obstacle(targets: Sequence[ExecutableTarget]) -> str | None:
    """Why a module for these targets does not run here; None if it does, or nothing is known."""
    for target in targets:
        if (found := _obstacle(target)) is not None:
            return found
    return None


def is_this_cpu(targets: Sequence[ExecutableTarget]) -> bool:
    """Whether a module for these targets holds code for exactly this CPU, which also evaluates the constants."""
    here = host.target()
    if here is None or not targets:
        return False
    return {(t.backend, t.cpu, t.cpu_features) for t in targets} == {(here.backend, here.cpu, here.cpu_features)}


def _obstacle(target: ExecutableTarget) -> str | None:
    if target.device != "local":
        return f"the target is the device '{target.device}' ({target.backend}), not the CPU"
    if target.backend != "llvm-cpu":  # vmvx, which is interpreted
        return None
    architecture = target.format.rpartition("-")[2]
    here = _ARCHITECTURES.get(platform.machine().lower(), platform.machine())
    if architecture == "static":
        return "the code is a static library, which only a program of its own can run"
    if architecture != here:
        return f"the target is the architecture {architecture}, and this machine's is {here}"
    return _missing_features(target)


def _missing_features(target: ExecutableTarget) -> str | None:
    here = host.target() if target.cpu_features else None
    if here is None:
        return None
    missing = sorted(target.cpu_features - here.cpu_features - _NEVER_CHOSEN)
    if not missing:
        return None
    cpu = f"the target CPU '{target.cpu}'" if target.cpu not in ("", "generic") else "the target"
    return f"{cpu} has features that this CPU lacks: {', '.join(missing)}"
