"""What modules cost is measured in processes of their own. No test here depends on how long something takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from constpolicy.records import ConstPolicyError
from constpolicy.verify import InputRange, InputSpec
from constpolicy.verify.measure import measure_latency, measure_load
from constpolicy.verify.run import RunError
from tests.e2e import verify_programs as programs
from tests.e2e.verify_programs import adds, compiled

MEBIBYTE = 1 << 20

# A table of 64 MiB, made when the module is loaded.
MAKES_TABLE = """
    util.global private @table : tensor<16777216xf32>
    util.initializer {
      %e = tensor.empty() : tensor<16777216xf32>
      %c = arith.constant 1.5 : f32
      %0 = linalg.fill ins(%c : f32) outs(%e : tensor<16777216xf32>) -> tensor<16777216xf32>
      %1 = util.optimization_barrier %0 : tensor<16777216xf32>
      util.global.store %1, @table : tensor<16777216xf32>
      util.return
    }
    func.func @main(%x: tensor<16777216xf32>) -> tensor<16777216xf32> {
      %0 = util.global.load @table : tensor<16777216xf32>
      %1 = arith.addf %0, %x : tensor<16777216xf32>
      return %1 : tensor<16777216xf32>
    }"""


def test_what_a_module_makes_at_load_is_in_its_resident_memory(tmp_path: Path) -> None:
    small = measure_load(compiled(tmp_path, "small", adds("f32", "1.0")))
    large = measure_load(compiled(tmp_path, "large", MAKES_TABLE), inputs=InputSpec())
    assert small.resident_bytes is not None
    assert large.resident_bytes is not None
    assert large.called_resident_bytes is not None
    assert small.resident_bytes < 16 * MEBIBYTE
    assert 64 * MEBIBYTE <= large.resident_bytes < 80 * MEBIBYTE
    assert large.called_resident_bytes >= large.resident_bytes
    assert small.called_resident_bytes is None
    assert large.seconds > 0
    assert large.allocator["host_bytes_allocated"] + large.allocator["device_bytes_allocated"] >= 64 * MEBIBYTE


def test_every_module_is_timed_once_in_every_round(tmp_path: Path) -> None:
    modules = [compiled(tmp_path, name, adds("f32", constant)) for name, constant in (("a", "1.0"), ("b", "2.0"))]
    figures = measure_latency(modules, rounds=5)
    assert [figure.module for figure in figures] == modules
    for figure in figures:
        assert len(figure.seconds) == 5
        assert 0 < figure.best <= figure.median


def test_measuring_no_rounds_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConstPolicyError, match="0 rounds"):
        measure_latency([compiled(tmp_path, "a", adds("f32", "1.0"))], rounds=0)


def test_a_call_that_crashes_ends_the_measurement(tmp_path: Path) -> None:
    module = compiled(tmp_path, "far", programs.reads_at(0))
    with pytest.raises(RunError, match="SIGSEGV"):
        measure_load(module, inputs=InputSpec(ranges=(InputRange.parse("gather.input0:1e12,1e12"),)))
