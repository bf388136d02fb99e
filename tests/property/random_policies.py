"""Random policies, made through the schema."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from constpolicy.policy.schema import Policy
from constpolicy.records import Action, Kind

ACTIONS = [str(action) for action in Action]
KINDS = [str(kind) for kind in Kind]
SIZES = ["0", "64", "256", "1KiB", "4KiB", "64KiB"]
_Keys = dict[str, Callable[[Random], Any]]

_WHEN: _Keys = {
    "kind": lambda pick: pick.choice(KINDS),
    "contains": lambda pick: pick.sample(KINDS, 3),
    "result_bytes": lambda pick: f"{pick.choice(['>=', '<'])} {pick.choice(SIZES)}",
    "growth": lambda pick: f"{pick.choice(['>=', '<'])} {pick.choice(SIZES)}",
    "element_type": lambda pick: pick.choice(["f*", "i*", "f32", "i8"]),
    "shared": lambda pick: pick.random() < 0.5,
    "widening": lambda pick: pick.random() < 0.5,
    "function": lambda pick: pick.choice(["@f[0-4]", "@f[13579]"]),
}
_LIMITS: _Keys = {
    "max_expansion_ratio": lambda pick: pick.choice([0.5, 1, 2, 8]),
    "max_result_bytes": lambda pick: pick.choice(SIZES),
    "max_growth_bytes": lambda pick: pick.choice(SIZES),
    "otherwise": lambda pick: pick.sample(ACTIONS, 2),
}
_BUDGETS: _Keys = {
    "file_growth": lambda pick: pick.choice(SIZES),
    "load_bytes": lambda pick: pick.choice(["16KiB", "256KiB"]),
    "otherwise": lambda pick: pick.sample(ACTIONS, 2),
}


def random_policy(seed: int) -> Policy:
    """A policy of rules, kinds that are not allowed, limits, budgets and what happens otherwise."""
    pick = Random(seed)
    data = {
        "schema": 1,
        "name": f"random {seed}",
        "default": pick.choice([*ACTIONS, *["evaluate"] * 4]),
        "rules": [
            {"when": _some(pick, _WHEN, 0.25), "action": pick.choice(ACTIONS)} for _ in range(pick.randint(0, 4))
        ],
        "allow": {kind: pick.random() < 0.5 for kind in pick.sample(KINDS, 4)},
        "limits": _some(pick, _LIMITS, 0.3),
        "budgets": _some(pick, _BUDGETS, 0.2),
        "otherwise": pick.sample(ACTIONS, 2),
        "share": {"whole_table": pick.random() < 0.5, "store_once": pick.random() < 0.5},
    }
    return Policy.model_validate(data)


def _some(pick: Random, keys: _Keys, share: float) -> dict[str, Any]:
    return {key: make(pick) for key, make in keys.items() if pick.random() < share}
