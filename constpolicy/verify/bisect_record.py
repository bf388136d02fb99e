"""The result of a bisection as data: what goes into its report."""

from __future__ import annotations

from enum import Enum

from pydantic import BaseModel, ConfigDict


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Symptom(str, Enum):
    """What goes wrong under the policy, and does not under the baseline."""

    COMPILE = "compile"  # the compile fails or crashes
    CHECK = "check"  # the check fails

    def __str__(self) -> str:
        return self.value


class Trial(_Record):
    """One build: `policy_decides` of the candidates are as the policy has them, the others as the baseline does.

    `failure` says how it failed, with `symptom` for what did; both are None if nothing is wrong with it.
    """

    policy_decides: int
    symptom: Symptom | None = None
    failure: str | None = None


class CulpritSource(_Record):
    name: str
    type: str
    bytes: int


class Culprit(_Record):
    """A candidate whose decision has a part in the failure. `action` is the policy's."""

    id: str
    symbol: str
    kind: str
    type: str
    result_bytes: int
    phase: str
    location: str | None
    sources: tuple[CulpritSource, ...]
    functions: tuple[str, ...]
    action: str
    baseline_action: str
    reason: str


class Bisection(_Record):
    """Which decisions make the check fail.

    Each cause is a set of candidates that fails by itself and no longer does without any of its members. With all of
    them as the baseline decides, the check passes. `candidates` is how many of the program's are decided differently.
    """

    model: str
    flags: tuple[str, ...]
    constpolicy_version: str
    iree_version: str
    policy: str
    baseline: str
    check: str
    symptom: Symptom
    failure: str  # under the policy
    candidates: int
    causes: tuple[tuple[Culprit, ...], ...]
    trials: tuple[Trial, ...]
    reduced: tuple[str, ...] = ()  # the files with the causes' expressions, in their order
    notes: tuple[str, ...] = ()

    @property
    def compiles(self) -> int:
        return len(self.trials)

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        return tuple(culprit for cause in self.causes for culprit in cause)
