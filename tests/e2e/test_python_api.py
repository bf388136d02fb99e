"""`compile_file` and `compile_str` are used like those of `iree.compiler.tools`, and give the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from iree.compiler.tools import core
from iree.compiler.tools.binaries import CompilerToolError

import constpolicy

OPTIONS: dict[str, Any] = {
    "target_backends": ["llvm-cpu"],
    "extra_args": ["--iree-llvmcpu-target-cpu=host"],
}
PROGRAM = """
func.func @main(%x: tensor<2x8xf32>) -> tensor<8x2xf32> {
  %c = arith.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0]]> : tensor<2x8xf32>
  %s = arith.addf %x, %c : tensor<2x8xf32>
  %e = tensor.empty() : tensor<8x2xf32>
  %t = linalg.transpose ins(%s : tensor<2x8xf32>) outs(%e : tensor<8x2xf32>) permutation = [1, 0]
  return %t : tensor<8x2xf32>
}
"""  # noqa: E501


def test_a_string_compiles_to_the_same_bytes_under_upstream() -> None:
    assert constpolicy.compile_str(PROGRAM, policy="upstream", **OPTIONS) == core.compile_str(PROGRAM, **OPTIONS)


def test_a_file_is_written_where_asked_and_nothing_returned(tmp_path: Path) -> None:
    source, output = tmp_path / "model.mlir", tmp_path / "model.vmfb"
    source.write_text(PROGRAM)
    assert constpolicy.compile_file(str(source), policy="none", output_file=str(output), **OPTIONS) is None
    assert output.stat().st_size > 0


def test_a_policy_file_can_be_given_as_a_path(tmp_path: Path) -> None:
    policy = tmp_path / "own.yaml"
    policy.write_text("schema: 1\nname: own\n")
    assert constpolicy.compile_str(PROGRAM, policy=policy, **OPTIONS)


def test_a_failure_raises_the_same_exception_with_the_diagnostics() -> None:
    with pytest.raises(CompilerToolError, match=r"custom op 'no\.such'"):
        constpolicy.compile_str("func.func @main() { no.such }", **OPTIONS)
