"""How strictly a build is to be verified, as follows from what was decided about it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from constpolicy.records import Action
from constpolicy.verify.tolerance import EXACT, Tolerance


@dataclass(frozen=True)
class Standard:
    tolerance: Tolerance
    reason: str


def expected_standard(actions: Collection[Action], *, target_is_host: bool, tolerance: Tolerance) -> Standard:
    """Bit-exact wherever the decisions leave no room for other numbers, else the given tolerance.

    Args:
      actions: What became of the candidates.
      target_is_host: Whether the program is compiled for the very CPU that evaluated the constants.
      tolerance: The policy's.
    """
    causes = []
    recomputed = sorted({str(a) for a in actions} & {Action.INLINE.value, Action.FUSE.value})
    if recomputed:
        causes.append(
            f"{' and '.join(recomputed)} let constant expressions fuse with others, which may round differently"
        )
    if not target_is_host:
        causes.append(
            "constants are evaluated by this CPU's code and computed at load by the target's, which may differ"
        )
    if not causes:
        return Standard(EXACT, "bit-exact: the same code computes every number, while compiling or while running")
    if tolerance == EXACT:
        return Standard(EXACT, f"bit-exact: the policy gives no tolerance, although {'; '.join(causes)}")
    return Standard(tolerance, f"within the policy's tolerance: {'; '.join(causes)}")


def standard_for_outputs(tolerance: Tolerance) -> Standard:
    """For outputs that were computed elsewhere: the policy's tolerance."""
    if tolerance == EXACT:
        return Standard(EXACT, "bit-exact: neither the policy nor the command line gives a tolerance")
    return Standard(tolerance, "within the policy's tolerance: the expected outputs were computed elsewhere")


def standard_for_onnx() -> Standard:
    """For ONNX Runtime, whose operators are others: what two correct implementations usually keep within."""
    reason = "within rtol 1e-3 and atol 1e-4: ONNX Runtime has operators of its own, which round differently"
    return Standard(Tolerance(rtol=1e-3, atol=1e-4), reason)
