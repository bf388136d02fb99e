"""How far outputs may be apart: plain data, in the words of the policy file's `verify:` section."""

from __future__ import annotations

from enum import Enum

from pydantic import BaseModel, ConfigDict, Field

from constpolicy.records import ConstPolicyError


class Statistic(str, Enum):
    """What of the errors of an output has to stay within the tolerance."""

    ELEMENTWISE = "elementwise"  # |candidate - reference| <= atol + rtol * |reference|, for every element
    MAX = "max"  # the largest absolute error <= atol, or the largest relative error <= rtol
    MEAN = "mean"  # likewise
    MEDIAN = "median"
    QUANTILE = "quantile"  # likewise, for the quantile given

    def __str__(self) -> str:
        return self.value


class Bounds(BaseModel):
    """The bounds for an output. Those given as None are not asked; if all are zero or None, the bits must be equal.

    rtol, atol: for the statistic. Zero for both, with a bound of another kind given, asks nothing of the statistic.
    ulp: distance in units in the last place, for every element.
    top_k: the k largest along the last axis must be the same, ties aside.
    cosine: least similarity of each vector along the last axis, 1 for the same direction.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rtol: float = Field(default=0.0, ge=0)
    atol: float = Field(default=0.0, ge=0)
    statistic: Statistic = Statistic.ELEMENTWISE
    quantile: float = Field(default=0.99, gt=0, le=1)
    ulp: int | None = Field(default=None, ge=0)
    top_k: int | None = Field(default=None, ge=1)
    cosine: float | None = Field(default=None, ge=-1, le=1)

    @property
    def exact(self) -> bool:
        return not (self.rtol or self.atol or self.ulp) and self.top_k is None and self.cosine is None


class OutputBounds(Bounds):
    """Bounds for the output of this name: "output0", or "main.output0" for one function's."""

    output: str


class Tolerance(Bounds):
    """Bounds for all floating-point outputs, and others for those named.

    Integers and booleans are compared exactly unless their output is named, since a relative error says nothing about a
    count or an index.
    """

    outputs: tuple[OutputBounds, ...] = ()

    def for_output(self, function: str, output: str, *, exact_type: bool) -> Bounds:
        """The bounds for one output of a function; `exact_type` says that it holds integers or booleans."""
        for bounds in self.outputs:
            if bounds.output in (output, f"{function}.{output}"):
                return bounds
        return Bounds() if exact_type else self


EXACT = Tolerance()


def parse(rtol: tuple[str, ...] = (), atol: tuple[str, ...] = (), base: Tolerance = EXACT) -> Tolerance:
    """The tolerance `base` with `[output:]rtol` and `[output:]atol` as the command line takes them."""
    tolerance = base
    for field, texts in (("rtol", rtol), ("atol", atol)):
        for text in texts:
            output, _, number = text.rpartition(":")
            try:
                bound = float(number)
            except ValueError:
                bound = -1.0
            if not bound >= 0:
                raise ConstPolicyError(f"{field} '{text}': write [output:]number, as in 1e-5 or output0:1e-5")
            tolerance = _with(tolerance, output, field, bound)
    return tolerance


def _with(tolerance: Tolerance, output: str, field: str, bound: float) -> Tolerance:
    if not output:
        return tolerance.model_copy(update={field: bound})
    named = [b if b.output != output else b.model_copy(update={field: bound}) for b in tolerance.outputs]
    if not any(b.output == output for b in named):
        named.append(OutputBounds.model_validate({"output": output, field: bound}))
    return tolerance.model_copy(update={"outputs": tuple(named)})
