"""A compile that fails says what iree-compile says, and leaves what was there as it was."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.bench_compile import environment
from tests.cli.comparison import CONSTPOLICY, TARGET, assert_alike, constpolicy, iree_compile, program

TABLE = program("table")


def _compile(*arguments: str, policy: str = "upstream") -> subprocess.CompletedProcess[str]:
    command = [*CONSTPOLICY, "--policy", policy, *arguments, *TARGET]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120)


@pytest.fixture
def old_output(tmp_path: Path) -> Path:
    """An output file of an earlier compile."""
    path = tmp_path / "out.vmfb"
    path.write_text("old")
    return path


@pytest.mark.parametrize("output", ["missing/out", ".", "/dev/full"], ids=["no such folder", "a folder", "disk full"])
def test_an_output_that_cannot_be_written_is_refused_in_the_same_words(output: str) -> None:
    assert assert_alike(TABLE, "-o", output, *TARGET).exit_code == 1


def test_a_missing_input_is_reported_before_a_missing_output_folder() -> None:
    observed = assert_alike("missing.mlir", "-o", "missing/out", *TARGET)
    assert "missing.mlir" in observed.stderr


def test_a_failed_compile_leaves_an_existing_output_untouched_and_nothing_beside_it(old_output: Path) -> None:
    bad = old_output.with_name("bad.mlir")
    bad.write_text("module {")
    assert _compile(str(bad), "-o", str(old_output)).returncode == 1
    assert old_output.read_text() == "old"
    assert sorted(os.listdir(old_output.parent)) == ["bad.mlir", "out.vmfb"]


def test_a_crash_leaves_an_existing_output_untouched_and_nothing_beside_it(old_output: Path) -> None:
    ended = _compile(TABLE, "-o", str(old_output), "--iree-llvmcpu-target-triple=bad")
    assert ended.returncode == 139
    assert "Traceback" not in ended.stderr
    assert old_output.read_text() == "old"
    assert os.listdir(old_output.parent) == ["out.vmfb"]


def test_an_output_keeps_its_permissions_and_its_symbolic_link(old_output: Path) -> None:
    old_output.chmod(0o640)
    link = old_output.with_name("link.vmfb")
    link.symlink_to(old_output.name)
    assert _compile(TABLE, "-o", str(link)).returncode == 0
    assert link.is_symlink()
    assert old_output.stat().st_mode & 0o777 == 0o640
    assert old_output.read_bytes()[:4] != b"old"


def test_a_compile_that_dies_of_a_bad_cpu_says_so_in_the_same_words() -> None:
    arguments = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu")
    assert_alike(TABLE, "-o", "out", *arguments, "--iree-llvmcpu-target-cpu=nonesuch")


def test_a_plugin_that_there_is_not_is_refused_in_the_same_words() -> None:
    observed = assert_alike(TABLE, "-o", "out", *TARGET, "--iree-plugin=nonesuch")
    assert observed.exit_code == 1
    assert "nonesuch" in observed.stderr


def test_a_crash_of_the_compiler_is_one_message_and_the_shells_exit_code() -> None:
    observed = assert_alike(TABLE, "-o", "out", *TARGET, "--iree-llvmcpu-target-triple=bad")
    assert observed.exit_code == 139
    assert "iree-compile itself was ended by SIGSEGV, too" in observed.stderr
    assert "Stack dump" not in observed.stderr


@pytest.mark.parametrize("policy", ["balanced", "none", "low-memory"])
def test_an_error_that_is_not_the_policys_is_said_once(policy: str) -> None:
    # The linker is asked for only at the end, long after every decision.
    arguments = (TABLE, "-o", "out", *TARGET, "--iree-llvmcpu-embedded-linker-path=/missing/linker")
    expected, actual = iree_compile(*arguments), constpolicy(*arguments, policy=policy)
    assert expected.exit_code == 1
    assert (actual.exit_code, actual.stderr) == (expected.exit_code, expected.stderr)


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for 4 KiB."""
    folder = tmp_path / "full"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("only root may mount a file system")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_leaves_nothing_behind(full_disk: Path) -> None:
    ended = _compile(TABLE, "-o", str(full_disk / "out.vmfb"))
    assert ended.returncode == 1
    assert "No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert os.listdir(full_disk) == []


@pytest.mark.parametrize("reads", ["%e", "%x"], ids=["candidates", "none"])
def test_an_error_that_iree_goes_on_after_is_shown_as_often_as_by_iree_compile(tmp_path: Path, reads: str) -> None:
    source = tmp_path / "promised.mlir"
    source.write_text(f"""
        func.func @main(%x: tensor<4xf32>) -> tensor<4xf32>
            attributes {{stream.affinity = #hal.device.promise<@nope>}} {{
          %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
          %e = math.exp %c : tensor<4xf32>
          %y = arith.addf %x, {reads} : tensor<4xf32>
          return %y : tensor<4xf32>
        }}
        func.func @scalar(%i: i32) -> i32 attributes {{stream.affinity = #hal.device.promise<@nope>}} {{
          return %i : i32
        }}""")
    observed = assert_alike(str(source), "-o", "out", *TARGET)
    assert "promised device that was not declared" in observed.stderr
