"""The iree-compile command line is split without asking iree-compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from constpolicy.compiler.flags import CommandLine, parse


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.mlir").touch()
    return "model.mlir"


@pytest.mark.parametrize(
    "spelling", [("-o", "out"), ("-o=out",), ("--o", "out"), ("--o=out",), ("-o", "other", "-o=out")]
)
def test_every_spelling_of_the_output_is_read(model: str, spelling: tuple[str, ...]) -> None:
    line = parse([*spelling, model])
    assert (line.input, line.output, line.hand_over) == (model, "out", None)


def test_without_an_output_it_is_stdout(model: str) -> None:
    assert parse([model]).output == "-"


def test_flags_of_the_library_keep_their_order_and_spelling(model: str) -> None:
    flags = ("-iree-opt-level=O3", "--iree-opt-const-eval", "--iree-hal-target-device=a", "--iree-hal-target-device=b")
    assert parse([*flags[:2], model, "-o", "out", *flags[2:]]).library_flags == flags


def test_the_value_of_a_flag_is_not_taken_for_the_input(model: str) -> None:
    line = parse(["--iree-opt-level", "O3", model])
    assert line.input == model
    assert line.library_flags == ("--iree-opt-level", "O3")


def test_what_follows_two_dashes_is_the_input(model: str) -> None:
    assert parse(["--iree-opt-const-eval", "--", model]).input == model
    assert parse(["--iree-opt-const-eval", "--", "-"]).input == "-"


def test_the_input_of_standard_input_is_a_dash() -> None:
    assert parse(["-", "-o", "out"]).input == "-"


@pytest.mark.parametrize(
    ("text", "value"), [("", True), ("=true", True), ("=1", True), ("=0", False), ("=False", False)]
)
def test_booleans_are_read_as_llvm_reads_them(model: str, text: str, value: bool) -> None:
    assert parse([model, f"--verify{text}"]).verify_ir is value
    assert parse([model, f"--emit-mlir-bytecode{text}"]).emit_bytecode is value


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--help",), "compiles nothing"),
        (("--split-input-file",), "several programs"),
        (("--compile-mode=vm",), "standard pipeline"),
        (("--compile-to=abi",), "no const-expr is hoisted"),
        (("--compile-from=flow",), "no const-expr is hoisted"),
        (("--compile-to=nowhere",), "unknown phase"),
        (("--output-format=elf",), "unknown"),
        (("--verify=maybe",), "true or false"),
        (("--remarks-filter=.*",), "inside iree-compile"),
        (("--emit-mlir-bytecode-version=x",), "no version"),
        (("-o",), "without its value"),
        (("other.mlir",), "2 inputs"),
    ],
)
def test_what_has_nothing_to_decide_is_handed_over_untouched(
    model: str, arguments: tuple[str, ...], reason: str
) -> None:
    line = parse([model, *arguments])
    assert line.hand_over is not None
    assert reason in line.hand_over
    assert line.arguments == (model, *arguments)


def test_no_input_is_handed_over() -> None:
    assert parse([]).hand_over == "0 inputs instead of one"


def test_response_files_are_expanded_also_within_each_other(model: str) -> None:
    Path("inner.rsp").write_text("--iree-opt-level=O3\n")
    Path("outer.rsp").write_text(f"'{model}' -o \"a file\" @inner.rsp")
    line = parse(["@outer.rsp"])
    assert (line.input, line.output, line.library_flags) == (model, "a file", ("--iree-opt-level=O3",))


@pytest.mark.parametrize("content", [b"'not closed", b"\xff\xfe"])
def test_a_response_file_that_cannot_be_read_is_left_to_iree_compile(model: str, content: bytes) -> None:
    Path("bad.rsp").write_bytes(content)
    assert parse([model, "@bad.rsp"]).hand_over == "a response file cannot be read"


def test_response_files_that_name_each_other_end(model: str) -> None:
    Path("a.rsp").write_text("@a.rsp")
    assert parse([model, "@a.rsp"]).hand_over is not None


@pytest.mark.parametrize(
    ("arguments", "binary"),
    [
        ((), True),
        (("--output-format=vm-asm",), False),
        (("--output-format=vm-c",), False),
        (("--compile-to=flow",), False),
        (("--compile-to=flow", "--emit-mlir-bytecode"), True),
        (("--output-format=vm-asm", "--emit-mlir-bytecode"), True),
    ],
)
def test_it_is_known_whether_the_output_is_text(model: str, arguments: tuple[str, ...], binary: bool) -> None:
    assert parse([model, *arguments]).writes_binary is binary


def test_everything_but_the_output_can_be_given_to_iree_compile_again(model: str) -> None:
    arguments = ["-o", "out", "--iree-opt-level=O3", "--dump-compilation-phases-to=", "--verify", model]
    given = parse(arguments)
    again = parse(["-o", "out", *given.without_output])
    assert _meaning(again) == _meaning(given)


def _meaning(line: CommandLine) -> tuple[object, ...]:
    return line.input, line.output, line.library_flags, line.dump_phases_to, line.verify_ir
