"""The element types that can be passed to a compiled module, and what each is in numpy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from constpolicy.records import ConstPolicyError


class Family(str, Enum):
    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOAT = "float"
    COMPLEX = "complex"


@dataclass(frozen=True)
class FloatLimits:
    """The ends of a floating-point type. The lowest number is -largest."""

    largest: float
    smallest_normal: float
    smallest: float  # above zero: a denormal, where the type has them


@dataclass(frozen=True)
class ElementType:
    """An element type as MLIR spells it, with the numpy dtype that holds it."""

    name: str
    dtype: np.dtype[Any]
    family: Family
    bits: int | None = None  # of a packed element, which is narrower than the dtype that holds it here

    @property
    def integers(self) -> tuple[int, int]:
        """The least and the largest value of an integer type."""
        found = np.iinfo(self.dtype)
        unused = 0 if self.bits is None else found.bits - self.bits
        return int(found.min) >> unused, int(found.max) >> unused

    @property
    def exact(self) -> bool:
        """Whether values of this type are counted or chosen rather than rounded."""
        return self.family in (Family.BOOLEAN, Family.INTEGER)

    @property
    def limits(self) -> FloatLimits:
        """Of the floats, or of the parts of the complex numbers."""
        found = ml_dtypes.finfo(np.zeros(0, self.dtype).real.dtype)  # type: ignore[no-untyped-call]
        return FloatLimits(float(found.max), float(found.tiny), float(found.smallest_subnormal))


def _table() -> dict[str, ElementType]:
    floats: dict[str, npt.DTypeLike] = {
        "f16": np.float16,
        "f32": np.float32,
        "f64": np.float64,
        "bf16": ml_dtypes.bfloat16,
        "f8E4M3FN": ml_dtypes.float8_e4m3fn,
        "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
        "f8E5M2": ml_dtypes.float8_e5m2,
        "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
        "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    }
    types = [ElementType(name, np.dtype(dtype), Family.FLOAT) for name, dtype in floats.items()]
    for bits in (8, 16, 32, 64):
        signed, unsigned = np.dtype(f"int{bits}"), np.dtype(f"uint{bits}")
        types += [ElementType(f"{sign}i{bits}", signed, Family.INTEGER) for sign in ("", "s")]
        types.append(ElementType(f"ui{bits}", unsigned, Family.INTEGER))
    types.append(ElementType("index", np.dtype(np.int64), Family.INTEGER))
    types += [ElementType(f"{sign}i4", np.dtype(np.int8), Family.INTEGER, bits=4) for sign in ("", "s")]
    types.append(ElementType("ui4", np.dtype(np.uint8), Family.INTEGER, bits=4))
    types.append(ElementType("i1", np.dtype(np.bool_), Family.BOOLEAN))
    types.append(ElementType("complex<f32>", np.dtype(np.complex64), Family.COMPLEX))
    types.append(ElementType("complex<f64>", np.dtype(np.complex128), Family.COMPLEX))
    return {type_.name: type_ for type_ in types}


ELEMENT_TYPES = _table()
_SUB_BYTE = re.compile(r"[su]?i[235-7]|f[46]E\w+")


def element_type(name: str) -> ElementType:
    """The element type of this MLIR name; ConstPolicyError says why one cannot be passed to a module."""
    if name in ELEMENT_TYPES:
        return ELEMENT_TYPES[name]
    if _SUB_BYTE.fullmatch(name):
        raise ConstPolicyError(
            f"elements of type {name} are packed below a byte, and iree.runtime passes none of those"
        )
    raise ConstPolicyError(f"iree.runtime has no arrays of {name}")


def of_dtype(dtype: np.dtype[Any]) -> ElementType:
    """The element type that arrays of this dtype hold: signless for integers."""
    for type_ in ELEMENT_TYPES.values():
        if type_.dtype == dtype:
            return type_
    raise ConstPolicyError(f"no element type of a compiled module is held by numpy arrays of {dtype}")
