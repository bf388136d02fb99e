"""Random programs of several functions, each of which reads an expression on constants that some others share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from random import Random

import numpy as np

from tests.property.share_text import Array, Shape, numbers, tensor

ELEMENTS = ("f32", "f32", "f32", "i32", "i32", "i8", "i8", "i16", "i64", "f16", "bf16", "f64")
_BITS = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16, "i64": 64, "i32": 32, "i16": 16, "i8": 8}
_WIDE = {"f16": "f32", "bf16": "f32", "f64": "f32", "f32": "f32", "i8": "i32", "i16": "i32", "i64": "i32", "i32": "i32"}
_DTYPES = {"f64": np.float64, "i64": np.int64, "i16": np.int16}
MOST_ELEMENTS = 20_000


@dataclass(frozen=True)
class Value:
    name: str
    shape: Shape
    element: str

    @property
    def type(self) -> str:
        return tensor(self.shape, self.element)


@dataclass(frozen=True)
class RandomProgram:
    """MLIR text, and the inputs of each of its functions; in `rough` are those that compute in f16 or bf16."""

    text: str
    inputs: dict[str, list[Array]]
    rough: frozenset[str]


@dataclass(frozen=True)
class Table:
    """A constant that several functions may read: its elements as MLIR writes them."""

    data: str
    shape: Shape
    element: str


@dataclass
class Body:
    """A function under construction."""

    pick: Random
    rng: np.random.Generator
    tables: list[Table]
    lines: list[str] = field(default_factory=list)
    arguments: list[tuple[str, str]] = field(default_factory=list)
    inputs: list[Array] = field(default_factory=list)

    def emit(self, text: str, shape: Shape, element: str) -> Value:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"    {name} = {text}")
        return Value(name, shape, element)

    def scalar(self, number: float, element: str) -> str:
        text = f"{number:.4f}" if is_float(element) else str(int(number))
        return self.emit(f"arith.constant {text} : {element}", (), element).name

    def constant(self, shape: Shape, element: str) -> Value:
        """One that was there before if there is one of this type, or another; now and then a splat."""
        alike = [table for table in self.tables if (table.shape, table.element) == (shape, element)]
        if not alike or self.pick.random() < 0.5:
            alike = [Table(self._elements(shape, element), shape, element)]
            self.tables += alike
        table = self.pick.choice(alike)
        return self.emit(f"arith.constant dense<{table.data}> : {tensor(shape, element)}", shape, element)

    def _elements(self, shape: Shape, element: str) -> str:
        if self.pick.randint(0, 7) == 0:
            return "0.75" if is_float(element) else "3"
        if element == "bf16":
            data: Array = (numbers(self.rng, shape, "f32").view(np.uint32) >> 16).astype(np.uint16)
        elif element in _DTYPES:
            data = numbers(self.rng, shape, "f32" if is_float(element) else "i32").astype(_DTYPES[element])
        else:
            data = numbers(self.rng, shape, element)
        return f'"0x{data.tobytes().hex().upper()}"'

    def argument(self, shape: Shape, element: str) -> Value:
        return self.given(numbers(self.rng, shape, element), element)

    def given(self, values: Array, element: str) -> Value:
        name = f"%a{len(self.arguments)}"
        self.arguments.append((name, tensor(values.shape, element)))
        self.inputs.append(values)
        return Value(name, values.shape, element)

    def generic(
        self, inputs: list[tuple[Value, str]], shape: Shape, element: str, body: list[str], reduced: Shape = ()
    ) -> Value:
        """A linalg.generic over d0, d1, ... of which the last, `reduced` ones are summed up.

        Inputs come with the results of their maps; the body sees them as %i0, %i1, ..., and ends with %r.
        """
        init = self.emit(f"tensor.empty() : {tensor(shape, element)}", shape, element)
        if reduced:
            zero = self.scalar(0, element)
            fill = f"linalg.fill ins({zero} : {element}) outs({init.name} : {init.type}) -> {init.type}"
            init = self.emit(fill, shape, element)
        loops, outs = dims(len(shape) + len(reduced)), dims(len(shape))
        maps = ", ".join(f"affine_map<({loops}) -> ({read})>" for read in (*(read for _, read in inputs), outs))
        kinds = ", ".join(['"parallel"'] * len(shape) + ['"reduction"'] * len(reduced))
        ins = f" ins({', '.join(v.name for v, _ in inputs)} : {', '.join(v.type for v, _ in inputs)})" if inputs else ""
        block = "".join(f"%i{k}: {value.element}, " for k, (value, _) in enumerate(inputs))
        lines = "\n".join(f"      {line}" for line in (*body, f"linalg.yield %r : {element}"))
        return self.emit(
            f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}{ins}"
            f" outs({init.name} : {init.type}) {{\n    ^bb0({block}%o: {element}):\n{lines}\n    }} -> {init.type}",
            shape,
            element,
        )


def is_float(element: str) -> bool:
    return element[0] in "fb"


def dims(count: int) -> str:
    return ", ".join(f"d{k}" for k in range(count))


def same(value: Value) -> tuple[Value, str]:
    return value, dims(len(value.shape))


# Steps of an expression: each takes a value and gives another. Floats stay near one, so that errors do not grow.


def changed(body: Body, value: Value) -> Value:
    """Element by element."""
    e = value.element
    if not is_float(e):
        op = body.pick.choice(["arith.muli", "arith.xori", "arith.subi"])
        return body.generic([same(value)], value.shape, e, [f"%c = arith.constant 5 : {e}", f"%r = {op} %i0, %c : {e}"])
    op = body.pick.choice(["math.tanh", "math.cos", "arith.negf", "math.absf"])
    return body.generic([same(value)], value.shape, e, [f"%r = {op} %i0 : {e}"])


def combined(body: Body, value: Value) -> Value:
    """With another constant of the same shape, or one that is broadcast along the first dims."""
    e, shape = value.element, value.shape
    rank = body.pick.randint(1, len(shape))
    other = body.constant(shape[-rank:], e)
    read = ", ".join(f"d{k}" for k in range(len(shape) - rank, len(shape)))
    if is_float(e):
        op = body.pick.choice(["arith.addf", "arith.subf", "arith.maximumf"])
        lines = [f"%s = {op} %i0, %i1 : {e}", f"%half = arith.constant 0.5 : {e}", f"%r = arith.mulf %s, %half : {e}"]
    elif body.pick.random() < 0.5:
        lines = [f"%less = arith.cmpi slt, %i0, %i1 : {e}", f"%r = arith.select %less, %i0, %i1 : {e}"]
    else:
        lines = [f"%r = {body.pick.choice(['arith.addi', 'arith.muli'])} %i0, %i1 : {e}"]
    return body.generic([same(value), (other, read)], shape, e, lines)


def cast(body: Body, value: Value) -> Value:
    """To a wider type, or to one that is used for storage; integers to floats with a scale, as in quantized models."""
    e, to = value.element, body.pick.choice(["f32", "f16", "i32", "i8"])
    if is_float(e) and is_float(to) and e != to and _BITS[e] != _BITS[to]:
        op = "arith.extf" if _BITS[to] > _BITS[e] else "arith.truncf"
        return body.generic([same(value)], value.shape, to, [f"%r = {op} %i0 : {e} to {to}"])
    if not is_float(e) and not is_float(to) and e != to:
        op = "arith.extsi" if _BITS[to] > _BITS[e] else "arith.trunci"
        return body.generic([same(value)], value.shape, to, [f"%r = {op} %i0 : {e} to {to}"])
    return dequantized(body, value) if e == "i8" else value


def dequantized(body: Body, value: Value) -> Value:
    scales = body.constant(value.shape[:1], "f32")
    lines = ["%f = arith.sitofp %i0 : i8 to f32", "%c = arith.constant 0.01 : f32", "%s = arith.mulf %i1, %c : f32"]
    return body.generic([same(value), (scales, "d0")], value.shape, "f32", [*lines, "%r = arith.mulf %f, %s : f32"])


def transposed(body: Body, value: Value) -> Value:
    order = body.pick.sample(range(len(value.shape)), len(value.shape))
    shape = tuple(value.shape[k] for k in order)
    if body.pick.random() < 0.5:
        init = body.emit(f"tensor.empty() : {tensor(shape, value.element)}", shape, value.element)
        ins, outs = f"{value.name} : {value.type}", f"{init.name} : {init.type}"
        return body.emit(f"linalg.transpose ins({ins}) outs({outs}) permutation = {list(order)}", shape, value.element)
    read = ", ".join(f"d{order.index(k)}" for k in range(len(shape)))
    return body.generic(
        [(value, read)], shape, value.element, [f"%r = arith.bitcast %i0 : {value.element} to {value.element}"]
    )


def broadcast(body: Body, value: Value) -> Value:
    shape = (body.pick.choice([2, 3, 8]), *value.shape)
    if prod(shape) > MOST_ELEMENTS or len(shape) > 4:
        return value
    read = ", ".join(f"d{k + 1}" for k in range(len(value.shape)))
    e = value.element
    lines = ["%n = linalg.index 0 : index", "%w = arith.index_cast %n : index to i32"]
    if is_float(e):
        lines += [f"%f = arith.sitofp %w : i32 to {e}", f"%c = arith.constant 0.25 : {e}"]
        lines += [f"%s = arith.mulf %f, %c : {e}", f"%r = arith.addf %i0, %s : {e}"]
    else:
        convert = {"i32": "arith.addi %w, %zero", "i64": "arith.extsi %w"}.get(e, "arith.trunci %w")
        to = "" if e == "i32" else f" to {e}"
        lines += ["%zero = arith.constant 0 : i32", f"%s = {convert} : i32{to}", f"%r = arith.addi %i0, %s : {e}"]
    return body.generic([(value, read)], shape, e, lines)


def reduced(body: Body, value: Value) -> Value:
    """The mean (of floats) or the sum (of integers) along the last dim."""
    e, shape = value.element, value.shape
    if len(shape) < 2 or e in ("f16", "bf16", "f64"):
        return value
    if not is_float(e):
        return body.generic([same(value)], shape[:-1], e, [f"%r = arith.addi %i0, %o : {e}"], shape[-1:])
    lines = [f"%c = arith.constant {1 / shape[-1]:.8f} : {e}", f"%s = arith.mulf %i0, %c : {e}"]
    return body.generic([same(value)], shape[:-1], e, [*lines, f"%r = arith.addf %s, %o : {e}"], shape[-1:])


def gathered(body: Body, value: Value) -> Value:
    """Rows at constant places."""
    count = body.pick.choice([2, 5, 16])
    shape = (count, *value.shape[1:])
    if prod(shape) > MOST_ELEMENTS:
        return value
    places = body.rng.integers(0, value.shape[0], count).tolist()
    ids = body.emit(f"arith.constant dense<{places}> : tensor<{count}xi32>", (count,), "i32")
    return rows(body, value, ids, shape)


def rows(body: Body, value: Value, ids: Value, shape: Shape) -> Value:
    lines = ["%row = arith.index_cast %i0 : i32 to index"]
    lines += [f"%x{k} = linalg.index {k} : index" for k in range(1, len(shape))]
    places = ", ".join(["%row", *(f"%x{k}" for k in range(1, len(shape)))])
    lines.append(f"%r = tensor.extract {value.name}[{places}] : {value.type}")
    return body.generic([(ids, "d0")], shape, value.element, lines)


def concatenated(body: Body, value: Value) -> Value:
    dim = body.pick.randint(0, len(value.shape) - 1)
    size = body.pick.randint(1, 4)
    other = body.constant((*value.shape[:dim], size, *value.shape[dim + 1 :]), value.element)
    shape = (*value.shape[:dim], value.shape[dim] + size, *value.shape[dim + 1 :])
    first, second = (value, other) if body.pick.random() < 0.5 else (other, value)
    types = f"({first.type}, {second.type}) -> {tensor(shape, value.element)}"
    return body.emit(f"tensor.concat dim({dim}) {first.name}, {second.name} : {types}", shape, value.element)


def sliced(body: Body, value: Value) -> Value:
    offsets = [body.pick.randint(0, size - 1) for size in value.shape]
    shape = tuple(body.pick.randint(1, size - at) for size, at in zip(value.shape, offsets, strict=True))
    strides = [1] * len(shape)
    return body.emit(
        f"tensor.extract_slice {value.name}{offsets} {list(shape)} {strides}"
        f" : {value.type} to {tensor(shape, value.element)}",
        shape,
        value.element,
    )


def padded(body: Body, value: Value) -> Value:
    high = [body.pick.randint(0, 3) for _ in value.shape]
    shape = tuple(size + more for size, more in zip(value.shape, high, strict=True))
    fill = body.scalar(0.5 if is_float(value.element) else 7, value.element)
    block = ", ".join(f"%p{k}: index" for k in range(len(shape)))
    return body.emit(
        f"tensor.pad {value.name} low{[0] * len(shape)} high{high} {{\n    ^bb0({block}):\n"
        f"      tensor.yield {fill} : {value.element}\n    }} : {value.type} to {tensor(shape, value.element)}",
        shape,
        value.element,
    )


def collapsed(body: Body, value: Value) -> Value:
    if len(value.shape) < 2:
        return value
    shape = (value.shape[0] * value.shape[1], *value.shape[2:])
    groups = [[0, 1], *([k] for k in range(2, len(value.shape)))]
    types = f"{value.type} into {tensor(shape, value.element)}"
    return body.emit(f"tensor.collapse_shape {value.name} {groups} : {types}", shape, value.element)


def multiplied(body: Body, value: Value) -> Value:
    """By a constant matrix."""
    if len(value.shape) != 2 or value.element not in ("f32", "i32"):
        return value
    shape = (value.shape[0], body.pick.choice([4, 9]))
    return matmul(body, value, body.constant((value.shape[1], shape[1]), value.element), shape)


def matmul(body: Body, left: Value, right: Value, shape: Shape) -> Value:
    e = left.element
    zero, init = body.scalar(0, e), body.emit(f"tensor.empty() : {tensor(shape, e)}", shape, e)
    filled = body.emit(f"linalg.fill ins({zero} : {e}) outs({init.name} : {init.type}) -> {init.type}", shape, e)
    ins = f"ins({left.name}, {right.name} : {left.type}, {right.type})"
    product = body.emit(f"linalg.matmul {ins} outs({filled.name} : {filled.type}) -> {filled.type}", shape, e)
    if e != "f32":
        return product
    return body.generic([same(product)], shape, e, ["%c = arith.constant 0.1 : f32", "%r = arith.mulf %i0, %c : f32"])


Step = Callable[[Body, Value], Value]
STEPS: tuple[Step, ...] = (changed, combined, combined, cast, cast, transposed, transposed, broadcast, reduced)
STEPS += (gathered, concatenated, sliced, padded, collapsed, multiplied)


# Readers: each reads the expression together with an argument, and gives what the function returns


def adds_to_it(body: Body, value: Value) -> Value:
    add = "arith.addf" if is_float(value.element) else "arith.addi"
    both = [same(value), same(body.argument(value.shape, value.element))]
    return body.generic(both, value.shape, value.element, [f"%r = {add} %i0, %i1 : {value.element}"])


def multiplies_it(body: Body, value: Value) -> Value:
    if len(value.shape) != 2:
        return adds_to_it(body, value)
    return matmul(body, body.argument((3, value.shape[0]), value.element), value, (3, value.shape[1]))


def gathers_from_it(body: Body, value: Value) -> Value:
    ids = body.given(body.rng.integers(0, value.shape[0], 4).astype(np.int32), "i32")
    return rows(body, value, ids, (4, *value.shape[1:]))


def returns_it(body: Body, value: Value) -> Value:
    return value


READERS = (adds_to_it, adds_to_it, multiplies_it, gathers_from_it, returns_it)


def widened(body: Body, value: Value) -> Value:
    """As f32 or i32, which the functions take and give."""
    e, to = value.element, _WIDE[value.element]
    if e == to:
        return value
    words = ("arith.extf", "arith.truncf") if is_float(e) else ("arith.extsi", "arith.trunci")
    op = words[_BITS[e] > _BITS[to]]
    return body.generic([same(value)], value.shape, to, [f"%r = {op} %i0 : {e} to {to}"])


def random_program(seed: int, functions: int) -> RandomProgram:
    """A program of so many functions, f0, f1, ..."""
    pick, rng = Random(seed), np.random.default_rng(seed)
    tables: list[Table] = []
    texts, inputs = [], {}
    for number in range(functions):
        body = Body(pick, rng, tables)
        result = result_of(body)
        arguments = ", ".join(f"{name}: {type}" for name, type in body.arguments)
        lines = "\n".join(body.lines)
        texts.append(
            f"  func.func @f{number}({arguments}) -> {result.type} {{\n{lines}\n"
            f"    return {result.name} : {result.type}\n  }}\n"
        )
        inputs[f"f{number}"] = body.inputs
    rough = frozenset(name for name, text in zip(inputs, texts, strict=True) if "f16" in text)
    return RandomProgram("module {\n" + "".join(texts) + "}\n", inputs, rough)


def result_of(body: Body) -> Value:
    """A constant, often one that another function reads, some steps from it, and a reader of what comes out."""
    if body.tables and body.pick.random() < 0.5:
        table = body.pick.choice(body.tables)
        value = body.constant(table.shape, table.element)
    else:
        shape = tuple(body.pick.choice([3, 4, 8, 16, 24]) for _ in range(body.pick.randint(1, 3)))
        value = body.constant(shape, body.pick.choice(ELEMENTS))
    steps = body.pick.choices(STEPS, k=body.pick.randint(1, 5))
    fewer: list[list[Step]] = [[transposed], []]  # for which one copy may serve two readers
    for step in body.pick.choice([steps, steps, steps, *fewer]):
        value = step(body, value)
    return body.pick.choice(READERS)(body, widened(body, value))
