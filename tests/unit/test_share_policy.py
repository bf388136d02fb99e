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
    work_bytes=2 * SIZE,
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


def second(size: int, whole_table: bool = False) -> Candidate:
    """Another candidate that could hold the table, with a result of this size."""
    return replace(
        CANDIDATE,
        id="2",
        globals=(HoistedGlobal("@second", TABLE, size),),
        share=replace(OFFER, whole_table=whole_table),
    )


def both(other: Candidate, **more: object) -> tuple[dict[str, Decision], int]:
    policy = {"schema": 1, "name": "p", "default": "share", "share": {"whole_table": True}, **more}
    outcome = decide(Program((CANDIDATE, other), SIZE), Policy.model_validate(policy))
    return {decision.candidate_id: decision for decision in outcome.decisions}, outcome.predicted_growth_bytes


@pytest.mark.parametrize(
    ("other", "shared"),
    [(second(SIZE + 4), "1"), (second(SIZE - 4), "2"), (second(SIZE - 4, whole_table=True), "1")],
    ids=["the larger comes second", "the smaller comes first", "what reads it whole comes second"],
)
def test_one_source_is_shared_once_and_counted_once(other: Candidate, shared: str) -> None:
    decisions, growth = both(other)
    home = CANDIDATE if shared == "1" else other
    (late,) = decisions.keys() - {shared}
    assert decisions[shared].action is Action.SHARE
    assert decisions[late].action is Action.INITIALIZE
    assert f"its source is shared through {home.symbol}" in decisions[late].reason
    assert growth == home.result_bytes - SIZE


def test_what_is_smaller_than_its_code_is_stored_beside_the_shared_copy() -> None:
    decisions, growth = both(second(1024, whole_table=True))
    assert decisions["2"].action is Action.EVALUATE
    assert growth == 1024


def test_a_rule_that_asks_for_a_second_copy_to_be_shared_gets_a_warning() -> None:
    rules = [{"when": {"kind": "transpose"}, "action": "share"}]
    policy = Policy.model_validate({"schema": 1, "name": "p", "rules": rules})
    outcome = decide(Program((CANDIDATE, second(SIZE + 4)), SIZE), policy)
    assert any("share is impossible: its source is shared through @hoisted" in text for text in outcome.warnings)


def test_budgets_share_each_source_once() -> None:
    decisions, growth = both(second(SIZE), default="evaluate", budgets={"file_growth": 0, "otherwise": ["share"]})
    assert sorted(decision.action for decision in decisions.values()) == [Action.INITIALIZE, Action.SHARE]
    assert growth == 0


def test_what_would_grow_the_file_when_it_is_shared_is_left_for_load_time() -> None:
    larger = replace(CANDIDATE, globals=(HoistedGlobal("@hoisted", TABLE, 4 * SIZE),))
    policy = {"schema": 1, "name": "p", "limits": {"max_growth_bytes": 1024}, "otherwise": ["share", "initialize"]}
    decision = decide(Program((larger,), SIZE), Policy.model_validate(policy)).decisions[0]
    assert decision.action is Action.INITIALIZE
    assert "share is impossible: the result takes the place of its source, growth 750 KiB > 1 KiB" in decision.reason


def test_a_rule_shares_what_grows_the_file() -> None:
    larger = replace(CANDIDATE, globals=(HoistedGlobal("@hoisted", TABLE, 4 * SIZE),))
    rules = [{"when": {"kind": "transpose"}, "action": "share"}]
    policy = {"schema": 1, "name": "p", "limits": {"max_growth_bytes": 1024}, "rules": rules}
    assert decide(Program((larger,), SIZE), Policy.model_validate(policy)).decisions[0].action is Action.SHARE


@pytest.mark.parametrize("budgets", [{"load_bytes": "10MiB"}, {"load_bytes": 0}])
def test_a_budget_that_has_room_for_evaluating_shares_nothing(budgets: dict[str, object]) -> None:
    decisions, _ = both(second(SIZE), default="evaluate", budgets={**budgets, "otherwise": ["share", "initialize"]})
    assert {decision.action for decision in decisions.values()} == {Action.EVALUATE}
