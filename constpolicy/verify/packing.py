"""Integers of 4 bits, as modules hold them: two to a byte, the first in the low half. Elsewhere each has a byte."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from constpolicy.verify.element_types import ElementType


def packed(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """The bytes of an array of 4-bit integers with an even number of elements, in one dimension."""
    halves = array.reshape(-1).view(np.uint8) & 0xF
    return np.asarray(halves[0::2] | (halves[1::2] << 4), np.uint8)


def unpacked(data: npt.NDArray[np.uint8], element: ElementType) -> npt.NDArray[Any]:
    """The elements in the bytes, in one dimension, as the element's dtype holds them."""
    halves = np.empty(2 * data.size, np.uint8)
    halves[0::2], halves[1::2] = data & 0xF, data >> 4
    if element.dtype.kind == "i":  # the sign is the highest of the four bits
        return ((halves ^ 8).astype(np.int8) - 8).astype(element.dtype)
    return halves.astype(element.dtype)
