"""Exit codes beside iree-compile's own and those of a ConstPolicyError and a wrong usage, which is 2."""

NUMBERS_DIFFER = 3
GATE_EXCEEDED = 4
