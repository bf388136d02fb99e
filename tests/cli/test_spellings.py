"""Every spelling of flags that iree-compile takes means the same to constpolicy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.comparison import TARGET, assert_alike, constpolicy, iree_compile, program

TABLE = program("table")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("-o", "out"), id="-o X"),
        pytest.param(("-o=out",), id="-o=X"),
        pytest.param(("--o=out",), id="--o=X"),
        pytest.param(("--o", "out"), id="--o X"),
        pytest.param(("-o", "out", "-output-format=vm-asm"), id="single dash"),
        pytest.param(("-o", "out", "--output-format", "vm-asm"), id="value apart"),
        pytest.param(("-o", "out", "--iree-opt-level", "O2"), id="session flag, value apart"),
        pytest.param(("-o", "out", "--iree-llvmcpu-distribution-size", "32"), id="process-wide flag, value apart"),
        pytest.param(("-o", "out", "-iree-global-opt-propagate-transposes=false"), id="process-wide boolean"),
        pytest.param(("-o", "out", "--verify", "--iree-opt-const-eval"), id="booleans without value"),
        pytest.param(("-o", "out", "--verify=0", "--iree-opt-const-eval=1"), id="booleans with value"),
        pytest.param(("-o", "first", "-o", "out"), id="given twice"),
        pytest.param(("-o", "--compile-to=flow"), id="a value that looks like a flag"),
        pytest.param(("-o", "out", "--mlir-disable-threading"), id="MLIR's flag"),
        pytest.param(("-o", "out", "--disable-licm-promotion"), id="LLVM's flag"),
    ],
)
def test_a_spelling_means_what_it_means_to_iree_compile(arguments: tuple[str, ...]) -> None:
    assert assert_alike(TABLE, *TARGET, *arguments).files


def test_a_list_flag_takes_several_devices() -> None:
    devices = ("--iree-hal-target-device=a=local[0]", "--iree-hal-target-device=b=local[1]")
    arguments = (*devices, "--iree-hal-default-device=a", *TARGET[1:])
    assert "out" in assert_alike(TABLE, "-o", "out", *arguments).files


def test_what_follows_two_dashes_is_the_input() -> None:
    assert assert_alike("--compile-to", "flow", *TARGET, "--", TABLE).stdout


def test_response_files_are_expanded_also_within_each_other(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner.rsp", tmp_path / "outer.rsp"
    inner.write_text(" ".join(TARGET))
    outer.write_text(f"'{TABLE}'\n--output-format=\"vm-asm\" -o o\\ut @{inner}")
    assert "out" in assert_alike(f"@{outer}").files


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param((TABLE, "--iree-foo=1"), id="unknown"),
        pytest.param((TABLE, "--compile-too=end"), id="almost one of the driver's"),
        pytest.param((TABLE, "-o"), id="without its value"),
        pytest.param((TABLE, "--iree-llvmcpu-target-cpu"), id="session flag without its value"),
        pytest.param((TABLE, "--iree-hal-target-backends=x"), id="no such backend"),
        pytest.param((TABLE, "--iree-opt-level=O9"), id="no such level"),
        pytest.param((TABLE, "--output-format=elf"), id="no such format"),
        pytest.param((TABLE, "--compile-to=nowhere"), id="no such phase"),
        pytest.param((TABLE, "--compile-from=flow", "--compile-to=input"), id="phases the wrong way round"),
        pytest.param((TABLE, "--verify=maybe"), id="no boolean"),
        pytest.param((TABLE, "--verify", "false"), id="a boolean's value apart is an input"),
        pytest.param((TABLE, "--emit-mlir-bytecode-version=x"), id="no number"),
        pytest.param((TABLE, TABLE), id="two inputs"),
        pytest.param((), id="no input"),
        pytest.param(("-o", "out", "--iree-hal-target-backends", "llvm-cpu"), id="no input but a value"),
        pytest.param((TABLE, "@missing.rsp"), id="missing response file"),
    ],
)
def test_a_wrong_command_line_is_refused_in_the_same_words(arguments: tuple[str, ...]) -> None:
    assert assert_alike(*arguments).exit_code == 1


@pytest.mark.parametrize("flag", ["--help", "--version", "--iree-list-plugins", "--iree-hal-list-target-backends"])
def test_questions_are_answered_by_iree_compile(flag: str) -> None:
    answer = assert_alike(flag)
    assert answer.exit_code == 0
    assert answer.stdout


def test_a_misspelt_option_of_our_own_is_not_taken_for_a_flag() -> None:
    observed = constpolicy(TABLE, "--policy-stricht")
    assert observed.exit_code == 2
    assert "--policy-stricht" in observed.stderr


def test_flags_of_the_policy_come_before_those_of_the_command_line(tmp_path: Path) -> None:
    policy = tmp_path / "asm.yaml"
    flags = "[--iree-opt-level=O3, --iree-opt-const-eval=false]"
    policy.write_text(f"schema: 1\nname: asm\ndefault: evaluate\nflags: {flags}\n")
    arguments = (TABLE, "-o", "out", *TARGET)
    for own in ((), ("--iree-opt-const-eval",)):
        expected = iree_compile(*arguments, "--iree-opt-level=O3", "--iree-opt-const-eval=false", *own)
        assert constpolicy(*arguments, *own, policy=str(policy)).files == expected.files


def test_flags_of_the_policy_hold_also_where_there_is_nothing_to_decide(tmp_path: Path) -> None:
    policy = tmp_path / "tosa.yaml"
    policy.write_text("schema: 1\nname: none\nflags: [--iree-input-type=nonesuch]\n")
    observed = constpolicy(TABLE, "--compile-to=input", policy=str(policy))
    assert observed.exit_code == 1
    assert "nonesuch" in observed.stderr
