"""Sizes and shares are what they say, to the byte."""

from __future__ import annotations

from decimal import Decimal

import pytest

from constpolicy.policy.units import Amount, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("9007199254740993", 2**53 + 1),  # more than a float tells apart
        ("9223372036854775807 B", 2**63 - 1),
        ("0.1 MB", 100_000),
        ("1.5MB", 1_500_000),
        ("64k", 65536),
        ("-1.5 KiB", -1536),
    ],
)
def test_a_size_is_read_to_the_byte(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "of", "amount"),
    [
        ("29%", 100, 29),
        ("0.7%", 1000, 7),
        ("1%", 99, 0),
        ("-5%", 1001, -51),
        ("0.0000001%", 10**12, 1000),
        ("4k", 1, 4096),
    ],
)
def test_a_share_is_taken_exactly_and_never_rounded_up(text: str, of: int, amount: int) -> None:
    assert Amount.parse(text).of(of) == amount


@pytest.mark.parametrize(
    "amount", [Amount(1_100_000), Amount(-5), Amount(percent=Decimal("0.1234567")), Amount(percent=Decimal("1E-7"))]
)
def test_an_amount_is_written_as_what_it_is(amount: Amount) -> None:
    assert Amount.parse(amount.as_data()) == amount
