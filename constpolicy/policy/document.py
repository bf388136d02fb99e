"""A YAML policy file as plain data that remembers where each value stands. Hostile YAML is refused early.

Only what policies need is taken: no anchors, aliases or tags, no duplicate keys, bounded size and depth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from constpolicy.records import ConstPolicyError

_MOST_BYTES = 256 * 1024
_MOST_DEPTH = 32
Path_ = tuple[str | int, ...]


class PolicyError(ConstPolicyError):
    """Something is wrong in a policy file; the text begins with file, line and column."""


@dataclass
class Document:
    """The data of one file; `marks` give (line, column), from 1, of each value and, for mappings, of each key."""

    name: str
    data: Any = None
    marks: dict[Path_, tuple[int, int]] = field(default_factory=dict)

    def place(self, path: Sequence[str | int]) -> str:
        """file:line:column of the value, or of the nearest thing around it that stands in the file."""
        place = tuple(path)
        while place and place not in self.marks:
            place = place[:-1]
        line, column = self.marks.get(place, (1, 1))
        return f"{self.name}:{line}:{column}"

    def error(self, path: Sequence[str | int], text: str) -> PolicyError:
        """An error at the value's place."""
        return PolicyError(f"{self.place(path)}: {text}")


def read(file: Path) -> Document:
    """Reads a policy file. Raises PolicyError if it cannot be read or is no plain YAML."""
    try:
        with file.open("rb") as stream:
            raw = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise PolicyError(f"{file}: cannot be read: {error.strerror}") from None
    if len(raw) > _MOST_BYTES:
        raise PolicyError(f"{file}: a policy file has at most {_MOST_BYTES // 1024} KiB")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise PolicyError(f"{file}:{line}:1: not UTF-8; save the file in that encoding") from None
    return parse(str(file), text)


def parse(name: str, text: str) -> Document:
    """The document of a policy file's text. Raises PolicyError."""
    document = Document(name)
    try:
        _refuse_hostile(document, text)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if node is None:
            raise PolicyError(f"{name}:1:1: the file is empty")
        document.data = _build(document, yaml.SafeLoader(""), node, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{mark.line + 1}:{mark.column + 1}" if mark else "1:1"
        raise PolicyError(f"{name}:{place}: no valid YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise PolicyError(f"{name}:1:1: no valid YAML: {str(error).splitlines()[0]}") from None
    return document


def _refuse_hostile(document: Document, text: str) -> None:
    """Refuses what could grow or run, on the event stream, before anything is built from it."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        mark = event.start_mark
        place = f"{document.name}:{mark.line + 1}:{mark.column + 1}" if mark else document.name
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise PolicyError(f"{place}: anchors and aliases are not taken; write the value out")
        if tag := getattr(event, "tag", None):
            raise PolicyError(f"{place}: tags are not taken; leave '{str(tag)[:40]}' out")
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            depth += 1
            if depth > _MOST_DEPTH:
                raise PolicyError(f"{place}: nested deeper than {_MOST_DEPTH} levels")
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            depth -= 1


def _build(document: Document, loader: yaml.SafeLoader, node: yaml.Node, path: Path_) -> Any:
    document.marks.setdefault(path, (node.start_mark.line + 1, node.start_mark.column + 1))
    if isinstance(node, yaml.SequenceNode):
        return [_build(document, loader, child, (*path, index)) for index, child in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        return _build_mapping(document, loader, node, path)
    return _scalar(document, loader, node, path)


def _build_mapping(document: Document, loader: yaml.SafeLoader, node: yaml.MappingNode, path: Path_) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for key_node, value_node in node.value:
        mark = (key_node.start_mark.line + 1, key_node.start_mark.column + 1)
        if not isinstance(key_node, yaml.ScalarNode):
            raise PolicyError(f"{document.name}:{mark[0]}:{mark[1]}: a key is a word, not a list or a mapping")
        key = key_node.value
        if key in data:
            raise PolicyError(f"{document.name}:{mark[0]}:{mark[1]}: '{key}' is given twice")
        child = (*path, key)
        document.marks[child] = mark
        data[key] = _build(document, loader, value_node, child)
    return data


def _scalar(document: Document, loader: yaml.SafeLoader, node: yaml.Node, path: Path_) -> Any:
    if node.tag == "tag:yaml.org,2002:timestamp":
        return node.value
    try:
        return loader.construct_object(node)
    except (ValueError, OverflowError):
        raise document.error(path, f"'{str(node.value)[:40]}' is out of range") from None
