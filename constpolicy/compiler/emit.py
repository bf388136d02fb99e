"""Writes what the last leg produced, in the format that the command line asks for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from constpolicy.compiler import library
from constpolicy.compiler.flags import CommandLine
from constpolicy.compiler.library import api


def emit(invocation: api.Invocation, command: CommandLine, path: str) -> None:
    """Writes bytecode, C source or IR to the path; "-" is stdout. Raises OSError with the library's words."""
    if path == "-":
        with _as_os_error():
            _print(invocation, command)
    else:
        _keep(path, lambda output: _write(invocation, command, output))


def emit_module(invocation: api.Invocation, path: str) -> None:
    """Writes a .vmfb to the path. Raises OSError with the library's words."""
    _keep(path, invocation.output_vm_bytecode)


def _keep(path: str, write: Callable[[api.Output], None]) -> None:
    with _as_os_error():
        output = api.Output.open_file(library.FileName(path))
        write(output)
    output.keep()
    output.close()


@contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise OSError(str(error)) from None


def _print(invocation: api.Invocation, command: CommandLine) -> None:
    """Writes to stdout ourselves: the library flushes its own stdout only when the process ends in the usual way."""
    output = api.Output.open_membuffer()
    _write(invocation, command, output)
    sys.stdout.flush()
    content = memoryview(output.map_memory())
    while content:
        content = content[os.write(sys.stdout.fileno(), content) :]
    output.close()


def _write(invocation: api.Invocation, command: CommandLine, output: api.Output) -> None:
    if command.compile_to != "end" or command.output_format == "vm-asm":
        if command.emit_bytecode:
            invocation.output_ir_bytecode(output, command.bytecode_version)
        else:
            invocation.output_ir(output)
    elif command.output_format == "vm-c":
        library.output_vm_c_source(invocation, output)
    else:
        invocation.output_vm_bytecode(output)
