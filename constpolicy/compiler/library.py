"""Typed access to the parts of IREE's stable C API that its Python bindings leave out.

Importing this module loads the compiler library; only the process that compiles does so.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence

# The bindings import numpy for attribute builders that nothing here uses; without it, the compile's process starts
# 35 ms sooner and takes 11 MB less.
_numpy_is_left_out = sys.modules.setdefault("numpy", None) is None  # type: ignore[arg-type]
from iree.compiler import ir  # noqa: E402
from iree.compiler._mlir_libs._mlir import globals as _bindings  # noqa: E402
from iree.compiler.api import ctypes_dl as api  # noqa: E402

from constpolicy.compiler import versions  # noqa: E402

if _numpy_is_left_out:
    del sys.modules["numpy"]
versions.complete_bindings()
# Nor does anything use the Python classes of single dialects, which the bindings import as they meet an op of one:
# linalg's alone take 60 ms.
_bindings.dialect_search_modules = []

__all__ = [
    "FileName",
    "api",
    "dump_phases_to",
    "ir",
    "output_vm_c_source",
    "pointer",
    "set_phases",
    "set_up_command_line",
    "verify_ir",
]

_library = api._dylib


def _declare(name: str, *arguments: type, result: type | None = None) -> None:
    function = getattr(_library, name)
    function.argtypes, function.restype = list(arguments), result


_declare("ireeCompilerInvocationSetCompileFromPhase", ctypes.c_void_p, ctypes.c_char_p)
_declare("ireeCompilerInvocationSetCompileToPhase", ctypes.c_void_p, ctypes.c_char_p)
_declare("ireeCompilerInvocationSetDumpCompilationPhasesTo", ctypes.c_void_p, ctypes.c_char_p)
_declare("ireeCompilerInvocationSetVerifyIR", ctypes.c_void_p, ctypes.c_bool)
_declare("ireeCompilerInvocationOutputVMCSource", ctypes.c_void_p, ctypes.c_void_p, result=ctypes.c_void_p)

_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))


class FileName(str):
    """A path, or a flag that may hold one, which reaches the library in the bytes that the system knows it by."""

    __slots__ = ()

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return os.fsencode(str(self))


def pointer(op: ir.Operation) -> int:
    """The op as MLIR's C API knows it, for what the bindings leave out."""
    capsule = op._CAPIPtr
    return _pointer_in(capsule, _capsule_name(capsule))  # type: ignore[no-any-return]


def set_up_command_line(program: str, flags: Sequence[str]) -> None:
    """Parses the process-wide flags, which every later session inherits; at most once per process.

    A flag that LLVM does not accept ends the process with exit code 1, after LLVM's own message.
    """
    words = [os.fsencode(word) for word in (program, *flags)]
    _library.ireeCompilerSetupGlobalCL(len(words), (ctypes.c_char_p * len(words))(*words), b"constpolicy", False)


def set_phases(invocation: api.Invocation, start: str, end: str) -> None:
    """Makes the invocation's pipeline run the phases after `start`, up to and including `end`."""
    _library.ireeCompilerInvocationSetCompileFromPhase(invocation._inv_p, start.encode())
    _library.ireeCompilerInvocationSetCompileToPhase(invocation._inv_p, end.encode())


def dump_phases_to(invocation: api.Invocation, folder: str) -> None:
    """Makes the invocation write the IR after each phase into the folder."""
    _library.ireeCompilerInvocationSetDumpCompilationPhasesTo(invocation._inv_p, os.fsencode(folder))


def verify_ir(invocation: api.Invocation, enabled: bool) -> None:
    """Switches the verification of the IR between passes."""
    _library.ireeCompilerInvocationSetVerifyIR(invocation._inv_p, enabled)


def output_vm_c_source(invocation: api.Invocation, output: api.Output) -> None:
    """Writes the compiled module as C source; raises ValueError if the module cannot be written so."""
    api._handle_error(_library.ireeCompilerInvocationOutputVMCSource(invocation._inv_p, output._output_p))
