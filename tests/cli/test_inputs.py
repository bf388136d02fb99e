"""Whatever iree-compile reads, constpolicy reads alike."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from constpolicy.compiler.phases import PHASES
from scripts.bench_compile import environment
from scripts.conformance_run import Observed, observe
from tests.cli.comparison import CONSTPOLICY, TARGET, assert_alike, iree_compile, program


@pytest.mark.parametrize("name", ["globals", "onnx", "parameters", "stablehlo", "table", "torch", "tosa"])
def test_a_program_of_each_dialect_gives_the_same_file(name: str) -> None:
    assert "out" in assert_alike(program(name), "-o", "out", *TARGET).files


@pytest.mark.parametrize("arguments", [("-", "-o", "out"), ("-",)], ids=["to a file", "to stdout"])
def test_a_program_from_stdin_gives_the_same_file(arguments: tuple[str, ...]) -> None:
    source = Path(program("table")).read_bytes()
    assert assert_alike(*arguments, *TARGET, stdin=source).exit_code == 0


def test_bytecode_is_read(tmp_path: Path) -> None:
    source = tmp_path / "table.mlirbc"
    source.write_bytes(iree_compile(program("table"), *TARGET, "--compile-to=input", "--emit-mlir-bytecode").stdout)
    assert "out" in assert_alike(str(source), "-o", "out", "--compile-from=input", *TARGET).files


@pytest.mark.parametrize("phase", PHASES[1:-1])
def test_a_compile_is_resumed_from_the_text_of_each_phase(tmp_path: Path, phase: str) -> None:
    source = tmp_path / "resumed.mlir"
    source.write_bytes(iree_compile(program("table"), *TARGET, f"--compile-to={phase}").stdout)
    assert "out" in assert_alike(str(source), "-o", "out", f"--compile-from={phase}", *TARGET).files


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"module {", id="truncated"),
        pytest.param(b"\xff\xfe\x00MLIR" * 9, id="garbage"),
        pytest.param(b"ML\xefR\x06MLIR\x00", id="truncated bytecode"),
        pytest.param(b"func.func @f() -> f32 { return }", id="invalid"),
        pytest.param(b"func.func @f() { no.such_op return }", id="unknown op"),
    ],
)
def test_bad_input_is_refused_in_the_same_words(tmp_path: Path, content: bytes) -> None:
    source = tmp_path / "bad.mlir"
    source.write_bytes(content)
    assert assert_alike(str(source), "-o", "out", *TARGET).exit_code == 1


@pytest.mark.parametrize("name", ["missing.mlir", ""], ids=["missing", "a directory"])
def test_an_input_that_is_no_file_is_refused_in_the_same_words(tmp_path: Path, name: str) -> None:
    assert assert_alike(str(tmp_path / name), "-o", "out", *TARGET).exit_code == 1


def test_stdin_can_be_compiled_again_after_a_first_attempt_fails() -> None:
    # The flags are rejected in the library; iree-compile, which reads stdin next, is to say so.
    source = Path(program("table")).read_bytes()
    assert assert_alike("-", "--iree-foo", stdin=source).exit_code == 1


def test_a_program_that_crashes_the_compiler_is_tried_again_from_stdin() -> None:
    source = Path(program("table")).read_bytes()
    observed = observe([*CONSTPOLICY, "-", *TARGET, "--iree-llvmcpu-target-triple=bad"], 120, source)
    assert isinstance(observed, Observed)
    assert observed.exit_code == 139
    assert "iree-compile itself was ended by SIGSEGV, too" in observed.stderr


@pytest.mark.parametrize("name", ["a b.mlir", "ü{ñ}.mlir", "\udcff.mlir"], ids=["space", "not ASCII", "not UTF-8"])
def test_files_of_any_name_are_read_and_written(tmp_path: Path, name: str) -> None:
    source = tmp_path / name
    source.write_bytes(Path(program("table")).read_bytes())
    assert list(assert_alike(str(source), "-o", f"out {name}", *TARGET).files) == [f"out {name}"]


def test_a_closed_stdin_does_not_matter_unless_it_is_the_input() -> None:
    for source, exit_code in ((program("table"), 0), ("-", 2)):
        command = [*CONSTPOLICY, source, "--compile-to=flow", *TARGET]
        shell = ["sh", "-c", '"$@" <&-', "sh", *command]
        ended = subprocess.run(shell, env=environment(), capture_output=True, text=True)
        assert ended.returncode == exit_code
        assert "Traceback" not in ended.stderr
