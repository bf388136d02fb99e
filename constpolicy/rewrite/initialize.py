"""The action `initialize`: the initializer stays as it is and runs once per module load."""

from __future__ import annotations

from constpolicy.records import Candidate


def refusal(candidate: Candidate) -> str | None:
    """Why the candidate cannot stay for load time; None if it can.

    Initializers that compute a scalar from tensor data crash IREE's code generation.
    """
    if any(stored.type.shape is None or not stored.type.text.startswith("tensor<") for stored in candidate.globals):
        return f"its result {candidate.type.text} is a scalar: IREE cannot compute scalars at load time"
    return None
