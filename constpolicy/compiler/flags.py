"""The iree-compile command line, split into what its driver handles and what its library takes.

The compiler library knows every flag except those of the iree-compile driver itself: the input, the output and
how far to compile. Those are read here, in the spellings that LLVM's command line takes. Whatever is irregular
about them (an unknown value, no input) is left to the real iree-compile, whose message the user expects.
"""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from constpolicy.compiler import tool
from constpolicy.compiler.phases import HOISTING, PHASES, before

_VALUED = frozenset(
    {
        "o",
        "output-format",
        "compile-mode",
        "compile-from",
        "compile-to",
        "dump-compilation-phases-to",
        "emit-mlir-bytecode-version",
        "remarks-filter",
        "remarks-output-file",
    }
)
_BOOLEAN = frozenset({"verify", "emit-mlir-bytecode", "split-input-file"})
_ANSWERS = frozenset(
    {
        "help",
        "h",
        "help-hidden",
        "help-list",
        "help-list-hidden",
        "version",
        "print-options",
        "print-all-options",
        "iree-hal-list-target-backends",
        "iree-list-plugins",
    }
)
_TRUTH = {"true": True, "TRUE": True, "True": True, "1": True, "": True}
_FALSEHOOD = {"false": False, "FALSE": False, "False": False, "0": False}
_FORMATS = frozenset({"vm-bytecode", "vm-asm", "vm-c"})


@dataclass(frozen=True)
class CommandLine:
    """One iree-compile command line.

    `library_flags` are those that the compiler library takes, in order. `hand_over` says why there is nothing to
    decide and the real iree-compile has to run instead; None when there is. `input` is empty if nothing is compiled.
    """

    arguments: tuple[str, ...]
    without_output: tuple[str, ...] = ()  # the arguments, response files expanded, without "-o FILE"
    library_flags: tuple[str, ...] = ()
    input: str = ""
    output: str = "-"
    output_format: str = "vm-bytecode"
    compile_from: str = "start"
    compile_to: str = "end"
    verify_ir: bool = True
    emit_bytecode: bool = False
    bytecode_version: int = -1
    dump_phases_to: str | None = None
    hand_over: str | None = None

    @property
    def writes_binary(self) -> bool:
        """Whether the output is nothing to show on a terminal."""
        is_ir = self.compile_to != "end" or self.output_format == "vm-asm"
        return self.emit_bytecode if is_ir else self.output_format == "vm-bytecode"


def parse(arguments: Sequence[str]) -> CommandLine:
    """Splits the arguments of iree-compile (without argv[0] and without constpolicy's own options)."""
    given = tuple(arguments)
    expanded = _expand_response_files(given)
    # Which flags take a separate value (`--flag value`) only matters, and is only asked, when it is not plain
    # which argument is the input.
    parts = list(_tokens(expanded, lambda name: False))
    inputs = [text for kind, _, text in parts if kind == "input"]
    if any(text.startswith("@") for text in inputs):
        return CommandLine(given, hand_over="a response file cannot be read")
    if len(inputs) != 1 or (inputs[0] != "-" and not Path(inputs[0]).exists()):
        parts = list(_tokens(expanded, lambda name: name in tool.flags_with_value()))
    driver: dict[str, str] = {}
    for kind, name, text in parts:
        if kind == "incomplete":
            return CommandLine(given, hand_over=f"--{name} is given without its value")
        if kind == "driver":
            driver[name] = text  # the last one counts
    library = [text for kind, _, text in parts if kind == "library"]
    inputs = [text for kind, _, text in parts if kind == "input"]
    return _interpret(given, driver, library, inputs)


def _interpret(given: tuple[str, ...], driver: dict[str, str], library: list[str], inputs: list[str]) -> CommandLine:
    def hand_over(reason: str) -> CommandLine:
        compiled = inputs[0] if len(inputs) == 1 and not _ANSWERS & driver.keys() else ""
        return CommandLine(given, input=compiled, output=driver.get("o", "-"), hand_over=reason)

    for name in driver:
        if name in _ANSWERS:
            return hand_over(f"--{name} compiles nothing")
    if len(inputs) != 1:
        return hand_over(f"{len(inputs)} inputs instead of one")
    verify, bytecode, split = (_boolean(driver.get(name), default) for name, default in _BOOLEAN_DEFAULTS)
    if verify is None or bytecode is None or split is None:
        return hand_over("a boolean flag has another value than true or false")
    if split:
        return hand_over("--split-input-file compiles several programs")
    if driver.get("compile-mode", "std") != "std":
        return hand_over(f"--compile-mode={driver['compile-mode']} does not run the standard pipeline")
    if driver.get("output-format", "vm-bytecode") not in _FORMATS:
        return hand_over(f"--output-format={driver['output-format']} is unknown")
    if driver.get("remarks-filter"):
        return hand_over("--remarks-filter is set up inside iree-compile")
    start, end = driver.get("compile-from", "start"), driver.get("compile-to", "end")
    if start not in PHASES or end not in PHASES:
        return hand_over(f"--compile-from={start} --compile-to={end}: unknown phase")
    if not before(start, HOISTING) or before(end, HOISTING):
        return hand_over(f"no const-expr is hoisted between {start} and {end}")
    version = driver.get("emit-mlir-bytecode-version", "-1")
    if version != "-1" and not version.isdigit():
        return hand_over(f"--emit-mlir-bytecode-version={version} is no version")
    return CommandLine(
        arguments=given,
        without_output=(
            inputs[0] if inputs[0] == "-" or not inputs[0].startswith("-") else f"./{inputs[0]}",
            *(
                f"--{name}={value}" if value or name in _VALUED else f"--{name}"
                for name, value in driver.items()
                if name != "o"
            ),
            *library,  # last, where one without its value takes nothing else for it
        ),
        library_flags=tuple(library),
        input=inputs[0],
        output=driver.get("o", "-"),
        output_format=driver.get("output-format", "vm-bytecode"),
        compile_from=start,
        compile_to=end,
        verify_ir=verify,
        emit_bytecode=bytecode,
        bytecode_version=int(version),
        dump_phases_to=driver.get("dump-compilation-phases-to") or None,
    )


_BOOLEAN_DEFAULTS = (("verify", True), ("emit-mlir-bytecode", False), ("split-input-file", False))


def _boolean(text: str | None, default: bool) -> bool | None:
    if text is None:
        return default
    return _TRUTH.get(text, _FALSEHOOD.get(text))


def _tokens(arguments: Sequence[str], takes_value: Callable[[str], bool]) -> Iterator[tuple[str, str, str]]:
    """("input", "", path), ("driver", name, value) or ("library", "", argument) for each part of the line.

    A driver flag whose value is missing at the end is ("incomplete", name, "").
    """
    rest = deque(arguments)
    while rest:
        argument = rest.popleft()
        if argument == "--":
            yield from (("input", "", positional) for positional in rest)
            return
        if argument == "-" or not argument.startswith("-"):
            yield "input", "", argument
            continue
        name, equals, value = argument[2 if argument.startswith("--") else 1 :].partition("=")
        if name in _VALUED:
            if not equals and not rest:
                yield "incomplete", name, ""
            else:
                yield "driver", name, value if equals else rest.popleft()
        elif name in _BOOLEAN or name in _ANSWERS:
            yield "driver", name, value
        else:
            yield "library", "", argument
            # A value that starts with a dash needs no attention: it goes to the library either way.
            if not equals and rest and not rest[0].startswith("-") and takes_value(name):
                yield "library", "", rest.popleft()


def _expand_response_files(arguments: Sequence[str], depth: int = 0) -> list[str]:
    """Replaces `@file` by the arguments that the file holds, as LLVM's command line does; a missing file stays."""
    expanded: list[str] = []
    for argument in arguments:
        file = Path(argument[1:])
        if not argument.startswith("@") or depth > 20 or not file.is_file():
            expanded.append(argument)
            continue
        try:
            words = shlex.split(file.read_text(), posix=True)
        except (OSError, ValueError):  # not text, or an unclosed quotation mark
            expanded.append(argument)
            continue
        expanded += _expand_response_files(words, depth + 1)
    return expanded
