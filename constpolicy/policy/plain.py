"""Text from elsewhere that is made safe to show."""

from __future__ import annotations


def plain(text: str) -> str:
    """The text with control characters, which could move the cursor or worse, made visible."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)
