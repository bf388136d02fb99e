"""The result of the per-tensor check as data: what goes into the report."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from pydantic import BaseModel, ConfigDict, computed_field

from constpolicy.verify.errors import Element, ErrorStatistics
from constpolicy.verify.tolerance import Tolerance


class _Record(BaseModel):
    # Not extra="forbid": a written report holds the computed fields too, and can be read back.
    model_config = ConfigDict(frozen=True, ser_json_inf_nan="strings")


class Cause(str, Enum):
    """Why a stored result is not what the target's own code computes."""

    HOST_CPU = "host CPU is not the target's"  # this CPU's code gives what was stored, the target's something else
    ROUNDING = "fusion/rounding"  # the same operations, fused or ordered in another way
    ERROR = "real error"  # another result: what stored it, or what computes it, is wrong

    def __str__(self) -> str:
        return self.value


class TensorCheck(_Record):
    """One stored result. In `statistics` and `worst`, `candidate` is what was stored, `reference` what is computed.

    `not_checked` says why there was nothing to compare, which is no failure; `failure`, what happened when the
    target's code was run for it, which is one.
    """

    candidate: str  # id; "@symbol" for a global that an initializer of the program's own stores
    symbol: str
    type: str
    kind: str
    sources: tuple[str, ...] = ()
    location: str | None = None
    bit_exact: bool = False
    passed: bool = True
    text: str = ""  # the comparison in words, if not bit-exact
    cause: Cause | None = None
    statistics: ErrorStatistics | None = None
    worst: tuple[Element, ...] = ()  # of the differing elements, the largest errors first
    not_checked: str | None = None
    failure: str | None = None

    @property
    def compared(self) -> bool:
        return self.not_checked is None and self.failure is None

    @property
    def name(self) -> str:
        """ "candidate 4f3c: transpose of weight0 to tensor<4x4xf32>, at x.mlir:3:4"."""
        sources = f" of {', '.join(self.sources)}" if self.sources else ""
        place = f", at {self.location}" if self.location else ""
        return f"candidate {self.candidate}: {self.kind}{sources} to {self.type}{place}"


class TensorVerification(_Record):
    """Every evaluated result against the same expression as the target's own code computes it."""

    tolerance: Tolerance
    reason: str  # why this tolerance
    tensors: tuple[TensorCheck, ...] = ()

    @computed_field  # type: ignore[prop-decorator]
    @property
    def passed(self) -> bool:
        return all(tensor.passed for tensor in self.tensors)

    def summary(self) -> str:
        """One line: "tensors: 12 of 14 evaluated results bit-exact, 1 failed, 1 not checked"."""
        if not self.tensors:
            return "tensors: nothing was evaluated"
        exact = sum(tensor.bit_exact for tensor in self.tensors)
        results = "evaluated result" if len(self.tensors) == 1 else "evaluated results"
        within = sum(tensor.passed and tensor.compared and not tensor.bit_exact for tensor in self.tensors)
        counts = {
            "within the tolerance": within,
            "failed": sum(not tensor.passed for tensor in self.tensors),
            "not checked": sum(tensor.not_checked is not None for tensor in self.tensors),
        }
        parts = [f"{exact} of {len(self.tensors)} {results} bit-exact"]
        parts += [f"{count} {what}" for what, count in counts.items() if count]
        return f"tensors: {', '.join(parts)}"

    def lines(self) -> Iterator[str]:
        """The summary, then what there is to say about single results: those that failed first."""
        yield self.summary()
        if not all(tensor.bit_exact for tensor in self.tensors):
            yield f"  standard: {self.reason}"
        for tensor in sorted(self.tensors, key=lambda tensor: tensor.passed):
            if not tensor.bit_exact:
                yield f"  {tensor.name}"
                yield from (f"    {line}" for line in _details(tensor))


def _details(tensor: TensorCheck) -> Iterator[str]:
    if tensor.not_checked is not None:
        yield f"not checked: {tensor.not_checked}"
    elif tensor.failure is not None:
        yield f"failed: {tensor.failure}"
    else:
        yield f"{'passed' if tensor.passed else 'failed'}: {tensor.text}"
    if tensor.cause is not None:
        yield f"cause: {tensor.cause}"
    for element in tensor.worst:
        yield f"{list(element.index)}: stored {element.candidate}, computed {element.reference}"
