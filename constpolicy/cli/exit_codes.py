"""Exit codes beside iree-compile's own and 2, which a ConstPolicyError and a wrong usage have."""

NUMBERS_DIFFER = 3
GATE_EXCEEDED = 4
