"""Verifying: the same inputs through two modules, or through one beside given outputs, and every output compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from constpolicy.records import ConstPolicyError
from constpolicy.verify.check import ComparisonFor, Side, Sides, check_functions
from constpolicy.verify.compare import comparison
from constpolicy.verify.index_ranges import IndexBounds, with_index_ranges
from constpolicy.verify.input_spec import InputSpec
from constpolicy.verify.input_values import Array, read
from constpolicy.verify.inputs import selected
from constpolicy.verify.messages import ParameterArchive
from constpolicy.verify.record import Failure, Verification
from constpolicy.verify.run import Limits, ModuleProcess, RunError
from constpolicy.verify.signature import Signature
from constpolicy.verify.tolerance import EXACT, Tolerance

AS_ASKED = "as asked"
_SEEDED = InputSpec()
_NO_LIMITS = Limits()


def verify_files(
    reference: Path,
    candidate: Path,
    *,
    inputs: InputSpec = _SEEDED,
    tolerance: Tolerance = EXACT,
    reason: str = AS_ASKED,
    parameters: tuple[ParameterArchive, ...] = (),
    candidate_parameters: tuple[ParameterArchive, ...] | None = None,
    limits: Limits = _NO_LIMITS,
    device: str = "local-task",
    declarations: Mapping[str, str] | None = None,
    index_bounds: IndexBounds | None = None,
    comparison_for: ComparisonFor = comparison,
) -> Verification:
    """Runs two .vmfb files on the CPU with the same inputs and compares every output of every function.

    Args:
      reference, candidate: The modules. The candidate must take and give what the reference does.
      inputs: How the inputs are made.
      tolerance: How far outputs may be apart; `reason` says why this far, for the report.
      parameters: Archives for both, or for the reference only if there are `candidate_parameters`.
      limits: For each of the two child processes, in which the modules run in turns, call by call.
      device: The CPU device by iree.runtime's name: local-task or local-sync.
      declarations: What the functions take and return, for those of which the modules themselves do not say it.
      index_bounds: The largest value of the inputs that are indices, by function and position.
      comparison_for: From an output's bounds to the function that judges it.
    Returns:
      The result. A module that crashes, hangs or cannot be loaded is a result too.
    Raises:
      ConstPolicyError: a file is missing or the inputs cannot be made (shapes not given, names unknown).
    """
    own = parameters if candidate_parameters is None else candidate_parameters
    result = Verification(
        reference=str(reference), candidate=str(candidate), tolerance=tolerance, reason=reason, inputs=inputs
    )
    try:
        with (
            _open("reference", reference, parameters, limits, device, declarations) as left,
            _open("candidate", candidate, own, limits, device, declarations) as right,
        ):
            functions = selected(inputs, left.signatures)
            return _checked(result, Sides(left, right), functions, right.signatures, index_bounds, comparison_for)
    except _CannotLoad as error:
        return result.model_copy(update={"failure": error.failure})


def verify_outputs(
    expected: Sequence[str],
    candidate: Path,
    *,
    inputs: InputSpec = _SEEDED,
    tolerance: Tolerance = EXACT,
    reason: str = AS_ASKED,
    parameters: tuple[ParameterArchive, ...] = (),
    limits: Limits = _NO_LIMITS,
    device: str = "local-task",
    declarations: Mapping[str, str] | None = None,
    index_bounds: IndexBounds | None = None,
    comparison_for: ComparisonFor = comparison,
) -> Verification:
    """Runs one function of one .vmfb file and compares its outputs with given ones, the same for every call.

    Args:
      expected: The outputs in iree-run-module's `--expected_output` syntax: `2xf32=1 2`, `4xi32=@file.bin`,
        `@file.npy`, `@file.npz`.
      The others are those of `verify_files`.
    """
    return verify_against(
        lambda signature: _Expected(read(expected, signature.results, "expected output")),
        "expected outputs",
        candidate,
        inputs=inputs,
        tolerance=tolerance,
        reason=reason,
        parameters=parameters,
        limits=limits,
        device=device,
        declarations=declarations,
        index_bounds=index_bounds,
        comparison_for=comparison_for,
    )


def verify_against(
    reference: Callable[[Signature], Side],
    name: str,
    candidate: Path,
    *,
    inputs: InputSpec = _SEEDED,
    tolerance: Tolerance = EXACT,
    reason: str = AS_ASKED,
    parameters: tuple[ParameterArchive, ...] = (),
    limits: Limits = _NO_LIMITS,
    device: str = "local-task",
    declarations: Mapping[str, str] | None = None,
    index_bounds: IndexBounds | None = None,
    comparison_for: ComparisonFor = comparison,
) -> Verification:
    """Runs one function of one .vmfb file and compares its outputs with those of something else than a module.

    Args:
      reference: Makes, for the function that the module exports, what gives the outputs to compare with.
      name: What the report calls that.
      The others are those of `verify_files`.
    """
    result = Verification(reference=name, candidate=str(candidate), tolerance=tolerance, reason=reason, inputs=inputs)
    try:
        with _open("candidate", candidate, parameters, limits, device, declarations) as module:
            function = _only(inputs, module.signatures)
            sides = Sides(reference(function), module)
            return _checked(result, sides, (function,), module.signatures, index_bounds, comparison_for)
    except _CannotLoad as error:
        return result.model_copy(update={"failure": error.failure})


def _checked(
    result: Verification,
    sides: Sides,
    functions: Sequence[Signature],
    others: Mapping[str, Signature],
    index_bounds: IndexBounds | None,
    comparison_for: ComparisonFor,
) -> Verification:
    """The result, filled by calling the functions on both sides."""
    _check_outputs(result.tolerance, functions)
    inputs, notes = with_index_ranges(result.inputs, functions, index_bounds or {})
    checks = check_functions(sides, functions, others, inputs, result.tolerance, comparison_for)
    return result.model_copy(update={"inputs": inputs, "notes": notes, "functions": checks})


class _CannotLoad(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.text)
        self.failure = failure


def _open(
    side: str,
    module: Path,
    parameters: tuple[ParameterArchive, ...],
    limits: Limits,
    device: str,
    declarations: Mapping[str, str] | None = None,
) -> ModuleProcess:
    try:
        return ModuleProcess(module, parameters=parameters, limits=limits, device=device, declarations=declarations)
    except RunError as error:
        raise _CannotLoad(Failure(kind=error.kind, text=f"{side}: the module {error}")) from error


def _check_outputs(tolerance: Tolerance, functions: Sequence[Signature]) -> None:
    """Refuses bounds for outputs that there are not: they would hold for nothing, unnoticed."""
    known = [(signature.name, value.name) for signature in functions for value in signature.results]
    for bounds in tolerance.outputs:
        if not any(bounds.output in (output, f"{function}.{output}") for function, output in known):
            names = ", ".join(f"{function}.{output}" for function, output in known)
            raise ConstPolicyError(f"there is no output '{bounds.output}'; the outputs are {names}")


def _only(spec: InputSpec, signatures: Mapping[str, Signature]) -> Signature:
    chosen = selected(spec, signatures)
    if len(chosen) != 1:
        names = ", ".join(signature.name for signature in chosen)
        raise ConstPolicyError(f"outputs are given, and the module exports several functions ({names}): name one")
    if chosen[0].unsupported is not None:
        raise ConstPolicyError(f"@{chosen[0].name} cannot be called: {chosen[0].unsupported}")
    return chosen[0]


class _Expected:
    """The outputs that the user gives."""

    def __init__(self, arrays: tuple[Array, ...]) -> None:
        self._arrays = arrays

    def call(self, function: str, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        return self._arrays

    def restart(self) -> None:
        pass
