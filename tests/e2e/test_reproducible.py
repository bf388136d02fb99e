"""A program compiles to the same bytes each time, and what the edits create knows where it comes from.

IREE writes the location of every dispatch into the file; where there is none, whatever is in memory then.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from constpolicy.compiler.flags import parse
from constpolicy.driver import compile_program
from constpolicy.policy.load import load_policy
from constpolicy.records import Byproducts
from tests.e2e.programs import CPU, DATA_TILING, action_policy, compile_under, constpolicy

ACTIONS = ("evaluate", "initialize", "inline", "fuse", "share")
# IREE gives none to constants that it folds; nor are devices in the input.
NOWHERE = re.compile(r"\bunknown\b")
IREES_OWN = ("arith.constant", "#hal.device.target")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose rows are gathered, and which is packed in two ways and padded."""
    table = np.random.default_rng(0).uniform(-1, 1, (100, 64)).astype(np.float32)
    path = tmp_path_factory.mktemp("reproducible") / "program.mlir"
    path.write_text(f"""
func.func @main(%ids: tensor<8xi32>, %x: tensor<64x100xf32>, %z: tensor<80x100xf32>)
    -> (tensor<8x64xf32>, tensor<64x100xf32>, tensor<80x100xf32>) {{
  %t = stablehlo.constant dense<"0x{table.tobytes().hex()}"> : tensor<100x64xf32>
  %rows = "stablehlo.torch_index_select"(%t, %ids) <{{dim = 0 : i64, batch_dims = 0 : i64}}>
    : (tensor<100x64xf32>, tensor<8xi32>) -> tensor<8x64xf32>
  %tt = stablehlo.transpose %t, dims = [1, 0] : (tensor<100x64xf32>) -> tensor<64x100xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %padded = stablehlo.pad %tt, %zero, low = [0, 0], high = [16, 0], interior = [0, 0]
    : (tensor<64x100xf32>, tensor<f32>) -> tensor<80x100xf32>
  %two = stablehlo.constant dense<2.0> : tensor<64x100xf32>
  %scaled = stablehlo.multiply %tt, %two : tensor<64x100xf32>
  %y = stablehlo.dot_general %x, %scaled, contracting_dims = [1] x [1]
    : (tensor<64x100xf32>, tensor<64x100xf32>) -> tensor<64x64xf32>
  %back = stablehlo.dot_general %y, %scaled, contracting_dims = [1] x [0]
    : (tensor<64x64xf32>, tensor<64x100xf32>) -> tensor<64x100xf32>
  %sum = stablehlo.add %z, %padded : tensor<80x100xf32>
  return %rows, %back, %sum : tensor<8x64xf32>, tensor<64x100xf32>, tensor<80x100xf32>
}}
""")
    return path


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("flags", [(), (DATA_TILING,)], ids=["default", "data-tiling"])
def test_everything_that_is_edited_knows_its_place(
    program: Path, tmp_path: Path, action: str, flags: Sequence[str]
) -> None:
    policy, shown = action_policy(tmp_path, action), ("--mlir-print-debuginfo", "--compile-to=global-optimization")
    ended = constpolicy("compile", program, "-o", "-", "--policy", policy, *shown, *CPU, *flags)
    assert ended.returncode == 0, ended.stderr.decode()
    lines = [line for line in ended.stdout.decode().splitlines() if not any(name in line for name in IREES_OWN)]
    assert any("linalg." in line for line in lines)
    assert [line for line in lines if NOWHERE.search(line)] == []


@pytest.mark.parametrize("action", ["share", "inline"])
def test_a_program_compiles_to_the_same_bytes_each_time(program: Path, tmp_path: Path, action: str) -> None:
    outputs = [tmp_path / f"{number}.vmfb" for number in range(3)]
    for output in outputs:
        compile_under(action_policy(tmp_path, action), program, output, DATA_TILING)
    assert len({output.read_bytes() for output in outputs}) == 1


def test_the_module_that_checks_results_has_the_same_bytes_each_time(program: Path, tmp_path: Path) -> None:
    checks = [tmp_path / f"check{number}.vmfb" for number in range(3)]
    for check in checks:
        command = parse([str(program), "-o", str(tmp_path / "out.vmfb"), *CPU, DATA_TILING])
        done = compile_program(command, load_policy("upstream"), byproducts=Byproducts(check_module=str(check)))
        assert done.check is not None
        assert done.check.failure is None
    assert len({check.read_bytes() for check in checks}) == 1
