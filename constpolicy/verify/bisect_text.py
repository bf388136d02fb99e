"""A bisection as text: what fails, which decisions cause it, how that was found."""

from __future__ import annotations

from collections.abc import Iterator

from constpolicy.policy.units import format_size
from constpolicy.verify.bisect_record import Bisection, Culprit, Trial


def lines(bisection: Bisection) -> Iterator[str]:
    """The lines to print, and of report.txt."""
    yield f"under '{bisection.policy}', and not under '{bisection.baseline}': {bisection.failure}"
    count, of = len(bisection.culprits), bisection.candidates
    yield f"{count} of {of} {'decision' if of == 1 else 'decisions'} to blame, found with {bisection.compiles} compiles"
    for number, cause in enumerate(bisection.causes, 1):
        if len(bisection.causes) > 1:
            yield f"cause {number}{'' if len(cause) == 1 else ', which takes all of these'}"
        elif len(cause) > 1:
            yield "only together"
        for culprit in cause:
            yield from _culprit(culprit)
    for note in bisection.notes:
        yield f"note: {note}"


def trial_line(number: int, trial: Trial) -> str:
    """What to tell while the search goes on."""
    decisions = f"{trial.policy_decides} {'decision' if trial.policy_decides == 1 else 'decisions'}"
    return f"compile {number}, {decisions} of the policy: {trial.failure or 'nothing is wrong'}"


def _culprit(culprit: Culprit) -> Iterator[str]:
    yield f"  {culprit.id}  {culprit.kind}, {culprit.type}, {format_size(culprit.result_bytes)}"
    for source in culprit.sources:
        yield f"    source    {source.name}  {source.type}, {format_size(source.bytes)}"
    yield f"    from      {culprit.location or 'an unknown place'}"
    yield f"    read by   {', '.join(culprit.functions) or 'initializers only'}"
    yield f"    action    {culprit.action}, in the baseline {culprit.baseline_action}"
    yield f"    why       {culprit.reason}"


def report_lines(bisection: Bisection) -> Iterator[str]:
    """What somebody else needs to see it, too: the head of report.txt."""
    yield f"model      {bisection.model}"
    yield f"flags      {' '.join(bisection.flags)}"
    yield f"versions   constpolicy {bisection.constpolicy_version}, iree-compile {bisection.iree_version}"
    yield f"check      {bisection.check}"
    for name in bisection.reduced:
        yield f"reduced    {name}: iree-compile takes it with these flags"
    for number, trial in enumerate(bisection.trials, 1):
        yield f"  {trial_line(number, trial)}"
    yield ""
