"""The table of verifications: which rows are joined."""

from __future__ import annotations

from dataclasses import replace

from scripts.verify_table_main import Row, grouped


def test_policies_that_come_to_the_same_share_a_row() -> None:
    first = Row("m", "a", "bit-exact", "none: bit-exact", "yes", "-")
    rows = [first, replace(first, policy="b", worst="1e-6", passed="**no**"), replace(first, policy="c")]
    assert [(row.policy, row.passed) for row in grouped(rows)] == [("a, c", "yes"), ("b", "**no**")]
