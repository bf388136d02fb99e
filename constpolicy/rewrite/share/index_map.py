"""Where the elements of one tensor lie in another: affine maps, simplified by what is known about their inputs.

The expressions and their composition are MLIR's own. MLIR does not know how large a dimension is; with that, most
divisions and remainders of a layout change fall away, which would otherwise stay in a program's innermost loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

from iree.compiler import ir

Expr = ir.AffineExpr


@dataclass(frozen=True)
class Inputs:
    """What the variables of an expression can be: dimension or symbol k is in [0, size k)."""

    dims: tuple[int, ...]
    symbols: tuple[int, ...] = ()


@dataclass(frozen=True)
class IndexMap:
    """For an index into a tensor of shape `inputs.dims`, the index of the same element in another tensor.

    Symbols stand for values that are known only when the program runs, such as the offsets of a slice.
    """

    inputs: Inputs
    results: tuple[Expr, ...]

    @staticmethod
    def identity(shape: Sequence[int]) -> IndexMap:
        inputs = Inputs(tuple(shape))
        return IndexMap(inputs, tuple(simplified(Expr.get_dim(k), inputs) for k in range(len(shape))))

    def then(self, results: Sequence[Expr]) -> IndexMap:
        """The map to a third tensor; `results` index it by this map's results as their dims."""
        own = ir.AffineMap.get(len(self.inputs.dims), len(self.inputs.symbols), list(self.results))
        return IndexMap(self.inputs, tuple(simplified(result.compose(own), self.inputs) for result in results))

    def of(self, inner: IndexMap) -> IndexMap:
        """The map from what `inner` is indexed by, to this map's tensor."""
        return inner.then(self.results)

    def ranges(self) -> list[tuple[int, int]]:
        """The least and the greatest value of each result."""
        return [value_range(result, self.inputs) for result in self.results]

    def at(self, index: Sequence[int]) -> tuple[int, ...]:
        """The other tensor's index for an index of integers; symbols count as 0."""
        return tuple(_value(result, index) for result in self.results)


def linear(index: Sequence[Expr], shape: Sequence[int]) -> Expr:
    """The row-major position of an index."""
    position = Expr.get_constant(0)
    for component, size in zip(index, shape, strict=True):
        position = position * size + component
    return position


def delinear(position: Expr, shape: Sequence[int]) -> list[Expr]:
    """The index at a row-major position of a non-empty shape."""
    index: list[Expr] = []
    stride = prod(shape)
    for size in shape:
        outer, stride = stride, stride // size
        index.append(Expr.get_floor_div(Expr.get_mod(position, outer), stride))
    return index


def reshaped(old: Sequence[int], new: Sequence[int]) -> list[Expr]:
    """For an index of shape `old`, the index of the same row-major position in shape `new`."""
    return delinear(linear([Expr.get_dim(k) for k in range(len(old))], old), new)


def dims_of(exprs: Sequence[Expr]) -> list[int | None]:
    """For each expression its position if it is a plain dim, else None."""
    downcast = [expr.maybe_downcast() for expr in exprs]
    return [expr.position if isinstance(expr, ir.AffineDimExpr) else None for expr in downcast]


def constant_of(expr: Expr) -> int | None:
    """The value of an expression that is a constant, else None."""
    downcast = expr.maybe_downcast()
    return downcast.value if isinstance(downcast, ir.AffineConstantExpr) else None


def simplified(expr: Expr, inputs: Inputs) -> Expr:
    """An equal expression with fewer divisions and remainders, for inputs within their sizes."""
    expr = expr.maybe_downcast()
    if not isinstance(expr, ir.AffineBinaryExpr):
        low, high = value_range(expr, inputs)
        return Expr.get_constant(low) if low == high else expr
    lhs = simplified(expr.lhs, inputs)
    if isinstance(expr, ir.AffineAddExpr):
        return _sum([*_terms(lhs), *_terms(simplified(expr.rhs, inputs))])
    factor = _constant_operand(expr)
    if isinstance(expr, ir.AffineMulExpr):
        return lhs * factor
    if isinstance(expr, ir.AffineFloorDivExpr):
        return _floor_div(lhs, factor, inputs)
    assert isinstance(expr, ir.AffineModExpr)
    return _mod(lhs, factor, inputs)


def value_range(expr: Expr, inputs: Inputs) -> tuple[int, int]:
    """The least and the greatest value (bounds, where terms depend on each other)."""
    expr = expr.maybe_downcast()
    if isinstance(expr, ir.AffineConstantExpr):
        return expr.value, expr.value
    if isinstance(expr, ir.AffineDimExpr):
        return 0, inputs.dims[expr.position] - 1
    if isinstance(expr, ir.AffineSymbolExpr):
        return 0, inputs.symbols[expr.position] - 1
    assert isinstance(expr, ir.AffineBinaryExpr)
    low, high = value_range(expr.lhs, inputs)
    if isinstance(expr, ir.AffineAddExpr):
        other_low, other_high = value_range(expr.rhs, inputs)
        return low + other_low, high + other_high
    factor = _constant_operand(expr)
    if isinstance(expr, ir.AffineMulExpr):
        return min(low * factor, high * factor), max(low * factor, high * factor)
    if isinstance(expr, ir.AffineFloorDivExpr):
        return low // factor, high // factor
    assert isinstance(expr, ir.AffineModExpr)
    return (low % factor, high % factor) if low // factor == high // factor else (0, factor - 1)


def _floor_div(expr: Expr, divisor: int, inputs: Inputs) -> Expr:
    quotient, rest = _split(expr, divisor)
    low, high = value_range(rest, inputs)
    if low // divisor == high // divisor:
        return quotient + low // divisor
    common, multiples, _ = _common_factor(rest, divisor, inputs)
    if common > 1:  # (common * x + r) floordiv (common * n) == x floordiv n
        return quotient + _floor_div(multiples, divisor // common, inputs)
    rest = rest.maybe_downcast()
    if isinstance(rest, ir.AffineFloorDivExpr):  # (x floordiv a) floordiv b
        return quotient + _floor_div(rest.lhs, _constant_operand(rest) * divisor, inputs)
    if isinstance(rest, ir.AffineModExpr) and _constant_operand(rest) % divisor == 0:  # (x mod a*b) floordiv b
        inner = _floor_div(rest.lhs, divisor, inputs)
        return quotient + _mod(inner, _constant_operand(rest) // divisor, inputs)
    return quotient + Expr.get_floor_div(rest, divisor)


def _mod(expr: Expr, divisor: int, inputs: Inputs) -> Expr:
    _, rest = _split(expr, divisor)
    low, high = value_range(rest, inputs)
    if low // divisor == high // divisor:
        return rest + -(low // divisor) * divisor
    common, multiples, remainder = _common_factor(rest, divisor, inputs)
    if common > 1:  # (common * x + r) mod (common * n) == common * (x mod n) + r
        return _mod(multiples, divisor // common, inputs) * common + remainder
    rest = rest.maybe_downcast()
    if isinstance(rest, ir.AffineModExpr) and _constant_operand(rest) % divisor == 0:  # (x mod a*b) mod b
        return _mod(rest.lhs, divisor, inputs)
    return Expr.get_mod(rest, divisor)


def _common_factor(expr: Expr, divisor: int, inputs: Inputs) -> tuple[int, Expr, Expr]:
    """`g`, `q` and `r` with expr == g * q + r and 0 <= r < g: the greatest such g that divides the divisor."""
    candidates = {gcd(divisor, factor) for _, factor in _terms(expr)}
    for common in sorted(candidates, reverse=True):
        multiples, remainder = _split(expr, common)
        low, high = value_range(remainder, inputs)
        if low >= 0 and high < common:
            return common, multiples, remainder
    return 1, expr, Expr.get_constant(0)


def _split(expr: Expr, divisor: int) -> tuple[Expr, Expr]:
    """`q` and `r` with expr == divisor * q + r: the terms that the divisor divides, and the others."""
    terms = _terms(expr)
    quotient = _sum([(term, factor // divisor) for term, factor in terms])
    return quotient, _sum([(term, factor % divisor) for term, factor in terms])


def _sum(terms: Sequence[tuple[Expr, int]]) -> Expr:
    """The sum of term * factor, with the two halves of a division put together: c*n*(x floordiv n) + c*(x mod n)."""
    factors: dict[Expr, int] = {}
    for term, factor in terms:
        factors[term] = factors.get(term, 0) + factor
    for term, factor in list(factors.items()):
        remainder = term.maybe_downcast()
        if isinstance(remainder, ir.AffineModExpr):
            divisor = _constant_operand(remainder)
            quotient = Expr.get_floor_div(remainder.lhs, divisor)
            if factor and factors.get(quotient) == factor * divisor:
                del factors[quotient], factors[term]
                for inner, inner_factor in _terms(remainder.lhs):
                    factors[inner] = factors.get(inner, 0) + inner_factor * factor
    total = Expr.get_constant(0)
    for term, factor in factors.items():
        total = total + term * factor
    return total


def _terms(expr: Expr) -> list[tuple[Expr, int]]:
    """The summands, each with its factor; a constant is a factor of 1."""
    expr = expr.maybe_downcast()
    if isinstance(expr, ir.AffineConstantExpr):
        return [(Expr.get_constant(1), expr.value)]
    if isinstance(expr, ir.AffineAddExpr):
        return _terms(expr.lhs) + _terms(expr.rhs)
    if isinstance(expr, ir.AffineMulExpr):
        outer = _constant_operand(expr)
        return [(term, factor * outer) for term, factor in _terms(expr.lhs)]
    return [(expr, 1)]


def _constant_operand(expr: ir.AffineBinaryExpr) -> int:
    """The right side of a product, quotient or remainder, which in the maps of static layouts is a constant."""
    operand = expr.rhs.maybe_downcast()
    assert isinstance(operand, ir.AffineConstantExpr), expr
    return operand.value


def _value(expr: Expr, index: Sequence[int]) -> int:
    expr = expr.maybe_downcast()
    if isinstance(expr, ir.AffineConstantExpr):
        return expr.value
    if isinstance(expr, ir.AffineDimExpr):
        return index[expr.position]
    if isinstance(expr, ir.AffineSymbolExpr):
        return 0
    assert isinstance(expr, ir.AffineBinaryExpr)
    lhs, rhs = _value(expr.lhs, index), _value(expr.rhs, index)
    if isinstance(expr, ir.AffineAddExpr):
        return lhs + rhs
    if isinstance(expr, ir.AffineMulExpr):
        return lhs * rhs
    return lhs // rhs if isinstance(expr, ir.AffineFloorDivExpr) else lhs % rhs
