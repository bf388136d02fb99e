"""Random programs in which a table is read as it is and through a chain of relayouts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np
from hypothesis import strategies as st

from tests.property.share_text import Array, Function, Shape, numbers, tensor

ROWS = 4  # that a gather takes


@dataclass(frozen=True)
class RandomProgram:
    """MLIR text, and the inputs of each of its functions."""

    text: str
    inputs: dict[str, list[Array]]


def dims(count: int) -> str:
    return ", ".join(f"d{k}" for k in range(count))


# Relayouts: each takes a value with its shape and gives another


def transposed(draw: st.DrawFn, f: Function, value: str, shape: Shape) -> tuple[str, Shape]:
    order = draw(st.permutations(range(len(shape))))
    new = tuple(shape[k] for k in order)
    if draw(st.booleans()):
        init = f.empty(new)
        return f.emit(
            f"linalg.transpose ins({value} : {tensor(shape, f.element)}) outs({init} : {tensor(new, f.element)})"
            f" permutation = {list(order)}"
        ), new
    read = ", ".join(f"d{order.index(k)}" for k in range(len(shape)))
    return f.generic([(value, read, shape)], new, f"      linalg.yield %i0 : {f.element}\n", len(shape)), new


def packed(draw: st.DrawFn, f: Function, value: str, shape: Shape) -> tuple[str, Shape]:
    positions = draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, max_size=2, unique=True))
    tiles = [draw(st.sampled_from([1, 2, 4, 8, 16])) for _ in positions]
    order = draw(st.permutations(range(len(shape))))
    outer = list(shape)
    for position, tile in zip(positions, tiles, strict=True):
        outer[position] = -(-outer[position] // tile)
    new = (*(outer[k] for k in order), *tiles)
    zero, init = f.zero(), f.empty(new)
    return f.emit(
        f"linalg.pack {value} padding_value({zero} : {f.element}) outer_dims_perm = {list(order)}"
        f" inner_dims_pos = {positions} inner_tiles = {tiles} into {init}"
        f" : {tensor(shape, f.element)} -> {tensor(new, f.element)}"
    ), new


def collapsed(draw: st.DrawFn, f: Function, value: str, shape: Shape) -> tuple[str, Shape]:
    first = draw(st.integers(0, len(shape) - 1))
    last = draw(st.integers(first, len(shape) - 1))
    groups = [[k] for k in range(first)] + [list(range(first, last + 1))]
    groups += [[k] for k in range(last + 1, len(shape))]
    new = tuple(prod(shape[k] for k in group) for group in groups)
    types = f"{tensor(shape, f.element)} into {tensor(new, f.element)}"
    return f.emit(f"tensor.collapse_shape {value} {groups} : {types}"), new


def expanded(draw: st.DrawFn, f: Function, value: str, shape: Shape) -> tuple[str, Shape]:
    at = draw(st.integers(0, len(shape) - 1))
    factor = draw(st.sampled_from([n for n in range(1, 9) if shape[at] % n == 0]))
    new = (*shape[:at], factor, shape[at] // factor, *shape[at + 1 :])
    groups = [[k] for k in range(at)] + [[at, at + 1]] + [[k] for k in range(at + 2, len(new))]
    types = f"{tensor(shape, f.element)} into {tensor(new, f.element)}"
    return f.emit(f"tensor.expand_shape {value} {groups} output_shape {list(new)} : {types}"), new


def padded(draw: st.DrawFn, f: Function, value: str, shape: Shape) -> tuple[str, Shape]:
    low = [draw(st.integers(0, 2)) for _ in shape]
    high = [draw(st.integers(0, 3)) for _ in shape]
    new = tuple(a + size + b for a, size, b in zip(low, shape, high, strict=True))
    zero = f.zero()
    block = ", ".join(f"%p{k}: index" for k in range(len(shape)))
    return f.emit(
        f"tensor.pad {value} low{low} high{high} {{\n    ^bb0({block}):\n      tensor.yield {zero} : {f.element}\n"
        f"    }} : {tensor(shape, f.element)} to {tensor(new, f.element)}"
    ), new


def concatenated(draw: st.DrawFn, f: Function, value: str, shape: Shape) -> tuple[str, Shape]:
    dim = draw(st.integers(0, len(shape) - 1))
    other = (*shape[:dim], draw(st.integers(1, 3)), *shape[dim + 1 :])
    more = f.constant(numbers(f.rng, other, f.element))
    new = (*shape[:dim], shape[dim] + other[dim], *shape[dim + 1 :])
    parts = [(value, shape), (more, other)]
    if draw(st.booleans()):
        parts.reverse()
    values = ", ".join(part for part, _ in parts)
    types = ", ".join(tensor(part, f.element) for _, part in parts)
    return f.emit(f"tensor.concat dim({dim}) {values} : ({types}) -> {tensor(new, f.element)}"), new


def scaled(draw: st.DrawFn, f: Function, value: str, shape: Shape) -> tuple[str, Shape]:
    if f.element != "f32":
        return value, shape
    factor = f.emit(f"arith.constant {draw(st.sampled_from([0.125, 0.5, 2.0, 64.0]))} : f32")
    body = f"      %s = arith.mulf %i0, {factor} : f32\n      linalg.yield %s : f32\n"
    return f.generic([(value, dims(len(shape)), shape)], shape, body, len(shape)), shape


RELAYOUTS = (transposed, transposed, packed, packed, collapsed, expanded, padded, concatenated, scaled)


# Readers: each reads the table and adds a result to its function


def gathers_rows(draw: st.DrawFn, f: Function, table: str, shape: Shape) -> None:
    ids = f.rng.integers(0, shape[0], (ROWS,)).astype(np.int32)
    name = f.argument(ids, "i32")
    f.lines.append(f"    %ids{name[1:]} = tensor.cast {name} : tensor<{ROWS}xi32> to tensor<{ROWS}xi32>")
    index = ", ".join(["%row", *(f"%c{k}" for k in range(1, len(shape)))])
    body = "      %row = arith.index_cast %i0 : i32 to index\n"
    body += "".join(f"      %c{k} = linalg.index {k} : index\n" for k in range(1, len(shape)))
    body += f"      %e = tensor.extract {table}[{index}] : {tensor(shape, f.element)}\n"
    body += f"      linalg.yield %e : {f.element}\n"
    out = (ROWS, *shape[1:])
    f.returns(f.generic([(f"%ids{name[1:]}", "d0", (ROWS,))], out, body, len(out)), out)


def gathers_rows_at_once(draw: st.DrawFn, f: Function, table: str, shape: Shape) -> None:
    """By one op, along the first or the first two dims."""
    depth = draw(st.integers(1, min(2, len(shape))))
    order = draw(st.permutations(range(depth)))
    columns = [f.rng.integers(0, shape[dim], (ROWS,)) for dim in order]
    ids, out = f.argument(np.stack(columns, axis=1).astype(np.int32), "i32"), (ROWS, *shape[depth:])
    types = f"{tensor(shape, f.element)}, tensor<{ROWS}x{depth}xi32>"
    init, type = f.empty(out), tensor(out, f.element)
    gather = f"iree_linalg_ext.gather dimension_map = {list(order)} ins({table}, {ids} : {types})"
    f.returns(f.emit(f"{gather} outs({init} : {type}) -> {type}"), out)


def takes_a_slice(draw: st.DrawFn, f: Function, table: str, shape: Shape) -> None:
    """At an offset that is known only at run time."""
    size = draw(st.integers(1, shape[0]))
    start = f.argument(np.array(int(f.rng.integers(0, shape[0] - size + 1)), dtype=np.int32), "i32")
    number = f.emit(f"tensor.extract {start}[] : tensor<i32>")
    offset = f.emit(f"arith.index_cast {number} : i32 to index")
    new = (size, *shape[1:])
    rest = len(shape) - 1
    part = f.emit(
        f"tensor.extract_slice {table}[{', '.join([offset, *['0'] * rest])}] {list(new)} {[1] * len(shape)}"
        f" : {tensor(shape, f.element)} to {tensor(new, f.element)}"
    )
    adds_to_it(draw, f, part, new)


def adds_to_it(draw: st.DrawFn, f: Function, value: str, shape: Shape) -> None:
    body = f"      %s = {f.sum} %i0, %i1 : {f.element}\n      linalg.yield %s : {f.element}\n"
    both = [(value, dims(len(shape)), shape), (f.operand(shape), dims(len(shape)), shape)]
    if draw(st.booleans()):
        both.reverse()
    f.returns(f.generic(both, shape, body, len(shape)), shape)


def adds_to_its_transpose(draw: st.DrawFn, f: Function, value: str, shape: Shape) -> None:
    """Through the operand's indexing map."""
    order = draw(st.permutations(range(len(shape))))
    new = tuple(shape[k] for k in order)
    read = ", ".join(f"d{order.index(k)}" for k in range(len(shape)))
    body = f"      %s = {f.sum} %i0, %i1 : {f.element}\n      linalg.yield %s : {f.element}\n"
    f.returns(f.generic([(value, read, shape), (f.operand(new), dims(len(new)), new)], new, body, len(new)), new)


def reads_it_in_two_ways(draw: st.DrawFn, f: Function, value: str, shape: Shape) -> None:
    """As an operand and, mirrored along the first dim, in the body of the same op."""
    body = f"      %last = arith.constant {shape[0] - 1} : index\n"
    body += "".join(f"      %n{k} = linalg.index {k} : index\n" for k in range(len(shape)))
    body += "      %m = arith.subi %last, %n0 : index\n"
    index = ", ".join(["%m", *(f"%n{k}" for k in range(1, len(shape)))])
    body += f"      %e = tensor.extract {value}[{index}] : {tensor(shape, f.element)}\n"
    body += f"      %s = {f.sum} %i0, %i1 : {f.element}\n      %t = {f.sum} %s, %e : {f.element}\n"
    body += f"      linalg.yield %t : {f.element}\n"
    both = [(value, dims(len(shape)), shape), (f.operand(shape), dims(len(shape)), shape)]
    f.returns(f.generic(both, shape, body, len(shape)), shape)


def reduces_it(draw: st.DrawFn, f: Function, value: str, shape: Shape) -> None:
    """Scaled by an argument first, or the sum would be constant."""
    product = "arith.mulf" if f.element[0] == "f" else "arith.muli"
    body = f"      %p = {product} %i0, %i1 : {f.element}\n      %s = {f.sum} %p, %o : {f.element}\n"
    body += f"      linalg.yield %s : {f.element}\n"
    out, loops = shape[:1], len(shape)
    both = [(value, dims(loops), shape), (f.operand(shape), dims(loops), shape)]
    f.returns(f.generic(both, out, body, loops, reduced=loops - 1), out)


def multiplies_it(draw: st.DrawFn, f: Function, value: str, shape: Shape) -> None:
    if len(shape) != 2:
        adds_to_it(draw, f, value, shape)
        return
    left, out = f.operand((3, shape[0])), (3, shape[1])
    type = tensor(out, f.element)
    init = f.emit(f"linalg.fill ins({f.zero()} : {f.element}) outs({f.empty(out)} : {type}) -> {type}")
    types = f"{tensor((3, shape[0]), f.element)}, {tensor(shape, f.element)}"
    f.returns(f.emit(f"linalg.matmul ins({left}, {value} : {types}) outs({init} : {type}) -> {type}"), out)


def returns_it(draw: st.DrawFn, f: Function, value: str, shape: Shape) -> None:
    f.returns(value, shape)


Reader = Callable[[st.DrawFn, Function, str, Shape], None]
READERS: tuple[Reader, ...] = (gathers_rows, gathers_rows_at_once, takes_a_slice, adds_to_it, adds_to_its_transpose)
READERS += (reads_it_in_two_ways, reduces_it, multiplies_it, returns_it)


def picks_elements(f: Function, value: str, shape: Shape) -> None:
    """Reads elements of a result at places that only the input knows, so that its layout has to exist."""
    places = np.stack([f.rng.integers(0, size, (64,)) for size in shape]).astype(np.int32)
    name = f.argument(places, "i32")
    body = "".join(f"      %n{k} = arith.constant {k} : index\n" for k in range(len(shape)))
    body += "      %at = linalg.index 0 : index\n"
    for k in range(len(shape)):
        body += f"      %g{k} = tensor.extract {name}[%n{k}, %at] : tensor<{len(shape)}x64xi32>\n"
        body += f"      %x{k} = arith.index_cast %g{k} : i32 to index\n"
    index = ", ".join(f"%x{k}" for k in range(len(shape)))
    body += f"      %e = tensor.extract {value}[{index}] : {tensor(shape, f.element)}\n"
    body += f"      linalg.yield %e : {f.element}\n"
    f.returns(f.generic([], (64,), body, 1), (64,))


@st.composite
def programs(draw: st.DrawFn) -> RandomProgram:
    """A table, a chain of relayouts whose result is read too, and readers of the table in one or two functions."""
    element = draw(st.sampled_from(["f32", "f32", "f32", "i32", "f16", "i8"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = tuple(draw(st.lists(st.sampled_from([1, 3, 4, 8, 12, 16, 24]), min_size=1, max_size=3)))
    shape = (*shape, draw(st.sampled_from([4, 16, 33])))
    values = numbers(rng, shape, element)
    main = Function("main", element, rng)
    table = main.constant(values)
    value, new = table, shape
    for relayout in draw(st.lists(st.sampled_from(RELAYOUTS), min_size=1, max_size=4)):
        if len(new) < 5 and prod(new) < 200_000:
            value, new = relayout(draw, main, value, new)
    picks_elements(main, value, new)
    if draw(st.booleans()):
        adds_to_it(draw, main, value, new)
    functions = [main]
    for reader in draw(st.lists(st.sampled_from(READERS), min_size=1, max_size=3)):
        if len(functions) == 1 and draw(st.booleans()):
            functions.append(Function("second", element, rng))
            table = functions[-1].constant(values)
        reader(draw, functions[-1], table, shape)
    text = "module {\n" + "".join(f.text() for f in functions) + "}\n"
    return RandomProgram(text, {f.name: f.inputs for f in functions})
