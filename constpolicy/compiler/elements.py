"""The elements of dense constants, read where they lie.

The bindings reach most of them through the buffer protocol, but not bf16, 8-bit floats and sub-byte integers, and they
cannot even return an attribute with complex elements; older versions end the process instead of raising.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from constpolicy.compiler.library import api, ir, pointer


class _StringRef(ctypes.Structure):
    _fields_ = (("data", ctypes.c_char_p), ("length", ctypes.c_size_t))


_library = api._dylib
_attribute_of = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, _StringRef)(
    ("mlirOperationGetAttributeByName", _library)
)
_predicate = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
_is_dense = _predicate(("mlirAttributeIsADenseElements", _library))
_is_splat = _predicate(("mlirDenseElementsAttrIsSplat", _library))
_raw_data = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(("mlirDenseElementsAttrGetRawData", _library))


@dataclass(frozen=True)
class Elements:
    """A `dense<...>` attribute. Two have one `identity` exactly when they are equal in type and elements."""

    identity: int
    is_splat: bool

    def data(self, size: int) -> memoryview:
        """The first `size` bytes as MLIR keeps them: elements in row-major order, each in whole bytes.

        Nothing is copied; the view must not outlive the MLIR context.
        """
        return memoryview((ctypes.c_ubyte * size).from_address(_raw_data(self.identity))).cast("B").toreadonly()


def elements(op: ir.Operation, attribute: str) -> Elements | None:
    """The op's attribute of that name, None if it is missing or not dense."""
    name = attribute.encode()
    identity = _attribute_of(pointer(op), _StringRef(name, len(name)))
    return Elements(identity, _is_splat(identity)) if identity and _is_dense(identity) else None
