"""Writes a policy that pins decisions to candidates by id, to be kept beside the model and reviewed."""

from __future__ import annotations

import json
from collections.abc import Sequence

from constpolicy.policy.units import format_size
from constpolicy.records import Candidate, Decision, Program

LARGE_BYTES = 64 * 1024


def pinned_policy(
    name: str, extends: str, program: Program, decisions: Sequence[Decision], *, least_bytes: int = LARGE_BYTES
) -> str:
    """The YAML text: a rule for each candidate of at least `least_bytes`, largest first, with what it is as a comment.

    The smaller ones are left to the policy that it extends.
    """
    pairs = sorted(zip(program.candidates, decisions, strict=True), key=lambda pair: -pair[0].result_bytes)
    large = [(candidate, decision) for candidate, decision in pairs if candidate.result_bytes >= least_bytes]
    lines = [
        f"# Decisions about {_comment(name)}: {len(large)} of {len(pairs)} candidates are pinned,",
        f"# those of {format_size(least_bytes)} and more. Ids stay the same as long as the expressions do.",
        "schema: 1",
        f"name: {_quoted(name)}",
        f"description: {_quoted(f'{extends}, with the large candidates of {name} pinned')}",
        f"extends: {_quoted(extends)}",
        "rules:" if large else "rules: []",
    ]
    for candidate, decision in large:
        lines += _rule(candidate, decision)
    return "\n".join(lines) + "\n"


def _rule(candidate: Candidate, decision: Decision) -> list[str]:
    sources = ", ".join(source.name for source in candidate.sources) or "nothing"
    place = f" at {candidate.location}" if candidate.location else ""
    return [
        f"  # {candidate.kind} of {_comment(sources)} to {candidate.type.text}, {format_size(candidate.result_bytes)}"
        f"{_comment(place)}",
        f"  # {_comment(decision.reason)}",
        f"  - name: {_quoted(f'{candidate.kind} {candidate.id}')}",
        f"    when: {{id: {_quoted(candidate.id)}}}",
        f"    action: {decision.action}",
    ]


def _quoted(text: str) -> str:
    """The text as a YAML scalar: JSON's strings are YAML's."""
    return json.dumps(text, ensure_ascii=True)


def _comment(text: str) -> str:
    """The text in one line, so that nothing in a model's names can end the comment."""
    return "".join(char if char.isprintable() else " " for char in text)
