"""What a compiled module's functions take and return, read from the declarations that it carries.

A declaration is the text that iree-compile stores as `iree.abi.declaration`, for example
`sync func @main(%input0: tensor<?x4xf32>, %input1: i32) -> (%output0: tensor<?xf32>)`.

Does not handle, and says so by `unsupported`: opaque types (`!hal.buffer_view`, lists), elements below a byte (other
than 4-bit integers), functions without a declaration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from constpolicy.records import ConstPolicyError
from constpolicy.verify.element_types import ElementType, element_type

_HEAD = re.compile(r"(?P<model>\w+) func @(?P<name>.*?)\((?=%|\))")
_VALUE = re.compile(r"%(?P<name>[^:]+): (?P<type>.+?)(?P<attributes> \{.*\})?", re.DOTALL)
_SCALARS = frozenset({"i1", "i8", "i16", "i32", "i64", "index", "f16", "bf16", "f32", "f64"})


@dataclass(frozen=True)
class Value:
    """One argument or result. `shape` is None for a scalar; None within it is a dynamic dimension."""

    name: str
    text: str  # MLIR's spelling
    element: ElementType
    shape: tuple[int | None, ...] | None
    is_storage: bool = False  # an argument in which the module places a result

    @property
    def is_dynamic(self) -> bool:
        return self.shape is not None and None in self.shape


@dataclass(frozen=True)
class Signature:
    """One exported function. `unsupported` says why it cannot be called; then there may be values missing."""

    name: str
    declaration: str
    arguments: tuple[Value, ...] = ()
    results: tuple[Value, ...] = ()
    is_async: bool = False  # takes a fence to wait for and one to signal, after its arguments
    unsupported: str | None = field(default=None, compare=False)

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The arguments that carry data in."""
        return tuple(argument for argument in self.arguments if not argument.is_storage)


def signatures(declarations: Mapping[str, str]) -> dict[str, Signature]:
    """The functions by name, in the order given, from their declarations ("" if a function carries none).

    `f$async` is left out where `f` is there too: the latter calls the former and waits.
    """
    names = [name for name in declarations if not (name.endswith("$async") and name[:-6] in declarations)]
    return {name: parse(name, declarations[name]) for name in names}


def parse(name: str, declaration: str) -> Signature:
    """The signature that a declaration describes."""
    head = _HEAD.match(declaration)
    if head is None:
        return Signature(name, declaration, unsupported="the module does not say what it takes (iree.abi.declaration)")
    arguments, results = _lists(declaration[head.end() - 1 :])
    is_async = head["model"] == "async"
    try:
        takes = tuple(_value(part) for part in arguments)
        gives = tuple(_value(part) for part in results)
    except ConstPolicyError as error:
        return Signature(name, declaration, is_async=is_async, unsupported=str(error))
    return Signature(name, declaration, takes, gives, is_async)


def _lists(text: str) -> tuple[list[str], list[str]]:
    """The arguments and results of `(a, b) -> (c)`, still as text."""
    end = _closing(text)
    _, _, after = text[end:].partition(" -> ")
    return list(_split(text[1:end])), list(_split(after[1 : _closing(after)] if after else ""))


def _closing(text: str) -> int:
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return position
    return len(text)


def _split(text: str) -> Iterator[str]:
    """The parts between commas that stand in no brackets."""
    depth = start = 0
    for position, character in enumerate(text):
        depth += (character in "<({[") - (character in ">)}]")
        if character == "," and depth == 0:
            yield text[start:position].strip()
            start = position + 1
    if text[start:].strip():
        yield text[start:].strip()


def _value(text: str) -> Value:
    match = _VALUE.fullmatch(text)
    if match is None:
        raise ConstPolicyError(f"cannot read '{text}' in its declaration")
    name, type_text = match["name"], match["type"]
    is_storage = "iree.abi.output" in (match["attributes"] or "")
    try:
        element, shape = _type(type_text)
    except ConstPolicyError as error:
        raise ConstPolicyError(f"{name} is {type_text}: {error}") from error
    return Value(name, type_text, element, shape, is_storage)


def _type(text: str) -> tuple[ElementType, tuple[int | None, ...] | None]:
    if text in _SCALARS:
        return element_type(text), None
    if not (text.startswith("tensor<") and text.endswith(">")):
        raise ConstPolicyError("only tensors, integers and floats can be passed from here")
    inner = text[len("tensor<") : -1].split(",")[0].strip()  # after the comma: an encoding
    dimensions: list[int | None] = []
    while match := re.match(r"(\d+|\?)x", inner):
        dimensions.append(None if match[1] == "?" else int(match[1]))
        inner = inner[match.end() :]
    return element_type(inner), tuple(dimensions)
