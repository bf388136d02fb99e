"""How far outputs may be apart: plain data, in the words of the policy file's `verify:` section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from pydantic import BaseModel, ConfigDict, Field, ValidationError

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

_NUMBERS: Mapping[str, type[int] | type[float]] = {
    "rtol": float,
    "atol": float,
    "quantile": float,
    "ulp": int,
    "top_k": int,
    "cosine": float,
}


def parse(given: Mapping[str, Sequence[str]]) -> Tolerance:
    """The tolerance that the command line asks for: for each field of Bounds, texts `[output:]value`.

    What is said of a single output stands alone: the general bounds do not hold for it. Raises ConstPolicyError.
    """
    general: dict[str, object] = {}
    named: dict[str, dict[str, object]] = {}
    for field, texts in given.items():
        for text in texts:
            output, _, value = text.rpartition(":")
            bounds = named.setdefault(output, {"output": output}) if output else general
            bounds[field] = _value(field, value, text)
    return from_data(general | {"outputs": tuple(named.values())})


def from_data(data: Mapping[str, object]) -> Tolerance:
    """The tolerance of plain data, as the policy file's `verify:` section has it. Raises ConstPolicyError."""
    try:
        tolerance = Tolerance.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ConstPolicyError(f"{_option(str(first['loc'][-1]))} {first['input']}: {first['msg']}") from None
    for bounds in (tolerance, *tolerance.outputs):
        if bounds.statistic is not Statistic.ELEMENTWISE and not (bounds.rtol or bounds.atol):
            of = f" for {bounds.output}" if isinstance(bounds, OutputBounds) else ""
            raise ConstPolicyError(f"the {bounds.statistic} of the errors has no bound{of}: give rtol or atol, too")
    return tolerance


def _value(field: str, value: str, text: str) -> object:
    number = _NUMBERS.get(field)
    if number is None:
        return value
    try:
        return number(value)
    except ValueError:
        example = {"ulp": "4", "top_k": "5", "cosine": "0.999", "quantile": "0.99"}.get(field, "1e-5")
        raise ConstPolicyError(
            f"{_option(field)} '{text}': write [output:]number, as in {example} or output0:{example}"
        ) from None


def _option(field: str) -> str:
    return f"--{field.replace('_', '-')}"
