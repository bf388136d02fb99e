"""How far two arrays are apart: per element, and as statistics for the report.

Two NaN are equal whatever their payload. An element that is NaN or infinite on one side only, or infinite with the
other sign, has no error in numbers: it is counted as `broken` and takes no part in mean, quantiles and histogram.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from constpolicy.verify.element_types import Family, of_dtype
from constpolicy.verify.input_values import Array

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

QUANTILES = (0.5, 0.9, 0.99, 0.999)


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


class Element(_Record):
    """One element of an output, on both sides."""

    index: tuple[int, ...]
    reference: str
    candidate: str
    absolute: float
    relative: float


class Quantile(_Record):
    quantile: float
    absolute: float


class Bin(_Record):
    """How many elements have an absolute error of `low` <= error < 10 * `low`."""

    low: float
    elements: int


class ErrorStatistics(_Record):
    """The errors of one output in one call. Numbers are over the elements that are finite on both sides.

    `signed_zeros` counts zeros of different sign; `flushed` denormals of one side that are zero on the other;
    `nan_payloads` NaN of different bits, which count as equal.
    """

    elements: int
    differing: int  # elements whose bits differ
    broken: int
    max_absolute: float
    max_relative: float
    mean_absolute: float
    max_ulp: int
    quantiles: tuple[Quantile, ...]
    cosine: float | None  # of the whole arrays as vectors; None if one of them is zero or not finite
    signed_zeros: int
    flushed: int
    nan_payloads: int
    worst: Element
    worst_relative: Element
    histogram: tuple[Bin, ...]  # of the errors above zero, by decades


def bits(array: Array) -> Array:
    """The array's bytes as unsigned integers: one for each element, two along a last axis for complex numbers."""
    contiguous = np.ascontiguousarray(array).reshape(array.shape)
    if contiguous.dtype.kind == "c":
        parts = contiguous.reshape(-1).view(contiguous.real.dtype).reshape(*array.shape, 2)
        return bits(parts)
    return contiguous.view(f"u{contiguous.dtype.itemsize}")


@dataclass(frozen=True)
class Errors:
    """The errors of an array against a reference of the same dtype and shape."""

    reference: Array
    candidate: Array

    @cached_property
    def family(self) -> Family:
        return of_dtype(self.reference.dtype).family

    @cached_property
    def same_bits(self) -> bool:
        return bool(np.array_equal(bits(self.reference), bits(self.candidate)))

    @cached_property
    def differing(self) -> Mask:
        """The elements whose bits differ."""
        unequal = bits(self.reference) != bits(self.candidate)
        return np.asarray(unequal.any(-1) if self.family is Family.COMPLEX else unequal)

    @cached_property
    def both_nan(self) -> Mask:
        return np.asarray(_isnan(self.reference) & _isnan(self.candidate))

    @cached_property
    def equal(self) -> bool:
        """Whether every element has the same bits on both sides, or is NaN on both."""
        return self.same_bits or not bool((self.differing & ~self.both_nan).any())

    @cached_property
    def broken(self) -> Mask:
        """The elements that are not finite on at least one side and not the same on both."""
        if self.family in (Family.INTEGER, Family.BOOLEAN):
            return np.zeros(self.reference.shape, np.bool_)
        odd = ~_isfinite(self.reference) | ~_isfinite(self.candidate)
        return np.asarray(odd & self.differing & ~self.both_nan)

    @cached_property
    def absolute(self) -> Floats:
        """|candidate - reference|; 0 where they are the same and infinite where they are broken."""
        with np.errstate(all="ignore"):
            errors = _distance(self.reference, self.candidate, self.family)
        errors = np.where(self.differing & ~self.both_nan, errors, 0.0)
        return np.where(self.broken, np.inf, errors)

    @cached_property
    def relative(self) -> Floats:
        """absolute / |reference|; infinite where only the reference is zero."""
        with np.errstate(all="ignore"):
            return np.where(self.absolute == 0, 0.0, self.absolute / self.magnitude)

    @cached_property
    def magnitude(self) -> Floats:
        """|reference|."""
        if self.family is Family.COMPLEX:
            return np.abs(self.reference).astype(np.float64)
        return np.abs(self.reference.astype(np.float64))

    @cached_property
    def finite(self) -> Floats:
        """The absolute errors that are numbers, in one dimension."""
        return self.absolute[~self.broken].reshape(-1)

    @cached_property
    def ulps(self) -> npt.NDArray[np.uint64]:
        """Distance in representable values; the largest integer where broken."""
        distance = _ulps(self.reference, self.candidate, self.family)
        distance = np.where(self.differing & ~self.both_nan, distance, np.uint64(0))
        return np.where(self.broken, np.iinfo(np.uint64).max, distance)

    def element(self, index: tuple[int, ...]) -> Element:
        return Element(
            index=index,
            reference=_text(self.reference[index]),
            candidate=_text(self.candidate[index]),
            absolute=float(self.absolute[index]),
            relative=float(self.relative[index]),
        )

    def largest(self, errors: npt.NDArray[Any]) -> Element:
        """The element at which `errors`, an array of this shape with at least one element, is largest."""
        index = np.unravel_index(int(np.argmax(errors)), errors.shape)
        return self.element(tuple(int(i) for i in index))


def statistics(errors: Errors) -> ErrorStatistics:
    """The statistics for the report, of arrays with at least one element."""
    finite = errors.finite
    relative = np.where(errors.broken, -1.0, errors.relative)
    zeros, flushed = _zeros(errors)
    return ErrorStatistics(
        elements=errors.reference.size,
        differing=int(errors.differing.sum()),
        broken=int(errors.broken.sum()),
        max_absolute=float(finite.max(initial=0.0)),
        max_relative=float(relative.max(initial=0.0)),
        mean_absolute=float(finite.mean()) if finite.size else 0.0,
        max_ulp=int(np.where(errors.broken, np.uint64(0), errors.ulps).max()),
        quantiles=tuple(Quantile(quantile=q, absolute=quantile(finite, q)) for q in QUANTILES),
        cosine=_cosine(errors),
        signed_zeros=zeros,
        flushed=flushed,
        nan_payloads=int((errors.differing & errors.both_nan).sum()),
        worst=errors.largest(errors.absolute),
        worst_relative=errors.largest(relative),
        histogram=_histogram(finite),
    )


def quantile(values: Floats, q: float) -> float:
    """The smallest of the values that at least this part of them does not exceed; 0 for none."""
    return float(np.quantile(values, q, method="inverted_cdf")) if values.size else 0.0


def cosines(reference: Array, candidate: Array) -> Floats:
    """Cosine similarity of each pair of vectors along the last axis; NaN where one has no direction."""
    wide = np.complex128 if reference.dtype.kind == "c" else np.float64
    left, right = (np.atleast_1d(array).astype(wide) for array in (reference, candidate))
    with np.errstate(all="ignore"):
        # Each divided by its largest element first, or squares overflow.
        left, right = (array / np.abs(array).max(-1, keepdims=True, initial=0) for array in (left, right))
        norms = np.linalg.norm(left, axis=-1) * np.linalg.norm(right, axis=-1)
        return np.asarray((left.conj() * right).sum(-1).real / norms)


def _cosine(errors: Errors) -> float | None:
    similarity = float(cosines(errors.reference.reshape(-1), errors.candidate.reshape(-1)))
    return None if math.isnan(similarity) else similarity


def _distance(reference: Array, candidate: Array, family: Family) -> Floats:
    if family is Family.COMPLEX:
        return np.abs(candidate.astype(np.complex128) - reference.astype(np.complex128))
    if family is Family.FLOAT:
        return np.abs(candidate.astype(np.float64) - reference.astype(np.float64))
    return _integer_distance(reference, candidate).astype(np.float64)


def _integer_distance(reference: Array, candidate: Array) -> npt.NDArray[np.uint64]:
    """|candidate - reference|, without overflow even for 64 bits."""
    wide = np.uint64 if reference.dtype.kind in "ub" else np.int64
    left, right = reference.astype(wide), candidate.astype(wide)
    larger, smaller = np.maximum(left, right).astype(np.uint64), np.minimum(left, right).astype(np.uint64)
    with np.errstate(over="ignore"):  # negative ones have wrapped around, and the difference wraps back
        return np.asarray(larger - smaller)


def _ulps(reference: Array, candidate: Array, family: Family) -> npt.NDArray[np.uint64]:
    if family in (Family.INTEGER, Family.BOOLEAN):
        return _integer_distance(reference, candidate)
    distance = _integer_distance(_ordered(bits(reference)), _ordered(bits(candidate)))
    return np.asarray(distance.max(-1) if family is Family.COMPLEX else distance)


def _ordered(pattern: Array) -> npt.NDArray[np.int64]:
    """Integers in the order of the floats that the bits stand for; both zeros are 0."""
    sign = (
        np.int64(1) << (8 * pattern.dtype.itemsize - 1) if pattern.dtype.itemsize < 8 else np.int64(np.iinfo("i8").min)
    )
    signed = pattern.astype(np.int64)
    negative = signed < 0 if pattern.dtype.itemsize == 8 else signed >= sign
    return np.where(negative, sign - signed, signed)


def _zeros(errors: Errors) -> tuple[int, int]:
    """How many zeros differ in sign, and how many denormals are zero on the other side."""
    if errors.family is not Family.FLOAT or of_dtype(errors.reference.dtype).name == "f8E8M0FNU":
        return 0, 0
    places = errors.differing
    left, right = errors.reference[places].astype(np.float64), errors.candidate[places].astype(np.float64)
    tiny = of_dtype(errors.reference.dtype).limits.smallest_normal
    one_zero = (left == 0) ^ (right == 0)
    flushed = one_zero & (np.abs(left) < tiny) & (np.abs(right) < tiny)
    return int(((left == 0) & (right == 0)).sum()), int(flushed.sum())


def _histogram(errors: Floats) -> tuple[Bin, ...]:
    positive = errors[errors > 0]
    decades, counts = np.unique(np.floor(np.log10(positive)).astype(np.int64), return_counts=True)
    return tuple(Bin(low=10.0 ** int(d), elements=int(n)) for d, n in zip(decades, counts, strict=True))


def _isnan(array: Array) -> Mask:
    if array.dtype.kind in "iub":
        return np.zeros(array.shape, np.bool_)
    return np.asarray(np.isnan(array))


def _isfinite(array: Array) -> Mask:
    return np.asarray(np.isfinite(array))


def _text(value: Any) -> str:
    return str(value.item()) if value.dtype.kind in "iubfc" else str(float(value))
