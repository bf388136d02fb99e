"""Sizes, shares and comparisons as policies write them: `64 KiB`, `1%`, `">= 1MiB"`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

_SIZE = re.compile(r"(?P<sign>[-+]?)(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[A-Za-z]*)")
_UNITS = {"": 1, "b": 1, "k": 2**10, "kib": 2**10, "m": 2**20, "mib": 2**20, "g": 2**30, "gib": 2**30}
_UNITS |= {"kb": 10**3, "mb": 10**6, "gb": 10**9}
_COMPARISON = re.compile(r"(?P<sign><=|>=|==|!=|<|>)\s*(?P<value>.+)")
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_LARGEST = 2**63


def parse_size(value: object) -> int:
    """Bytes from an integer or a text such as "64 KiB", "64k" or "1.5MB". Raises ValueError saying what to write."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError(f"{value!r} is no size: write bytes, or a number with KiB, MiB or GiB")
    text = str(value).strip()
    match = _SIZE.fullmatch(text)
    unit = _UNITS.get(match["unit"].lower()) if match else None
    if match is None or unit is None:
        raise ValueError(f"'{text[:40]}' is no size: write bytes, or a number with KiB, MiB or GiB")
    size = float(match["number"]) * unit
    if size >= _LARGEST:
        raise ValueError(f"'{text[:40]}' is more than any file holds")
    return -int(size) if match["sign"] == "-" else int(size)


def format_size(size: int) -> str:
    """Bytes for people: "812 B", "64 KiB", "89.4 MiB"; negative sizes keep their sign."""
    magnitude = abs(size)
    exponent = min(max(magnitude.bit_length() - 1, 0) // 10, 3)
    scaled = magnitude / 2 ** (10 * exponent)
    number = f"{scaled:.0f}" if scaled >= 100 or scaled == int(scaled) else f"{scaled:.1f}"
    return f"{'-' if size < 0 else ''}{number} {('B', 'KiB', 'MiB', 'GiB')[exponent]}"


@dataclass(frozen=True)
class Amount:
    """A number of bytes, or a part of the program's constants."""

    bytes: int | None = None
    fraction: float | None = None

    @classmethod
    def parse(cls, value: object) -> Amount:
        """Reads a size or a percentage. Raises ValueError saying what to write."""
        if isinstance(value, str) and value.strip().endswith("%"):
            try:
                return cls(fraction=float(value.strip()[:-1]) / 100)
            except ValueError:
                raise ValueError(f"'{value[:40]}' is no percentage: write for instance 1%") from None
        return cls(bytes=parse_size(value))

    def of(self, constant_bytes: int) -> int:
        """The amount in bytes for a program with that many bytes of constants."""
        return int(self.fraction * constant_bytes) if self.fraction is not None else self.bytes or 0

    def __str__(self) -> str:
        return f"{self.fraction * 100:g}%" if self.fraction is not None else format_size(self.bytes or 0)


@dataclass(frozen=True)
class Comparison:
    """A comparison with a number, such as `>= 64KiB`; `text` is as the user wrote it."""

    sign: str
    value: float
    text: str

    @classmethod
    def parse(cls, value: object, number: Callable[[object], float]) -> Comparison:
        """Reads "SIGN NUMBER"; a number alone means `==`. Raises ValueError saying what to write."""
        if isinstance(value, str) and (match := _COMPARISON.fullmatch(value.strip())):
            return cls(match["sign"], number(match["value"]), value.strip())
        if isinstance(value, str) and value.strip()[:1] in "<>=!":
            raise ValueError(f"'{value[:40]}' is no comparison: write for instance '>= 64KiB'")
        return cls("==", number(value), str(value))

    def holds(self, number: float) -> bool:
        return _SIGNS[self.sign](number, self.value)

    def __str__(self) -> str:
        return self.text
