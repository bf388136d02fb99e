"""A YAML policy file as values that know where they are written. Hostile YAML is refused early.

Only what policies need is taken: no anchors, aliases or tags, no duplicate keys, no keys without a value, no control
characters, bounded size and depth.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from yaml.reader import ReaderError

from constpolicy.policy.plain import plain
from constpolicy.records import ConstPolicyError

_MOST_BYTES = 256 * 1024
_MOST_DEPTH = 32
_MOST_DIGITS = 64
_MOST_INTEGER = 2**63
_YAML = "tag:yaml.org,2002:"
_TYPES = tuple(_YAML + name for name in ("null", "bool", "int", "float"))  # what a scalar without quotes may be
_NUMBERS = {f"{_YAML}int", f"{_YAML}float"}
_DECIMAL = re.compile(
    r"[-+]?(0|[1-9][0-9]*|[0-9]*\.[0-9]+|[0-9]+\.)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
# What moves the cursor, reorders the text around it or cannot be encoded. Line breaks and tabs are text.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_NEEDS_QUOTES = re.compile(r"(?:^|[:,\[{-])\s*[>*!@%`|]")  # a value that begins with what is more than text in YAML
_QUOTES = '; text that begins like this belongs in quotes, as in ">= 1MiB"'
Steps: TypeAlias = Sequence[str | int]


class PolicyError(ConstPolicyError):
    """Something is wrong in a policy file; the text begins with file, line and column."""


@dataclass(frozen=True)
class Place:
    """Where something is written, lines and columns from 1.

    `over` is the place of what it replaces, in a file that this one extends.
    """

    file: str
    line: int
    column: int
    over: Place | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Value:
    """A value and where it is written: for the value of a key, the place of the key.

    `content` is a text, a number or a boolean, or has the values of a list or a mapping.
    """

    content: str | int | float | bool | list[Value] | dict[str, Value]
    place: Place

    @property
    def mapping(self) -> dict[str, Value]:
        """The values of a mapping by key; nothing for anything else."""
        return self.content if isinstance(self.content, dict) else {}

    @property
    def items(self) -> list[Value]:
        """The values of a list; none for anything else."""
        return self.content if isinstance(self.content, list) else []

    @property
    def data(self) -> Any:
        """The value as plain data."""
        if isinstance(self.content, dict):
            return {key: value.data for key, value in self.mapping.items()}
        return [value.data for value in self.items] if isinstance(self.content, list) else self.content

    def at(self, steps: Steps) -> Value:
        """The value behind these keys and indices, or the nearest around it that is there."""
        value = self
        for step in steps:
            if isinstance(step, str) and step in value.mapping:
                value = value.mapping[step]
            elif isinstance(step, int) and step < len(value.items):
                value = value.items[step]
            else:
                break
        return value

    def error(self, steps: Steps, text: str) -> PolicyError:
        """An error at the place of the value behind these steps."""
        return PolicyError(f"{self.at(steps).place}: {text}")


def read(file: Path) -> Value:
    """Reads a policy file. Raises PolicyError if it cannot be read or is no plain YAML."""
    name = plain(str(file))
    try:
        with open(file, "rb", opener=_open_at_once) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise PolicyError(f"{name}: is no regular file; a policy may be read more than once, so save it in one")
            raw = stream.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise PolicyError(f"{name}: cannot be read: {getattr(error, 'strerror', error)}") from None
    if len(raw) > _MOST_BYTES:
        raise PolicyError(f"{name}: a policy file has at most {_MOST_BYTES // 1024} KiB")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise PolicyError(f"{name}:{line}:1: not UTF-8; save the file in that encoding") from None
    return parse(name, text)


def _open_at_once(file: str, flags: int) -> int:
    """Opens without waiting for somebody who would write into a pipe."""
    return os.open(file, flags | os.O_NONBLOCK)


def parse(name: str, text: str) -> Value:
    """The values in a policy file's text. Raises PolicyError."""
    try:
        _refuse_hostile(name, text)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if node is None:
            raise PolicyError(f"{name}:1:1: the file is empty")
        return _Builder(name).build(node)
    except ReaderError as error:
        before = text[: error.position]
        place = f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
        raise PolicyError(f"{name}:{place}: the character #x{ord(text[error.position]):02x} is no text") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{mark.line + 1}:{mark.column + 1}" if mark else "1:1"
        problem = plain(str(error.problem or error.context))
        hint = _QUOTES if mark and _NEEDS_QUOTES.search(_line(text, mark)) else ""
        raise PolicyError(f"{name}:{place}: no valid YAML: {problem}{hint}") from None
    except yaml.YAMLError as error:
        raise PolicyError(f"{name}:1:1: no valid YAML: {plain(str(error).splitlines()[0])}") from None


def _line(text: str, mark: yaml.Mark) -> str:
    """The line of the mark, up to it."""
    start = mark.index - mark.column
    return text[start : mark.index + 1]


def _refuse_hostile(name: str, text: str) -> None:
    """Refuses what could grow or run, on the event stream, before anything is built from it."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        place = _place(name, event.start_mark) if event.start_mark else name
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise PolicyError(f"{place}: anchors and aliases are not taken; write the value out, or put it in quotes")
        if tag := getattr(event, "tag", None):
            raise PolicyError(f"{place}: tags are not taken; leave '{plain(str(tag)[:40])}' out, or put it in quotes")
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            depth += 1
            if depth > _MOST_DEPTH:
                raise PolicyError(f"{place}: nested deeper than {_MOST_DEPTH} levels")
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            depth -= 1


def _place(name: str, mark: Any) -> Place:
    return Place(name, mark.line + 1, mark.column + 1)


@dataclass(frozen=True)
class _Builder:
    """Builds the values of one file."""

    name: str
    scalars: yaml.SafeLoader = field(default_factory=lambda: yaml.SafeLoader(""))

    def build(self, node: yaml.Node, place: Place | None = None) -> Value:
        place = place or _place(self.name, node.start_mark)
        if isinstance(node, yaml.SequenceNode):
            return Value([self.build(child) for child in node.value], place)
        if isinstance(node, yaml.MappingNode):
            return Value(self._mapping(node), place)
        return Value(self._scalar(node, place), place)

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Value]:
        content: dict[str, Value] = {}
        for key_node, value_node in node.value:
            place = _place(self.name, key_node.start_mark)
            if not isinstance(key_node, yaml.ScalarNode):
                raise PolicyError(f"{place}: a key is a word, not a list or a mapping")
            key = self._text(key_node.value, place)
            if key in content:
                raise PolicyError(f"{place}: '{plain(key)}' is given twice")
            if value_node.tag == f"{_YAML}null":
                raise PolicyError(f"{place}: '{plain(key)}' has no value: write one, or leave it out")
            content[key] = self.build(value_node, place)
        return content

    def _scalar(self, node: yaml.Node, place: Place) -> str | int | float | bool:
        if node.tag not in _TYPES:
            return self._text(node.value, place)
        if node.tag == f"{_YAML}null":
            raise PolicyError(f"{place}: there is no value here: write one")
        if len(node.value) > _MOST_DIGITS:
            raise PolicyError(f"{place}: '{node.value[:40]}...' is out of range")
        if node.tag in _NUMBERS and not _DECIMAL.fullmatch(node.value):
            shown = plain(node.value)
            raise PolicyError(
                f"{place}: '{shown}' is no decimal number: write it in decimal, or quote it if it is text"
            )
        try:
            value: int | float | bool = self.scalars.construct_object(node)
        except (ValueError, OverflowError):
            value = _MOST_INTEGER
        if isinstance(value, int) and abs(value) >= _MOST_INTEGER:
            raise PolicyError(f"{place}: '{node.value[:40]}' is out of range")
        return value

    def _text(self, text: str, place: Place) -> str:
        if found := _CONTROL.search(text):
            raise PolicyError(f"{place}: the character #x{ord(found[0]):02x} in '{plain(text[:40])}' is no text")
        return text
