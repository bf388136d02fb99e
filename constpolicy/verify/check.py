"""Every call on both sides, every output compared, and what came out folded into one record per function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from constpolicy.verify.compare import Comparison
from constpolicy.verify.errors import Errors, statistics
from constpolicy.verify.input_spec import InputSpec
from constpolicy.verify.input_values import Array
from constpolicy.verify.inputs import CallInputs, calls
from constpolicy.verify.record import Failure, FailureKind, FunctionCheck, OutputCheck
from constpolicy.verify.run import RunError
from constpolicy.verify.signature import Signature, Value
from constpolicy.verify.tolerance import Bounds, Tolerance

ComparisonFor = Callable[[Bounds], Comparison]


class Side(Protocol):
    """Where outputs come from: a running module, or what the user expects."""

    def call(self, function: str, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        """The outputs; raises RunError if there are none."""
        ...

    def restart(self) -> None:
        """Goes back to the state before the first call, after a crash too; raises RunError if it cannot."""
        ...


@dataclass(frozen=True)
class Sides:
    reference: Side
    candidate: Side

    def outputs(self, call: CallInputs) -> tuple[tuple[Array, ...], tuple[Array, ...]] | Failure:
        """The outputs of both, or why one of them gives none."""
        outputs = []
        for name, side in (("reference", self.reference), ("candidate", self.candidate)):
            try:
                outputs.append(side.call(call.function, call.arrays))
            except RunError as error:
                return Failure(kind=error.kind, text=f"{name}: @{call.function} with {call.label} {error}")
        return outputs[0], outputs[1]

    def restart(self) -> None:
        self.reference.restart()
        self.candidate.restart()


@dataclass
class _Tally:
    """What is known about a function so far."""

    signature: Signature
    failure: Failure | None
    calls: int = 0
    outputs: dict[str, OutputCheck] = field(default_factory=dict)

    def add(self, checks: Sequence[OutputCheck]) -> None:
        self.calls += 1
        for check in checks:
            self.outputs[check.name] = _worse(self.outputs.get(check.name, check), check)

    def record(self) -> FunctionCheck:
        outputs = tuple(self.outputs.values())
        return FunctionCheck(function=self.signature.name, calls=self.calls, outputs=outputs, failure=self.failure)


def check_functions(
    sides: Sides,
    functions: Sequence[Signature],
    others: Mapping[str, Signature],
    spec: InputSpec,
    tolerance: Tolerance,
    comparison_for: ComparisonFor,
) -> tuple[FunctionCheck, ...]:
    """Calls the reference's functions on both sides and compares; `others` are what the candidate exports.

    A function that fails is left alone from there on; if that ended a process, both start afresh for the others.
    """
    tallies = {s.name: _Tally(s, _obstacle(s, others.get(s.name))) for s in functions}
    callable_functions = [tally.signature for tally in tallies.values() if tally.failure is None]
    for call in calls(spec, callable_functions):
        tally = tallies[call.function]
        if tally.failure is not None:
            continue
        outputs = sides.outputs(call)
        if isinstance(outputs, Failure):
            tally.failure = outputs
            if outputs.kind is not FailureKind.ERROR:
                sides.restart()
            continue
        tally.add(_compare(tally.signature, call.label, *outputs, tolerance, comparison_for))
    return tuple(tally.record() for tally in tallies.values())


def _obstacle(reference: Signature, candidate: Signature | None) -> Failure | None:
    """Why the function cannot be compared at all."""
    name = f"@{reference.name}"
    if reference.unsupported is not None:
        return Failure(kind=FailureKind.UNSUPPORTED, text=f"{name} cannot be called: {reference.unsupported}")
    if candidate is None:
        return Failure(kind=FailureKind.SIGNATURE, text=f"candidate: there is no {name}")
    if _types(reference) != _types(candidate):
        text = f"{name} differs: the reference is '{reference.declaration}', the candidate '{candidate.declaration}'"
        return Failure(kind=FailureKind.SIGNATURE, text=text)
    return None


def _types(signature: Signature) -> object:
    values = (signature.arguments, signature.results)
    return signature.unsupported, [[(value.text, value.is_storage) for value in side] for side in values]


def _compare(
    signature: Signature,
    label: str,
    reference: Sequence[Array],
    candidate: Sequence[Array],
    tolerance: Tolerance,
    comparison_for: ComparisonFor,
) -> list[OutputCheck]:
    checks = []
    for value, left, right in zip(signature.results, reference, candidate, strict=True):
        bounds = tolerance.for_output(signature.name, value.name, exact_type=value.element.exact)
        checks.append(compare_output(value, label, left, right, comparison_for(bounds)))
    return checks


def compare_output(value: Value, label: str, reference: Array, candidate: Array, compare: Comparison) -> OutputCheck:
    """The check of one output in the call of this label."""
    if reference.shape != candidate.shape or reference.dtype != candidate.dtype:
        ours, theirs = (f"{list(array.shape)} {array.dtype}" for array in (candidate, reference))
        text = f"{ours} where the reference has {theirs}"
        return OutputCheck(name=value.name, type=value.text, passed=False, bit_exact=False, text=text, call=label)
    errors = Errors(reference, candidate)
    if errors.equal:
        nothing = reference.size > 0 and reference.dtype.kind not in "iub" and bool(np.isnan(reference).all())
        return OutputCheck(
            name=value.name, type=value.text, passed=True, bit_exact=True, all_nan=nothing, text="bit-exact"
        )
    judgement = compare(errors)
    return OutputCheck(
        name=value.name,
        type=value.text,
        passed=judgement.passed,
        bit_exact=False,
        text=judgement.text,
        call=label,
        statistics=statistics(errors),
    )


def _worse(first: OutputCheck, second: OutputCheck) -> OutputCheck:
    """The check of the worse call; bit-exact only if both are, NaN only if both are."""
    worse = max(first, second, key=_badness)
    exact, nan = first.bit_exact and second.bit_exact, first.all_nan and second.all_nan
    return worse.model_copy(update={"bit_exact": exact, "all_nan": nan})


def _badness(check: OutputCheck) -> tuple[bool, bool, bool, int, float]:
    found = check.statistics
    broken, largest = (found.broken, found.max_absolute) if found else (0, 0.0)
    return not check.passed, not check.bit_exact, found is None, broken, largest
