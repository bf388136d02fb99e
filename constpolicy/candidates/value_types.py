"""MLIR types as the sizes and shapes that a policy reasons about."""

from __future__ import annotations

import re
from math import prod

from iree.compiler import ir

from constpolicy.records import ValueType

_BITS = re.compile(r"(?:[us]?i|b?f|tf)(\d+)")
_INDEX_BITS = 64


def value_type(type: ir.Type) -> ValueType:
    """The record of an MLIR type. Types that hold no numbers (devices, buffers) have no shape and no bits."""
    if not isinstance(type, ir.RankedTensorType):
        text = str(type)
        bits = element_bits(text)
        return ValueType(text, text, () if bits else None, bits)
    element = str(type.element_type)
    shape = tuple(type.shape) if type.has_static_shape else None
    return ValueType(str(type), element, shape, element_bits(element))


def element_bits(element_type: str) -> int:
    """The bits of one element, from the type's spelling; 0 if it is not a number."""
    if element_type.startswith("complex<"):
        return 2 * element_bits(element_type[len("complex<") : -1])
    if element_type == "index":
        return _INDEX_BITS
    match = _BITS.match(element_type)
    return int(match.group(1)) if match else 0


def stored_size(type: ValueType) -> int:
    """The bytes that IREE stores for a value: elements of 2 and 4 bits packed, others in whole bytes each.

    0 when the shape is not static: then nobody knows before run time.
    """
    if type.shape is None:
        return 0
    count = prod(type.shape)
    if type.element_bits in (2, 4):
        return (count * type.element_bits + 7) // 8
    return count * ((type.element_bits + 7) // 8)
