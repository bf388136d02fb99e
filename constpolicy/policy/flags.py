"""Which iree-compile flags a policy may set, and which one that the user did not name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from constpolicy.policy.document import Value

# Those of the iree-compile driver: they name the input or the output, say how far to compile, or end the program.
DRIVER_FLAGS = frozenset(
    {
        "o",
        "output-format",
        "compile-mode",
        "compile-from",
        "compile-to",
        "dump-compilation-phases-to",
        "emit-mlir-bytecode",
        "emit-mlir-bytecode-version",
        "remarks-filter",
        "remarks-output-file",
        "verify",
        "split-input-file",
        "help",
        "h",
        "help-hidden",
        "help-list",
        "help-list-hidden",
        "version",
        "print-options",
        "print-all-options",
        "iree-hal-list-target-backends",
        "iree-list-plugins",
    }
)

# Flags that neither read nor write files, start nothing, and only choose among IREE's own transformations.
_HARMLESS = frozenset(
    {
        "iree-opt-level",
        "iree-opt-const-eval",
        "iree-opt-const-expr-hoisting",
        "iree-opt-const-expr-max-size-increase-threshold",
        "iree-opt-data-tiling",
        "iree-opt-numeric-precision-reduction",
        "iree-opt-strip-assertions",
        "iree-global-opt-data-tiling",
        "iree-global-opt-propagate-transposes",
        "iree-dispatch-creation-data-tiling",
    }
)


def checked(flag: str) -> str:
    """The flag, if a policy may set it. Raises ValueError."""
    name = _name(flag)
    if not flag.startswith("-") or not name:
        raise ValueError(f"'{flag[:60]}' is no flag: write --name or --name=value")
    if name in DRIVER_FLAGS:
        raise ValueError(f"{flag[:60]} is for the command line: a policy sets only flags of the compiler itself")
    return flag


def refuse_untrusted(policy: Value) -> None:
    """Raises PolicyError if a policy that the user did not name sets other flags than harmless ones."""
    for index, flag in enumerate(policy.data.get("flags", ())):
        if _name(flag) not in _HARMLESS:
            raise policy.error(
                ("flags", index),
                f"the flag {flag[:60]} is not taken from a policy found beside a model, which may have come with a "
                "download; name the policy with --policy if you trust it",
            )


def _name(flag: str) -> str:
    return flag.lstrip("-").partition("=")[0].strip()
