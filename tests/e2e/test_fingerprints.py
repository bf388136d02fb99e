"""A candidate's id is its expression's: it survives what does not concern it, and changes with what does."""

from __future__ import annotations

from pathlib import Path

import pytest

from constpolicy.report.model import Report
from tests.e2e.programs import CPU, constpolicy

TABLE = "[1.0, 0.5, 0.25, 0.125]"


def function(name: str, *, table: str = TABLE, op: str = "math.cos", size: int = 64) -> str:
    """A function that adds a table computed from four numbers to its input."""
    return f"""
func.func @{name}(%x: tensor<{size}x4xf32>) -> tensor<{size}x4xf32> {{
  %c = arith.constant dense<{table}> : tensor<4xf32>
  %e = tensor.empty() : tensor<{size}x4xf32>
  %t = linalg.generic {{
      indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}} ins(%c : tensor<4xf32>) outs(%e : tensor<{size}x4xf32>) {{
  ^bb0(%f: f32, %o: f32):
    %i = linalg.index 0 : index
    %k = arith.index_cast %i : index to i32
    %p = arith.sitofp %k : i32 to f32
    %a = arith.mulf %p, %f : f32
    %v = {op} %a : f32
    linalg.yield %v : f32
  }} -> tensor<{size}x4xf32>
  %r = arith.addf %x, %t : tensor<{size}x4xf32>
  return %r : tensor<{size}x4xf32>
}}
"""


def ids(folder: Path, text: str, *flags: str, name: str = "model.mlir") -> dict[str, str]:
    """The ids of the program's candidates, by their types."""
    file = folder / name
    file.write_text(text)
    ended = constpolicy("explain", file, "--json", "--policy", "upstream", *CPU, *flags)
    assert ended.returncode == 0, ended.stderr.decode()
    return {candidate.type: candidate.id for candidate in Report.model_validate_json(ended.stdout).candidates}


def test_other_functions_names_places_and_files_change_no_id(tmp_path: Path) -> None:
    plain = ids(tmp_path, function("main"))
    assert len(plain) == 1
    crowded = function("other", op="math.sin", size=32) + "\n\n" + function("renamed")
    others = ids(tmp_path, crowded, name="elsewhere.mlir")
    assert plain.items() < others.items()


@pytest.mark.parametrize("flags", [("--iree-opt-level=O3",), ("--iree-llvmcpu-target-cpu=generic",)], ids=str)
def test_flags_that_leave_the_expression_alone_change_no_id(tmp_path: Path, flags: tuple[str, ...]) -> None:
    assert ids(tmp_path, function("main"), *flags) == ids(tmp_path, function("main"))


@pytest.mark.parametrize(
    "change", [{"table": "[1.0, 0.5, 0.25, 0.126]"}, {"op": "math.sin"}, {"size": 65}], ids=["source", "op", "shape"]
)
def test_another_source_expression_or_shape_is_another_id(tmp_path: Path, change: dict[str, object]) -> None:
    before = ids(tmp_path, function("main"))
    after = ids(tmp_path, function("main", **change))  # type: ignore[arg-type]
    assert not set(before.values()) & set(after.values())


def test_the_same_expression_hoisted_twice_is_told_apart_in_the_order_of_the_program(tmp_path: Path) -> None:
    twice = function("first") + function("second")
    file = tmp_path / "twice.mlir"
    file.write_text(twice)
    ended = constpolicy("explain", file, "--json", "--policy", "upstream", *CPU)
    found = [candidate.id for candidate in Report.model_validate_json(ended.stdout).candidates]
    assert len(found) == len(set(found))
    assert len({id.partition("-")[0] for id in found}) == len(found) // 2


CHAIN = """
func.func @{name}(%x: tensor<400x400xf32>) -> tensor<400x400xf32> {{
  %i = stablehlo.constant dense<[1.5, 2.5]> : tensor<2xf32>
  %b = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<2xf32>) -> tensor<2x200x400xf32>
  %q = stablehlo.reshape %b : (tensor<2x200x400xf32>) -> tensor<400x400xf32>
  %e = stablehlo.exponential %q : tensor<400x400xf32>
  %d = stablehlo.dot_general %e, %e, contracting_dims = [1] x [0]
      : (tensor<400x400xf32>, tensor<400x400xf32>) -> tensor<400x400xf32>
  %y = stablehlo.add %x, %d : tensor<400x400xf32>
  return %y : tensor<400x400xf32>
}}
"""


def test_equal_expressions_in_two_functions_are_stored_and_counted_once(tmp_path: Path) -> None:
    file, report = tmp_path / "twice.mlir", tmp_path / "report.json"
    file.write_text(CHAIN.format(name="first") + CHAIN.format(name="second"))
    ended = constpolicy(
        "compile", file, "-o", tmp_path / "m.vmfb", "--policy", "upstream", "--policy-report", report, *CPU
    )
    assert ended.returncode == 0, ended.stderr.decode()
    told = Report.model_validate_json(report.read_text())
    tables = [candidate.id for candidate in told.candidates if candidate.result_bytes == 640_000]
    assert tables == [tables[0], f"{tables[0]}-2"]
    assert told.file is not None
    assert abs(told.totals.constant_bytes + told.totals.predicted_growth_bytes - told.file.totals["constants"]) < 1024
