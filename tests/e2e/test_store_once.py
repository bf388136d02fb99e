"""Constants that folding gave a second type are stored once, in whichever functions they are read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from constpolicy.verify.run import ModuleProcess
from tests.e2e.programs import CPU, compile_upstream, constpolicy

TABLE, ROW = "tensor<16x24xf32>", "tensor<384xf32>"


def given_in_two_shapes(*names: str) -> str:
    """Functions that each give two tables of their own, as they are and as a row."""
    functions = []
    for number, name in enumerate(names):
        first, second = (
            np.random.default_rng(2 * number + k).standard_normal((16, 24)).astype(np.float32).tolist() for k in (0, 1)
        )
        functions.append(f"""
func.func @{name}() -> ({TABLE}, {ROW}, {TABLE}, {ROW}) {{
  %a = arith.constant dense<{first}> : {TABLE}
  %b = arith.constant dense<{second}> : {TABLE}
  %a_row = tensor.collapse_shape %a [[0, 1]] : {TABLE} into {ROW}
  %b_row = tensor.collapse_shape %b [[0, 1]] : {TABLE} into {ROW}
  return %a, %a_row, %b, %b_row : {TABLE}, {ROW}, {TABLE}, {ROW}
}}""")
    return "".join(functions)


def test_several_tables_that_one_function_reads_in_two_shapes_are_stored_once(tmp_path: Path) -> None:
    source, policy, report = (tmp_path / name for name in ("model.mlir", "p.yaml", "report.json"))
    source.write_text(given_in_two_shapes("first", "second"))
    policy.write_text("schema: 1\nname: p\nshare: {store_once: true}\n")
    once, upstream = tmp_path / "once.vmfb", tmp_path / "upstream.vmfb"
    ended = constpolicy(
        "compile", source, "-o", once, "--policy", policy, "--policy-strict", "--policy-report", report, *CPU
    )
    assert ended.returncode == 0, ended.stderr.decode()
    assert len(json.loads(report.read_text())["duplicates"]) == 4
    compile_upstream(source, upstream)
    with ModuleProcess(once) as shared, ModuleProcess(upstream) as plain:
        for name in ("first", "second"):
            for left, right in zip(shared.call(name, ()), plain.call(name, ()), strict=True):
                assert left.tobytes() == right.tobytes()
