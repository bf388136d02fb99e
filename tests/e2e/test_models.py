"""The programs that constpolicy is tried on compile, run, and show what they are there to show."""

from __future__ import annotations

import math
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from iree.compiler.tools.binaries import find_tool

from scripts.bench_worker import call_once, declared_inputs, make_inputs
from scripts.models import bert, cases, fetch
from scripts.models.registry import MODELS

TARGET = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu")
TILED = "--iree-global-opt-data-tiling"
EVAL_OFF = "--iree-opt-const-eval=false"
KIB = 1024


def iree_compile(program: Path, output: Path, *flags: str, cpu: str = "host") -> Path:
    command = [find_tool("iree-compile"), str(program), "-o", str(output), *TARGET, *flags]
    subprocess.run([*command, f"--iree-llvmcpu-target-cpu={cpu}"], check=True, capture_output=True)
    return output


def size(program: Path, folder: Path, *flags: str) -> int:
    return iree_compile(program, folder / "size.vmfb", *flags, cpu="generic").stat().st_size


def hoisted_types(program: Path, folder: Path, *flags: str) -> list[str]:
    """The types of the globals that hoisting makes."""
    flags = (*flags, EVAL_OFF, "--compile-to=global-optimization", "--mlir-elide-elementsattrs-if-larger=16")
    text = iree_compile(program, folder / "hoisted.mlir", *flags).read_text()
    return sorted(re.findall(r"^ *util\.global private @__hoisted\S* .*: (tensor<\S+>)$", text, re.MULTILINE))


# BERT


@pytest.mark.parametrize("flags", [(), (TILED,), (EVAL_OFF,)], ids=["default", "data tiling", "const-eval off"])
def test_bert_computes_what_numpy_computes_in_float64(tmp_path: Path, flags: tuple[str, ...]) -> None:
    config = bert.BertConfig(layers=2, seq=8, hidden=32, heads=4, vocab=100, seed=7)
    bert.write(config, tmp_path / "bert.mlirbc")
    module = iree_compile(tmp_path / "bert.mlirbc", tmp_path / "bert.vmfb", *flags)
    ids = np.array([[3, 99, 0, 5, 7, 7, 50, 1]], dtype=np.int32)
    (logits,) = call_once(str(module), [ids])
    expected = bert.reference(config, ids)
    assert expected.std() > 0.1
    np.testing.assert_allclose(logits, expected, rtol=0, atol=2e-5)


def test_bert_under_data_tiling_hoists_the_packed_table_the_positions_and_the_token_types(tmp_path: Path) -> None:
    bert.write(bert.BertConfig(layers=0, seq=64, hidden=64, heads=4, vocab=1000), tmp_path / "bert.mlirbc")
    types = hoisted_types(tmp_path / "bert.mlirbc", tmp_path, TILED)
    assert types.count("tensor<64x64xf32>") == 2, types
    packed_vocab = [t for t in types if math.prod(map(int, re.findall(r"(\d+)x", t))) in range(64_000, 72_000)]
    assert len(packed_vocab) == 1, types


def test_bert_grows_by_one_copy_of_the_word_embedding_under_data_tiling(tmp_path: Path) -> None:
    bert.write(bert.BertConfig(layers=1, seq=16, hidden=64, heads=4, vocab=8000), tmp_path / "bert.mlirbc")
    growth = size(tmp_path / "bert.mlirbc", tmp_path, TILED) - size(tmp_path / "bert.mlirbc", tmp_path)
    assert growth == pytest.approx(8000 * 64 * 4, rel=0.05)


def test_a_tied_language_model_from_onnx_stores_its_table_twice_at_default_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(fetch.CACHE_VARIABLE, str(tmp_path / "models"))
    program = fetch.get("tied_lm")
    growth = size(program, tmp_path) - size(program, tmp_path, EVAL_OFF)
    assert growth == pytest.approx(16000 * 384 * 4, rel=0.01)


# Small programs


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {path.stem: path for path in cases.write(tmp_path_factory.mktemp("cases"))}


@pytest.mark.parametrize("case", [c for c in cases.CASES if c.name != "parameters"], ids=lambda case: case.name)
def test_a_case_gives_the_same_numbers_with_and_without_const_eval(
    programs: dict[str, Path], tmp_path: Path, case: cases.Case
) -> None:
    modules = [
        iree_compile(programs[case.name], tmp_path / f"{i}.vmfb", *flags) for i, flags in enumerate([(), (EVAL_OFF,)])
    ]
    declared = re.search(r"@main\((.*?)\) ->", case.build())
    assert declared is not None
    inputs = make_inputs(declared_inputs(re.sub(r"%\w+:", "%input0:", declared[1]), case.rows))
    evaluated, computed = [call_once(str(module), inputs) for module in modules]
    assert len(evaluated) == len(computed) > 0
    for one, other in zip(evaluated, computed, strict=True):
        assert np.all(np.isfinite(one))
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "flags", "than", "growth"),
    [
        ("tied_plain", (TILED,), (), 500 * KIB),
        ("tied_scaled", (), (EVAL_OFF,), 495 * KIB),
        ("tied_f16", (), (EVAL_OFF,), 245 * KIB),
        ("tied_concat", (), (EVAL_OFF,), 495 * KIB),
        ("bert_positions", (EVAL_OFF,), (), 1 * KIB),
        ("rope_table", (), (EVAL_OFF,), 125 * KIB),
        ("dequantized_weight", (TILED,), (), 190 * KIB),
        ("many_tables", (), (EVAL_OFF,), 6200 * KIB),
        ("splat_weight", (TILED,), (), 4 * KIB),
        ("user_initializer", (EVAL_OFF,), (), 8 * KIB),
    ],
)
def test_a_case_grows_as_it_is_there_to_show(
    programs: dict[str, Path], tmp_path: Path, name: str, flags: tuple[str, ...], than: tuple[str, ...], growth: int
) -> None:
    assert size(programs[name], tmp_path, *flags) - size(programs[name], tmp_path, *than) >= growth


@pytest.mark.parametrize("name", ["refused_i4", "refused_complex", "parameters"])
def test_what_the_evaluating_jit_refuses_stays_an_initializer(
    programs: dict[str, Path], tmp_path: Path, name: str
) -> None:
    flags = ("--iree-consteval-jit-debug", "--compile-to=global-optimization")
    command = [find_tool("iree-compile"), str(programs[name]), "-o", str(tmp_path / "out.mlir"), *TARGET, *flags]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "skipping consteval initializer" in result.stderr
    assert "util.initializer" in (tmp_path / "out.mlir").read_text()


# Real models

SIZES = {  # of iree-compile 3.13 for an AVX-512 host: default flags, const-eval off
    "minilm": (33_520_935, 22_961_781),
    "minilm_l3": (68_641_498, 69_047_488),
    "nudenet": (12_838_928, 12_832_032),
    "nudenet_qdq": (4_977_940, 7_395_074),
    "ocr_rec": (10_979_736, 10_985_856),
    "ocr_cls": (833_648, 859_894),
    "magika": (3_174_743, 3_174_743),
    "resnet50": (131_085, 140_125),
}


@pytest.mark.full
@pytest.mark.parametrize("name", SIZES)
def test_a_real_model_has_the_sizes_that_it_is_known_for(tmp_path: Path, name: str) -> None:
    try:
        program = fetch.get(name)
    except (fetch.UnreachableError, fetch.MissingExtraError) as error:
        pytest.skip(str(error))
    for flags, expected in zip([(), (EVAL_OFF,)], SIZES[name], strict=True):
        actual = iree_compile(program, tmp_path / "out.vmfb", *flags).stat().st_size
        # Code differs between CPUs, by tens of KiB; what constants do shows in the rest.
        assert actual == pytest.approx(expected, rel=0.01, abs=64 * KIB)


@pytest.mark.full
@pytest.mark.parametrize("name", ["minilm", "nudenet", "magika", "resnet50"])
def test_a_real_model_runs_on_values_within_its_ranges(tmp_path: Path, name: str) -> None:
    try:
        program = fetch.get(name)
    except fetch.UnreachableError as error:
        pytest.skip(str(error))
    module = iree_compile(program, tmp_path / "out.vmfb")
    outputs = call_once(str(module), make_inputs(MODELS[name].inputs))
    assert outputs
    assert all(np.all(np.isfinite(output)) for output in outputs)
