"""scripts/bench measures real compiles and real modules. No test here depends on how long something takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from scripts.bench_compile import run
from scripts.bench_worker import declared_inputs, difference, make_inputs

BENCH = Path(__file__).parents[2] / "scripts" / "bench"


def bench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"CONSTPOLICY_MODELS": str(folder / "models")}
    command = [sys.executable, str(BENCH), "--rounds", "2", "--samples", "2", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_a_run_compares_every_tool_with_iree_compile(tmp_path: Path) -> None:
    result = bench(tmp_path, "--models", "rope_table", "--policies", "const-eval-off", "--json", "out.json")
    assert result.returncode == 0, result.stderr
    rows = {row["tool"]: row for row in json.loads((tmp_path / "out.json").read_text())["rows"]}
    assert list(rows) == ["iree-compile", "iree-compile-script", "const-eval-off"]
    assert [row["identical"] for row in rows.values()] == [True, True, False]
    assert rows["const-eval-off"]["bytes_ratio"] < 0.2
    assert rows["iree-compile"]["peak_bytes"]["value"]["min"] > 50e6
    assert rows["const-eval-off"]["running"]["difference"] < 1e-5
    assert rows["iree-compile-script"]["running"] is None
    assert [line.split()[2] for line in result.stdout.splitlines()[1:]] == list(rows)


def test_what_cannot_be_compiled_is_named_and_makes_the_run_fail(tmp_path: Path) -> None:
    (tmp_path / "broken.mlir").write_text("func.func @main(")
    result = bench(tmp_path, "--models", "broken.mlir", "--policies", "hoisting-off", "--json", "out.json")
    assert result.returncode == 1
    assert "not measured: broken.mlir, default, iree-compile: exit code 1" in result.stderr
    assert "broken.mlir:1:16: error" in result.stderr
    assert json.loads((tmp_path / "out.json").read_text())["rows"] == []


def test_an_unknown_model_is_named_with_the_models_there_are(tmp_path: Path) -> None:
    result = bench(tmp_path, "--models", "bort")
    assert result.returncode == 1
    assert "no such model or case: bort" in result.stderr


def test_a_process_is_measured_with_its_largest_child() -> None:
    child = "b = bytearray(300_000_000); b[::4096] = b'x' * len(b[::4096])"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], check=True); sys.exit(3)"
    result = run([sys.executable, "-c", code])
    assert result.exit_code == 3
    assert result.peak_bytes >= 300_000_000


def test_made_up_inputs_have_the_declared_types_and_stay_within_their_ranges() -> None:
    declaration = "sync func @main(%input0: tensor<1x8xi32>, %input1: tensor<2xf16>, %input2: i64) -> (%output0: i32)"
    ids, halves, scalar = make_inputs(declared_inputs(declaration, rows=3))
    assert ids.shape == (1, 8)
    assert ids.dtype == np.int32
    assert set(ids.ravel()) == {0, 1, 2}
    assert halves.shape == (2,)
    assert halves.dtype == np.float16
    assert scalar.shape == ()
    assert scalar.dtype == np.int64


def test_no_inputs_are_made_up_for_a_dynamic_shape() -> None:
    with pytest.raises(ValueError, match="no values can be made up"):
        declared_inputs("sync func @main(%input0: tensor<?x8xf32>) -> ()")


def test_a_model_from_onnx_is_run_on_the_inputs_of_the_registry(tmp_path: Path) -> None:
    result = bench(tmp_path, "--models", "resnet50", "--policies", "hoisting-off", "--json", "out.json")
    assert result.returncode == 0, result.stderr
    rows = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert rows[2]["running"]["difference"] < 1e-3


def test_outputs_differ_by_zero_only_if_their_bits_are_equal() -> None:
    one = np.array([0.0, np.nan, 2.0], dtype=np.float32)
    assert difference(one, one.copy()) == 0
    assert difference(one, np.array([-0.0, np.nan, 2.0], dtype=np.float32)) > 0
    assert difference(one, np.array([0.0, np.nan, 2.5], dtype=np.float32)) == 0.5
    assert difference(one, np.array([0.0, 1.0, 2.0], dtype=np.float32)) == np.inf
    assert difference(one, one[:2]) == np.inf
