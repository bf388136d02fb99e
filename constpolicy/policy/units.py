"""Sizes, shares and comparisons as policies write them: `64 KiB`, `1%`, `">= 1MiB"`. Sizes are cut to whole bytes.

The patterns are those of the JSON schema, too: they use only what all dialects of regular expressions share.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

_UNITS = {"": 1, "b": 1, "k": 2**10, "kib": 2**10, "m": 2**20, "mib": 2**20, "g": 2**30, "gib": 2**30}
_UNITS |= {"kb": 10**3, "mb": 10**6, "gb": 10**9}
_DIGITS = r"([-+]?[0-9]+(\.[0-9]+)?)"
_UNIT = "|".join("".join(f"[{char}{char.upper()}]" for char in unit) for unit in sorted(_UNITS, key=len, reverse=True))
_SIGN = r"(<=|>=|==|!=|<|>)"
SIZE = rf"{_DIGITS}\s*({_UNIT})"
PERCENTAGE = rf"{_DIGITS}\s*%"
NUMBER = r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?"
INFINITE = "inf"
SIZE_COMPARISON = rf"({_SIGN}\s*)?{SIZE}"
NUMBER_COMPARISON = rf"({_SIGN}\s*)?({NUMBER}|{INFINITE})"

_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_LARGEST = 2**63
_MOST_PERCENT = 10**6
_SHOWN = 40  # characters of a wrong value


def parse_size(value: object) -> int:
    """Bytes from an integer or a text such as "64 KiB", "64k" or "1.5MB". Raises ValueError saying what to write."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError(f"{_shown(value)} is no size: write bytes, or a number with KiB, MiB or GiB")
    if isinstance(value, int):
        size = value
    elif (match := re.fullmatch(SIZE, value.strip())) is None:
        raise ValueError(f"{_shown(value)} is no size: write bytes, or a number with KiB, MiB or GiB")
    else:
        size = int(Fraction(Decimal(match[1])) * _UNITS[match[3].lower()])
    if abs(size) >= _LARGEST:
        raise ValueError(f"{_shown(value)} is more than any file holds")
    return size


def parse_number(value: object) -> float:
    """A finite number; text is taken as well, since YAML reads 1e-5 as such. Raises ValueError."""
    number = _number(value)
    if math.isinf(number):
        raise ValueError(f"{_shown(value)} is no finite number")
    return number


def format_size(size: int) -> str:
    """Bytes for people: "812 B", "64 KiB", "89.4 MiB"; negative sizes keep their sign."""
    magnitude = abs(size)
    exponent = min(max(magnitude.bit_length() - 1, 0) // 10, 3)
    scaled = magnitude / 2 ** (10 * exponent)
    number = f"{scaled:.0f}" if scaled >= 100 or scaled == int(scaled) else f"{scaled:.1f}"
    return f"{'-' if size < 0 else ''}{number} {('B', 'KiB', 'MiB', 'GiB')[exponent]}"


@dataclass(frozen=True)
class Amount:
    """A number of bytes, or per cent of the program's constants."""

    bytes: int = 0
    percent: Decimal | None = None

    @classmethod
    def parse(cls, value: object) -> Amount:
        """Reads a size or a percentage. Raises ValueError saying what to write."""
        if isinstance(value, Amount):
            return value
        if not isinstance(value, str) or not value.strip().endswith("%"):
            return cls(bytes=parse_size(value))
        if (match := re.fullmatch(PERCENTAGE, value.strip())) is None:
            raise ValueError(f"{_shown(value)} is no percentage: write for instance 1%")
        percent = Decimal(match[1])
        if abs(percent) > _MOST_PERCENT:
            raise ValueError(f"{_shown(value)} is more than {_MOST_PERCENT}%")
        return cls(percent=percent)

    @property
    def is_negative(self) -> bool:
        return self.bytes < 0 or (self.percent or 0) < 0

    def of(self, constant_bytes: int) -> int:
        """The amount in whole bytes for a program with that many bytes of constants."""
        return self.bytes if self.percent is None else math.floor(Fraction(self.percent) * constant_bytes / 100)

    def as_data(self) -> int | str:
        """What `parse` reads as the same amount."""
        return self.bytes if self.percent is None else f"{self.percent:f}%"


@dataclass(frozen=True)
class Comparison:
    """A comparison with a number, such as `>= 64KiB`; `text` is as the user wrote it."""

    sign: str
    value: float
    text: str

    @classmethod
    def of_sizes(cls, value: object) -> Comparison:
        """Reads "SIGN SIZE"; a size alone means `==`. Raises ValueError saying what to write."""
        return cls._parse(value, parse_size)

    @classmethod
    def of_numbers(cls, value: object) -> Comparison:
        """Reads "SIGN NUMBER", where the number may be `inf`; a number alone means `==`. Raises ValueError."""
        return cls._parse(value, _number)

    @classmethod
    def _parse(cls, value: object, number: Callable[[object], float]) -> Comparison:
        if isinstance(value, Comparison):
            return value
        if not isinstance(value, str):
            return cls("==", number(value), str(value))
        text = value.strip()
        if (match := re.fullmatch(rf"{_SIGN}\s*(.+)", text)) is not None:
            return cls(match[1], number(match[2]), text)
        if text[:1] in ("<", ">", "=", "!"):
            raise ValueError(f"{_shown(value)} is no comparison: write for instance '>= 64KiB'")
        return cls("==", number(text), text)

    def holds(self, number: float) -> bool:
        return _SIGNS[self.sign](number, self.value)

    def __str__(self) -> str:
        return self.text


def _number(value: object) -> float:
    """A number, or infinity."""
    if isinstance(value, str) and re.fullmatch(f"{NUMBER}|{INFINITE}", value.strip()):
        return float(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value):
        return float(value)
    raise ValueError(f"{_shown(value)} is no number")


def _shown(value: object) -> str:
    """A wrong value, shortened."""
    return f"'{value[:_SHOWN]}'" if isinstance(value, str) else repr(value)[:_SHOWN]
