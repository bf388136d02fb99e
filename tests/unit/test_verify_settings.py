"""The policy's `verify:` section, the command line's bounds, and how they go together."""

from __future__ import annotations

from pathlib import Path

import pytest

from constpolicy.policy.load import load_policy
from constpolicy.policy.schema import Verify
from constpolicy.records import ConstPolicyError
from constpolicy.verify import InputRange, InputSet, InputShape, InputSpec, Statistic
from constpolicy.verify.settings import merged_inputs, policy_tolerance
from constpolicy.verify.tolerance import EXACT, parse


def policy_file(folder: Path, name: str, verify: str, extends: str = "") -> Path:
    file = folder / f"{name}.yaml"
    file.write_text(f"schema: 1\nname: {name}\n{extends}\nverify: {verify}\n")
    return file


def test_every_kind_of_comparison_can_stand_in_the_policy_file(tmp_path: Path) -> None:
    text = (
        "{rtol: 1.0e-3, statistic: quantile, quantile: 0.9, "
        "outputs: {logits: {top_k: 5, cosine: 0.99}, main.ids: {ulp: 2}}}"
    )
    tolerance = policy_tolerance(load_policy(str(policy_file(tmp_path, "all", text))).policy.verify)
    assert (tolerance.rtol, tolerance.statistic, tolerance.quantile) == (1e-3, Statistic.QUANTILE, 0.9)
    logits = tolerance.for_output("main", "logits", exact_type=False)
    assert (logits.rtol, logits.top_k, logits.cosine) == (0, 5, 0.99)
    assert tolerance.for_output("main", "ids", exact_type=True).ulp == 2
    assert tolerance.for_output("other", "ids", exact_type=True).exact


def test_the_section_is_merged_key_by_key_over_what_the_policy_extends(tmp_path: Path) -> None:
    policy_file(tmp_path, "base", "{rtol: 1.0e-2, ulp: 3}")
    file = policy_file(tmp_path, "own", "{rtol: 1.0e-4, cosine: 0.5}", "extends: base.yaml")
    tolerance = policy_tolerance(load_policy(str(file)).policy.verify)
    assert (tolerance.rtol, tolerance.ulp, tolerance.cosine) == (1e-4, 3, 0.5)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{statistic: meen}", "statistic: 'meen' is unknown, did you mean 'mean'.; expected one of elementwise, max"),
        ("{cosin: 0.9}", "unknown key 'cosin', did you mean 'cosine'"),
        ("{inputs: {sed: 1}}", "unknown key 'sed', did you mean 'seed'.; expected one of seed, iterations"),
        ("{outputs: {y: {cosin: 1}}}", "expected one of rtol, atol, statistic, quantile, ulp, top_k, cosine$"),
        ("{inputs: {sets: [seeds]}}", "sets: 'seeds' is unknown, did you mean 'seeded'.; expected one of"),
        ("{inputs: {ranges: {x: [1]}}}", "x: List should have at least 2 items"),
        ("{rtol: -1}", "rtol: Input should be greater than or equal to 0"),
    ],
)
def test_what_is_wrong_in_the_section_is_told_with_its_place(tmp_path: Path, text: str, error: str) -> None:
    file = policy_file(tmp_path, "wrong", text)
    with pytest.raises(ConstPolicyError, match=error) as raised:
        load_policy(str(file))
    assert f"{file}:4:" in str(raised.value)


def test_a_statistic_without_a_bound_is_refused() -> None:
    with pytest.raises(ConstPolicyError, match="the mean of the errors has no bound: give rtol or atol, too"):
        policy_tolerance(Verify(statistic="mean"))
    with pytest.raises(ConstPolicyError, match="no bound for y"):
        parse({"statistic": ("y:max",), "rtol": ("1",)})


def test_the_command_line_takes_every_kind_of_comparison_for_all_outputs_or_one() -> None:
    tolerance = parse(
        {
            "rtol": ("1e-3",),
            "statistic": ("mean",),
            "ulp": ("y:4",),
            "top_k": ("main.z:5",),
            "cosine": ("y:0.9",),
            "quantile": ("0.5",),
        }
    )
    assert (tolerance.rtol, tolerance.statistic, tolerance.quantile) == (1e-3, Statistic.MEAN, 0.5)
    y = tolerance.for_output("main", "y", exact_type=False)
    assert (y.rtol, y.ulp, y.cosine) == (0, 4, 0.9)
    assert tolerance.for_output("main", "z", exact_type=False).top_k == 5
    assert parse({}) == EXACT


@pytest.mark.parametrize(
    ("field", "text", "error"),
    [
        ("ulp", "1.5", r"--ulp '1.5': write \[output:\]number, as in 4 or output0:4"),
        ("top_k", "y:many", "--top-k 'y:many': write"),
        ("cosine", "2", "--cosine 2.0: Input should be less than or equal to 1"),
        ("statistic", "average", "--statistic average: Input should be 'elementwise'"),
        ("quantile", "0", "--quantile 0.0: Input should be greater than 0"),
    ],
)
def test_a_malformed_bound_is_refused_with_the_option(field: str, text: str, error: str) -> None:
    with pytest.raises(ConstPolicyError, match=error):
        parse({field: (text,)})


def test_the_policys_inputs_hold_where_the_command_line_says_nothing() -> None:
    verify = Verify.model_validate(
        {"inputs": {"seed": 7, "iterations": 3, "sets": ["zeros"], "ranges": {"ids": [0, 9], "*": [0, 1]}}}
    )
    spec = merged_inputs(verify, InputSpec(iterations=2, ranges=(InputRange.parse("ids:0,5"),)))
    assert (spec.seed, spec.iterations, spec.sets) == (7, 2, (InputSet.ZEROS,))
    assert [(r.name, r.low, r.high) for r in spec.ranges] == [("ids", 0, 5), ("ids", 0, 9), (None, 0, 1)]


def test_shapes_of_the_policy_come_after_those_of_the_command_line() -> None:
    verify = Verify.model_validate({"inputs": {"shapes": {"x": [1, 128]}}})
    spec = merged_inputs(verify, InputSpec(shapes=(InputShape.parse("x:1x64"),)))
    assert [(s.name, s.shape) for s in spec.shapes] == [("x", (1, 64)), ("x", (1, 128))]


def test_a_policy_without_the_section_asks_for_bits() -> None:
    assert policy_tolerance(Verify()) == EXACT
    assert merged_inputs(Verify(), InputSpec()) == InputSpec()
