"""Verifying a policy on a model: its build against that of `upstream` or another, from the same command line."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from constpolicy import driver
from constpolicy.compiler import flags as command_lines
from constpolicy.compiler import tool
from constpolicy.compiler.flags import CommandLine
from constpolicy.compiler.target import is_host
from constpolicy.policy.schema import Verify
from constpolicy.records import Action, Byproducts, ConstPolicyError
from constpolicy.verify.files import verify_against, verify_files, verify_outputs
from constpolicy.verify.host_build import build_for_host
from constpolicy.verify.onnx import OnnxRuntime
from constpolicy.verify.record import HostBuild, Verification
from constpolicy.verify.runnable import is_this_cpu, obstacle
from constpolicy.verify.settings import Against, Settings, merged_inputs, policy_tolerance
from constpolicy.verify.standard import Standard, expected_standard, standard_for_onnx, standard_for_outputs
from constpolicy.verify.tensor_record import TensorVerification
from constpolicy.verify.tensors import attributed, verify_tensors
from constpolicy.verify.tolerance import EXACT, Tolerance

__all__ = ["Settings", "compile_reference", "verify_compiled", "verify_each", "verify_model"]

_CONST_EVAL_OFF = "--iree-opt-const-eval=false"


def verify_model(
    command: CommandLine, policy: driver.AnyPolicy, settings: Settings
) -> tuple[driver.Compiled, tuple[Verification, ...]]:
    """Compiles the model under the policy into a temporary file and verifies it against all that is asked for.

    There are no verifications if the compile failed; its exit code says so.
    """
    with tempfile.TemporaryDirectory(prefix="constpolicy-") as folder:
        candidate, check = Path(folder) / "policy.vmfb", Path(folder) / "check.vmfb"
        line = replace(command, output=str(candidate))
        wanted = Byproducts(check_module=str(check) if settings.tensors else None)
        compiled = driver.compile_program(line, policy, byproducts=wanted)
        if compiled.exit_code != 0:
            return compiled, ()
        return compiled, verify_each(command, compiled, candidate, settings, check=check)


def verify_compiled(
    command: CommandLine, compiled: driver.Compiled, candidate: Path, settings: Settings, *, check: Path | None = None
) -> Verification:
    """Verifies the file that a compile has written against the first that the settings ask for."""
    return verify_each(command, compiled, candidate, replace(settings, against=settings.against[:1]), check=check)[0]


def verify_each(
    command: CommandLine, compiled: driver.Compiled, candidate: Path, settings: Settings, *, check: Path | None = None
) -> tuple[Verification, ...]:
    """Verifies the file that a compile has written against each that the settings ask for.

    With Settings.tensors, `check` is the check module that the compile was asked for; what comes out is in the first
    verification. If the file cannot run here, a build for this CPU with the same decisions takes its place. Raises
    ConstPolicyError if there is nothing to compare with.
    """
    if command.input == "-":
        raise ConstPolicyError("a program from stdin cannot be verified, since it is compiled twice: give a file")
    with tempfile.TemporaryDirectory(prefix="constpolicy-") as folder:
        build = _Build(command, compiled, candidate, check if settings.tensors else None)
        if (why := obstacle(compiled.facts.targets)) is not None:
            build = _for_host(build, Path(folder) / "host.vmfb", why)
        first, *others = (_Check(build, settings, Path(folder)).against(what) for what in settings.against)
        tensors = _tensors(build, settings, Path(folder))
        return first.model_copy(update={"tensors": tensors}), *others


@dataclass(frozen=True)
class _Build:
    """What is verified: a file and the compile that wrote it."""

    command: CommandLine
    compiled: driver.Compiled
    file: Path
    check: Path | None = None  # the check module, if the results are to be checked one by one
    instead: HostBuild | None = None  # set if it stands in for one that does not run here

    @property
    def policy(self) -> str:
        return self.compiled.policy.policy.name if self.compiled.policy else "none"

    @property
    def verify(self) -> Verify:
        return self.compiled.policy.policy.verify if self.compiled.policy else Verify()

    @property
    def is_for_host(self) -> bool:
        targets = self.compiled.facts.targets
        return is_this_cpu(targets) if targets else is_host(self.command)


def _for_host(build: _Build, output: Path, why: str) -> _Build:
    check = None if build.check is None else output.with_suffix(".check.vmfb")
    built = build_for_host(build.command, build.compiled, output, why, check_output=check)
    if (still := obstacle(built.compiled.facts.targets)) is not None:
        raise ConstPolicyError(f"it cannot be verified here: {still}, which the program itself asks for")
    return _Build(built.command, built.compiled, output, check, built.record)


def _tensors(build: _Build, settings: Settings, folder: Path) -> TensorVerification | None:
    """The check of single results, if it is asked for; a build for this CPU shows whether that is the cause."""
    if build.check is None:
        return None
    result = _tensors_of(build, build.check, settings)
    if build.is_for_host or not any(tensor.cause is not None for tensor in result.tensors):
        return result
    here = _for_host(build, folder / "tensors.vmfb", "asking for the cause")
    return result if here.check is None else attributed(result, _tensors_of(here, here.check, settings))


def _tensors_of(build: _Build, check: Path, settings: Settings) -> TensorVerification:
    asked, tolerance = settings.tolerance, policy_tolerance(build.verify)
    follows = expected_standard([Action.EVALUATE], target_is_host=build.is_for_host, tolerance=tolerance)
    standard = follows if asked is None else Standard(asked, "as asked")
    return verify_tensors(build.compiled, check, is_host=build.is_for_host, standard=standard, limits=settings.limits)


@dataclass(frozen=True)
class _Check:
    """The comparisons of one build; further builds are made in the folder."""

    build: _Build
    settings: Settings
    folder: Path

    def against(self, what: Against) -> Verification:
        result = self._compared(what)
        names = {"reference": str(what), "candidate": f"{self.build.command.input} under '{self.build.policy}'"}
        changes = {**names, "against": str(what), "host_build": self.build.instead}
        return result.model_copy(update={**changes, "cause": self._cause(what, result)})

    def _compared(self, what: Against) -> Verification:
        if what is Against.EXPECTED:
            standard = self._or_as_asked(standard_for_outputs(self._policy_tolerance()))
            return self._run(partial(verify_outputs, self.settings.expected), standard)
        if what is Against.ONNX_RUNTIME:
            return self._against_onnx(self.build.file)
        return self._against_build(what, self._standard())

    def _against_build(self, what: Against, standard: Standard) -> Verification:
        return self._run(partial(verify_files, self._reference(what)), standard)

    def _against_onnx(self, file: Path) -> Verification:
        model = self.settings.onnx
        if model is None:
            raise ConstPolicyError("comparing with ONNX Runtime: name the model, as in --onnx model.onnx")
        standard = self._or_as_asked(standard_for_onnx())
        return self._run(partial(verify_against, partial(OnnxRuntime, model), "ONNX Runtime"), standard, file)

    def _run(self, verify: Callable[..., Verification], standard: Standard, file: Path | None = None) -> Verification:
        return verify(
            file or self.build.file,
            inputs=merged_inputs(self.build.verify, self.settings.inputs),
            tolerance=standard.tolerance,
            reason=standard.reason,
            parameters=self.settings.parameters,
            limits=self.settings.limits,
            declarations=self.build.compiled.declarations,
            index_bounds=self.build.compiled.facts.index_bounds,
        )

    def _reference(self, what: Against) -> Path:
        """The build to compare with, made when it is first asked for."""
        output = self.folder / f"{what}.vmfb"
        if not output.exists():
            code = compile_reference(self.build.command, what, output)
            if code != 0:
                raise ConstPolicyError(f"there is nothing to verify against: the program does not compile: {what}")
        return output

    def _standard(self) -> Standard:
        decisions = self.build.compiled.outcome.decisions if self.build.compiled.outcome else ()
        found = expected_standard(
            [decision.action for decision in decisions],
            target_is_host=self.build.is_for_host,
            tolerance=self._policy_tolerance(),
        )
        return self._or_as_asked(found)

    def _or_as_asked(self, standard: Standard) -> Standard:
        return standard if self.settings.tolerance is None else Standard(self.settings.tolerance, "as asked")

    def _policy_tolerance(self) -> Tolerance:
        return policy_tolerance(self.build.verify)

    def _cause(self, what: Against, result: Verification) -> str | None:
        """Where a difference comes from, as found by one more comparison; None if there is none, or it is unknown."""
        if result.bit_exact or not any(check.calls for check in result.functions):
            return None
        if what is Against.ONNX_RUNTIME and not result.passed:
            return self._cause_beside_onnx()
        if what in (Against.UPSTREAM, Against.CONST_EVAL_OFF, Against.IREE_COMPILE) and not self.build.is_for_host:
            return self._cause_by_host(what)
        return None

    def _cause_beside_onnx(self) -> str:
        upstream = self._against_onnx(self._reference(Against.UPSTREAM))
        if upstream.passed:
            return "the policy: the build of 'upstream' is within these bounds of ONNX Runtime"
        return f"not the policy: the build of 'upstream' differs from ONNX Runtime, too ({upstream.summary()})"

    def _cause_by_host(self, what: Against) -> str:
        """Compares builds for this CPU, made with the same decisions."""
        folder = self.folder / "host"
        folder.mkdir(exist_ok=True)
        here = _for_host(self.build, folder / "policy.vmfb", "asking for the cause")
        result = _Check(here, self.settings, folder)._against_build(what, Standard(EXACT, "asking for the cause"))
        if result.bit_exact:
            return (
                "this CPU is not the target's: built for this CPU with the same decisions, all outputs are bit-exact; "
                "what const-eval computed here and what the target's code computes round differently"
            )
        return f"not only that this CPU is not the target's: built for this CPU, they differ, too ({result.summary()})"


def compile_reference(command: CommandLine, what: Against, output: Path) -> int:
    """Compiles the program as the reference that is asked for, into `output`. Returns the exit code."""
    if what is Against.IREE_COMPILE:
        return tool.run_quietly((*command.without_output, "-o", str(output)))
    flags = (_CONST_EVAL_OFF,) if what is Against.CONST_EVAL_OFF else ()
    line = command_lines.parse((*command.without_output, *flags, "-o", str(output)))
    return driver.compile_program(line, driver.UPSTREAM, byproducts=Byproducts(decisions=False)).exit_code
