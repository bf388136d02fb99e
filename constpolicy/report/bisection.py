"""Makes the record of a bisection from what was found."""

from __future__ import annotations

from importlib import metadata

from constpolicy.compiler.flags import CommandLine
from constpolicy.policy.load import LoadedPolicy
from constpolicy.report.build import iree_version
from constpolicy.verify.bisect import Difference, Found
from constpolicy.verify.bisect_record import Bisection, Culprit, CulpritSource


def recorded(command: CommandLine, policy: LoadedPolicy, baseline: LoadedPolicy, check: str, found: Found) -> Bisection:
    """The result as data."""
    return Bisection(
        model=command.input,
        flags=command.library_flags,
        constpolicy_version=metadata.version("constpolicy"),
        iree_version=iree_version(),
        policy=policy.policy.name,
        baseline=baseline.policy.name,
        check=check,
        symptom=found.symptom,
        failure=found.failure,
        candidates=found.differing,
        causes=tuple(tuple(map(_culprit, cause)) for cause in found.causes),
        trials=found.trials,
        reduced=tuple(path.name for path in found.reduced),
        notes=found.notes,
    )


def _culprit(difference: Difference) -> Culprit:
    candidate, decision = difference.candidate, difference.decision
    return Culprit(
        id=candidate.id,
        symbol=candidate.symbol,
        kind=str(candidate.kind),
        type=candidate.type.text,
        result_bytes=candidate.result_bytes,
        phase=str(candidate.phase),
        location=candidate.location,
        sources=tuple(CulpritSource(name=s.name, type=s.type.text, bytes=s.bytes) for s in candidate.sources),
        functions=candidate.functions,
        action=str(difference.action),
        baseline_action=str(difference.baseline),
        reason=decision.reason
        if decision.decided_by in decision.reason
        else f"{decision.decided_by}: {decision.reason}",
    )
