"""What a policy that was found beside a model, and may have come with it from elsewhere, must not do."""

from __future__ import annotations

from constpolicy.policy.document import Document
from constpolicy.policy.schema import Policy

# Flags that neither read nor write files, start nothing, and only choose among IREE's own transformations.
_HARMLESS = (
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
)


def refuse_untrusted(document: Document, policy: Policy) -> None:
    """Raises PolicyError if a policy that the user did not name sets other flags than harmless ones."""
    for index, flag in enumerate(policy.flags):
        name = flag.lstrip("-").partition("=")[0]
        if name not in _HARMLESS:
            raise document.error(
                ("flags", index),
                f"the flag {flag[:60]} is not taken from a policy found beside a model, which may have come with a "
                "download; name the policy with --policy if you trust it",
            )
