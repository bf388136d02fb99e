"""`constpolicy verify` end to end: what it compares with, what it prints, and what it does where nothing can run."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scripts.models.cases import write
from tests.e2e import verify_programs as programs
from tests.e2e.programs import CPU, action_policy, constpolicy

full = pytest.mark.full

GENERIC = (*CPU[:2], "--iree-llvmcpu-target-cpu=generic")


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cases")
    write(folder, ["tied_scaled", "rope_table", "several_functions"])
    return folder


def verified(*arguments: str | Path, code: int = 0) -> Any:
    """The JSON result of a verification that ends with this exit code."""
    ended = constpolicy("verify", *arguments, "--json")
    assert ended.returncode == code, ended.stderr.decode() + ended.stdout.decode()
    return json.loads(ended.stdout)


def printed(*arguments: str | Path, code: int = 0) -> str:
    ended = constpolicy("verify", *arguments)
    assert ended.returncode == code, ended.stderr.decode() + ended.stdout.decode()
    return ended.stdout.decode()


def program(folder: Path, text: str) -> Path:
    file = folder / "program.mlir"
    file.write_text(text)
    return file


def test_the_build_is_compared_with_all_that_are_asked_for(cases: Path) -> None:
    names = ["upstream", "const-eval-off", "iree-compile"]
    results = verified(cases / "tied_scaled.mlir", *(f"--against={name}" for name in names), *CPU)
    assert [result["against"] for result in results] == names
    assert all(result["passed"] for result in results)
    assert {output["text"] for r in results for output in r["functions"][0]["outputs"]} == {"bit-exact"}


def test_index_inputs_get_the_indices_that_the_program_allows_and_the_result_tells_them(cases: Path) -> None:
    result = verified(cases / "tied_scaled.mlir", *CPU)
    assert result["notes"] == ["input0 (tensor<8xi32>) is an index: it is given 0 to 1999, as the program allows"]
    assert result["inputs"]["ranges"] == [{"name": "main.input0", "low": 0.0, "high": 1999.0}]
    asked = verified(cases / "tied_scaled.mlir", "--range=input0:3,4", *CPU)
    assert (asked["notes"], len(asked["inputs"]["ranges"])) == ([], 1)


@full
def test_integers_of_unknown_meaning_stay_small_and_the_output_says_how_to_reach_more(tmp_path: Path) -> None:
    model = program(tmp_path, programs.adds("i64", "1", op="arith.addi"))
    text = printed(model, *CPU)
    assert "input0 (tensor<2x3xi64>) is given 0 and 1 only: --range input0:LO,HI reaches more" in text


@full
def test_expected_outputs_are_compared_as_values_and_from_every_kind_of_file(tmp_path: Path) -> None:
    model = program(tmp_path, programs.adds("f32", "1.0"))
    wanted = np.arange(2, 8, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "wanted.npy", wanted)
    np.savez(tmp_path / "wanted.npz", output0=wanted)
    (tmp_path / "wanted.bin").write_bytes(wanted.tobytes())
    values = "--input=2x3xf32=1 2 3 4 5 6"
    for given in ("2x3xf32=2 3 4 5 6 7", *(f"@{tmp_path}/wanted.{kind}" for kind in ("npy", "npz"))):
        result = verified(model, values, f"--expected_output={given}", *CPU)
        assert (result["against"], result["passed"]) == ("expected", True)
    assert verified(model, values, f"--expected_output=2x3xf32=@{tmp_path}/wanted.bin", *CPU)["passed"]
    text = printed(model, values, "--expected_output=2x3xf32=2 3 4 5 6 9", *CPU, code=3)
    assert "against expected: output0: 1 of 6 elements beyond" in text
    assert "the expected outputs were computed elsewhere" in text


def test_expected_outputs_and_a_build_can_be_asked_for_together(tmp_path: Path) -> None:
    model = program(tmp_path, programs.adds("f32", "1.0"))
    given = ("--against=upstream", "--input=2x3xf32=1", "--expected_output=2x3xf32=2")
    assert [result["against"] for result in verified(model, *given, *CPU)] == ["upstream", "expected"]


def test_every_exported_function_is_called_and_one_can_be_chosen(cases: Path) -> None:
    model = cases / "several_functions.mlir"
    every = [check["function"] for check in verified(model, *CPU)["functions"]]
    assert len(every) > 1
    one = verified(model, "--function", every[1], *CPU)
    assert [check["function"] for check in one["functions"]] == [every[1]]


def test_a_stateful_module_is_compared_over_several_iterations(tmp_path: Path) -> None:
    model = program(tmp_path, programs.ACCUMULATES)
    result = verified(model, "--iterations=3", "--input-set=seeded", "--input-set=extremes", *CPU)
    assert [(check["function"], check["calls"]) for check in result["functions"]] == [("add", 4), ("get", 3)]
    assert result["passed"]


@full
def test_the_state_of_a_module_shows_in_what_is_expected_of_its_second_call(tmp_path: Path) -> None:
    model = program(tmp_path, "\n".join(programs.ACCUMULATES.splitlines()).replace("@get", "@total"))
    # Nothing has been added before the only call.
    assert verified(model, "--function=total", "--expected_output=4xf32=0", *CPU)["passed"]
    result = verified(model, "--function=total", "--expected_output=4xf32=1", *CPU, code=3)
    assert not result["passed"]


@pytest.mark.parametrize(
    ("bounds", "code", "text"),
    [
        pytest.param((), 3, "elements beyond rtol 1e-05, atol 1e-06", marks=full),
        pytest.param(("--rtol=1e-3", "--atol=1e-3"), 0, "max abs error", marks=full),
        pytest.param(("--rtol=output0:1e-3", "--atol=output0:1e-3"), 0, "max abs error", marks=full),
        pytest.param(("--statistic=mean", "--atol=1e-5"), 0, "mean abs error", marks=full),
        (("--statistic=quantile", "--quantile=0.5", "--atol=1e-6"), 0, "0.5 quantile abs error"),
        pytest.param(("--ulp=1",), 3, "ULP at", marks=full),
        pytest.param(("--cosine=0.999999",), 0, "cosine similarity", marks=full),
        (("--top-k=1",), 0, "top 1 agree in 4096 of 4096 rows"),
    ],
)
def test_every_kind_of_comparison_is_taken_and_its_verdict_printed(
    cases: Path, tmp_path: Path, bounds: tuple[str, ...], code: int, text: str
) -> None:
    policy = action_policy(tmp_path, "initialize")
    if not bounds:
        policy.write_text(policy.read_text() + "verify: {rtol: 1.0e-5, atol: 1.0e-6}\n")
    assert text in printed(cases / "rope_table.mlir", "--policy", policy, *bounds, *GENERIC, code=code)


def test_a_table_built_for_a_generic_cpu_is_found_to_differ_sized_and_attributed(cases: Path, tmp_path: Path) -> None:
    policy = action_policy(tmp_path, "initialize")
    exact = ("--rtol=0", "--atol=0")
    result = verified(cases / "rope_table.mlir", "--policy", policy, *exact, *GENERIC, code=3)
    (output,) = result["functions"][0]["outputs"]
    found = output["statistics"]
    assert found["differing"] > found["elements"] / 2
    assert 1e-7 < found["max_absolute"] < 1e-3
    assert sum(part["elements"] for part in found["histogram"]) <= found["differing"]
    assert result["cause"].startswith("this CPU is not the target's: built for this CPU with the same decisions")


@full
def test_the_same_table_built_for_this_cpu_is_bit_exact_and_has_no_cause(cases: Path, tmp_path: Path) -> None:
    result = verified(cases / "rope_table.mlir", "--policy", action_policy(tmp_path, "initialize"), *CPU)
    assert result["reason"].startswith("bit-exact")
    assert (result["cause"], result["host_build"]) == (None, None)


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--iree-hal-target-device=vulkan",), "the device 'vulkan' (vulkan-spirv), not the CPU"),
        pytest.param(
            ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"),
            "the device 'hip' (rocm), not the CPU",
            marks=full,
        ),
        pytest.param(
            ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80"),
            "the device 'cuda' (cuda), not the CPU",
            marks=full,
        ),
        pytest.param(
            (*CPU[:2], "--iree-llvmcpu-target-triple=aarch64-linux-gnu"), "the architecture arm_64", marks=full
        ),
        ((*GENERIC, "--iree-llvmcpu-target-cpu-features=+amx-tile,+avx512fp16,+xop"), "features that this CPU lacks"),
    ],
)
def test_what_cannot_run_here_is_verified_as_a_build_for_this_cpu_with_the_same_decisions(
    cases: Path, flags: tuple[str, ...], why: str
) -> None:
    result = verified(cases / "tied_scaled.mlir", "--policy=balanced", *flags)
    assert result["passed"]
    assert why in result["host_build"]["why"]
    assert (result["host_build"]["decisions"], result["host_build"]["missing"]) == (1, [])
    assert result["host_build"]["flags"] == list(CPU)


@full
def test_candidates_that_only_the_other_target_has_are_named_as_not_verified(cases: Path) -> None:
    tiled = ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942", "--iree-global-opt-data-tiling")
    result = verified(cases / "tied_scaled.mlir", "--policy=low-memory", *tiled)
    missing = result["host_build"]["missing"]
    assert missing
    assert all("x16x" in name for name in missing)  # packed for that target's tiles


@full
def test_compile_verifies_a_build_for_another_target_in_the_same_way(cases: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    ended = constpolicy(
        "compile",
        cases / "tied_scaled.mlir",
        "-o",
        tmp_path / "out.vmfb",
        "--policy-verify",
        "--policy-report",
        report,
        "--iree-hal-target-device=vulkan",
    )
    assert ended.returncode == 0, ended.stderr.decode()
    verification = json.loads(report.read_text())["verification"]
    assert (verification["passed"], verification["host_build"]["decisions"]) == (True, 1)


def test_the_policys_section_gives_tolerance_and_inputs(cases: Path, tmp_path: Path) -> None:
    policy = tmp_path / "own.yaml"
    section = "{statistic: mean, atol: 1.0e-3, inputs: {seed: 9, iterations: 2, sets: [seeded, ones]}}"
    policy.write_text(f"schema: 1\nname: own\ndefault: initialize\nverify: {section}\n")
    result = verified(cases / "rope_table.mlir", "--policy", policy, *GENERIC)
    assert (result["inputs"]["seed"], result["functions"][0]["calls"]) == (9, 3)
    assert result["functions"][0]["outputs"][0]["text"].startswith("mean abs error")
    assert result["reason"].startswith("within the policy's tolerance")


@full
def test_limits_of_time_and_memory_are_taken_and_what_exceeds_them_is_a_result(tmp_path: Path) -> None:
    loops = program(tmp_path, programs.LOOPS_UNLESS_ZERO)
    ones = ("--input-set=ones", "--timeout=1")
    assert "did not come back from the call in 1 s" in printed(loops, *ones, *CPU, code=3)
    fills = program(tmp_path, programs.FILLS)
    much = ("--input=250000000", "--input=1.0", "--memory-limit=300MB")
    assert "needs more memory than the limit of 300000000 bytes" in printed(fills, *much, *CPU, code=3)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--timeout=0",), "--timeout 0: write a number of seconds above zero"),
        (("--memory-limit=much",), "--memory-limit: "),
        (("--statistic=mean",), "the mean of the errors has no bound"),
        (("--input-set=large",), "--input-set large: there are seeded, zeros"),
        (("--against=onnxruntime",), "name the model, as in --onnx model.onnx"),
        (("--rtol=nothere:1",), "there is no output 'nothere'"),
    ],
)
def test_options_that_make_no_sense_are_errors_of_the_user(cases: Path, options: tuple[str, ...], error: str) -> None:
    ended = constpolicy("verify", cases / "tied_scaled.mlir", *options, *CPU)
    assert ended.returncode == 2
    assert error in ended.stderr.decode()


@pytest.fixture(scope="module")
def onnx_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A gather from a small table, then a multiplication by a constant."""
    onnx = pytest.importorskip("onnx")
    helper, kinds = onnx.helper, onnx.TensorProto
    table = np.random.default_rng(0).standard_normal((50, 8)).astype(np.float32)
    weights = np.random.default_rng(1).standard_normal((8, 4)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "ids"], ["rows"]),
            helper.make_node("MatMul", ["rows", "weights"], ["y"]),
        ],
        "g",
        [helper.make_tensor_value_info("ids", kinds.INT64, [6])],
        [helper.make_tensor_value_info("y", kinds.FLOAT, [6, 4])],
        [onnx.numpy_helper.from_array(table, "table"), onnx.numpy_helper.from_array(weights, "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    path = tmp_path_factory.mktemp("onnx") / "small.onnx"
    onnx.save(model, str(path))
    return path


def test_an_onnx_model_is_imported_and_compared_with_onnx_runtime(onnx_model: Path) -> None:
    pytest.importorskip("onnxruntime")
    result = verified(onnx_model, "--against=onnxruntime", *CPU)
    assert (result["against"], result["passed"]) == ("onnxruntime", True)
    assert "ONNX Runtime has operators of its own" in result["reason"]
    assert result["inputs"]["ranges"][0]["high"] == 49


@full
def test_another_onnx_model_is_found_to_differ_and_the_policy_not_to_blame(onnx_model: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    onnx = importlib.import_module("onnx")
    other = onnx.load(str(onnx_model))
    weights = next(tensor for tensor in other.graph.initializer if tensor.name == "weights")
    changed = onnx.numpy_helper.to_array(weights).copy()
    changed[3, 2] += 0.5
    weights.CopyFrom(onnx.numpy_helper.from_array(changed, "weights"))
    onnx.save(other, str(tmp_path / "other.onnx"))
    result = verified(onnx_model, "--onnx", tmp_path / "other.onnx", *CPU, code=3)
    assert result["cause"].startswith("not the policy: the build of 'upstream' differs from ONNX Runtime, too")
