"""Writes a policy that pins decisions to candidates by id, to be kept beside the model and reviewed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from constpolicy.policy.choice import builtins
from constpolicy.policy.plain import plain
from constpolicy.policy.units import format_size
from constpolicy.records import Action, Candidate, Decision, Phase, Program

LARGE_BYTES = 64 * 1024


def pinned_policy(
    name: str, extends: str, program: Program, decisions: Sequence[Decision], *, least_bytes: int = LARGE_BYTES
) -> str:
    """The YAML text: rules for the candidates of at least `least_bytes`, largest first, with what it is as a comment.

    The smaller ones are left to the policy that it extends.
    """
    pairs = sorted(zip(program.candidates, decisions, strict=True), key=lambda pair: -pair[0].result_bytes)
    large = [(candidate, decision) for candidate, decision in pairs if candidate.result_bytes >= least_bytes]
    lines = [
        f"# Decisions about {_comment(name)}: {len(large)} of {len(pairs)} candidates are pinned,",
        f"# those of {format_size(least_bytes)} and more. Ids stay the same as long as the expressions do.",
        "schema: 1",
        f"name: {_quoted(plain(name))}",
        f"description: {_quoted(plain(f'{extends}, with the large candidates of {name} pinned'))}",
        f"extends: {_quoted(extends)}",
        "rules:" if large else "rules: []",
    ]
    for candidate, decision, id in _pins(large):
        lines += _rule(candidate, decision.action, decision.reason, id)
    return "\n".join(lines) + "\n"


def _pins(pairs: Sequence[tuple[Candidate, Decision]]) -> Iterator[tuple[Candidate, Decision, str]]:
    """The candidates that need a rule of their own, each with the id to write.

    Equal expressions are told apart by a number, and the id without one stands for all of them: one rule does for those
    that are decided alike, and otherwise it comes last.
    """
    equal: dict[tuple[str, Phase], list[tuple[Candidate, Decision]]] = {}
    for candidate, decision in pairs:
        equal.setdefault((candidate.fingerprint, candidate.phase), []).append((candidate, decision))
    for (fingerprint, _), twins in equal.items():
        first, *others = sorted(twins, key=lambda pair: pair[0].id != fingerprint)
        for candidate, decision in others:
            if decision.action is not first[1].action:
                yield candidate, decision, candidate.id
        yield *first, fingerprint


def avoiding_policy(name: str, extends: str, avoided: Sequence[tuple[Candidate, Action, str]]) -> str:
    """The YAML text of a policy that takes the given action for each of some candidates, with the reason as a comment.

    Everything else is left to the policy that it extends.
    """
    lines = [
        f"# {_comment(extends)}, without the decisions that make a check on {_comment(name)} fail.",
        "# Ids stay the same as long as the expressions do.",
        "schema: 1",
        f"name: {_quoted(plain(name))}",
        f"description: {_quoted(plain(f'{extends}, without the decisions that make a check on {name} fail'))}",
        f"extends: {_quoted(extends)}",
        "rules:",
    ]
    for candidate, action, reason in avoided:
        lines += _rule(candidate, action, reason, candidate.id)
    return "\n".join(lines) + "\n"


def _rule(candidate: Candidate, action: Action, reason: str, id: str) -> list[str]:
    sources = ", ".join(source.name for source in candidate.sources) or "nothing"
    place = f" at {candidate.location}" if candidate.location else ""
    late = f", phase: {candidate.phase}" if candidate.phase is Phase.DISPATCH_CREATION else ""
    return [
        f"  # {candidate.kind} of {_comment(sources)} to {candidate.type.text}, {format_size(candidate.result_bytes)}"
        f"{_comment(place)}",
        f"  # {_comment(reason)}",
        f"  - name: {_quoted(f'{candidate.kind} {id}')}",
        f"    when: {{id: {_quoted(id)}{late}}}",
        f"    action: {action}",
    ]


def reference_from(folder: Path, reference: str) -> str:
    """The reference to a policy, given from the working directory, as a file in that folder has to write it."""
    if reference in builtins():
        return reference
    file = Path(os.path.realpath(Path(reference).parent), Path(reference).name)
    path = os.path.relpath(file, os.path.realpath(folder))
    return f"./{path}" if path in builtins() else path


def _quoted(text: str) -> str:
    """The text as a YAML scalar: JSON's strings are YAML's."""
    return json.dumps(text, ensure_ascii=False)


def _comment(text: str) -> str:
    """The text in one line, so that nothing in a model's names can end the comment."""
    return "".join(char if char.isprintable() else " " for char in text)
