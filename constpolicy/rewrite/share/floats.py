"""The float numbers of a constant, as far as exact products and casts depend on them."""

from __future__ import annotations

from dataclasses import dataclass

from iree.compiler import ir

from constpolicy.compiler.elements import elements
from constpolicy.rewrite.share.attributes import element_count
from constpolicy.rewrite.share.refusal import Refusal

_ALIGNMENT_DIGITS = 8  # before a resource's bytes, both in hexadecimal
_CHUNK = 1 << 20  # elements looked at in one go, so that the temporary arrays stay small


@dataclass(frozen=True)
class Format:
    """A binary floating point format: bits of its exponent and of the mantissa that it stores."""

    exponent_bits: int
    mantissa_bits: int

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    def holds_exponents(self, *exponents: int) -> bool:
        """Whether normal numbers with all of these exponents (of 2) exist."""
        return all(1 - self.bias <= exponent <= self.bias for exponent in exponents)


FORMATS = {"f16": Format(5, 10), "bf16": Format(8, 7), "f32": Format(8, 23), "f64": Format(11, 52)}


@dataclass(frozen=True)
class Numbers:
    """Of all numbers other than zero: the exponents of 2, and how many bits of the mantissa are in use."""

    lowest_exponent: int
    highest_exponent: int
    mantissa_bits: int


def numbers_in(constant: ir.Operation) -> Numbers:
    """What is in a float constant; raises Refusal if its data is out of reach, or holds subnormals, inf or nan."""
    import numpy as np  # only here: few programs ever need it

    element = str(ir.RankedTensorType(constant.results[0].type).element_type)
    format = FORMATS[element]
    width = 1 + format.exponent_bits + format.mantissa_bits
    count = element_count(constant.results[0])
    raw = np.frombuffer(_data(constant, count * width // 8), dtype=f"<u{width // 8}")
    low, high, used = format.bias, -format.bias, 0
    for start in range(0, len(raw), _CHUNK):
        chunk = raw[start : start + _CHUNK] & ((1 << (width - 1)) - 1)
        chunk = chunk[chunk != 0]
        if not len(chunk):
            continue
        exponents = chunk >> format.mantissa_bits
        low = min(low, int(exponents.min()) - format.bias)
        high = max(high, int(exponents.max()) - format.bias)
        used |= int(np.bitwise_or.reduce(chunk & ((1 << format.mantissa_bits) - 1)))
    if low <= high and not format.holds_exponents(low, high):
        raise Refusal("its values are scaled or cast, and some of them are subnormal, infinite or not a number")
    trailing_zeros = (used & -used).bit_length() - 1 if used else format.mantissa_bits
    return Numbers(min(low, high), max(low, high), format.mantissa_bits - trailing_zeros)


def _data(constant: ir.Operation, size: int) -> memoryview | bytes:
    """The elements, row-major, little-endian."""
    dense = elements(constant, "value")
    data = dense.data(size) if dense is not None else _resource(constant)
    if len(data) != size:
        raise Refusal("its values are scaled or cast, and they cannot be read to check that this is exactly invertible")
    return data


def _resource(constant: ir.Operation) -> bytes:
    """The bytes of a dense_resource, which the bindings give only as text; none if there are not any, or are elided."""
    alone = ir.Module.create(constant.location).operation
    with ir.InsertionPoint(alone.regions[0].blocks[0]):
        constant.clone()
    _, prefix, text = alone.get_asm().rpartition('"0x')
    return bytes.fromhex(text[_ALIGNMENT_DIGITS : text.index('"')]) if prefix else b""
