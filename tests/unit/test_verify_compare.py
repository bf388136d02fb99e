"""Outputs are compared by their bits first, then as far as the bounds allow, with odd values handled knowingly."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constpolicy.records import Action, ConstPolicyError
from constpolicy.verify import EXACT, OutputBounds, Statistic, Tolerance, expected_standard
from constpolicy.verify.compare import comparison, top_k
from constpolicy.verify.errors import Errors, statistics
from constpolicy.verify.tolerance import Bounds, parse

FLOATS = [
    np.float16,
    np.float32,
    np.float64,
    ml_dtypes.bfloat16,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e4m3fnuz,
    ml_dtypes.float8_e5m2fnuz,
]


def errors(reference: object, candidate: object, dtype: npt.DTypeLike = np.float32) -> Errors:
    return Errors(np.array(reference, dtype), np.array(candidate, dtype))


def passes(found: Errors, **bounds: Any) -> bool:
    return comparison(Bounds(**bounds))(found).passed


def test_equal_bits_are_equal() -> None:
    assert errors([1, np.nan, -0.0], [1, np.nan, -0.0]).same_bits


def test_nan_of_another_payload_is_equal_and_counted() -> None:
    payload = np.array([0x7FC00000, 0x7FC00001], np.uint32).view(np.float32)
    found = Errors(payload[:1], payload[1:])
    assert not found.same_bits
    assert found.equal
    assert statistics(found).nan_payloads == 1


def test_zeros_of_other_sign_are_not_bit_exact_but_within_any_tolerance() -> None:
    found = errors([0.0, 1], [-0.0, 1])
    judgement = comparison(EXACT)(found)
    assert not judgement.passed
    assert judgement.text == "1 of 2 elements differ, in the sign of zero only (must be bit-exact)"
    assert passes(found, atol=1e-30)
    assert statistics(found).signed_zeros == 1


def test_a_denormal_flushed_to_zero_is_counted() -> None:
    assert statistics(errors([1e-40, 1], [0, 1])).flushed == 1
    assert statistics(errors([1e-30, 1], [0, 1])).flushed == 0


@pytest.mark.parametrize(
    ("reference", "candidate"), [(np.nan, 1), (1, np.nan), (np.inf, 1), (1, np.inf), (np.inf, -np.inf)]
)
@pytest.mark.parametrize(
    "bounds",
    [
        {"rtol": 1e30, "atol": 1e30},
        {"statistic": Statistic.MEAN, "atol": 1e30},
        {"statistic": Statistic.MEDIAN, "atol": 1e30},
        {"ulp": 1 << 62},
    ],
)
def test_no_bound_lets_nan_or_infinity_on_one_side_pass(
    reference: float, candidate: float, bounds: dict[str, Any]
) -> None:
    found = errors([reference, 1, 1, 1], [candidate, 1, 1, 1])
    judgement = comparison(Bounds(**bounds))(found)
    assert not judgement.passed
    assert f"{float(candidate)} where the reference has {float(reference)} at [0]" in judgement.text
    assert statistics(found).broken == 1


def test_infinity_of_the_same_sign_is_no_error() -> None:
    found = errors([np.inf, 1], [np.inf, 1.5])
    assert found.absolute.tolist() == [0, 0.5]


def test_elementwise_bounds_are_those_of_numpy() -> None:
    random = np.random.default_rng(0)
    reference = random.normal(size=1000).astype(np.float32)
    candidate = reference + random.normal(scale=1e-5, size=1000).astype(np.float32)
    for rtol, atol in ((1e-5, 0), (0, 1e-5), (1e-5, 1e-5), (1e-3, 1e-4)):
        allowed = np.abs(candidate.astype(float) - reference) <= atol + rtol * np.abs(reference.astype(float))
        judgement = comparison(Bounds(rtol=rtol, atol=atol))(Errors(reference, candidate))
        assert judgement.passed == bool(allowed.all())
        if not judgement.passed:
            assert judgement.text.startswith(f"{(~allowed).sum()} of 1000 elements beyond")


def test_the_text_names_the_element_farthest_beyond_its_bound() -> None:
    judgement = comparison(Bounds(rtol=0.1))(errors([[1000, 1], [1, 1]], [[1050, 1], [1, 3]]))
    assert judgement.text == "1 of 4 elements beyond rtol 0.1, atol 0, max abs error 2 at [1, 1]"


def test_a_passing_text_names_the_largest_error_and_the_bounds() -> None:
    judgement = comparison(Bounds(rtol=1e-5, atol=1e-6))(errors([1, 2], [1, 2.00001]))
    assert judgement.text == "max abs error 1e-05 at [1] (rtol 1e-05, atol 1e-06)"


@pytest.mark.parametrize(
    ("statistic", "within", "beyond"),
    [
        (Statistic.MAX, 8.0, 7.9),
        (Statistic.MEAN, 2.4, 2.3),
        (Statistic.MEDIAN, 1.0, 0.9),
        (Statistic.QUANTILE, 2.0, 1.9),
    ],
)
def test_each_statistic_looks_at_its_own_number(statistic: Statistic, within: float, beyond: float) -> None:
    found = errors([0, 0, 0, 0, 0], [0, 1, 1, 2, 8])
    assert passes(found, statistic=statistic, quantile=0.8, atol=within)
    assert not passes(found, statistic=statistic, quantile=0.8, atol=beyond)


@pytest.mark.parametrize("dtype", FLOATS)
def test_neighbouring_floats_are_one_ulp_apart(dtype: Any) -> None:
    size = np.dtype(dtype).itemsize
    pattern = np.array([1, 3, 0x30], f"u{size}")
    found = Errors(pattern.view(dtype), (pattern + 1).astype(f"u{size}").view(dtype))
    assert found.ulps.tolist() == [1, 1, 1]


def test_ulps_are_counted_across_zero() -> None:
    smallest = float(np.finfo(np.float32).smallest_subnormal)
    assert errors([-smallest, 0.0], [smallest, -0.0]).ulps.tolist() == [2, 0]


@given(st.floats(allow_nan=False, allow_infinity=False, max_value=1e300))
def test_the_next_float_is_one_ulp_away(value: float) -> None:
    assert errors([value], [np.nextafter(value, np.inf)], np.float64).ulps.tolist() == [1]


def test_the_ulp_bound_is_inclusive() -> None:
    found = errors([1, 1], [1, np.nextafter(np.nextafter(np.float32(1), 2), 2)])
    assert passes(found, ulp=2)
    assert not passes(found, ulp=1)


def test_integers_do_not_overflow_in_their_difference() -> None:
    found = errors([np.iinfo("i8").min, 5], [np.iinfo("i8").max, 5], np.int64)
    assert found.absolute[0] == float(2**64 - 1)
    assert int(found.ulps[0]) == 2**64 - 1
    assert errors([0], [2**64 - 1], np.uint64).absolute[0] == float(2**64 - 1)


def test_booleans_differ_by_one() -> None:
    found = errors([True, False, True], [True, True, False], np.bool_)
    assert found.absolute.tolist() == [0, 1, 1]
    assert statistics(found).differing == 2


def test_complex_numbers_are_compared_by_their_distance() -> None:
    found = errors([1 + 1j, 0, complex(np.nan, 1)], [4 + 5j, 0, complex(np.nan, 1)], np.complex64)
    assert found.absolute.tolist() == [5, 0, 0]
    assert found.differing.tolist() == [True, False, False]
    assert statistics(found).worst.index == (0,)


def test_half_precision_errors_are_taken_in_wide_arithmetic() -> None:
    assert errors([60000], [-60000], np.float16).absolute.tolist() == [120000]


def test_statistics_hold_the_distribution() -> None:
    found = statistics(errors([[1, 2, 4, 0]], [[1.5, 2, 4.05, 20]]))
    assert (found.elements, found.differing, found.broken) == (4, 3, 0)
    assert found.max_absolute == 20
    assert found.max_relative == np.inf
    assert found.worst.index == (0, 3)
    assert (found.worst.reference, found.worst.candidate) == ("0.0", "20.0")
    assert [(bin_.low, bin_.elements) for bin_ in found.histogram] == [(0.01, 1), (0.1, 1), (10, 1)]
    assert found.quantiles[0].absolute == pytest.approx(0.05, rel=1e-5)


def test_statistics_survive_json() -> None:
    found = statistics(errors([1, 0], [np.nan, 3]))
    assert type(found).model_validate_json(found.model_dump_json()) == found


def test_top_k_agrees_where_only_the_order_or_a_tie_differs() -> None:
    reference = [[0.1, 0.9, 0.8, 0.8], [3, 2, 1, 0]]
    assert top_k(2)(errors(reference, [[0.1, 0.8, 0.7, 0.9], [2, 3, 1, 0]])).passed
    judgement = top_k(2)(errors(reference, [[0.9, 0.1, 0.8, 0.8], [3, 2, 1, 0]]))
    assert not judgement.passed
    assert judgement.text == "top 2 agree in 1 of 2 rows"


def test_cosine_asks_for_the_direction_of_every_row() -> None:
    found = errors([[1, 0], [0, 2]], [[5, 0], [0.1, 2]])
    assert passes(found, cosine=0.99)
    assert not passes(found, cosine=0.999)
    assert not passes(errors([[1, 0]], [[0, 0]]), cosine=0.5)
    assert passes(errors([[1e30, 0], [0, 0]], [[2e30, 0], [0, 0]]), cosine=0.99)


def test_all_bounds_that_are_given_have_to_hold() -> None:
    found = errors([[1, 2, 3]], [[1.1, 2.2, 3.3]])
    assert passes(found, rtol=0.2, cosine=0.99)
    assert not passes(found, rtol=0.01, cosine=0.99)
    assert not passes(found, rtol=0.2, ulp=1)


def test_integers_are_exact_unless_their_output_is_named() -> None:
    tolerance = Tolerance(rtol=1, outputs=(OutputBounds(output="output1", atol=1),))
    assert tolerance.for_output("main", "output0", exact_type=True).exact
    assert not tolerance.for_output("main", "output0", exact_type=False).exact
    assert tolerance.for_output("main", "output1", exact_type=True).atol == 1


def test_tolerances_are_read_with_and_without_an_output() -> None:
    tolerance = parse({"rtol": ("1e-3", "main.output1:0.5"), "atol": ("main.output1:2",)})
    assert (tolerance.rtol, tolerance.atol) == (1e-3, 0)
    named = tolerance.for_output("main", "output1", exact_type=False)
    assert (named.rtol, named.atol) == (0.5, 2)
    assert tolerance.for_output("other", "output1", exact_type=False).rtol == 1e-3


@pytest.mark.parametrize("text", ["", "x", "output0:", "-1", "nan"])
def test_a_malformed_tolerance_is_refused(text: str) -> None:
    with pytest.raises(ConstPolicyError, match="rtol"):
        parse({"rtol": (text,)})


def test_evaluating_for_this_cpu_has_to_be_bit_exact() -> None:
    standard = expected_standard([Action.EVALUATE, Action.SHARE], target_is_host=True, tolerance=Tolerance(rtol=1))
    assert standard.tolerance == EXACT
    assert standard.reason.startswith("bit-exact")


@pytest.mark.parametrize(
    ("actions", "host", "cause"),
    [([Action.EVALUATE, Action.INLINE], True, "inline let"), ([Action.EVALUATE], False, "this CPU's code")],
)
def test_the_tolerance_applies_where_numbers_may_differ(actions: list[Action], host: bool, cause: str) -> None:
    standard = expected_standard(actions, target_is_host=host, tolerance=Tolerance(rtol=1))
    assert standard.tolerance.rtol == 1
    assert cause in standard.reason


def test_a_policy_without_a_tolerance_asks_for_the_same_bits_and_says_so() -> None:
    standard = expected_standard([Action.EVALUATE], target_is_host=False, tolerance=EXACT)
    assert standard.tolerance == EXACT
    assert standard.reason.startswith("bit-exact: the policy gives no tolerance")
