"""What a bisection asks of every build: that it gives the baseline's numbers, or that a command likes it."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from constpolicy.compiler.facts import ProgramFacts
from constpolicy.compiler.flags import CommandLine
from constpolicy.compiler.target import is_host
from constpolicy.policy.schema import Verify
from constpolicy.records import Action, ConstPolicyError
from constpolicy.verify.files import verify_files
from constpolicy.verify.runnable import is_this_cpu, obstacle
from constpolicy.verify.settings import Settings, merged_inputs, policy_tolerance
from constpolicy.verify.standard import Standard, expected_standard

_PLACE = "{vmfb}"


@dataclass(frozen=True)
class Build:
    """A .vmfb to be checked, the baseline's beside it, and what the compiler knows of the program."""

    file: Path
    baseline: Path
    declarations: Mapping[str, str] = field(default_factory=dict)
    facts: ProgramFacts = field(default_factory=ProgramFacts)


class Check(Protocol):
    """Judges a build."""

    def failure(self, build: Build) -> str | None:
        """How the build fails, in a few words; None if it does not."""


@dataclass(frozen=True)
class CommandCheck:
    """A command of the user's, which ends with exit code 0 if a build is as it should be."""

    words: tuple[str, ...]
    seconds: float  # after which it has failed

    @classmethod
    def parse(cls, text: str, seconds: float) -> CommandCheck:
        """Reads a command line in which {vmfb} stands for the file. There is no shell. Raises ConstPolicyError."""
        try:
            words = tuple(shlex.split(text))
        except ValueError as error:
            raise ConstPolicyError(f"--check {text}: {str(error).lower()}") from None
        if not any(_PLACE in word for word in words):
            raise ConstPolicyError(f"--check {text}: write {_PLACE} where the command takes the compiled file")
        return cls(words, seconds)

    def failure(self, build: Build) -> str | None:
        words = [word.replace(_PLACE, str(build.file)) for word in self.words]
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=self.seconds)
        except subprocess.TimeoutExpired:
            return f"the check did not end in {self.seconds:g} s"
        except OSError as error:
            raise ConstPolicyError(f"--check: cannot run {words[0]}: {error.strerror}") from None
        if done.returncode == 0:
            return None
        said = (done.stderr.strip() or done.stdout.strip()).decode(errors="replace").splitlines()
        return f"the check ended with {done.returncode}" + (f": {said[-1]}" if said else "")


@dataclass(frozen=True)
class NumericCheck:
    """The outputs are the baseline's, within what is asked for or else what the policy's actions allow."""

    command: CommandLine
    verify: Verify  # the policy's
    actions: Collection[Action]
    settings: Settings

    def failure(self, build: Build) -> str | None:
        targets = build.facts.targets
        if (why := obstacle(targets)) is not None:
            raise ConstPolicyError(f"the builds do not run here: {why}; give a --check that can judge them, or flags")
        standard = self._standard(is_this_cpu(targets) if targets else is_host(self.command))
        result = verify_files(
            build.baseline,
            build.file,
            inputs=merged_inputs(self.verify, self.settings.inputs),
            tolerance=standard.tolerance,
            reason=standard.reason,
            parameters=self.settings.parameters,
            limits=self.settings.limits,
            declarations=build.declarations,
            index_bounds=build.facts.index_bounds,
        )
        return None if result.passed else result.summary()

    def _standard(self, target_is_host: bool) -> Standard:
        if self.settings.tolerance is not None:
            return Standard(self.settings.tolerance, "as asked")
        tolerance = policy_tolerance(self.verify)
        return expected_standard(self.actions, target_is_host=target_is_host, tolerance=tolerance)
