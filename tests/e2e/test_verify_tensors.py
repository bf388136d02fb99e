"""Every evaluated result is checked by itself: what is wrong is named, sized and attributed, what is right passes."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from constpolicy import driver
from constpolicy.compiler.flags import parse
from constpolicy.compiler.phases import CHECK_MODULE
from constpolicy.policy.choice import Choice
from constpolicy.policy.schema import Verify
from constpolicy.records import Action, Byproducts
from constpolicy.rewrite.check_build import CheckBuild
from constpolicy.verify import Limits, Verification
from constpolicy.verify.model import verify_model
from constpolicy.verify.runnable import is_this_cpu
from constpolicy.verify.settings import Settings, policy_tolerance
from constpolicy.verify.standard import expected_standard
from constpolicy.verify.tensor_record import Cause, TensorCheck, TensorVerification
from constpolicy.verify.tensors import verify_tensors
from scripts.models.cases import write
from tests.e2e.programs import CPU, action_policy, constpolicy
from tests.e2e.stored_faults import (
    as_integers,
    one_bit,
    plant,
    plant_minus,
    plant_one_bit,
    through_half,
    transposed,
)

GENERIC = (*CPU[:2], "--iree-llvmcpu-target-cpu=generic")
TABLE = "tensor<8x8xf32>"


def table(number: int) -> str:
    """The global that hoisting makes of a table: those of one type are numbered, but for the first."""
    return "__hoisted_tensor_8x8xf32" + (f"_{number - 1}" if number else "")


def turned_tables(number: int) -> str:
    """A function that gives so many tables, each transposed while compiling."""
    lines = []
    for k in range(number):
        table = np.random.default_rng(k).standard_normal((8, 8)).astype(np.float32).tolist()
        lines.append(f"""
          %table{k} = arith.constant dense<{table}> : {TABLE}
          %room{k} = tensor.empty() : {TABLE}
          %turned{k} = linalg.transpose ins(%table{k} : {TABLE}) outs(%room{k} : {TABLE}) permutation = [1, 0]""")
    results = ", ".join(f"%turned{k}" for k in range(number))
    types = ", ".join([TABLE] * number)
    return f"func.func @main() -> ({types}) {{{''.join(lines)}\n return {results} : {types}\n}}"


def verified(source: Path, policy: driver.AnyPolicy, flags: Sequence[str]) -> tuple[Verification, TensorVerification]:
    """The whole verification, as `constpolicy verify --tensors` makes it."""
    _, (result,) = verify_model(parse([str(source), *flags]), policy, Settings(tensors=True))
    assert result.tensors is not None
    return result, result.tensors


def checked(
    source: Path, *flags: str, policy: driver.AnyPolicy = driver.UPSTREAM, limits: Limits | None = None
) -> TensorVerification:
    """The check of the single results alone."""
    output, check = source.with_suffix(".vmfb"), source.with_suffix(".check.vmfb")
    line = parse([str(source), "-o", str(output), *(flags or CPU)])
    compiled = driver.compile_program(line, policy, byproducts=Byproducts(check_module=str(check)))
    assert compiled.exit_code == 0
    verify = compiled.policy.policy.verify if compiled.policy else Verify()
    is_host = is_this_cpu(compiled.facts.targets)
    standard = expected_standard([Action.EVALUATE], target_is_host=is_host, tolerance=policy_tolerance(verify))
    return verify_tensors(compiled, check, is_host=is_host, standard=standard, limits=limits or Limits())


def checked_text(folder: Path, text: str, *flags: str) -> TensorVerification:
    source = folder / "program.mlir"
    source.write_text(text)
    return checked(source, *flags)


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    source = tmp_path / "tables.mlir"
    source.write_text(turned_tables(3))
    return source


def test_what_const_eval_stores_is_what_the_target_computes_bit_for_bit(tables: Path) -> None:
    result, tensors = verified(tables, driver.UPSTREAM, CPU)
    assert result.passed
    assert tensors.summary() == "tensors: 3 of 3 evaluated results bit-exact"
    assert Verification.model_validate_json(result.model_dump_json()) == result


@pytest.mark.parametrize("flags", [CPU, GENERIC], ids=["for this CPU", "for a generic CPU"])
def test_planted_faults_are_named_as_real_errors_of_their_candidates_and_of_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    faults = {table(1): one_bit, table(2): transposed, table(4): through_half, table(5): as_integers}
    plant(monkeypatch, faults)
    tensors = checked_text(tmp_path, turned_tables(6), *flags).tensors
    assert {tensor.symbol: tensor.cause for tensor in tensors if not tensor.passed} == dict.fromkeys(
        faults, Cause.ERROR
    )
    assert [tensor.symbol for tensor in tensors if tensor.bit_exact] == [table(0), table(3)]


def test_a_flipped_bit_is_told_with_its_place_and_both_values(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, {table(2): one_bit})
    tensors = checked(tables)
    wrong = tensors.tensors[2]
    assert wrong.statistics is not None
    assert (wrong.statistics.differing, wrong.statistics.max_ulp) == (1, 1)
    assert [element.index for element in wrong.worst] == [(2, 1)]
    text = "\n".join(tensors.lines())
    assert f"candidate {wrong.candidate}: transpose of " in text
    assert "tables.mlir:10:" in text
    assert f"[2, 1]: stored {wrong.worst[0].candidate}, computed {wrong.worst[0].reference}" in text


@pytest.mark.parametrize("plant_one", [plant_one_bit, plant_minus], ids=["after its reader", "before its reader"])
def test_a_result_that_was_wrong_when_its_reader_was_evaluated_or_later_is_named_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant_one: Callable[[pytest.MonkeyPatch, str], None]
) -> None:
    (source,) = write(tmp_path, ["chain"])
    plant_one(monkeypatch, "__hoisted_tensor_64x64xf32")
    first, second = checked(source).tensors
    assert f"@{first.symbol}" in second.sources
    assert [first.passed, second.passed] == [False, True]


def test_for_another_cpu_than_this_one_the_difference_is_sized_and_attributed(tmp_path: Path) -> None:
    (source,) = write(tmp_path, ["rope_table"])
    result, tensors = verified(source, driver.UPSTREAM, GENERIC)
    (table,) = tensors.tensors
    assert table.statistics is not None
    assert table.cause is Cause.HOST_CPU
    assert table.statistics.differing > 1000
    assert 0 < table.statistics.max_absolute < 1e-4
    assert len(table.worst) == 5
    assert not result.passed


@pytest.mark.full
def test_an_error_in_what_is_stored_is_no_effect_of_the_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source,) = write(tmp_path, ["rope_table"])
    plant(monkeypatch, {"__hoisted_tensor_512x64xf32": as_integers})
    (table,) = verified(source, driver.UPSTREAM, GENERIC)[1].tensors
    assert table.cause is Cause.ERROR


def test_a_tolerance_holds_for_what_rounds_and_not_for_what_is_only_moved(
    tmp_path: Path, tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source,) = write(tmp_path, ["rope_table"])
    policy = tmp_path / "loose.yaml"
    policy.write_text("schema: 1\nname: loose\nextends: upstream\nverify: {atol: 1.0e-3}\n")
    loose = Choice(str(policy), "a test asks for it")
    assert checked(source, *GENERIC, policy=loose).summary() == (
        "tensors: 0 of 1 evaluated result bit-exact, 1 within the tolerance"
    )
    plant(monkeypatch, {table(0): one_bit})
    assert not checked(tables, *GENERIC, policy=loose).passed


def test_the_user_s_own_initializers_are_checked_too(tmp_path: Path) -> None:
    (source,) = write(tmp_path, ["user_initializer"])
    assert [tensor.candidate[0] for tensor in checked(source).tensors].count("@") == 1


def test_a_scalar_is_compared_by_its_bits(tmp_path: Path) -> None:
    (source,) = write(tmp_path, ["scalar"])
    (scalar,) = checked(source).tensors
    assert (scalar.type, scalar.bit_exact) == ("f32", True)


CUBE, FACE = "tensor<8x8x2xf32>", "tensor<8x8xf32>"


def inserted(*, base: str) -> str:
    """A face of numbers is written into a cube: one of other numbers, or one of which nothing is known."""
    numbers = np.random.default_rng(1)
    face, cube = numbers.random((8, 8)).round(3).tolist(), numbers.random((8, 8, 2)).round(3).tolist()
    return f"""
    func.func @main() -> {CUBE} {{
      %face = arith.constant dense<{face}> : {FACE}
      %numbers = arith.constant dense<{cube}> : {CUBE}
      %nothing = tensor.empty() : {CUBE}
      %e = math.exp %face : {FACE}
      %0 = tensor.insert_slice %e into %{base}[0, 0, 1] [8, 8, 1] [1, 1, 1] : {FACE} into {CUBE}
      return %0 : {CUBE}
    }}"""


@pytest.mark.parametrize("base", ["numbers", "nothing"])
def test_a_constant_that_is_written_into_is_kept_and_what_is_never_written_is_not_compared(
    tmp_path: Path, base: str
) -> None:
    result = checked_text(tmp_path, inserted(base=base))
    assert result.summary() == "tensors: 1 of 1 evaluated result bit-exact"


def test_an_expression_that_writes_into_a_constant_can_be_inlined(tmp_path: Path) -> None:
    source = tmp_path / "inserted.mlir"
    source.write_text(inserted(base="numbers"))
    policy = action_policy(tmp_path, "inline")
    _, (result,) = verify_model(parse([str(source), *CPU]), Choice(str(policy), "a test asks for it"), Settings())
    assert result.failure is None
    assert [check.failure for check in result.functions] == [None]
    assert result.functions[0].outputs[0].passed


ELEMENTS = {
    "f64": "[[-0.0, 1.5], [1.0e-310, 0x7FF0000000000001]]",
    "f32": "[[-0.0, 0x7F800001], [1.0e-40, 3.0]]",
    "f16": "[[-0.0, 0x7E01], [1.0e-07, 3.0]]",
    "bf16": "[[-0.0, 0x7FC1], [1.0e-40, 3.0]]",
    "i8": "[[-128, 127], [1, 0]]",
    "i16": "[[-32768, 32767], [1, 0]]",
    "i32": "[[-2147483648, 7], [1, 0]]",
    "i64": "[[-9223372036854775808, 7], [1, 0]]",
    "f8E4M3FN": "[[0.5, 1.5], [2.0, 3.0]]",
    "f8E5M2": "[[0.5, 1.5], [2.0, 3.0]]",
    "complex<f32>": "[[(1.0, -0.0), (2.0, 3.0)], [(0.0, 1.0), (4.0, 5.0)]]",
}


def turned(type: str, elements: str) -> str:
    tensor = f"tensor<2x2x{type}>"
    name = type.replace("<", "_").replace(">", "")
    return f"""
    func.func @{name}() -> {tensor} {{
      %table = arith.constant dense<{elements}> : {tensor}
      %room = tensor.empty() : {tensor}
      %turned = linalg.transpose ins(%table : {tensor}) outs(%room : {tensor}) permutation = [1, 0]
      return %turned : {tensor}
    }}"""


MASK = """
    util.global private @mask : tensor<2x3xi1>
    util.initializer {
      %table = arith.constant dense<[[true, false, true], [false, false, true]]> : tensor<2x3xi1>
      %room = tensor.empty() : tensor<2x3xi1>
      %not = linalg.generic {
          indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
          iterator_types = ["parallel", "parallel"]}
          ins(%table : tensor<2x3xi1>) outs(%room : tensor<2x3xi1>) {
        ^bb0(%a: i1, %o: i1):
          %true = arith.constant true
          %b = arith.xori %a, %true : i1
          linalg.yield %b : i1
      } -> tensor<2x3xi1>
      util.global.store %not, @mask : tensor<2x3xi1>
      util.return
    }
    func.func @i1(%x: tensor<2x3xi1>) -> tensor<2x3xi1> {
      %mask = util.global.load @mask : tensor<2x3xi1>
      %0 = arith.andi %x, %mask : tensor<2x3xi1>
      return %0 : tensor<2x3xi1>
    }"""


def element_of(tensor: TensorCheck) -> str:
    return re.sub(r"^tensor<(\d+x)+|>$", "", tensor.type)


def test_every_element_type_is_checked_or_said_not_to_be(tmp_path: Path) -> None:
    text = MASK + "".join(turned(type, elements) for type, elements in ELEMENTS.items())
    result = checked_text(tmp_path, text, *CPU, "--iree-input-demote-f64-to-f32=false")
    exact = [element_of(tensor) for tensor in result.tensors if tensor.bit_exact]
    assert sorted(exact) == sorted(["i1", "f64", "f32", "f16", "bf16", "i8", "i16", "i32", "i64"])
    others = {element_of(tensor): tensor.not_checked for tensor in result.tensors if not tensor.bit_exact}
    assert others == {
        type: f"const-eval leaves it for load time: it has elements of type {type}, which const-eval does not support"
        for type in ("f8E4M3FN", "f8E5M2", "complex<f32>")
    }


def test_integers_below_a_byte_are_said_not_to_be_checked(tmp_path: Path) -> None:
    (source,) = write(tmp_path, ["refused_i4"])
    result = checked(source)
    assert result.summary() == "tensors: 0 of 1 evaluated result bit-exact, 1 not checked"
    assert "i4" in (result.tensors[0].not_checked or "")
    assert result.passed


def test_a_crash_on_the_check_module_leaves_the_program_as_it_is_and_is_told(
    tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(build: CheckBuild) -> None:
        if build._output is not None:
            build._session._on_phase(CHECK_MODULE)
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(CheckBuild, "compile", crash)
    result = checked(tables)
    assert tables.with_suffix(".vmfb").exists()
    assert result.passed
    assert {tensor.not_checked for tensor in result.tensors} == {
        "the check module does not compile: the compiler was ended by SIGKILL in phase 'check module'"
    }
    assert len(result.tensors) == 3


def test_a_check_module_that_cannot_be_written_leaves_the_program_as_it_is_and_is_told(tables: Path) -> None:
    output = tables.with_suffix(".vmfb")
    line = parse([str(tables), "-o", str(output), *CPU])
    wanted = Byproducts(check_module=str(tables / "no" / "folder.vmfb"))
    compiled = driver.compile_program(line, driver.UPSTREAM, byproducts=wanted)
    assert (compiled.exit_code, compiled.fallbacks, output.exists()) == (0, (), True)
    assert compiled.check is not None
    assert "folder.vmfb" in (compiled.check.failure or "")


def test_a_check_module_that_does_not_load_in_time_is_told_for_each_result(tables: Path) -> None:
    result = checked(tables, limits=Limits(seconds=0.001))
    assert [(tensor.not_checked or "")[:44] for tensor in result.tensors] == [
        "the check module did not come back from load"
    ] * 3


@pytest.mark.full
def test_the_commands_end_with_3_and_name_the_tensor_if_it_differs(tmp_path: Path) -> None:
    (source,) = write(tmp_path, ["rope_table"])
    ended = constpolicy("verify", source, "--tensors", "--policy", "upstream", *GENERIC)
    assert ended.returncode == 3
    assert b"cause: host CPU is not the target's" in ended.stdout
    words = ("compile", source, "-o", tmp_path / "a.vmfb", "--policy-verify", "--policy", "upstream")
    ended = constpolicy(*words, *GENERIC)
    assert ended.returncode == 3
    assert b"cause: host CPU is not the target's" in ended.stderr
    ended = constpolicy(*words, *CPU)
    assert ended.returncode == 0
    assert b"tensors: 1 of 1 evaluated result bit-exact" in ended.stderr
