"""Comparing one stored result with the computed one: all bits first, then how far elements are apart.

Memory is bounded. Of results with more than `LARGE` elements, only those that differ are looked at closely, in parts of
that size, of which each has to keep the bounds; the statistics are over the `LARGE` elements that are farthest apart.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from constpolicy.verify.compare import comparison
from constpolicy.verify.element_types import ElementType
from constpolicy.verify.errors import Element, Errors, bits, statistics
from constpolicy.verify.input_values import Array
from constpolicy.verify.tensor_record import TensorCheck
from constpolicy.verify.tolerance import Bounds

LARGE = 1 << 20
_BLOCK = 1 << 22  # elements whose bits are compared at a time
_WORST = 5  # elements that are kept
_ROUNDING_STEPS = {1: 1, 2: 4, 4: 1024, 8: 1024}
"""By bytes of the type: how many of its steps, at the size of the largest element, an error of rounding can have.
Expressions of 8 and 16 bits are computed in more and rounded at the end."""

_Places = npt.NDArray[np.intp]


def compare_tensor(blank: TensorCheck, computed: Array, stored: Array, bounds: Bounds) -> TensorCheck:
    """The check with its comparison filled in, the cause apart."""
    if computed.shape != stored.shape or computed.dtype != stored.dtype:
        ours, theirs = (f"{list(array.shape)} {array.dtype}" for array in (stored, computed))
        return blank.model_copy(update={"passed": False, "text": f"{ours} is stored where {theirs} is computed"})
    differing = _differing(computed.reshape(-1), stored.reshape(-1))
    if not differing.size:
        return blank.model_copy(update={"bit_exact": True})
    places = np.arange(computed.size) if computed.size <= LARGE else _farthest(computed, stored, differing)
    errors = _errors(computed, stored, places)
    found = statistics(errors)
    found = found.model_copy(
        update={
            "elements": computed.size,
            "differing": differing.size,
            "worst": _placed(found.worst, places, computed.shape),
            "worst_relative": _placed(found.worst_relative, places, computed.shape),
        }
    )
    if errors.equal:
        text = f"bit-exact but for the payloads of {differing.size} NaN"
        return blank.model_copy(update={"text": text, "statistics": found})
    parts = [places] if computed.size <= LARGE else np.array_split(differing, -(-differing.size // LARGE))
    passed = all(comparison(bounds)(_errors(computed, stored, part)).passed for part in parts)
    worst = tuple(_placed(element, places, computed.shape) for element in _worst(errors))
    text = f"{differing.size} of {computed.size} elements differ, {_size(worst[0])} ({_standard(bounds)})"
    changes = {"passed": passed, "text": text, "statistics": found, "worst": worst}
    return blank.model_copy(update=changes)


def is_rounding(check: TensorCheck, computed: Array, element: ElementType) -> bool:
    """Whether the differences are as small as other orders of the same operations make them."""
    found = check.statistics
    if found is None or found.broken or element.exact:
        return False
    scale = float(np.max(np.abs(computed), initial=0, where=np.isfinite(computed)))
    part = np.zeros(0, element.dtype).real.dtype
    step = float(ml_dtypes.finfo(part).eps)  # type: ignore[no-untyped-call]
    return found.max_absolute <= max(_ROUNDING_STEPS[part.itemsize] * step * scale, element.limits.smallest_normal)


def _errors(computed: Array, stored: Array, places: _Places) -> Errors:
    return Errors(computed.reshape(-1)[places], stored.reshape(-1)[places])


def _differing(computed: Array, stored: Array) -> _Places:
    """The positions of the elements whose bits differ."""
    parts = []
    for start in range(0, computed.size, _BLOCK):
        unequal = bits(computed[start : start + _BLOCK]) != bits(stored[start : start + _BLOCK])
        parts.append(start + np.flatnonzero(unequal if unequal.ndim == 1 else unequal.any(-1)))
    return np.concatenate(parts) if parts else np.zeros(0, np.intp)


def _farthest(computed: Array, stored: Array, differing: _Places) -> _Places:
    """Of the positions the LARGE with the largest errors, in order; NaN and infinity count as the largest of all."""
    if differing.size <= LARGE:
        return differing
    wide: Any = np.complex64 if computed.dtype.kind == "c" else np.float32
    with np.errstate(all="ignore"):
        gaps = np.abs(stored.reshape(-1)[differing].astype(wide) - computed.reshape(-1)[differing].astype(wide))
    gaps = np.where(np.isfinite(gaps), gaps, np.inf)
    return np.sort(differing[np.argpartition(gaps, -LARGE)[-LARGE:]])


def _worst(errors: Errors) -> list[Element]:
    places = np.flatnonzero(errors.differing & ~errors.both_nan)
    order = np.argsort(-errors.absolute[places], kind="stable")[:_WORST]
    return [errors.element((int(place),)) for place in places[order]]


def _placed(element: Element, places: _Places, shape: tuple[int, ...]) -> Element:
    """The element with its index in the result, instead of that among the elements looked at."""
    index = np.unravel_index(places[element.index[0]], shape) if shape else ()
    return element.model_copy(update={"index": tuple(int(i) for i in index)})


def _size(worst: Element) -> str:
    if np.isinf(worst.absolute):
        return f"{worst.candidate} where {worst.reference} is computed at {list(worst.index)}"
    return f"max abs error {worst.absolute:.2g} at {list(worst.index)}"


def _standard(bounds: Bounds) -> str:
    if bounds.exact:
        return "must be bit-exact"
    parts = [f"{bounds.statistic}: rtol {bounds.rtol:g}, atol {bounds.atol:g}"] if bounds.rtol or bounds.atol else []
    return ", ".join([*parts, *([f"{bounds.ulp} ULP"] if bounds.ulp is not None else [])])
