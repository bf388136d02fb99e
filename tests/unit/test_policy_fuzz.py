"""Malformed policies end in one clear error each, never in a traceback."""

from __future__ import annotations

import pytest

from scripts.fuzz_policies_main import fuzz


def test_malformed_policies_are_refused_clearly() -> None:
    assert fuzz(count=300, seed=1)["error"] > 200


@pytest.mark.full
def test_many_malformed_policies_are_refused_clearly() -> None:
    assert fuzz(count=5000, seed=2)["error"] > 3500
