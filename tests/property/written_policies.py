"""Everything that a policy can say, in every form in which it can be written."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from constpolicy.records import Action, Kind, Phase

_Data = st.SearchStrategy[Any]
_SIGNS = st.sampled_from(["<", "<=", "==", "!=", ">=", ">", ""])
_UNITS = st.sampled_from(["", "B", " k", "KiB", " MiB", "g", "kB", "MB", "GB"])
_decimals = st.decimals(0, 10**6, allow_nan=False, allow_infinity=False, places=7).map(lambda d: f"{d:f}")

bytes_ = st.integers(0, 2**63 - 1)
sizes = bytes_ | st.builds(lambda number, unit: f"{number}{unit}", _decimals, _UNITS)
growths = sizes | st.integers(-(2**62), -1) | _decimals.map(lambda number: f"-{number} MB")
percentages = _decimals.map(lambda number: f"{number} %")
size_comparisons = bytes_ | st.builds(lambda sign, size: f"{sign} {size}", _SIGNS, sizes)
numbers = st.floats(allow_nan=False, allow_infinity=False)
counts = st.integers(0, 10**6)
number_comparisons = numbers | counts | st.builds(lambda sign, n: f"{sign}{n}", _SIGNS, numbers | st.just("inf"))
positive = st.floats(0, 1e300)
lifted = st.just("none")
words = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp", "Cf"]), min_size=1)


def _one_or_several(items: _Data) -> _Data:
    return items | st.lists(items, min_size=1, max_size=3)


def _some(**keys: _Data) -> _Data:
    return st.fixed_dictionaries({}, optional=keys)


kinds = st.sampled_from([kind.value for kind in Kind])
actions = st.sampled_from([action.value for action in Action])
_WHEN: dict[str, _Data] = dict.fromkeys(("kind", "contains"), _one_or_several(kinds))
_WHEN |= dict.fromkeys(("result_bytes", "source_bytes", "growth"), size_comparisons)
_WHEN |= dict.fromkeys(("ratio", "rank"), number_comparisons)
_WHEN |= dict.fromkeys(("widening", "shared", "splat", "evaluable"), st.booleans())
_WHEN |= dict.fromkeys(
    ("element_type", "source_element_type", "type", "source", "location", "function", "affinity", "id"),
    _one_or_several(words),
)
_WHEN["phase"] = st.sampled_from([phase.value for phase in Phase])
whens = st.recursive(
    _some(**_WHEN),
    lambda parts: _some(any=st.lists(parts, min_size=1, max_size=2), all=st.lists(parts, min_size=1), **{"not": parts}),
    max_leaves=4,
)
rules = st.fixed_dictionaries({"when": whens, "action": actions}, optional={"name": words})
_BOUNDS: dict[str, _Data] = {
    "rtol": positive,
    "atol": positive,
    "statistic": st.sampled_from(["elementwise", "max", "mean", "median", "quantile"]),
    "quantile": st.floats(0, 1, exclude_min=True),
    "ulp": counts,
    "top_k": st.integers(1, 100),
    "cosine": st.floats(-1, 1),
}
_inputs = _some(
    seed=counts,
    iterations=st.integers(1, 10_000),
    sets=st.lists(st.sampled_from(["seeded", "zeros", "ones", "extremes", "nan", "inf"]), min_size=1),
    ranges=st.dictionaries(words, st.tuples(numbers, numbers).map(sorted), max_size=2),
    shapes=st.dictionaries(words, st.lists(counts), max_size=2),
)
policies = st.fixed_dictionaries(
    {"schema": st.just(1), "name": words},
    optional={
        "description": words,
        "default": actions,
        "rules": st.lists(rules, max_size=3),
        "allow": st.dictionaries(kinds, st.booleans()),
        "limits": _some(
            max_expansion_ratio=positive | lifted,
            max_result_bytes=sizes | lifted,
            max_growth_bytes=growths | lifted,
            otherwise=_one_or_several(actions),
        ),
        "budgets": _some(
            file_growth=growths | percentages | lifted,
            resident_growth=growths | percentages | st.just("-5%") | lifted,
            load_bytes=sizes | percentages | lifted,
            evaluate_bytes=sizes | percentages | lifted,
            evaluate_seconds=st.floats(0, 1e6) | lifted,
            otherwise=_one_or_several(actions),
        ),
        "otherwise": _one_or_several(actions),
        "share": _some(whole_table=st.booleans(), max_gathered_rows=counts, store_once=st.booleans()),
        "verify": _some(outputs=st.dictionaries(words, _some(**_BOUNDS), max_size=2), inputs=_inputs, **_BOUNDS),
        "flags": st.lists(words.map(lambda word: f"--x-{word}")),
    },
)
