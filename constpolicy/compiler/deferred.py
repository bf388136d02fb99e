"""The passes that IREE runs after const-eval, put off until constpolicy's evaluation is done.

They are part of GlobalOptimization and switched on by flags; while the phase runs without const-eval, the flags
are off, and afterwards the same passes run by name.
"""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir

from constpolicy.compiler.pass_options import quoted
from constpolicy.compiler.session import Session

# The newer name and its older alias, which sets the same value and, where there are both, warns when it is used.
_EXPORT = ("iree-parameter-export", "iree-opt-export-parameters")
_EXPORT_MINIMUM = ("iree-parameter-export-minimum-size", "iree-opt-export-parameter-minimum-size")
_SPLAT = ("iree-parameter-splat", "iree-opt-splat-parameters")
_NARROWING = "iree-opt-numeric-precision-reduction"
_NARROWING_PASSES = (
    "iree-global-opt-infer-numeric-narrowing",
    "iree-global-opt-optimize-numerics",
    "iree-global-opt-cleanup-numeric-narrowing",
    *(
        f"{function}(iree-flow-canonicalize,cse,iree-global-opt-raise-special-ops)"
        for function in ("util.initializer", "util.func")
    ),
)


def switched_off(flags: Mapping[str, str]) -> dict[str, str]:
    """The flags (name: value) that keep GlobalOptimization from running the deferred passes.

    The import of parameters, which comes first in that phase, stays on: a list flag cannot be emptied, and where
    everything has been imported already the pass changes nothing.
    """
    known = (next((name for name in names if name in flags), None) for names in (_EXPORT, _SPLAT))
    off = {name: "" for name in known if name is not None and flags[name]}
    if flags.get(_NARROWING) == "true":
        off[_NARROWING] = "false"
    return off


def run(session: Session, module: ir.Operation, flags: Mapping[str, str]) -> None:
    """Runs on the module what `flags`, the values in force before `switched_off`, ask for. Raises CompileFailed."""
    if flags.get(_NARROWING) == "true":
        session.run_passes(module, ",".join(_NARROWING_PASSES))
    if path := _first(flags, _EXPORT):
        minimum = _first(flags, _EXPORT_MINIMUM) or "0"
        session.run_passes(module, f"iree-io-export-parameters{{path={quoted(path)} minimum-size={minimum}}}")
    if path := _first(flags, _SPLAT):
        session.run_passes(module, f"iree-io-generate-splat-parameter-archive{{file={quoted(path)}}}")


def _first(flags: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((value for name in names if (value := flags.get(name))), None)
