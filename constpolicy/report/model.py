"""The report as data, with sizes in bytes. Deterministic apart from what stands under `timing`."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from constpolicy.report.file_report import FileReport

SCHEMA_VERSION = 1


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Versions(_Record):
    constpolicy: str
    iree_compiler: str


class PolicyReport(_Record):
    """The policy in force, with all that it extends, and why it was chosen."""

    name: str
    origin: str
    content: dict[str, Any]


class SourceReport(_Record):
    """A constant that a candidate reads; `readers` are those outside the candidates."""

    name: str
    type: str
    bytes: int
    stored_bytes: int
    origin: str
    splat: bool
    readers: list[str]
    location: str | None


class CandidateReport(_Record):
    """A hoisted const-expr and what was decided about it.

    `outcome` is "evaluated", "shared", "rejected" (by const-eval, so left for load time), "failed" (likewise, after
    const-eval failed on it), or the action itself; None if the compile was not finished.
    """

    id: str
    symbol: str
    type: str
    result_bytes: int
    kind: str
    contains: list[str]
    phase: str
    location: str | None
    names: list[str] = []
    sources: list[SourceReport]
    functions: list[str]
    uses: int
    affinity: str | None
    work_bytes: int
    refusals: dict[str, str]
    action: str
    reason: str
    decided_by: str
    growth_bytes: int
    warnings: list[str]
    outcome: str | None


class DuplicateReport(_Record):
    """A constant that IREE would have stored once for each of its types, and that is stored once."""

    name: str
    types: list[str]
    saved_bytes: int


class Totals(_Record):
    """`predicted_growth_bytes` is against leaving every candidate for load time; that of `upstream` is, too."""

    candidates: int
    constant_bytes: int
    actions: dict[str, int]
    evaluated_bytes: int
    predicted_growth_bytes: int
    upstream_growth_bytes: int | None = None
    file_bytes: int | None


class Timing(_Record):
    """Seconds: of each phase in order, and of const-eval alone."""

    phases: dict[str, float]
    evaluation: float


class Report(_Record):
    """Everything about one compile or explain.

    `budgets` say what each came to, what was given up for them, and what more of them would buy.
    `file` is what the output holds, if it is a .vmfb. `decided_late` says whether the candidates include what
    DispatchCreation hoists, so that what was fused is not computed at load.
    """

    schema_version: int = SCHEMA_VERSION
    input: str
    output: str | None
    flags: list[str]
    versions: Versions
    policy: PolicyReport
    candidates: list[CandidateReport]
    totals: Totals
    duplicates: list[DuplicateReport]
    budgets: list[str]
    fallbacks: list[str]
    warnings: list[str]
    verification: dict[str, Any] | None = None
    file: FileReport | None = None
    decided_late: bool = False
    timing: Timing
