"""Comparisons: functions from the errors of an output to a judgement.

Any other function of that type can take their place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from constpolicy.verify.errors import Element, Errors, cosines, quantile
from constpolicy.verify.tolerance import Bounds, Statistic


@dataclass(frozen=True)
class Judgement:
    """Whether an output passes, and why: "max abs error 3.1e-06 at [0, 5, 7] (rtol 1e-05, atol 1e-06)"."""

    passed: bool
    text: str


Comparison = Callable[[Errors], Judgement]


def comparison(bounds: Bounds) -> Comparison:
    """The comparison that these bounds ask for. It is only asked about outputs that are not equal."""
    if bounds.exact:
        return bit_exact
    parts: list[Comparison] = []
    if bounds.rtol or bounds.atol:
        by_element = bounds.statistic is Statistic.ELEMENTWISE
        parts.append(elementwise(bounds.rtol, bounds.atol) if by_element else _statistic(bounds))
    if bounds.ulp is not None:
        parts.append(within_ulps(bounds.ulp))
    if bounds.top_k is not None:
        parts.append(top_k(bounds.top_k))
    if bounds.cosine is not None:
        parts.append(cosine(bounds.cosine))
    return every(*parts)


def every(*parts: Comparison) -> Comparison:
    """Passes if all parts do. The text is that of the failing ones, or of all."""

    def compare(errors: Errors) -> Judgement:
        judgements = [part(errors) for part in parts]
        failed = [judgement for judgement in judgements if not judgement.passed]
        return Judgement(not failed, ", ".join(judgement.text for judgement in failed or judgements))

    return compare


def bit_exact(errors: Errors) -> Judgement:
    """Passes if all bits are the same, the payloads of NaN aside."""
    if errors.equal:
        return Judgement(True, "bit-exact")
    count, size = int((errors.differing & ~errors.both_nan).sum()), errors.reference.size
    if not errors.absolute.any():
        return Judgement(False, f"{count} of {size} elements differ, in the sign of zero only (must be bit-exact)")
    return Judgement(False, f"{count} of {size} elements differ, {_worst(errors)} (must be bit-exact)")


def elementwise(rtol: float, atol: float) -> Comparison:
    """Passes if |candidate - reference| <= atol + rtol * |reference| for every element."""

    def compare(errors: Errors) -> Judgement:
        with np.errstate(invalid="ignore"):
            allowed = atol + rtol * errors.magnitude
            beyond = errors.broken | (errors.absolute > allowed)
        count, size = int(beyond.sum()), errors.reference.size
        bounds = f"rtol {rtol:g}, atol {atol:g}"
        if not count:
            return Judgement(True, f"{_worst(errors)} ({bounds})")
        # The element that is farthest beyond its own bound, which need not be the largest error.
        excess = np.where(beyond, errors.absolute - np.where(errors.broken, 0.0, allowed), -1.0)
        return Judgement(False, f"{count} of {size} elements beyond {bounds}, {_at(errors, errors.largest(excess))}")

    return compare


def of_statistic(statistic: Statistic, rtol: float, atol: float, at: float = 0.99) -> Comparison:
    """Passes if the statistic of the absolute errors is within atol, or that of the relative errors within rtol.

    `at` is the quantile, for Statistic.QUANTILE. An element that is NaN or infinite on one side only fails always.
    """
    name = f"{at:g} quantile" if statistic is Statistic.QUANTILE else str(statistic)

    def of(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
        if not values.size:
            return 0.0
        if statistic is Statistic.MAX:
            return float(values.max())
        if statistic is Statistic.MEAN:
            return float(values.mean())
        return quantile(values, 0.5 if statistic is Statistic.MEDIAN else at)

    def compare(errors: Errors) -> Judgement:
        if errors.broken.any():
            return Judgement(False, _worst(errors))
        absolute, relative = of(errors.absolute.reshape(-1)), of(errors.relative.reshape(-1))
        text = f"{name} abs error {absolute:.2g}, rel {relative:.2g} (rtol {rtol:g}, atol {atol:g})"
        return Judgement(absolute <= atol or relative <= rtol, text)

    return compare


def _statistic(bounds: Bounds) -> Comparison:
    return of_statistic(bounds.statistic, bounds.rtol, bounds.atol, bounds.quantile)


def within_ulps(ulp: int) -> Comparison:
    """Passes if every element is at most so many representable values away."""

    def compare(errors: Errors) -> Judgement:
        if errors.broken.any():
            return Judgement(False, _worst(errors))
        worst = errors.largest(errors.ulps)
        largest = int(errors.ulps[worst.index])
        return Judgement(largest <= ulp, f"{largest} ULP at {list(worst.index)} ({ulp} allowed)")

    return compare


def top_k(k: int) -> Comparison:
    """Passes if the k largest along the last axis stand at the same places, in any order, ties aside."""

    def compare(errors: Errors) -> Judgement:
        reference, candidate = (np.atleast_1d(array) for array in (errors.reference, errors.candidate))
        if reference.dtype.kind not in "iub":
            reference, candidate = reference.astype(np.float64), candidate.astype(np.float64)
        places = np.argsort(candidate, axis=-1, kind="stable")[..., ::-1][..., :k]
        # A tie lets other places hold the same values: what counts is which values were chosen.
        chosen = np.sort(np.take_along_axis(reference, places, axis=-1), axis=-1)
        best = np.sort(reference, axis=-1)[..., -k:]
        agree = np.asarray(np.all((chosen == best) | ((chosen != chosen) & (best != best)), axis=-1))
        text = f"top {k} agree in {int(agree.sum())} of {agree.size} rows"
        return Judgement(bool(agree.all()), text)

    return compare


def cosine(least: float) -> Comparison:
    """Passes if every vector along the last axis has at least this cosine similarity with the reference's.

    Vectors that are zero on both sides agree; one that is zero or not finite on one side only does not.
    """

    def compare(errors: Errors) -> Judgement:
        similarity = cosines(errors.reference, errors.candidate)
        same = np.all(np.atleast_1d(errors.absolute == 0), axis=-1)
        similarity = np.where(same, 1.0, np.where(np.isnan(similarity), -1.0, similarity))
        lowest = float(similarity.min())
        return Judgement(lowest >= least, f"cosine similarity {lowest:.6g} ({least:g} wanted)")

    return compare


def _worst(errors: Errors) -> str:
    return _at(errors, errors.largest(errors.absolute))


def _at(errors: Errors, element: Element) -> str:
    if errors.broken[element.index]:
        return f"{element.candidate} where the reference has {element.reference} at {list(element.index)}"
    return f"max abs error {element.absolute:.2g} at {list(element.index)}"
