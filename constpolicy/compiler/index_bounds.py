"""Which integer inputs are indices, and how far the tables reach that they are indices into.

An input counts if everything done with its values is known: they are handed on unchanged, used as an index, compared,
turned into floats or returned. The wrap-around that ONNX and Torch have for negative indices
(`select(x < 0, x + size, x)`) hands values on that are not negative. One unknown use, and nothing is claimed.

Does not handle: indices that are computed from the input, clamped ones among them; gathers that are ops of their own;
functions of several blocks.
"""

from __future__ import annotations

from collections import deque
from enum import Enum

from constpolicy.compiler.library import ir

_SAME_VALUES = frozenset(
    {
        "arith.extsi",
        "arith.extui",
        "arith.index_cast",
        "arith.index_castui",
        "arith.trunci",
        "hal.tensor.import",
        "linalg.broadcast",
        "linalg.copy",
        "linalg.transpose",
        "tensor.cast",
        "tensor.collapse_shape",
        "tensor.expand_shape",
        "tensor.extract_slice",
    }
)
_HARMLESS = frozenset(
    {
        "arith.cmpi",
        "arith.sitofp",
        "arith.uitofp",
        "hal.buffer_view.dim",
        "hal.tensor.export",
        "tensor.dim",
        "util.return",
    }
)


class _Role(Enum):
    SAME = "the input's values"
    NEGATIVE = "whether they are below zero"
    WRAPPED = "what they would be if they were"


class _UnknownUse(Exception):
    pass


def index_bounds(module: ir.Operation) -> dict[str, dict[int, int]]:
    """For each public function, the positions of its index inputs with the largest index each can take."""
    found: dict[str, dict[int, int]] = {}
    for op in module.regions[0].blocks[0].operations:
        if op.name != "util.func" or len(op.regions[0].blocks) != 1:
            continue
        visibility = op.attributes.get("sym_visibility")
        if visibility is not None and ir.StringAttr(visibility).value != "public":
            continue
        inputs = [a for a in op.regions[0].blocks[0].arguments if str(a.type) != "!hal.fence"]
        bounds = {position: most for position, value in enumerate(inputs) if (most := _most(value)) is not None}
        if bounds:
            found[ir.StringAttr(op.attributes["sym_name"]).value.removesuffix("$async")] = bounds
    return found


def _most(argument: ir.Value) -> int | None:
    """The largest index, or None if the argument is none or nothing can be said."""
    try:
        return _Uses(argument).follow()
    except _UnknownUse:
        return None


class _Uses:
    """Follows an argument's values through the function."""

    def __init__(self, argument: ir.Value) -> None:
        self._roles: dict[ir.Value, _Role] = {}
        self._queue: deque[ir.Value] = deque()
        self._open: set[ir.Operation] = set()  # selects that are reached, and may yet be the wrap-around
        self._most: int | None = None
        self._mark(argument, _Role.SAME)

    def follow(self) -> int | None:
        while self._queue:
            value = self._queue.popleft()
            for use in value.uses:
                self._visit(use.owner.operation, use.operand_number, self._roles[value])
        if self._open:
            raise _UnknownUse
        return self._most

    def _mark(self, value: ir.Value, role: _Role) -> None:
        if self._roles.setdefault(value, role) is not role:
            raise _UnknownUse
        if value not in self._queue:
            self._queue.append(value)

    def _visit(self, op: ir.Operation, operand: int, role: _Role) -> None:
        if op.name == "linalg.generic":
            self._once(op.regions[0].blocks[0].arguments[operand], role)
        elif op.name == "linalg.yield":
            parent = op.parent
            if parent is None or parent.name != "linalg.generic":
                raise _UnknownUse
            self._once(parent.results[operand], role)
        elif op.name == "arith.select":
            self._select(op)
        elif role is not _Role.SAME:
            if op.name not in _SAME_VALUES:
                raise _UnknownUse
            self._once(op.results[0], role)
        else:
            self._visit_same(op, operand)

    def _visit_same(self, op: ir.Operation, operand: int) -> None:
        if op.name == "tensor.extract":
            self._extract(op, operand)
        elif op.name in _SAME_VALUES and operand == 0:
            self._once(op.results[0], _Role.SAME)
        elif op.name == "arith.cmpi" and operand == 0 and _is_below_zero(op):
            self._once(op.results[0], _Role.NEGATIVE)
        elif op.name == "arith.addi":
            self._once(op.results[0], _Role.WRAPPED)
        elif op.name not in _HARMLESS:
            raise _UnknownUse

    def _extract(self, op: ir.Operation, operand: int) -> None:
        if operand == 0:  # one of the input's values
            self._once(op.results[0], _Role.SAME)
            return
        table = ir.RankedTensorType(op.operands[0].type)
        if table.is_dynamic_dim(operand - 1):
            raise _UnknownUse
        most = table.get_dim_size(operand - 1) - 1
        self._most = most if self._most is None else min(self._most, most)

    def _select(self, op: ir.Operation) -> None:
        condition, if_not = (self._roles.get(op.operands[position]) for position in (0, 2))
        if condition is _Role.NEGATIVE and if_not is _Role.SAME:
            self._open.discard(op)
            self._once(op.results[0], _Role.SAME)
        else:
            self._open.add(op)

    def _once(self, value: ir.Value, role: _Role) -> None:
        if self._roles.get(value) is not role:
            self._mark(value, role)


def _is_below_zero(op: ir.Operation) -> bool:
    """Whether the comparison is `x < 0`, signed."""
    other = op.operands[1].owner
    if isinstance(other, ir.Block) or other.name != "arith.constant":
        return False
    signed_less = 2
    value = other.attributes["value"]
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    return predicate == signed_less and isinstance(value, ir.IntegerAttr) and value.value == 0
