"""The per-tensor check: every evaluated result against the same expression as the target's own code computes it.

The check module (rewrite.check_module), which the compile has written beside the program, runs in a process of its
own. Results are asked for one at a time, so that no more than one pair is in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from constpolicy.driver import Compiled
from constpolicy.records import Action, Box, Candidate, Decision, Kind, StoredResult
from constpolicy.verify.element_types import ElementType, element_type
from constpolicy.verify.input_values import Array
from constpolicy.verify.run import Limits, ModuleProcess, RunError
from constpolicy.verify.standard import Standard
from constpolicy.verify.tensor_compare import compare_tensor, is_rounding
from constpolicy.verify.tensor_record import Cause, TensorCheck, TensorVerification
from constpolicy.verify.tolerance import Bounds, Tolerance

_MOVES = frozenset(
    {Kind.TRANSPOSE, Kind.BROADCAST, Kind.PACK, Kind.GATHER, Kind.RESHAPE, Kind.SLICE, Kind.CONCAT, Kind.PAD, Kind.FILL}
)
"""The kinds that only move elements: no code may change a bit."""

_NO_LIMITS = Limits()


def verify_tensors(
    compiled: Compiled, module: Path, *, is_host: bool, standard: Standard, limits: Limits = _NO_LIMITS
) -> TensorVerification:
    """Runs the check module of a compile and compares each pair, bits first.

    Args:
      compiled: The compile, which was asked for a check module.
      module: The file that was named for it.
      is_host: Whether it was compiled for the very CPU that evaluates.
      standard: How far results may be apart. Those that hold no floats or are only moved must be bit-exact anyway.
      limits: For the process in which the module runs.
    Returns:
      A check for each result, in the program's order. Candidates that should have been evaluated and were not, are
      among them, as not checked. Causes are by size alone (see `attributed`).
    """
    tolerance = _for_tensors(standard.tolerance)
    candidates = {c.id: c for c in compiled.program.candidates} if compiled.program else {}
    found = {result.symbol: result for result in compiled.check.results} if compiled.check else {}
    obstacle = _no_module(compiled)
    if obstacle is not None or not any(result.obstacle is None for result in found.values()):
        checks: Iterable[TensorCheck] = (_not_checked(r, candidates.get(r.owner), obstacle) for r in found.values())
    else:
        checks = _run(module, tuple(found.values()), candidates, tolerance, is_host, limits)
    left = _not_evaluated(compiled, obstacle)
    reason = standard.reason if tolerance.exact else f"{standard.reason} (bit-exact where nothing is rounded)"
    return TensorVerification(tolerance=tolerance, reason=reason, tensors=(*checks, *left))


def attributed(result: TensorVerification, on_host: TensorVerification) -> TensorVerification:
    """The result, with its differences attributed by what the same check says of a build for this CPU.

    Where that one is bit-exact, const-eval has stored what it had to, and the target's code computes something else.
    """
    exact = {(tensor.candidate, tensor.symbol) for tensor in on_host.tensors if tensor.bit_exact}
    compared = {(tensor.candidate, tensor.symbol) for tensor in on_host.tensors if tensor.compared}

    def caused(tensor: TensorCheck) -> TensorCheck:
        key = (tensor.candidate, tensor.symbol)
        if tensor.cause is None or key not in compared:
            return tensor
        if key in exact:
            return tensor.model_copy(update={"cause": Cause.HOST_CPU})
        own = next(t.cause for t in on_host.tensors if (t.candidate, t.symbol) == key)
        return tensor.model_copy(update={"cause": own or tensor.cause})

    return result.model_copy(update={"tensors": tuple(caused(tensor) for tensor in result.tensors)})


def rounds(candidate: Candidate | None) -> bool:
    """Whether the expression does arithmetic, so that two correct compilers may differ in the last places."""
    return candidate is None or not candidate.kinds <= _MOVES


def _for_tensors(tolerance: Tolerance) -> Tolerance:
    """What of the tolerance can be said of a constant: nothing of top k and of cosine, and of named outputs."""
    return tolerance.model_copy(update={"outputs": (), "top_k": None, "cosine": None})


def _no_module(compiled: Compiled) -> str | None:
    if compiled.check is None:
        return "there is no check module: iree-compile itself has made the file"
    if compiled.check.failure is not None:
        return f"the check module does not compile: {compiled.check.failure}"
    return None


def _run(
    module: Path,
    results: Sequence[StoredResult],
    candidates: Mapping[str, Candidate],
    tolerance: Tolerance,
    is_host: bool,
    limits: Limits,
) -> Iterator[TensorCheck]:
    declarations = {
        name: f"sync func @{name}() -> (%output0: {result.returned})"
        for result in results
        for name in (result.computed, result.stored, result.recomputed)
        if name
    }
    left = list(results)
    try:
        with ModuleProcess(module, limits=limits, declarations=declarations) as process:
            while left:
                result = left.pop(0)
                check = _check(process, result, candidates.get(result.owner), tolerance, is_host)
                yield check
                if check.failure is not None and left:
                    process.restart()
    except RunError as error:
        for result in left:
            yield _not_checked(result, candidates.get(result.owner), f"the check module {error}")


def _check(
    process: ModuleProcess, result: StoredResult, candidate: Candidate | None, tolerance: Tolerance, is_host: bool
) -> TensorCheck:
    if result.obstacle is not None or (obstacle := process.signatures[result.computed].unsupported) is not None:
        return _not_checked(result, candidate, result.obstacle or obstacle)
    comparing = _Comparing(process, result, candidate, tolerance, is_host)
    try:
        check = comparing.with_result_of(result.computed)
        if not check.passed and result.recomputed:
            again = comparing.with_result_of(result.recomputed)
            check = again if again.passed else check
    except RunError as error:
        failure = f"{error.kind}: the code for it {error}"
        return _blank(result, candidate).model_copy(update={"passed": False, "failure": failure})
    return check


@dataclass(frozen=True)
class _Comparing:
    """One stored result, to be compared with what functions of the check module compute."""

    process: ModuleProcess
    result: StoredResult
    candidate: Candidate | None
    tolerance: Tolerance
    is_host: bool

    def with_result_of(self, function: str) -> TensorCheck:
        """The check, with a cause by size alone. Raises RunError."""
        element, may_round = element_type(self.result.type.element_type), rounds(self.candidate)
        computed, stored = (
            _written(_value(self.process, name, element), self.result.written)
            for name in (function, self.result.stored)
        )
        bounds = self.tolerance if may_round and not element.exact else Bounds()
        check = compare_tensor(_blank(self.result, self.candidate), computed, stored, bounds)
        if check.bit_exact or not check.worst:
            return check
        small = may_round and is_rounding(check, computed, element)
        cause = (Cause.ROUNDING if self.is_host else Cause.HOST_CPU) if small else Cause.ERROR
        return check.model_copy(update={"cause": cause})


def _value(process: ModuleProcess, function: str, element: ElementType) -> Array:
    """The function's result, with the bits of a scalar float read as that."""
    array = process.call(function, ())[0]
    return array if array.shape or array.dtype == element.dtype else array.view(element.dtype)


def _written(array: Array, boxes: Sequence[Box] | None) -> Array:
    """The array with zeros wherever the expression does not write, and anything can stand."""
    if boxes is None:
        return array
    result = np.zeros_like(array)
    for box in boxes:
        ends = (o + size * stride for o, size, stride in zip(box.offsets, box.sizes, box.strides, strict=True))
        places = tuple(slice(*bounds) for bounds in zip(box.offsets, ends, box.strides, strict=True))
        result[places] = array[places]
    return result


def _blank(result: StoredResult, candidate: Candidate | None) -> TensorCheck:
    return TensorCheck(
        candidate=result.owner,
        symbol=result.symbol,
        type=result.type.text,
        kind=str(candidate.kind) if candidate else "the program's own initializer",
        sources=tuple(dict.fromkeys(source.name for source in candidate.sources)) if candidate else (),
        location=(candidate.location if candidate else None) or result.location,
    )


def _not_checked(result: StoredResult, candidate: Candidate | None, why: str | None) -> TensorCheck:
    return _blank(result, candidate).model_copy(update={"not_checked": why or result.obstacle})


def _not_evaluated(compiled: Compiled, obstacle: str | None) -> Iterator[TensorCheck]:
    """The candidates that should have been evaluated, and of which the check module has nothing."""
    if compiled.program is None or compiled.outcome is None:
        return
    known = {result.owner for result in compiled.check.results} if compiled.check else frozenset()
    wanted = {decision.candidate_id for decision in compiled.outcome.decisions if _is_evaluation(decision)}
    for candidate in compiled.program.candidates:
        if candidate.id in wanted - known:
            why = _why_not_evaluated(compiled, candidate) or obstacle or "it is not in the check module"
            for stored in candidate.globals:
                result = StoredResult(candidate.id, stored.symbol.lstrip("@"), stored.type)
                yield _not_checked(result, candidate, why)


def _is_evaluation(decision: Decision) -> bool:
    """Whether const-eval was to evaluate it, or was known to refuse it."""
    return decision.action in (Action.EVALUATE, Action.SHARE) or decision.wanted is Action.EVALUATE


def _why_not_evaluated(compiled: Compiled, candidate: Candidate) -> str | None:
    if candidate.id in compiled.evaluation.failed:
        return "const-eval failed on it, and it is left for load time"
    if (reason := candidate.refusals.get(Action.EVALUATE)) is not None:
        return reason
    if candidate.id in compiled.evaluation.evaluated:
        return None
    return "const-eval left it for load time"
