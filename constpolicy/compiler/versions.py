"""What differs between the supported versions of IREE, and how the rest of the code is kept from noticing.

Supported are iree-base-compiler 3.6 to 3.13, and iree-compiler 20241104.1068 as far as it goes: the code is written for
the bindings of the newest, and what an older one lacks is added to it here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir
from iree.compiler.version import VERSION


@dataclass(frozen=True)
class _Missing:
    """A method or property that older bindings lack; `since` is the first supported version that has it."""

    owner: str
    name: str
    since: str
    works: Callable[..., Any] | property


def _attribute_names(attributes: ir.OpAttributeMap) -> Iterator[str]:
    return (attributes[position].name for position in range(len(attributes)))


def _attribute_or_default(
    attributes: ir.OpAttributeMap, name: str, default: ir.Attribute | None = None
) -> ir.Attribute | None:
    return attributes[name] if name in attributes else default  # noqa: SIM401  # this is how `get` comes to be


def _of_own_class(expr: ir.AffineExpr) -> ir.AffineExpr:
    for each in _EXPRESSIONS:
        own: Any = getattr(ir, each)
        if own.isinstance(expr):
            return own(expr)  # type: ignore[no-any-return]
    return expr


def _block_of(op: ir.Operation) -> ir.Block:
    return ir.InsertionPoint(op).block


def _comes_before(op: ir.Operation, other: ir.Operation) -> bool:
    either = {op.operation, other.operation}
    first = next(each.operation for each in op.operation.block.operations if each.operation in either)
    return bool(first == op.operation) and op.operation != other.operation


_EXPRESSIONS = (
    "AffineDimExpr",
    "AffineSymbolExpr",
    "AffineConstantExpr",
    "AffineAddExpr",
    "AffineMulExpr",
    "AffineModExpr",
    "AffineFloorDivExpr",
    "AffineCeilDivExpr",
)
_MISSING = (
    _Missing("OpAttributeMap", "get", "3.11", _attribute_or_default),
    _Missing("OpAttributeMap", "__iter__", "3.9", _attribute_names),
    _Missing("AffineExpr", "maybe_downcast", "3.11", _of_own_class),
    _Missing("Operation", "block", "3.6", property(_block_of)),
    _Missing("Operation", "is_before_in_block", "3.7", _comes_before),
    _Missing("OpView", "is_before_in_block", "3.7", _comes_before),
)


_RENAMED = {"tensor.pack": "linalg.pack", "tensor.unpack": "linalg.unpack"}  # by 3.6


def newest_name(op_name: str) -> str:
    """What the newest version calls this op."""
    return _RENAMED.get(op_name, op_name)


def complete_bindings() -> None:
    """Adds to the classes of `iree.compiler.ir` what this version of the bindings leaves out.

    Before 3.0 they enter a diagnostic handler without the interpreter's lock, and the process crashes: there, the
    compiler's own printing is all that sees diagnostics.
    """
    for missing in _MISSING:
        owner = getattr(ir, missing.owner)
        if not hasattr(owner, missing.name):
            setattr(owner, missing.name, missing.works)
    if installed() < (3, 0):
        for context in ir.Context.__mro__[:-1]:  # the library's own contexts are of the base class
            setattr(context, "attach_diagnostic_handler", _attach_nothing)  # noqa: B010  # mypy rejects the plain form


def installed() -> tuple[int, ...]:
    """The version of the compiler, as (major, minor); snapshots from before 3.0, named by their date, as (0, 0)."""
    numbers = tuple(int(digits) for digits in re.findall(r"\d+", VERSION)[:2])
    return numbers if numbers < _FIRST_DATE else (0, 0)


_FIRST_DATE = (2000, 0)


class _Nothing:
    """Stands for a diagnostic handler that was not attached."""

    def detach(self) -> None:
        """There is nothing to detach."""


def _attach_nothing(context: ir.Context, callback: Callable[[ir.Diagnostic], bool]) -> _Nothing:
    return _Nothing()
