"""IR as text for people: without the contents of large constants, which are never printed.

The bindings can elide resources only since 3.7, MLIR's C API for longer.
"""

from __future__ import annotations

import ctypes

from constpolicy.compiler.library import api, ir, pointer

_MOST_ELEMENTS = 8


class _StringRef(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("length", ctypes.c_size_t))


_Take = ctypes.CFUNCTYPE(None, _StringRef, ctypes.c_void_p)
_library = api._dylib
_create = ctypes.CFUNCTYPE(ctypes.c_void_p)(("mlirOpPrintingFlagsCreate", _library))
_limit = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_ssize_t)
_elide_elements = _limit(("mlirOpPrintingFlagsElideLargeElementsAttrs", _library))
_elide_resources = _limit(("mlirOpPrintingFlagsElideLargeResourceString", _library))
_flag = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_use_local_scope = _flag(("mlirOpPrintingFlagsUseLocalScope", _library))
_assume_verified = _flag(("mlirOpPrintingFlagsAssumeVerified", _library))
_destroy = _flag(("mlirOpPrintingFlagsDestroy", _library))
_print = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, _Take, ctypes.c_void_p)(
    ("mlirOperationPrintWithFlags", _library)
)


def short_text(op: ir.Operation) -> str:
    """The op in MLIR's syntax, with constants of more than a few elements elided."""
    parts: list[bytes] = []
    flags = _create()
    _elide_elements(flags, _MOST_ELEMENTS)
    _elide_resources(flags, _MOST_ELEMENTS)
    _use_local_scope(flags)
    _assume_verified(flags)
    take = _Take(lambda text, _: parts.append(ctypes.string_at(text.data, text.length)))
    _print(pointer(op), flags, take, None)
    _destroy(flags)
    return b"".join(parts).decode()
