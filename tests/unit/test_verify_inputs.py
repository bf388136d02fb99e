"""Inputs follow from the signature, the seed and what the user says, and from nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from constpolicy.records import ConstPolicyError
from constpolicy.verify import InputRange, InputSet, InputShape, InputSpec
from constpolicy.verify.element_types import ELEMENT_TYPES, Family
from constpolicy.verify.input_values import Array, match, read
from constpolicy.verify.inputs import calls, selected
from constpolicy.verify.signature import Signature, parse


def function(*types: str, name: str = "main") -> Signature:
    arguments = ", ".join(f"%input{number}: {text}" for number, text in enumerate(types))
    return parse(name, f"sync func @{name}({arguments}) -> ()")


def arrays(spec: InputSpec, *types: str) -> list[tuple[Array, ...]]:
    signature = function(*types)
    return [call.arrays for call in calls(spec, selected(spec, {"main": signature}))]


def test_the_same_seed_gives_the_same_inputs_and_another_seed_others() -> None:
    first, again, other = (arrays(InputSpec(seed=s), "tensor<100xf32>")[0][0] for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_iterations_and_inputs_differ_from_each_other() -> None:
    (a, b), (c, _) = arrays(InputSpec(iterations=2), "tensor<100xf32>", "tensor<100xf32>")
    assert not np.array_equal(a, b)
    assert not np.array_equal(a, c)


def test_another_input_beside_it_does_not_change_an_input() -> None:
    assert np.array_equal(
        arrays(InputSpec(), "tensor<9xf32>")[0][0], arrays(InputSpec(), "tensor<9xf32>", "tensor<3xi8>")[0][0]
    )


def test_a_spec_that_was_written_to_json_gives_the_same_inputs() -> None:
    spec = InputSpec(seed=7, shapes=(InputShape.parse("3x4"),), ranges=(InputRange.parse("0,5"),))
    again = InputSpec.model_validate(json.loads(spec.model_dump_json()))
    assert np.array_equal(arrays(spec, "tensor<?x4xf32>")[0][0], arrays(again, "tensor<?x4xf32>")[0][0])


@pytest.mark.parametrize("name", sorted(ELEMENT_TYPES))
def test_every_element_type_has_finite_seeded_inputs_that_vary(name: str) -> None:
    (array,) = arrays(InputSpec(), f"tensor<64x{name}>")[0]
    assert array.dtype == ELEMENT_TYPES[name].dtype
    assert array.shape == (64,)
    if ELEMENT_TYPES[name].family in (Family.FLOAT, Family.COMPLEX):
        assert np.isfinite(array).all()
    assert len(np.unique(array.astype(np.complex128))) > 1


def test_wide_integers_stay_where_an_index_of_a_small_table_may_be() -> None:
    (array,) = arrays(InputSpec(), "tensor<1000xi64>")[0]
    assert set(array.tolist()) == {0, 1}


def test_zeros_and_ones_stay_within_the_range_of_an_integer_input() -> None:
    spec = InputSpec(sets=(InputSet.ZEROS, InputSet.ONES), ranges=(InputRange.parse("input0:5,7"),))
    made = arrays(spec, "tensor<2xi32>", "tensor<2xf32>")
    assert [call[0].tolist() for call in made] == [[5, 5], [5, 5]]
    assert [call[1].tolist() for call in made] == [[0, 0], [1, 1]]
    one_row = InputSpec(sets=(InputSet.ONES,), ranges=(InputRange.parse("0,0"),))
    assert arrays(one_row, "tensor<2xi64>")[0][0].tolist() == [0, 0]


def test_eight_bit_integers_take_their_whole_range() -> None:
    (array,) = arrays(InputSpec(), "tensor<10000xi8>")[0]
    assert (array.min(), array.max()) == (-128, 127)


def test_a_range_holds_for_the_input_of_its_name_and_includes_both_ends() -> None:
    spec = InputSpec(ranges=(InputRange.parse("input1:5,7"), InputRange.parse("100,100")))
    first, second = arrays(spec, "tensor<500xi32>", "tensor<500xi32>")[0]
    assert set(first.tolist()) == {100}
    assert set(second.tolist()) == {5, 6, 7}


def test_a_range_may_be_for_one_function_only() -> None:
    spec = InputSpec(ranges=(InputRange.parse("two.input0:9,9"),))
    both = {name: function("tensor<50xi32>", name=name) for name in ("one", "two")}
    made = {call.function: call.arrays[0] for call in calls(spec, selected(spec, both))}
    assert made["one"].max() == 1
    assert set(made["two"].tolist()) == {9}


@pytest.mark.parametrize("text", ["1", "a,b", "3,1", "1,2,3", "nan,1"])
def test_a_malformed_range_is_refused(text: str) -> None:
    with pytest.raises(ConstPolicyError, match="input range"):
        InputRange.parse(text)


def test_a_name_that_no_input_has_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(ConstPolicyError, match=r"no input 'ids'; the inputs are main\.input0"):
        arrays(InputSpec(ranges=(InputRange.parse("ids:0,1"),)), "tensor<4xi32>")


def test_dynamic_dimensions_are_asked_for_with_an_example() -> None:
    with pytest.raises(ConstPolicyError, match=r"input1: tensor<\?x4xcomplex<f32>>.*as in input1:8x4"):
        arrays(InputSpec(), "tensor<4xi32>", "tensor<?x4xcomplex<f32>>")


def test_a_shape_without_a_name_goes_to_the_inputs_that_it_fits() -> None:
    spec = InputSpec(shapes=(InputShape.parse("3"), InputShape.parse("2x4")))
    first, second = arrays(spec, "tensor<?xi32>", "tensor<?x4xf32>")[0]
    assert (first.shape, second.shape) == ((3,), (2, 4))


def test_a_named_shape_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ConstPolicyError, match=r"shape \[2, 5\] does not fit"):
        arrays(InputSpec(shapes=(InputShape.parse("input0:2x5"),)), "tensor<?x4xf32>")


def test_zeros_ones_and_extremes_are_sets_of_their_own() -> None:
    spec = InputSpec(sets=(InputSet.ZEROS, InputSet.ONES, InputSet.EXTREMES))
    zeros, ones, extremes = (call[0] for call in arrays(spec, "tensor<500xf16>"))
    assert set(zeros.tolist()) == {0.0}
    assert set(ones.tolist()) == {1.0}
    found = {str(value) for value in extremes.tolist()}
    assert {"65504.0", "-65504.0", "-0.0", "5.960464477539063e-08"} <= found


def test_extremes_keep_to_a_given_range() -> None:
    spec = InputSpec(sets=(InputSet.EXTREMES,), ranges=(InputRange.parse("0,30521"),))
    assert set(arrays(spec, "tensor<100xi64>")[0][0].tolist()) == {0, 30521}


def test_nan_and_infinities_go_where_the_type_has_them() -> None:
    spec = InputSpec(sets=(InputSet.NAN, InputSet.INF))
    (ids, with_nan), (_, with_inf) = arrays(spec, "tensor<64xi64>", "tensor<64xbf16>")
    assert set(ids.tolist()) == {0, 1}
    assert 0 < np.isnan(with_nan).sum() < 64
    assert 0 < np.isinf(with_inf).sum() < 64


def test_a_function_of_integers_gets_no_calls_with_nan() -> None:
    assert len(arrays(InputSpec(sets=(InputSet.SEEDED, InputSet.NAN)), "tensor<4xi64>")) == 1


def test_values_are_read_in_the_syntax_of_iree_run_module(tmp_path: Path) -> None:
    np.arange(6, dtype=np.int16).tofile(tmp_path / "raw.bin")
    spec = InputSpec(
        values=("2x2xf32=[[1 2][3,-inf]]", "4xi1=1 0 true 0", f"6xi16=@{tmp_path}/raw.bin", "3xbf16=2.5", "7")
    )
    made = arrays(spec, "tensor<2x2xf32>", "tensor<?xi1>", "tensor<6xi16>", "tensor<3xbf16>", "i32")[0]
    assert made[0].tolist() == [[1, 2], [3, -np.inf]]
    assert made[1].tolist() == [True, False, True, False]
    assert made[2].tolist() == [0, 1, 2, 3, 4, 5]
    assert made[3].dtype == np.dtype(ml_dtypes.bfloat16)
    assert made[3].astype(float).tolist() == [2.5, 2.5, 2.5]
    assert (made[4].item(), made[4].dtype) == (7, np.dtype(np.int32))


def test_one_numpy_file_may_hold_several_inputs(tmp_path: Path) -> None:
    with (tmp_path / "two.npy").open("wb") as file:
        np.save(file, np.ones(2, np.float32))
        np.save(file, np.zeros(3, np.int64))
    first, second = arrays(InputSpec(values=(f"@{tmp_path}/two.npy",)), "tensor<2xf32>", "tensor<3xi64>")[0]
    assert (first.tolist(), second.tolist()) == ([1, 1], [0, 0, 0])


def test_the_arrays_of_an_archive_go_to_the_inputs_of_their_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "both.npz", input1=np.full(2, 5, np.int8), input0=np.ones(1, np.float32))
    first, second = arrays(InputSpec(values=(f"@{tmp_path}/both.npz",)), "tensor<1xf32>", "tensor<2xi8>")[0]
    assert (first.tolist(), second.tolist()) == ([1], [5, 5])


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("2x2xf32=1 2 3", "3 values are given, the shape needs 4"),
        ("4xf32=1 2 3 x", "not all values are of type f32"),
        ("4xi8=1 2 3 400", "not all values are of type i8"),
        ("4xf64=1", "is tensor<4xf32>, not an array of float64"),
        ("3xf32=1", r"is tensor<4xf32>, not of shape \[3\]"),
        ("4xi2=1", "packed below a byte"),
        ("@missing.npy", "No such file"),
        ("@missing.bin", "a raw one after its type"),
        ("words and more", "write a number"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_the_reason(text: str, error: str) -> None:
    with pytest.raises(ConstPolicyError, match=error):
        arrays(InputSpec(values=(text,)), "tensor<4xf32>")


def test_a_raw_file_of_the_wrong_size_is_refused(tmp_path: Path) -> None:
    (tmp_path / "raw.bin").write_bytes(bytes(15))
    with pytest.raises(ConstPolicyError, match="holds 15 bytes, the shape needs 16"):
        arrays(InputSpec(values=(f"4xf32=@{tmp_path}/raw.bin",)), "tensor<4xf32>")


def test_values_for_several_functions_are_refused() -> None:
    both = {name: function("tensor<4xi32>", name=name) for name in ("one", "two")}
    with pytest.raises(ConstPolicyError, match="name one"):
        selected(InputSpec(values=("4xi32=1",)), both)


def test_a_function_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConstPolicyError, match="no function 'two'; it exports main"):
        selected(InputSpec(functions=("two",)), {"main": function()})


def test_too_few_arrays_are_refused_with_what_is_needed() -> None:
    with pytest.raises(ConstPolicyError, match=r"1 inputs are given and 2 needed \(input0: i32, input1: i64\)"):
        read(("1",), function("i32", "i64").inputs, "input")


def test_signless_integers_take_unsigned_arrays_of_their_width() -> None:
    (array,) = match([np.array([255], np.uint8)], function("tensor<1xi8>").inputs, "input")
    assert array.tolist() == [-1]


def test_a_script_gives_the_inputs_of_each_call(tmp_path: Path) -> None:
    script = tmp_path / "data.py"
    script.write_text(
        "import numpy as np\n"
        "def inputs(function):\n"
        "    yield [np.full(2, 1, np.float32)]\n"
        "    yield {'input0': np.full(2, 2, np.float32)}\n"
    )
    made = list(calls(InputSpec(script=script), (function("tensor<2xf32>"),)))
    assert [call.arrays[0].tolist() for call in made] == [[1, 1], [2, 2]]
    assert made[1].label == "inputs of data.py, iteration 2"


def test_a_script_without_the_function_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text("x = 1\n")
    with pytest.raises(ConstPolicyError, match=r"defines no function inputs\(function\)"):
        list(calls(InputSpec(script=tmp_path / "data.py"), (function(),)))
