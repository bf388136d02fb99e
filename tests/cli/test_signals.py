"""Whoever interrupts a compile is left with no process, no temporary file, and the old output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.bench_compile import environment
from tests.cli.comparison import CONSTPOLICY, TARGET

SQUARE = "tensor<2048x2048xf32>"
LARGE_RESULTS = "--iree-opt-const-expr-max-size-increase-threshold=1000000000"

# By then, IREE's linker has removed its temporary files, which it leaves behind when it is ended in between.
_CPU_SECONDS_UNTIL_EVALUATING = 4


def _slow_program() -> str:
    """A program whose const-eval takes most of a minute, so that a signal finds the compile at work."""
    values = ", ".join(str(i / 2048) for i in range(2048))
    products = "".join(
        f"  %p{i + 1} = linalg.matmul ins(%p{i}, %p{i} : {SQUARE}, {SQUARE}) outs(%zeros : {SQUARE}) -> {SQUARE}\n"
        for i in range(40)
    )
    maps = "affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>"
    return f"""
func.func @main(%input: {SQUARE}) -> {SQUARE} {{
  %c = arith.constant dense<[{values}]> : tensor<2048xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {SQUARE}
  %p0 = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel"]}}
      ins(%c, %c : tensor<2048xf32>, tensor<2048xf32>) outs(%empty : {SQUARE}) {{
  ^bb0(%a: f32, %b: f32, %out: f32):
    %product = arith.mulf %a, %b : f32
    linalg.yield %product : f32
  }} -> {SQUARE}
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : {SQUARE}) -> {SQUARE}
{products}
  %sum = arith.addf %input, %p40 : {SQUARE}
  return %sum : {SQUARE}
}}
"""


def _children(process: int) -> list[int]:
    listed = subprocess.run(["ps", "--ppid", str(process), "-o", "pid="], capture_output=True, text=True)
    return [int(word) for word in listed.stdout.split()]


def _wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _cpu_seconds(process: int) -> int:
    """The processor time that it has taken: how far it is, however busy the machine."""
    return int(subprocess.run(["ps", "-o", "cputimes=", "-p", str(process)], capture_output=True, text=True).stdout)


def _is_gone(process: int) -> bool:
    """Whether it has ended, be it that nobody has asked for its exit code yet."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True).stdout.strip()
    return state in ("", "Z")


def _start(work: Path, source: str, temporary: Path, *, ignored: bool = False) -> tuple[subprocess.Popen[str], int]:
    """A compile at work in the folder, and the id of its child process. With `ignored`, as nohup would start it."""

    def set_signals() -> None:
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN if ignored else signal.SIG_DFL)

    (work / "model.mlir").write_text(_slow_program())
    (work / "out.vmfb").write_text("old")
    with (work / "model.mlir").open() as stdin:
        process = subprocess.Popen(
            [*CONSTPOLICY, "--policy", "upstream", source, "-o", "out.vmfb", *TARGET, LARGE_RESULTS],
            cwd=work,
            preexec_fn=set_signals,
            env=environment() | {"TMPDIR": str(temporary)},
            stdin=stdin,
            stderr=subprocess.PIPE,
            text=True,
        )
    _wait_for(lambda: _children(process.pid))
    (child,) = _children(process.pid)
    _wait_for(lambda: _cpu_seconds(child) >= _CPU_SECONDS_UNTIL_EVALUATING)
    return process, child


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """A folder to work in, and one for temporary files."""
    work, temporary = tmp_path / "work", tmp_path / "temporary"
    work.mkdir()
    temporary.mkdir()
    return work, temporary


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("source", ["model.mlir", "-"], ids=["file", "stdin"])
def test_a_signal_ends_the_compile_and_cleans_up(
    folders: tuple[Path, Path], number: signal.Signals, source: str
) -> None:
    work, temporary = folders
    process, child = _start(work, source, temporary)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == -number
    assert _is_gone(child)
    assert "Traceback" not in stderr
    assert sorted(os.listdir(work)) == ["model.mlir", "out.vmfb"]
    assert (work / "out.vmfb").read_text() == "old"
    assert os.listdir(temporary) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_that_the_caller_ignores_ends_nothing(folders: tuple[Path, Path], number: signal.Signals) -> None:
    work, temporary = folders
    process, child = _start(work, "model.mlir", temporary, ignored=True)
    process.send_signal(number)
    os.kill(child, number)
    time.sleep(0.5)
    assert process.poll() is None
    assert not _is_gone(child)
    process.terminate()
    process.communicate(timeout=30)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent has ended")
def test_a_killed_compile_takes_its_child_with_it(folders: tuple[Path, Path]) -> None:
    work, temporary = folders
    process, child = _start(work, "model.mlir", temporary)
    process.kill()
    process.communicate(timeout=30)
    _wait_for(lambda: _is_gone(child))
    assert (work / "out.vmfb").read_text() == "old"
