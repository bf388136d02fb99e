"""Which offers to share a policy takes: those whose readers pay too much for it are refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from constpolicy.policy.schema import Share
from constpolicy.policy.units import format_size
from constpolicy.records import Action, Candidate, Program, ShareOffer


def within(program: Program, share: Share) -> Program:
    """The program, with `share` refused to the candidates whose offers cost more than the policy allows."""
    return replace(program, candidates=tuple(_within(candidate, share) for candidate in program.candidates))


def within_growth(program: Program, most: int | None) -> Program:
    """The program, with `share` refused to the candidates that would add more bytes to the file than this."""
    if most is None:
        return program
    return replace(program, candidates=tuple(_within_growth(candidate, most) for candidate in program.candidates))


def _within_growth(candidate: Candidate, most: int) -> Candidate:
    if candidate.share is None or (growth := candidate.result_bytes - candidate.share.saved_bytes) <= most:
        return candidate
    reason = f"the result takes the place of its source, growth {format_size(growth)} > {format_size(most)}"
    return replace(candidate, refusals={Action.SHARE: reason, **candidate.refusals})


def rivals(candidates: Sequence[Candidate]) -> dict[str, Candidate]:
    """Of candidates that all would share their sources, those that come too late (ids), each with the one that does.

    Of several for one source, the one whose readers pay least comes first, then the smallest.
    """
    homes: dict[str, Candidate] = {}
    late: dict[str, Candidate] = {}
    for candidate in sorted(candidates, key=_preference):
        assert candidate.share is not None, "a candidate that is decided to be shared has an offer"
        home = homes.setdefault(candidate.share.source_key, candidate)
        if home is not candidate:
            late[candidate.id] = home
    return late


def _preference(candidate: Candidate) -> tuple[bool, int]:
    assert candidate.share is not None, "a candidate that is decided to be shared has an offer"
    return candidate.share.whole_table, candidate.result_bytes


def in_words(offer: ShareOffer) -> str:
    """What sharing saves and what it costs, for the reason of a decision."""
    saved = f"one copy less saves {format_size(offer.saved_bytes)}"
    if not offer.added_stride_bytes or offer.gathered_rows == 0:
        return saved
    rows = "each row gathered" if offer.gathered_rows is None else f"{offer.gathered_rows} rows per call are gathered"
    return f"{saved}; {rows} with strides of {offer.added_stride_bytes} B"


def _within(candidate: Candidate, share: Share) -> Candidate:
    if candidate.share is None or (reason := _excess(candidate.share, share)) is None:
        return candidate
    return replace(candidate, refusals={Action.SHARE: reason, **candidate.refusals})


def _excess(offer: ShareOffer, share: Share) -> str | None:
    if offer.whole_table and not share.whole_table:
        return (
            "a reader of its source takes the whole of it on every call, which would be slower from the shared copy"
            " (the policy can allow it: share.whole_table)"
        )
    if offer.gathered_rows is not None and offer.gathered_rows > share.max_gathered_rows:
        return (
            f"a call gathers {offer.gathered_rows} rows of its source > share.max_gathered_rows"
            f" {share.max_gathered_rows}, each with strides of {offer.added_stride_bytes} bytes"
        )
    return None
