"""Which offers to share a policy takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from constpolicy.policy.decide import decide
from constpolicy.policy.schema import Policy
from constpolicy.records import (
    Action,
    Candidate,
    Decision,
    HoistedGlobal,
    Kind,
    Origin,
    Program,
    Reader,
    ShareOffer,
    Source,
    ValueType,
)

TABLE = ValueType("tensor<1000x64xf32>", "f32", (1000, 64), 32)
SIZE = 1000 * 64 * 4
READER = Reader("@main", Kind.GATHER)
OFFER = ShareOffer("table", SIZE, added_stride_bytes=4000, gathered_rows=8, whole_table=False)
CANDIDATE = Candidate(
    id="1",
    globals=(HoistedGlobal("@hoisted", TABLE, SIZE),),
    kind=Kind.TRANSPOSE,
    kinds=frozenset({Kind.TRANSPOSE}),
    sources=(Source("table", "table", TABLE, SIZE, SIZE, Origin.RESOURCE, False, (READER,)),),
    readers=(READER,),
    share=OFFER,
)


def decided(offer: ShareOffer, **share: object) -> Decision:
    policy = {"schema": 1, "name": "p", "limits": {"max_growth_bytes": 0}, "otherwise": ["share", "initialize"]}
    program = Program((replace(CANDIDATE, share=offer),), SIZE)
    return decide(program, Policy.model_validate({**policy, "share": share})).decisions[0]


def test_a_table_whose_rows_are_gathered_is_shared() -> None:
    assert decided(OFFER).action is Action.SHARE


def test_a_table_that_is_read_as_a_whole_is_left_for_load_time_unless_the_policy_allows_it() -> None:
    offer = replace(OFFER, whole_table=True)
    refused = decided(offer)
    assert refused.action is Action.INITIALIZE
    assert "share.whole_table" in refused.reason
    assert decided(offer, whole_table=True).action is Action.SHARE


@pytest.mark.parametrize(("rows", "action"), [(25_000, Action.SHARE), (25_001, Action.INITIALIZE)])
def test_beyond_the_break_even_of_gathered_rows_the_table_is_left_for_load_time(rows: int, action: Action) -> None:
    assert decided(replace(OFFER, gathered_rows=rows)).action is action


def test_the_limit_on_gathered_rows_can_be_set_and_is_named_in_the_reason() -> None:
    refused = decided(OFFER, max_gathered_rows=7)
    assert refused.action is Action.INITIALIZE
    assert "8 rows" in refused.reason
    assert "max_gathered_rows 7" in refused.reason


def test_an_unknown_number_of_rows_is_within_the_limit() -> None:
    assert decided(replace(OFFER, gathered_rows=None), max_gathered_rows=0).action is Action.SHARE


def test_the_reason_says_what_is_saved_and_what_a_gather_pays() -> None:
    reason = decided(OFFER).reason
    assert "one copy less saves 250 KiB; 8 rows per call are gathered with strides of 4000 B" in reason
    assert "each row gathered with strides" in decided(replace(OFFER, gathered_rows=None)).reason
    assert "strides" not in decided(replace(OFFER, gathered_rows=0)).reason
