"""A verification as text: the verdict in a line, then the errors of each output that differs, as a histogram."""

from __future__ import annotations

from collections.abc import Iterator

from constpolicy.verify.errors import ErrorStatistics
from constpolicy.verify.record import OutputCheck, Verification

_WIDTH = 40  # characters of the longest bar


def lines(verification: Verification) -> Iterator[str]:
    """The lines to print."""
    yield f"against {verification.against}: {verification.summary()}"
    yield f"  standard: {verification.reason}"
    if verification.host_build is not None:
        yield f"  target: {verification.host_build.summary()}"
    if verification.cause is not None:
        yield f"  cause: {verification.cause}"
    for note in verification.notes:
        yield f"  inputs: {note}"
    several = len(verification.functions) > 1
    for check in verification.functions:
        for output in check.outputs:
            if output.statistics is not None:
                name = f"@{check.function} {output.name}" if several else output.name
                yield ""
                yield from _output(name, output, output.statistics)
    if verification.tensors is not None:
        yield from verification.tensors.lines()


def _output(name: str, output: OutputCheck, found: ErrorStatistics) -> Iterator[str]:
    where = f" in {output.call}" if output.call else ""
    yield f"  {name}: {output.type}, {found.differing} of {found.elements} elements differ{where}"
    quantiles = ", ".join(f"{100 * q.quantile:g} % {q.absolute:.2g}" for q in found.quantiles)
    yield f"    absolute error: max {found.max_absolute:.3g}, mean {found.mean_absolute:.3g}, {quantiles}"
    worst = found.worst
    yield f"    worst: {worst.candidate} where the reference has {worst.reference} at {list(worst.index)}"
    cosine = "" if found.cosine is None else f", cosine similarity {found.cosine:.9g}"
    yield f"    relative error: max {found.max_relative:.3g}; {found.max_ulp} ULP at most{cosine}"
    odd = {"NaN or infinite on one side": found.broken, "zeros of the other sign": found.signed_zeros}
    odd |= {"denormals flushed": found.flushed, "NaN payloads": found.nan_payloads}
    if any(odd.values()):
        yield f"    {', '.join(f'{what}: {count}' for what, count in odd.items() if count)}"
    yield from _histogram(found)


def _histogram(found: ErrorStatistics) -> Iterator[str]:
    """A bar for each decade of the absolute error, and one for no error."""
    none = found.elements - found.broken - sum(part.elements for part in found.histogram)
    rows = [("none", none)] if none else []
    rows += [(f"{part.low:.0e}..", part.elements) for part in found.histogram]
    most = max((count for _, count in rows), default=0)
    for label, count in rows:
        yield f"    {label:>8} {count:>12} {'#' * max(1, round(_WIDTH * count / most))}"
