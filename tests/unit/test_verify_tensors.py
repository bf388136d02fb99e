"""Comparing a stored result with the computed one: bits first, then sizes, places and causes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from constpolicy.records import Candidate, HoistedGlobal, Kind, ValueType
from constpolicy.verify.element_types import of_dtype
from constpolicy.verify.tensor_compare import LARGE, compare_tensor, is_rounding
from constpolicy.verify.tensor_record import Cause, TensorCheck, TensorVerification
from constpolicy.verify.tensors import attributed, rounds
from constpolicy.verify.tolerance import EXACT, Bounds

BLANK = TensorCheck(candidate="4f3c", symbol="t", type="tensor<4xf32>", kind="transpose", sources=("w",))
LOOSE = Bounds(atol=0.5)


def compare(
    computed: Sequence[object], stored: Sequence[object], dtype: npt.DTypeLike = np.float32, bounds: Bounds = EXACT
) -> TensorCheck:
    return compare_tensor(BLANK, np.array(computed, dtype), np.array(stored, dtype), bounds)


def floats(*bits: int) -> npt.NDArray[Any]:
    return np.array(bits, np.uint32).view(np.float32)


def test_the_same_bits_are_bit_exact_nan_and_minus_zero_among_them() -> None:
    array = floats(0x7FC00001, 0x80000000, 0x00000001, 0xFF800000)
    check = compare_tensor(BLANK, array, array.copy(), EXACT)
    assert (check.bit_exact, check.passed, check.statistics) == (True, True, None)


def test_other_payloads_of_nan_pass_and_are_told() -> None:
    check = compare_tensor(BLANK, floats(0x7FC00001, 1), floats(0x7FC00002, 1), EXACT)
    assert (check.bit_exact, check.passed) == (False, True)
    assert check.text == "bit-exact but for the payloads of 1 NaN"


def test_a_zero_of_the_other_sign_is_a_difference_that_only_a_tolerance_allows() -> None:
    check = compare([0.0, 1.0], [-0.0, 1.0])
    assert not check.passed
    assert check.statistics is not None
    assert check.statistics.signed_zeros == 1
    assert compare([0.0, 1.0], [-0.0, 1.0], bounds=LOOSE).passed


def test_a_denormal_that_was_flushed_is_counted() -> None:
    check = compare_tensor(BLANK, floats(0x00000001), floats(0), EXACT)
    assert not check.passed
    assert check.statistics is not None
    assert check.statistics.flushed == 1


def test_nan_or_infinity_where_a_number_is_computed_fails_under_every_tolerance() -> None:
    for odd in (np.nan, np.inf):
        check = compare([1.0, 2.0], [1.0, odd], bounds=LOOSE)
        assert not check.passed
        assert check.worst[0].index == (1,)


def test_the_worst_elements_come_first_with_their_places_and_values() -> None:
    computed = np.zeros((3, 4), np.float32)
    stored = computed.copy()
    stored[0, 3], stored[2, 1], stored[1, 1] = 1.0, 4.0, 2.0
    check = compare_tensor(BLANK, computed, stored, EXACT)
    assert [element.index for element in check.worst] == [(2, 1), (1, 1), (0, 3)]
    assert (check.worst[0].candidate, check.worst[0].reference) == ("4.0", "0.0")


def test_of_a_large_result_the_elements_that_differ_are_found_wherever_they_are() -> None:
    computed = np.ones((3, LARGE), np.float32)
    stored = computed.copy()
    stored[2, 7], stored[1, 5] = 1.25, 3.0
    check = compare_tensor(BLANK, computed, stored, Bounds(atol=1.0))
    assert not check.passed
    assert check.text == (f"2 of {3 * LARGE} elements differ, max abs error 2 at [1, 5] (elementwise: rtol 0, atol 1)")
    assert check.statistics is not None
    assert (check.statistics.elements, check.statistics.differing) == (3 * LARGE, 2)
    assert [element.index for element in (*check.worst, check.statistics.worst)] == [(1, 5), (2, 7), (1, 5)]
    assert compare_tensor(BLANK, computed, stored, Bounds(atol=2.0)).passed


def test_of_a_large_result_every_differing_element_has_to_keep_a_relative_bound() -> None:
    computed = np.full(2 * LARGE + 1, 1000.0, np.float32)
    computed[9] = 1e-3
    stored = computed + np.float32(1)
    stored[9] = 2e-3
    check = compare_tensor(BLANK, computed, stored, Bounds(rtol=2e-3))
    assert not check.passed
    assert check.statistics is not None
    assert check.statistics.differing == 2 * LARGE + 1


def test_no_more_than_five_elements_are_kept() -> None:
    assert len(compare(range(9), range(1, 10)).worst) == 5


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.bool_])
def test_integers_are_compared_exactly(dtype: type[np.generic]) -> None:
    check = compare([1, 0, 1], [1, 1, 1], dtype)
    assert not check.passed
    assert check.statistics is not None
    assert check.statistics.differing == 1


def test_another_shape_or_type_fails_without_statistics() -> None:
    check = compare_tensor(BLANK, np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32), LOOSE)
    assert not check.passed
    assert check.text == "[3, 2] float32 is stored where [2, 3] float32 is computed"
    assert not compare_tensor(BLANK, np.zeros(2, np.float32), np.zeros(2, np.float16), LOOSE).passed


def test_an_empty_result_is_bit_exact() -> None:
    assert compare([], []).bit_exact


@pytest.mark.parametrize(
    ("dtype", "error", "small"),
    [
        (np.float32, 5e-5, True),
        (np.float32, 1e-3, False),
        (np.float64, 1e-13, True),
        (np.float64, 1e-9, False),
        (np.float16, 2e-3, True),
        (np.float16, 2e-2, False),
        (ml_dtypes.bfloat16, 1.6e-2, True),
        (ml_dtypes.bfloat16, 0.1, False),
        (np.complex64, 5e-5, True),
        (np.complex64, 1e-3, False),
    ],
)
def test_an_error_is_rounding_up_to_some_steps_of_the_type(dtype: Any, error: float, small: bool) -> None:
    computed, stored = np.array([1.0, 0.0], dtype), np.array([1.0, error], dtype)
    check = compare_tensor(BLANK, computed, stored, EXACT)
    assert is_rounding(check, computed, of_dtype(computed.dtype)) is small


def test_no_difference_of_integers_and_no_nan_is_rounding() -> None:
    integers = np.array([1, 2], np.int32)
    assert not is_rounding(compare([1, 2], [1, 3], np.int32), integers, of_dtype(integers.dtype))
    numbers = np.array([1.0, 2.0], np.float32)
    assert not is_rounding(compare([1.0, 2.0], [1.0, np.nan]), numbers, of_dtype(numbers.dtype))


def candidate(*kinds: Kind) -> Candidate:
    stored = HoistedGlobal("@t", ValueType("tensor<4xf32>", "f32", (4,), 32), 16)
    return Candidate("4f3c", (stored,), kinds[0], frozenset(kinds), (), ())


def test_only_arithmetic_rounds() -> None:
    assert not rounds(candidate(Kind.TRANSPOSE, Kind.PAD, Kind.RESHAPE))
    assert rounds(candidate(Kind.TRANSPOSE, Kind.ELEMENTWISE))
    assert rounds(candidate(Kind.CAST))
    assert rounds(None)


def verification(**changes: object) -> TensorVerification:
    return TensorVerification(tolerance=EXACT, reason="a test", tensors=(BLANK.model_copy(update=changes),))


WRONG = {"passed": False, "text": "1 of 4 elements differ", "cause": Cause.ERROR}


def test_a_difference_that_a_build_for_this_cpu_does_not_have_comes_from_the_cpu() -> None:
    (tensor,) = attributed(verification(**WRONG), verification(bit_exact=True)).tensors
    assert tensor.cause is Cause.HOST_CPU


def test_a_difference_that_a_build_for_this_cpu_has_too_keeps_the_cause_that_it_has_there() -> None:
    found = verification(**WRONG | {"cause": Cause.HOST_CPU})
    (tensor,) = attributed(found, verification(**WRONG)).tensors
    assert tensor.cause is Cause.ERROR


def test_a_difference_of_which_a_build_for_this_cpu_knows_nothing_is_attributed_by_its_size() -> None:
    found = verification(**WRONG | {"cause": Cause.HOST_CPU})
    for other in (verification(not_checked="a reason"), TensorVerification(tolerance=EXACT, reason="")):
        assert attributed(found, other) == found


def test_the_text_names_what_failed_first_and_what_is_not_checked_with_its_reason() -> None:
    tensors = (
        BLANK.model_copy(update={"bit_exact": True, "candidate": "good"}),
        BLANK.model_copy(update={"not_checked": "it is not evaluated", "candidate": "left"}),
        BLANK.model_copy(update={**WRONG, "location": "m.mlir:3:4", "candidate": "bad"}),
        BLANK.model_copy(update={"passed": False, "failure": "crash: it was ended by SIGSEGV", "candidate": "dead"}),
    )
    result = TensorVerification(tolerance=EXACT, reason="a test", tensors=tensors)
    assert not result.passed
    assert list(result.lines()) == [
        "tensors: 1 of 4 evaluated results bit-exact, 2 failed, 1 not checked",
        "  standard: a test",
        "  candidate bad: transpose of w to tensor<4xf32>, at m.mlir:3:4",
        "    failed: 1 of 4 elements differ",
        "    cause: real error",
        "  candidate dead: transpose of w to tensor<4xf32>",
        "    failed: crash: it was ended by SIGSEGV",
        "  candidate left: transpose of w to tensor<4xf32>",
        "    not checked: it is not evaluated",
    ]


def test_a_program_of_which_nothing_is_evaluated_passes_and_says_so() -> None:
    result = TensorVerification(tolerance=EXACT, reason="a test")
    assert result.passed
    assert list(result.lines()) == ["tensors: nothing was evaluated"]


def test_what_is_not_checked_is_no_failure() -> None:
    assert verification(not_checked="a reason").passed
