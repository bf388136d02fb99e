"""Two compiled modules are run with the same inputs; what differs is found and what cannot run is told."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from constpolicy.records import ConstPolicyError
from constpolicy.verify import (
    InputRange,
    InputSet,
    InputShape,
    InputSpec,
    Limits,
    OutputBounds,
    ParameterArchive,
    Tolerance,
    Verification,
    verify_files,
    verify_outputs,
)
from constpolicy.verify.compare import Comparison, Judgement
from constpolicy.verify.errors import Errors
from constpolicy.verify.record import FailureKind
from constpolicy.verify.tolerance import Bounds
from tests.e2e import verify_programs as programs
from tests.e2e.verify_programs import adds, compiled


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("modules")


@pytest.fixture(scope="module")
def by_type(folder: Path) -> tuple[Path, Path]:
    """Two modules with a function for each element type; their numbers differ in every one."""
    return compiled(folder, "types", programs.every_type(1)), compiled(folder, "types2", programs.every_type(2))


@pytest.fixture(scope="module")
def plus_one(folder: Path) -> Path:
    return compiled(folder, "plus_one", adds("f32", "1.0"))


def failure(result: Verification, function: str) -> tuple[FailureKind, str]:
    found = next(check.failure for check in result.functions if check.function == function)
    assert found is not None
    return found.kind, found.text


def test_a_module_is_bit_exact_with_itself_for_every_element_type_and_input_set(by_type: tuple[Path, Path]) -> None:
    result = verify_files(by_type[0], by_type[0], inputs=InputSpec(iterations=2, sets=tuple(InputSet)))
    assert result.passed, result.summary()
    assert len(result.functions) == 15
    assert result.summary().startswith("15 outputs bit-exact over 7 iterations")


def test_a_changed_constant_is_found_for_every_element_type(by_type: tuple[Path, Path]) -> None:
    spec = InputSpec(ranges=(InputRange.parse("si16.input0:0,100"),))
    result = verify_files(*by_type, inputs=spec)
    assert not result.passed
    assert {check.function: check.passed for check in result.functions} == dict.fromkeys(
        [check.function for check in result.functions], False
    )
    worst = {check.function: check.outputs[0].statistics for check in result.functions}
    for name in ("f32", "f64", "i8", "i16", "i32", "i64", "complex"):
        found = worst[name]
        assert found is not None
        assert found.differing == found.elements == 6
    wide = worst["f64"]
    assert wide is not None
    assert wide.max_absolute == pytest.approx(1, abs=1e-15)


def test_the_summary_says_where_and_how_much(folder: Path, plus_one: Path) -> None:
    other = compiled(folder, "one_element", adds("f32", "[[1.0, 1.0, 1.0], [1.0, 1.5, 1.0]]"))
    result = verify_files(plus_one, other)
    assert result.summary() == (
        "output0: 1 of 6 elements differ, max abs error 0.5 at [1, 1] (must be bit-exact): failed"
    )
    allowed = verify_files(plus_one, other, tolerance=Tolerance(atol=0.6), reason="a test")
    assert allowed.passed
    assert allowed.summary() == "output0: max abs error 0.5 at [1, 1] (rtol 0, atol 0.6): passed"


def test_one_good_iteration_is_told_in_one_line(plus_one: Path) -> None:
    assert verify_files(plus_one, plus_one).summary() == "1 output bit-exact over 1 iteration"


def test_a_tolerance_for_one_output_holds_for_that_one_only(folder: Path) -> None:
    both = adds("f32", "1.0", name="one") + adds("f32", "1.0", name="two")
    off = adds("f32", "1.1", name="one") + adds("f32", "1.1", name="two")
    tolerance = Tolerance(outputs=(OutputBounds(output="two.output0", atol=1),))
    result = verify_files(compiled(folder, "both", both), compiled(folder, "off", off), tolerance=tolerance)
    assert [check.passed for check in result.functions] == [False, True]
    assert result.summary().startswith("@one output0: 6 of 6 elements differ")


def test_a_tolerance_for_an_output_that_is_not_there_is_refused(plus_one: Path) -> None:
    with pytest.raises(ConstPolicyError, match=r"no output 'logits'; the outputs are main\.output0"):
        verify_files(plus_one, plus_one, tolerance=Tolerance(outputs=(OutputBounds(output="logits", atol=1),)))


def test_another_comparison_can_take_the_place_of_the_built_in_ones(folder: Path, plus_one: Path) -> None:
    def at_most_half_differ(bounds: Bounds) -> Comparison:
        def compare(errors: Errors) -> Judgement:
            return Judgement(errors.differing.mean() <= 0.5, "half may differ")

        return compare

    other = compiled(folder, "other_element", adds("f32", "[[1.0, 1.0, 1.0], [1.0, 9.0, 1.0]]"))
    assert verify_files(plus_one, other, comparison_for=at_most_half_differ).passed


def test_the_report_alone_makes_the_same_verification_again(folder: Path, plus_one: Path) -> None:
    other = compiled(folder, "again", adds("f32", "1.25"))
    first = verify_files(plus_one, other, inputs=InputSpec(seed=3, ranges=(InputRange.parse("0,9"),)))
    written = json.loads(first.model_dump_json())
    assert written["passed"] is False
    read = Verification.model_validate(written)
    assert read == first
    assert verify_files(plus_one, other, inputs=read.inputs, tolerance=read.tolerance) == first


def test_dynamic_dimensions_are_asked_for_and_taken(folder: Path) -> None:
    text = """
        func.func @main(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
          %0 = arith.mulf %x, %x : tensor<?x3xf32>
          return %0 : tensor<?x3xf32>
        }"""
    module = compiled(folder, "dynamic", text)
    with pytest.raises(ConstPolicyError, match="input0:8x3"):
        verify_files(module, module)
    result = verify_files(module, module, inputs=InputSpec(shapes=(InputShape.parse("5x3"),)))
    assert result.summary() == "1 output bit-exact over 1 iteration"
    assert verify_files(module, module, inputs=InputSpec(shapes=(InputShape.parse("0x3"),))).passed


def test_tensors_without_elements_are_compared(folder: Path) -> None:
    module = compiled(folder, "empty", adds("f32", "1.0", shape="0x4x"))
    assert verify_files(module, module, tolerance=Tolerance(rtol=1)).passed


def test_outputs_larger_than_a_pipe_are_compared(folder: Path) -> None:
    module = compiled(folder, "large", adds("f32", "1.0", shape="1000x3000x"))
    assert verify_files(module, module).passed


def test_scalars_go_in_and_out(folder: Path) -> None:
    text = """
        func.func @main(%a: i32, %b: f64, %c: i1, %d: i64) -> (i32, f64, i1, i64) {{
          %one = arith.constant {one} : i64
          %0 = arith.addi %d, %one : i64
          return %a, %b, %c, %0 : i32, f64, i1, i64
        }}"""
    reference = compiled(folder, "scalars", text.format(one=1))
    values = ("3", "0.1", "1", "-8589934592")
    assert verify_files(reference, reference, inputs=InputSpec(values=values)).passed
    expected = verify_outputs(("3", "0.1", "1", "-8589934591"), reference, inputs=InputSpec(values=values))
    assert expected.passed, expected.summary()
    result = verify_files(reference, compiled(folder, "scalars2", text.format(one=2)))
    assert [output.passed for output in result.functions[0].outputs] == [True, True, True, False]


def test_state_is_carried_from_call_to_call(folder: Path) -> None:
    reference = compiled(folder, "accumulates", programs.ACCUMULATES)
    candidate = compiled(folder, "forgets", programs.FORGETS)
    assert verify_files(reference, reference, inputs=InputSpec(iterations=3)).passed
    assert verify_files(reference, candidate).passed
    result = verify_files(reference, candidate, inputs=InputSpec(iterations=3))
    assert not result.passed
    assert "in seeded inputs, iteration" in result.summary()


def test_what_only_nan_shows_is_found_by_its_input_set(folder: Path) -> None:
    reference = compiled(folder, "maximum", adds("f32", "0.0", op="arith.maximumf"))
    candidate = compiled(folder, "maxnum", adds("f32", "0.0", op="arith.maxnumf"))
    assert verify_files(reference, candidate).passed
    result = verify_files(reference, candidate, inputs=InputSpec(sets=(InputSet.SEEDED, InputSet.NAN)))
    assert "0.0 where the reference has nan" in result.summary()


def test_the_sign_of_zero_is_a_difference_of_its_own(folder: Path) -> None:
    reference = compiled(folder, "zero", adds("f32", "0.0", op="arith.mulf"))
    candidate = compiled(folder, "minus_zero", adds("f32", "-0.0", op="arith.mulf"))
    assert "in the sign of zero only" in verify_files(reference, candidate).summary()
    assert verify_files(reference, candidate, tolerance=Tolerance(atol=1e-30)).passed


def test_nothing_but_nan_is_mentioned(folder: Path) -> None:
    module = compiled(folder, "nan", adds("f32", "0x7FC00000"))
    assert "output0: nothing but NaN" in verify_files(module, module).summary()


def test_a_missing_function_and_another_type_are_named(folder: Path, by_type: tuple[Path, Path]) -> None:
    candidate = compiled(folder, "few", adds("f16", "1.0", name="f32") + adds("i8", "1", name="i8", op="arith.addi"))
    result = verify_files(by_type[0], candidate, inputs=InputSpec(functions=("f32", "f64", "i8")))
    assert failure(result, "f64") == (FailureKind.SIGNATURE, "candidate: there is no @f64")
    kind, text = failure(result, "f32")
    assert kind is FailureKind.SIGNATURE
    assert "tensor<2x3xf32>" in text
    assert "tensor<2x3xf16>" in text
    assert [check.passed for check in result.functions] == [False, False, True]


def test_integers_of_four_bits_go_in_and_out_packed(folder: Path) -> None:
    module = compiled(folder, "i4", adds("i4", "1", shape="8x", op="arith.addi"))
    spec = InputSpec(values=("8xi4=-8 -7 -1 0 1 2 6 7",))
    result = verify_outputs(("8xi4=-7 -6 0 1 2 3 7 -8",), module, inputs=spec)
    assert result.passed, result.summary()
    (folder / "packed.bin").write_bytes(bytes([0x98, 0x0F, 0x21, 0x76]))
    from_file = InputSpec(values=(f"8xi4=@{folder}/packed.bin",))
    assert verify_outputs(("8xi4=-7 -6 0 1 2 3 7 -8",), module, inputs=from_file).passed
    wrong = verify_outputs(("8xi4=-7 -6 0 1 2 3 7 7",), module, inputs=spec)
    assert wrong.summary() == "output0: 1 of 8 elements differ, max abs error 15 at [7] (must be bit-exact): failed"


def test_elements_of_two_bits_are_refused_with_the_reason(folder: Path) -> None:
    module = compiled(folder, "i2", "func.func @main(%x: tensor<8xi2>) -> tensor<8xi2> { return %x : tensor<8xi2> }")
    kind, text = failure(verify_files(module, module), "main")
    assert kind is FailureKind.UNSUPPORTED
    assert text.startswith("@main cannot be called: input0 is tensor<8xi2>: elements of type i2 are packed")


@pytest.mark.parametrize("element_type", ["f16", "bf16"])
def test_scalars_of_sixteen_bit_floats_go_in_as_their_bits(folder: Path, element_type: str) -> None:
    text = f"""
        func.func @main(%x: {element_type}) -> (tensor<2x{element_type}>, {element_type}) {{
          %e = tensor.empty() : tensor<2x{element_type}>
          %0 = linalg.fill ins(%x : {element_type}) outs(%e : tensor<2x{element_type}>) -> tensor<2x{element_type}>
          return %0, %x : tensor<2x{element_type}>, {element_type}
        }}"""
    module = compiled(folder, f"scalar_{element_type}", text)
    expected = (f"2x{element_type}=-2.5", "-2.5")
    assert verify_outputs(expected, module, inputs=InputSpec(values=("-2.5",))).passed
    assert not verify_outputs(expected, module, inputs=InputSpec(values=("2.5",))).passed
    assert verify_files(module, module, inputs=InputSpec(sets=(InputSet.SEEDED, InputSet.EXTREMES))).passed


def test_an_asynchronous_module_is_waited_for(folder: Path, plus_one: Path) -> None:
    module = compiled(folder, "async", adds("f32", "1.0"), "--iree-execution-model=async-external")
    assert verify_files(plus_one, module).passed


def test_parameters_come_from_the_archives_given(folder: Path) -> None:
    from iree import runtime

    module = compiled(folder, "parameters", programs.SCALES_BY_PARAMETER)
    for name, value in (("ones", 1), ("twos", 2)):
        runtime.save_archive_file({"w": np.full(4, value, np.float32)}, folder / f"{name}.irpa")
    ones, twos = (ParameterArchive.parse(f"model={folder}/{name}.irpa") for name in ("ones", "twos"))
    assert verify_files(module, module, parameters=(ones,)).passed
    assert not verify_files(module, module, parameters=(ones,), candidate_parameters=(twos,)).passed
    without = verify_files(module, module)
    assert without.failure is not None
    assert without.failure.kind is FailureKind.LOAD


def test_compiled_code_that_crashes_is_a_result_and_the_other_functions_are_checked(folder: Path) -> None:
    reference = compiled(folder, "reads", programs.reads_at(0))
    candidate = compiled(folder, "reads_far", programs.reads_at(1 << 40))
    result = verify_files(reference, candidate)
    assert failure(result, "gather") == (
        FailureKind.CRASH,
        "candidate: @gather with seeded inputs was ended by SIGSEGV",
    )
    assert [check.passed for check in result.functions] == [False, True]


def test_compiled_code_that_hangs_is_ended_at_the_time_limit(folder: Path) -> None:
    module = compiled(folder, "loops", programs.LOOPS_UNLESS_ZERO)
    spec = InputSpec(sets=(InputSet.ZEROS, InputSet.ONES))
    result = verify_files(module, module, inputs=spec, limits=Limits(seconds=2))
    assert result.functions[0].calls == 1
    assert failure(result, "main") == (
        FailureKind.TIMEOUT,
        "reference: @main with ones inputs did not come back from the call in 2 s",
    )


def test_compiled_code_that_fills_the_memory_is_stopped_at_the_limit(folder: Path) -> None:
    module = compiled(folder, "fills", programs.FILLS)
    little, much = (InputSpec(values=(str(count), "1.0")) for count in (1000, 250_000_000))
    limits = Limits(memory_bytes=300_000_000)
    assert verify_files(module, module, inputs=little, limits=limits).passed
    result = verify_files(module, module, inputs=much, limits=limits)
    kind, text = failure(result, "main")
    assert kind is FailureKind.MEMORY
    assert "needs more memory than the limit of 300000000 bytes" in text


def test_a_file_that_is_no_module_is_a_result_that_names_the_side(folder: Path, plus_one: Path) -> None:
    (folder / "text.vmfb").write_text("not a module")
    result = verify_files(plus_one, folder / "text.vmfb")
    assert not result.passed
    assert result.summary().startswith("candidate: the module cannot be loaded: ")


def test_a_file_that_is_not_there_is_an_error_of_the_user(folder: Path, plus_one: Path) -> None:
    with pytest.raises(ConstPolicyError, match=r"nowhere\.vmfb: there is no such file"):
        verify_files(plus_one, folder / "nowhere.vmfb")


def test_python_files_in_the_current_folder_do_not_get_in_the_way(
    tmp_path: Path, plus_one: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pickle.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    assert verify_files(plus_one, plus_one).passed


def test_outputs_are_compared_with_given_ones(folder: Path, plus_one: Path) -> None:
    spec = InputSpec(values=("2x3xf32=[[1 2 3][4 5 6]]",))
    np.save(folder / "expected.npy", np.arange(2, 8, dtype=np.float32).reshape(2, 3))
    for expected in ("2x3xf32=2 3 4 5 6 7", f"@{folder}/expected.npy"):
        assert verify_outputs((expected,), plus_one, inputs=spec).passed
    result = verify_outputs(("2x3xf32=2 3 4 5 6 8",), plus_one, inputs=spec, tolerance=Tolerance(atol=0.5))
    assert result.summary() == ("output0: 1 of 6 elements beyond rtol 0, atol 0.5, max abs error 1 at [1, 2]: failed")


def test_expected_outputs_of_another_type_are_refused(plus_one: Path) -> None:
    with pytest.raises(ConstPolicyError, match="expected output output0 is tensor<2x3xf32>, not an array of int64"):
        verify_outputs(("2x3xi64=1",), plus_one)


def test_a_script_gives_the_inputs(folder: Path, plus_one: Path) -> None:
    script = folder / "loader.py"
    script.write_text(
        "import numpy as np\n"
        "def inputs(function):\n"
        "    for value in range(3):\n"
        "        yield [np.full((2, 3), value, np.float32)]\n"
    )
    result = verify_files(plus_one, plus_one, inputs=InputSpec(script=script))
    assert result.summary() == "1 output bit-exact over 3 iterations"
