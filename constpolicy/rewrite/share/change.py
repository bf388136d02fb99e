"""What a candidate does to its elements besides moving them, as far as a reader can undo it exactly.

A scale by a power of two and a cast to a narrower float are exact if every value survives them as a normal number:
`check` looks at the data. Everything else that computes is refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from iree.compiler import ir

from constpolicy.rewrite.share.attributes import argument_position, defining_op
from constpolicy.rewrite.share.floats import FORMATS, Numbers
from constpolicy.rewrite.share.refusal import Refusal


@dataclass(frozen=True)
class Scale:
    """A product with 2**exponent, in the element type `type`."""

    exponent: int
    type: str


@dataclass(frozen=True)
class Narrowing:
    """A cast from the float type `source` to `target`."""

    source: str
    target: str


@dataclass(frozen=True)
class Change:
    """The steps from a source's element to the result's, in their order."""

    steps: tuple[Scale | Narrowing, ...] = ()

    def then(self, later: Change) -> Change:
        return Change(self.steps + later.steps)


UNCHANGED = Change()


def change_in(op: ir.Operation, value: ir.Value) -> tuple[ir.Value, Change]:
    """The argument of a linalg.generic's body that `value` is made from, and how; raises Refusal."""
    steps: list[Scale | Narrowing] = []
    while (inner := defining_op(value)) is not None and inner.parent == op:
        value, step = _step(op, inner)
        steps.insert(0, step)
    return value, Change(tuple(steps))


def _step(op: ir.Operation, inner: ir.Operation) -> tuple[ir.Value, Scale | Narrowing]:
    """The operand that an op in the body changes, and the change."""
    if inner.name == "arith.truncf":
        source, target = str(inner.operands[0].type), str(inner.results[0].type)
        if source in FORMATS and target in FORMATS:
            return inner.operands[0], Narrowing(source, target)
    if inner.name in ("arith.mulf", "arith.divf"):
        factors = [_scalar(op, operand) for operand in inner.operands]
        position = 1 if factors[1] is not None else 0
        if inner.name == "arith.divf" and position == 0:
            raise Refusal("arith.divf divides a constant by its elements")
        if (exponent := _power_of_two(factors[position])) is not None and str(inner.results[0].type) in FORMATS:
            signed = exponent if inner.name == "arith.mulf" else -exponent
            return inner.operands[1 - position], Scale(signed, str(inner.results[0].type))
        raise Refusal(f"{inner.name} with anything but a power of two is not exactly invertible")
    raise Refusal(f"{inner.name} changes the values of its elements")


def _scalar(op: ir.Operation, value: ir.Value) -> float | None:
    """The number that a value in the body is on every iteration; None if it is not constant."""
    source = defining_op(value)
    if source is None:
        position = argument_position(value, op.regions[0].blocks[0])
        source = defining_op(op.operands[position]) if position is not None else None
    if source is None or source.name != "arith.constant":
        return None
    attribute = source.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat:
        attribute = attribute.get_splat_value()
    return attribute.value if isinstance(attribute, ir.FloatAttr) else None


def _power_of_two(factor: float | None) -> int | None:
    if factor is None or not math.isfinite(factor) or factor <= 0:
        return None
    mantissa, exponent = math.frexp(factor)
    return exponent - 1 if mantissa == 0.5 else None


def check(change: Change, numbers: Numbers) -> None:
    """Raises Refusal unless every number survives every step, and undoing the steps gives it back."""
    low, high, bits = numbers.lowest_exponent, numbers.highest_exponent, numbers.mantissa_bits
    for step in change.steps:
        if isinstance(step, Scale):
            low, high, format = low + step.exponent, high + step.exponent, FORMATS[step.type]
            what = f"a scale by 2**{step.exponent}"
            if not format.holds_exponents(-step.exponent, step.exponent):
                raise Refusal(f"{what} cannot be undone by one product in {step.type}")
        else:
            format, what = FORMATS[step.target], f"the cast from {step.source} to {step.target}"
            if bits > format.mantissa_bits:
                raise Refusal(f"{what} is not exactly invertible: it rounds some of the values")
        if not format.holds_exponents(low, high):
            raise Refusal(f"{what} is not exactly invertible: some of the values over- or underflow")


def undone(value: ir.Value, change: Change) -> ir.Value:
    """The source's element, computed from the result's at the insertion point, with the location in force."""
    for step in reversed(change.steps):
        if isinstance(step, Narrowing):
            wide = ir.Type.parse(step.source)
            value = ir.Operation.create("arith.extf", results=[wide], operands=[value]).results[0]
            continue
        attribute = ir.FloatAttr.get(value.type, 2.0**-step.exponent)
        factor = ir.Operation.create("arith.constant", results=[value.type], attributes={"value": attribute})
        product = ir.Operation.create("arith.mulf", results=[value.type], operands=[value, factor.results[0]])
        value = product.results[0]
    return value
