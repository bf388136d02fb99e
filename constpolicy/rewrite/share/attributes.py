"""The attributes of tensor and linalg ops as Python values."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from iree.compiler import ir

from constpolicy.rewrite.share.refusal import Refusal


def shape_of(value: ir.Value) -> tuple[int, ...]:
    """The shape of a plain tensor of static shape; raises Refusal for anything else."""
    if not isinstance(value.type, ir.RankedTensorType):
        raise Refusal(f"{value.type} is no ranked tensor")
    if value.type.encoding is not None:
        raise Refusal(f"{value.type} has an encoding, whose layout is not known yet")
    if not value.type.has_static_shape:
        raise Refusal(f"the shape of {value.type} is not static")
    return tuple(value.type.shape)


def element_count(value: ir.Value) -> int:
    return prod(shape_of(value))


def integers(op: ir.Operation, name: str) -> list[int]:
    """An array of integers; empty if the op does not have it."""
    if name not in op.attributes:
        return []
    attribute = op.attributes[name]
    if isinstance(attribute, ir.ArrayAttr):
        return [ir.IntegerAttr(element).value for element in attribute]
    return list(ir.DenseI64ArrayAttr(attribute))


def is_static(numbers: list[int]) -> bool:
    """Whether none of the numbers stands for an operand."""
    return ir.ShapedType.get_dynamic_size() not in numbers


def indexing_maps(op: ir.Operation) -> list[ir.AffineMap]:
    return [ir.AffineMapAttr(attribute).value for attribute in ir.ArrayAttr(op.attributes["indexing_maps"])]


def loop_sizes(op: ir.Operation) -> list[int | None]:
    """How often each loop of a linalg op runs, as far as static operands tell."""
    maps = indexing_maps(op)
    sizes: list[int | None] = [None] * maps[0].n_dims
    for indexing_map, operand in zip(maps, op.operands, strict=True):
        shape = operand.type.shape if isinstance(operand.type, ir.RankedTensorType) else ()
        for expr, size in zip(indexing_map.results, shape, strict=True):
            if isinstance(expr, ir.AffineDimExpr) and size >= 0:
                sizes[expr.position] = size
    return sizes


def yielded(op: ir.Operation, result: int) -> ir.Value:
    """What the body of a linalg.generic yields for a result."""
    block = op.regions[0].blocks[0]
    return block.operations[len(block.operations) - 1].operands[result]


def defining_op(value: ir.Value) -> ir.Operation | None:
    """The op whose result the value is; None for a block argument."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def argument_position(value: ir.Value, block: ir.Block) -> int | None:
    """Which argument of the block the value is; None if it is none of them."""
    return next((k for k, argument in enumerate(block.arguments) if argument == value), None)


def uses_of(value: ir.Value) -> Iterator[tuple[ir.Operation, int]]:
    """The ops that use a value, each with the operand's position, as they are now."""
    for use in list(value.uses):
        yield use.owner.operation, use.operand_number
