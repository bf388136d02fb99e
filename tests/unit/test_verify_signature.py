"""Declarations of compiled functions are read into signatures."""

from __future__ import annotations

import numpy as np
import pytest

from constpolicy.verify.signature import parse, signatures


def test_tensors_scalars_and_dynamic_dimensions_are_read() -> None:
    text = "sync func @f(%input0: tensor<2x?xbf16>, %input1: i32, %x: tensor<f32>) -> (%output0: tensor<complex<f32>>)"
    signature = parse("f", text)
    assert signature.unsupported is None
    assert [(v.name, v.element.name, v.shape) for v in signature.arguments] == [
        ("input0", "bf16", (2, None)),
        ("input1", "i32", None),
        ("x", "f32", ()),
    ]
    assert signature.arguments[0].is_dynamic
    assert not signature.arguments[2].is_dynamic
    assert signature.results[0].element.dtype == np.dtype(np.complex64)


def test_a_function_without_arguments_and_results_is_read() -> None:
    signature = parse("none", "sync func @none() -> ()")
    assert (signature.arguments, signature.results, signature.unsupported) == ((), (), None)


def test_names_with_brackets_and_spaces_do_not_confuse_the_reader() -> None:
    signature = parse("a (b) c", "sync func @a (b) c(%input0: tensor<4xf32>) -> (%output0: tensor<4xf32>)")
    assert [v.name for v in signature.arguments + signature.results] == ["input0", "output0"]


def test_an_argument_that_receives_an_output_is_no_input() -> None:
    text = "sync func @f(%data: tensor<4xf32>, %input1: tensor<4xf32> {iree.abi.output = 0 : index}) -> ()"
    assert [value.name for value in parse("f", text).inputs] == ["data"]


def test_an_asynchronous_function_is_told_apart() -> None:
    assert parse("f", "async func @f(%input0: tensor<4xf32>) -> (%y: tensor<4xf32>)").is_async


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        ("tensor<8xi2>", "input0 is tensor<8xi2>: elements of type i2 are packed below a byte"),
        ("tensor<8xf4E2M1FN>", "packed below a byte"),
        ("!hal.buffer_view", "input0 is !hal.buffer_view: only tensors"),
        ("complex<f32>", "only tensors, integers and floats"),
        ("tensor<4xi128>", "no arrays of i128"),
    ],
)
def test_what_cannot_be_passed_is_refused_with_the_reason(argument: str, reason: str) -> None:
    unsupported = parse("f", f"sync func @f(%input0: {argument}) -> ()").unsupported
    assert unsupported is not None
    assert reason in unsupported


def test_a_function_without_a_declaration_is_refused() -> None:
    assert parse("g", "").unsupported == "the module does not say what it takes (iree.abi.declaration)"


def test_the_asynchronous_twin_of_a_function_is_left_out() -> None:
    found = signatures({"main$async": "async func @main() -> ()", "main": "sync func @main() -> ()", "x$async": ""})
    assert list(found) == ["main", "x$async"]
