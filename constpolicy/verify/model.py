"""Verifying a policy on a model: its build against that of `upstream`, made from the same command line."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from constpolicy import driver
from constpolicy.compiler.flags import CommandLine
from constpolicy.compiler.target import is_host
from constpolicy.records import ConstPolicyError
from constpolicy.verify.files import verify_files
from constpolicy.verify.input_spec import InputSpec
from constpolicy.verify.record import Verification
from constpolicy.verify.run import Limits
from constpolicy.verify.standard import Standard, expected_standard
from constpolicy.verify.tolerance import Tolerance


@dataclass(frozen=True)
class Settings:
    """How to verify: the inputs, the limits, and a tolerance that takes the place of what the decisions allow."""

    inputs: InputSpec
    limits: Limits
    tolerance: Tolerance | None = None


def verify_model(
    command: CommandLine, policy: driver.AnyPolicy, settings: Settings
) -> tuple[driver.Compiled, Verification | None]:
    """Compiles the model under the policy into a temporary file and verifies it.

    The verification is None if the compile failed; its exit code says so.
    """
    with tempfile.TemporaryDirectory(prefix="constpolicy-") as folder:
        candidate = Path(folder) / "policy.vmfb"
        compiled = driver.compile_program(replace(command, output=str(candidate)), policy)
        if compiled.exit_code != 0:
            return compiled, None
        return compiled, verify_compiled(command, compiled, candidate, settings)


def verify_compiled(
    command: CommandLine, compiled: driver.Compiled, candidate: Path, settings: Settings
) -> Verification:
    """Verifies the file that a compile has written against what `upstream` makes of the same command line."""
    if command.input == "-":
        raise ConstPolicyError("a program from stdin cannot be verified, since it is compiled twice: give a file")
    with tempfile.TemporaryDirectory(prefix="constpolicy-") as folder:
        reference = Path(folder) / "upstream.vmfb"
        upstream = driver.compile_program(replace(command, output=str(reference)), driver.UPSTREAM)
        if upstream.exit_code != 0:
            raise ConstPolicyError("there is nothing to verify against: the program does not compile under 'upstream'")
        standard = _standard(command, compiled, settings)
        return verify_files(
            reference,
            candidate,
            inputs=settings.inputs,
            tolerance=standard.tolerance,
            reason=standard.reason,
            limits=settings.limits,
            declarations=compiled.declarations,
        )


def _standard(command: CommandLine, compiled: driver.Compiled, settings: Settings) -> Standard:
    if settings.tolerance is not None:
        return Standard(settings.tolerance, "as asked")
    decisions = compiled.outcome.decisions if compiled.outcome else ()
    wanted = compiled.policy.policy.verify if compiled.policy else None
    tolerance = Tolerance(rtol=wanted.rtol, atol=wanted.atol) if wanted else Tolerance()
    return expected_standard(
        [decision.action for decision in decisions], target_is_host=is_host(command), tolerance=tolerance
    )
