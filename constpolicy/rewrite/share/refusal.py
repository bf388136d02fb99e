"""How the steps of planning say that a source cannot be shared."""

from __future__ import annotations


class Refusal(Exception):
    """The source cannot die; the text says why, as the report shows it."""
