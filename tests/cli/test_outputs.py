"""Whatever iree-compile writes, constpolicy writes alike under the policy `upstream`."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from constpolicy.compiler import tool
from constpolicy.compiler.phases import PHASES
from scripts.bench_compile import environment
from tests.cli.comparison import CONSTPOLICY, TARGET, assert_alike, constpolicy, iree_compile, on_a_terminal, program

TABLE = program("table")
PARAMETERS = program("parameters")


@pytest.mark.parametrize("form", ["vm-bytecode", "vm-asm"])
@pytest.mark.parametrize("to", [("-o", "out"), ()], ids=["file", "stdout"])
def test_a_format_is_written_alike(form: str, to: tuple[str, ...]) -> None:
    observed = assert_alike(TABLE, *to, f"--output-format={form}", *TARGET)
    assert observed.files or observed.stdout


def test_c_source_is_written_alike_but_for_the_registers_which_differ_from_run_to_run() -> None:
    arguments = (TABLE, "--output-format=vm-c", *TARGET)
    theirs, ours = (re.sub(rb"\bv\d+\b", b"v", run(*arguments).stdout) for run in (iree_compile, constpolicy))
    assert sorted(theirs.splitlines()) == sorted(ours.splitlines())
    assert len(ours) > 1000


@pytest.mark.parametrize(
    "arguments",
    [
        (TABLE, "-o", "out"),
        (TABLE,),
        (TABLE, "-o", "out", "--iree-global-opt-data-tiling"),
        (TABLE, "-o", "out", "--output-format=vm-asm"),
        (TABLE, "-o", "out", "--compile-to=global-optimization"),
        (TABLE, "-o", "out", "--emit-mlir-bytecode", "--compile-to=flow"),
        (TABLE, "-o", "out", "--dump-compilation-phases-to=dump"),
        (TABLE, "-o", "out", "--iree-opt-const-eval=false"),
        (PARAMETERS, "-o", "out", "--iree-parameter-export=p=p.irpa"),
        (TABLE, "-o", "out", "--iree-foo"),
        (TABLE, "-o", "missing/out"),
        ("missing.mlir", "-o", "out"),
        (program("onnx"), "-o", "out"),
    ],
    ids=lambda arguments: " ".join(arguments[1:]) or "stdout",
)
def test_the_built_in_policy_upstream_which_decides_nothing_is_alike(arguments: tuple[str, ...]) -> None:
    assert_alike(*arguments, *TARGET, policy="upstream")


def test_the_built_in_policy_upstream_reads_stdin_alike() -> None:
    text = Path(TABLE).read_bytes()
    assert assert_alike("-", "-o", "out", *TARGET, policy="upstream", stdin=text).files


SCALARS = """
func.func @main(%x: tensor<4x{type}>) -> tensor<4x{type}> {{
  %source = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4x{type}>
  %zero = arith.constant 0.0 : {type}
  %init = tensor.empty() : tensor<{type}>
  %fill = linalg.fill ins(%zero : {type}) outs(%init : tensor<{type}>) -> tensor<{type}>
  %sum = linalg.reduce {{ arith.addf }} ins(%source : tensor<4x{type}>) outs(%fill : tensor<{type}>) dimensions = [0]
  %norm = tensor.extract %sum[] : tensor<{type}>
  %root = math.sqrt %norm : {type}
  %splat = tensor.splat %root : tensor<4x{type}>
  %y = arith.divf %x, %splat : tensor<4x{type}>
  return %y : tensor<4x{type}>
}}
"""


@pytest.mark.parametrize("flag", ["--iree-opt-const-eval=true", "--iree-opt-const-eval=false"])
@pytest.mark.parametrize("type_", ["f32", "f16", "f64"])
def test_a_scalar_stays_where_iree_compile_leaves_it(tmp_path: Path, type_: str, flag: str) -> None:
    source = tmp_path / "scalar.mlir"
    source.write_text(SCALARS.format(type=type_))
    assert_alike(str(source), "-o", "out", flag, *TARGET)


@pytest.mark.parametrize("phase", PHASES)
def test_compile_to_shows_the_same_text_in_every_phase(phase: str) -> None:
    assert assert_alike(TABLE, f"--compile-to={phase}", *TARGET).exit_code == (phase == "start")


@pytest.mark.parametrize("version", [(), ("--emit-mlir-bytecode-version=3",)], ids=["newest", "older"])
@pytest.mark.parametrize("stop", ["--compile-to=flow", "--output-format=vm-asm"])
def test_ir_is_written_as_bytecode(stop: str, version: tuple[str, ...]) -> None:
    assert assert_alike(TABLE, "-o", "out", stop, "--emit-mlir-bytecode", *version, *TARGET).files


def test_an_impossible_bytecode_version_is_refused_in_the_same_words() -> None:
    arguments = ("--compile-to=flow", "--emit-mlir-bytecode", "--emit-mlir-bytecode-version=99")
    assert assert_alike(TABLE, "-o", "out", *arguments, *TARGET).exit_code == 1


@pytest.mark.parametrize("folder", ["dump", "a folder"])
def test_the_phases_are_dumped_alike(folder: str) -> None:
    observed = assert_alike(TABLE, "-o", "out", f"--dump-compilation-phases-to={folder}", *TARGET)
    assert len(observed.files) == len(PHASES) - 1


def test_the_dump_of_the_phase_that_decides_shows_what_the_policy_made_of_it() -> None:
    arguments = (TABLE, *TARGET, "--compile-to=global-optimization", "--dump-compilation-phases-to=dump", "-o", "out")
    observed = constpolicy(*arguments, policy="none")
    assert observed.exit_code == 0
    assert observed.files.keys() == iree_compile(*arguments).files.keys()
    name = "dump/table.4.global-optimization.mlir"
    assert observed.files[name] != iree_compile(*arguments).files[name]


@pytest.mark.parametrize("what", ["sources", "benchmarks", "files"])
def test_executables_are_dumped_alike(what: str) -> None:
    flag = f"--iree-hal-dump-executable-{what}-to=dump"
    assert len(assert_alike(TABLE, "-o", "out", flag, *TARGET).files) > 1


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param(("--iree-parameter-export=model=e.irpa",), id="export"),
        pytest.param(("--iree-parameter-export=e f.irpa", "--iree-parameter-export-minimum-size=20"), id="larger ones"),
        pytest.param(("--iree-opt-export-parameters=model=e.irpa",), id="the older name"),
        pytest.param(("--iree-parameter-splat=splat.irpa",), id="splat"),
        pytest.param(("--iree-parameter-splat=s.irpa", "--iree-parameter-export=m=e.irpa"), id="both"),
        pytest.param(("--iree-parameter-encoder-output-file=encoder.mlir", "--iree-opt-data-tiling"), id="encoder"),
    ],
)
def test_parameter_archives_are_written_alike(flags: tuple[str, ...]) -> None:
    assert len(assert_alike(PARAMETERS, "-o", "out", *flags, *TARGET).files) > 1


@pytest.mark.parametrize("more", [(), ("--iree-parameter-export=new=e.irpa",)], ids=["import", "import and export"])
def test_parameters_are_imported_alike(tmp_path: Path, more: tuple[str, ...]) -> None:
    archive = tmp_path / "splat.irpa"
    iree_compile(PARAMETERS, "-o", "out", f"--iree-parameter-splat={archive}", *TARGET)
    flag = f"--iree-parameter-import=model={archive}"
    assert "out" in assert_alike(PARAMETERS, "-o", "out", flag, *more, *TARGET).files


def test_the_exported_archive_holds_what_the_policy_kept(tmp_path: Path) -> None:
    arguments = (PARAMETERS, "-o", "out", "--iree-parameter-export=model=e.irpa", *TARGET)
    kept, evaluated = constpolicy(*arguments, policy="none"), constpolicy(*arguments)
    assert kept.exit_code == evaluated.exit_code == 0
    assert "e.irpa" in evaluated.files
    assert "e.irpa" not in kept.files  # what is computed per call is in the code


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param(("--iree-opt-level=O1",), id="O1"),
        pytest.param(("--iree-opt-level=O3",), id="O3"),
        pytest.param(("--iree-global-opt-data-tiling",), id="data tiling in global optimization"),
        pytest.param(("--iree-opt-data-tiling",), id="data tiling in dispatch creation"),
        pytest.param(("--iree-opt-const-eval=false",), id="const-eval off"),
        pytest.param(("--iree-opt-const-expr-hoisting=false",), id="hoisting off"),
        pytest.param(("--iree-opt-const-expr-max-size-increase-threshold=0",), id="no increase"),
        pytest.param(("--iree-opt-numeric-precision-reduction",), id="numeric precision reduction"),
        pytest.param(("--iree-vm-bytecode-module-strip-source-map",), id="no source map"),
        pytest.param(("--iree-consteval-jit-target-device=vmvx",), id="const-eval on vmvx"),
    ],
)
@pytest.mark.parametrize(
    "name", ["table", *(pytest.param(n, marks=pytest.mark.full) for n in ("globals", "parameters"))]
)
def test_flags_around_const_eval_give_the_same_file(name: str, flags: tuple[str, ...]) -> None:
    assert "out" in assert_alike(program(name), "-o", "out", *flags, *TARGET).files


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("--split-input-file",), id="split input"),
        pytest.param(("--compile-mode=precompile",), id="precompile"),
        pytest.param(("--compile-mode=vm",), id="vm"),
        pytest.param(("--compile-mode=hal-executable",), id="hal-executable"),
    ],
)
def test_what_has_nothing_to_decide_is_done_by_iree_compile(arguments: tuple[str, ...]) -> None:
    assert_alike(TABLE, "-o", "out", *arguments, *TARGET)


def test_a_report_where_there_is_nothing_to_decide_is_said_to_be_missing() -> None:
    observed = constpolicy(TABLE, "--compile-to=input", "-o", "out", "--policy-report", "report.json")
    assert observed.exit_code == 0
    assert "nothing to report" in observed.stderr
    assert "report.json" not in observed.files


@pytest.mark.parametrize("flags", [(), ("-o", "-"), ("--compile-to=flow", "--emit-mlir-bytecode")])
def test_binary_output_is_not_written_to_a_terminal(flags: tuple[str, ...]) -> None:
    assert on_a_terminal(TABLE, *TARGET, *flags, policy="balanced", stream="stdout") == (2, b"")


def test_text_output_is_written_to_a_terminal() -> None:
    exit_code, shown = on_a_terminal(TABLE, *TARGET, "--compile-to=flow", policy="balanced", stream="stdout")
    assert exit_code == 0
    assert b"util.func public @main" in shown


@pytest.mark.parametrize("command", [[str(tool.executable())], list(CONSTPOLICY)], ids=["iree-compile", "constpolicy"])
def test_a_pipe_that_nobody_reads_ends_the_compile_quietly(command: list[str]) -> None:
    process = subprocess.Popen(
        [*command, TABLE, "--output-format=vm-c", *TARGET],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 74


def test_a_named_pipe_is_written_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        assert constpolicy(TABLE, "-o", str(pipe), *TARGET).exit_code == 0
        written, _ = reader.communicate()
    assert written == iree_compile(TABLE, *TARGET).stdout
    assert pipe.is_fifo()


def test_an_open_file_descriptor_can_be_the_output() -> None:
    reader, writer = os.pipe()
    command = [*CONSTPOLICY, "--policy", "upstream", TABLE, *TARGET, "-o", f"/dev/fd/{writer}"]
    with subprocess.Popen(command, env=environment(), pass_fds=[writer]) as process:
        os.close(writer)
        with os.fdopen(reader, "rb") as stream:
            written = stream.read()
    assert process.returncode == 0
    assert written == iree_compile(TABLE, *TARGET).stdout
