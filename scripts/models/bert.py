#!/usr/bin/env python3
"""Write a BertForMaskedLM program of any size, with seeded random weights, as MLIR bytecode.

    python -m scripts.models.bert --layers 12 --seq 512 -o bert.mlirbc

The structure is the one that TensorFlow's BERT has in StableHLO: word, position and token-type rows gathered
from their tables (the last two by constant ids), LayerNorm, attention layers with GELU, and a masked-LM head
whose decoder is the transposed word embedding. `@main` takes ids `tensor<1xSEQxi32>`, each in [0, VOCAB), and
gives logits `tensor<1xSEQxVOCABxf32>`.
"""

from __future__ import annotations

import argparse
import math
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from iree.compiler import ir

Shape = tuple[int, ...]
Floats = npt.NDArray[np.float64]

TOKEN_TYPES = 2
EPSILON = 1e-12


@dataclass(frozen=True)
class BertConfig:
    """The size of the model. The defaults are BERT-base: 109.5 million weights, 438 MB."""

    layers: int = 12
    seq: int = 512
    hidden: int = 768
    heads: int = 12
    vocab: int = 30522
    seed: int = 0

    def __post_init__(self) -> None:
        if self.hidden % self.heads:
            raise ValueError(f"hidden ({self.hidden}) must be a multiple of heads ({self.heads})")

    @property
    def head_size(self) -> int:
        return self.hidden // self.heads

    @property
    def positions(self) -> int:
        """Rows of the position table: a model is trained for 512, however few of them a program reads."""
        return max(512, self.seq)

    def weight_shapes(self) -> dict[str, Shape]:
        """Every weight by name, in the order in which the program uses them."""
        h, inner = self.hidden, 4 * self.hidden
        shapes: dict[str, Shape] = {
            "embeddings.word": (self.vocab, h),
            "embeddings.position": (self.positions, h),
            "embeddings.token_type": (TOKEN_TYPES, h),
        }

        def dense(name: str, size_in: int, size_out: int) -> None:
            shapes[f"{name}.kernel"] = (size_in, size_out)
            shapes[f"{name}.bias"] = (size_out,)

        def norm(name: str) -> None:
            shapes[f"{name}.gamma"] = (h,)
            shapes[f"{name}.beta"] = (h,)

        norm("embeddings.norm")
        for i in range(self.layers):
            for part in ("query", "key", "value", "output"):
                dense(f"layer{i}.attention.{part}", h, h)
            norm(f"layer{i}.attention.norm")
            dense(f"layer{i}.intermediate", h, inner)
            dense(f"layer{i}.output", inner, h)
            norm(f"layer{i}.norm")
        dense("head.transform", h, h)
        norm("head.norm")
        shapes["head.bias"] = (self.vocab,)
        return shapes

    def weight(self, name: str) -> npt.NDArray[np.float32]:
        """The weight of that name: the same for every program that has it at this shape and seed."""
        shape = self.weight_shapes()[name]
        noise = np.random.default_rng([self.seed, zlib.crc32(name.encode())]).standard_normal(shape, dtype=np.float32)
        # Kernels keep the variance of what passes through them, so that attention is far from uniform.
        rows = shape[0] if name.endswith(".kernel") else self.hidden
        noise *= np.float32(0.02 if len(shape) == 1 else rows**-0.5)
        if name.endswith(".gamma"):
            noise += 1
        return noise


@dataclass(frozen=True)
class Value:
    """An SSA value of f32 elements."""

    name: str
    shape: Shape

    @property
    def type(self) -> str:
        return tensor(self.shape)


def tensor(shape: Shape, element: str = "f32") -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


class ProgramText:
    """The text of `@main`, one op a line. A weight is a splat constant marked with its name, to be filled in later."""

    def __init__(self, config: BertConfig) -> None:
        self.config = config
        self.shapes = config.weight_shapes()
        self.lines: list[str] = []

    def emit(self, op: str, shape: Shape) -> Value:
        value = Value(f"%{len(self.lines)}", shape)
        self.lines.append(f"  {value.name} = {op}")
        return value

    def weight(self, name: str) -> Value:
        kind = tensor(self.shapes[name])
        op = f'"stablehlo.constant"() <{{value = dense<0.0> : {kind}}}> {{weight = "{name}"}} : () -> {kind}'
        return self.emit(op, self.shapes[name])

    def scalar(self, number: float) -> Value:
        bits = np.float32(number).view(np.uint32)
        return self.emit(f"stablehlo.constant dense<0x{bits:08X}> : tensor<f32>", ())

    def unary(self, op: str, x: Value) -> Value:
        return self.emit(f"{op} {x.name} : {x.type}" + (f" -> {x.type}" if op.startswith("chlo") else ""), x.shape)

    def binary(self, op: str, x: Value, y: Value) -> Value:
        """An elementwise op on `x` and a `y` that has the same shape, or its trailing part and is broadcast."""
        if y.shape != x.shape:
            y = self.broadcast(y, x.shape, range(len(x.shape) - len(y.shape), len(x.shape)))
        return self.emit(f"stablehlo.{op} {x.name}, {y.name} : {x.type}", x.shape)

    def broadcast(self, x: Value, shape: Shape, dims: range) -> Value:
        op = f"stablehlo.broadcast_in_dim {x.name}, dims = {list(dims)} : ({x.type}) -> {tensor(shape)}"
        return self.emit(op, shape)

    def reshape(self, x: Value, shape: Shape) -> Value:
        return self.emit(f"stablehlo.reshape {x.name} : ({x.type}) -> {tensor(shape)}", shape)

    def transpose(self, x: Value, dims: tuple[int, ...]) -> Value:
        shape = tuple(x.shape[d] for d in dims)
        return self.emit(f"stablehlo.transpose {x.name}, dims = {list(dims)} : ({x.type}) -> {tensor(shape)}", shape)

    def matmul(self, x: Value, y: Value) -> Value:
        """The product over the last dimension of `x` and the last but one of `y`; the leading ones are batches."""
        batches = list(range(len(x.shape) - 2))
        shape = (*x.shape[:-1], y.shape[-1])
        batching = f"batching_dims = {batches} x {batches}, " if batches else ""
        contracting = f"contracting_dims = [{len(x.shape) - 1}] x [{len(x.shape) - 2}]"
        op = f"stablehlo.dot_general {x.name}, {y.name}, {batching}{contracting} : ({x.type}, {y.type})"
        return self.emit(f"{op} -> {tensor(shape)}", shape)

    def reduce(self, op: str, x: Value, start: float) -> Value:
        """Reduces the last dimension and gives it back broadcast to the shape of `x`."""
        init, last = self.scalar(start), len(x.shape) - 1
        shape = x.shape[:-1]
        text = f"stablehlo.reduce({x.name} init: {init.name}) applies stablehlo.{op} across dimensions = [{last}]"
        reduced = self.emit(f"{text} : ({x.type}, tensor<f32>) -> {tensor(shape)}", shape)
        return self.broadcast(reduced, x.shape, range(last))

    def gather(self, table: Value, ids: str) -> Value:
        ids_type, shape = tensor((1, self.config.seq), "i32"), (1, self.config.seq, self.config.hidden)
        op = f'"stablehlo.torch_index_select"({table.name}, {ids}) <{{dim = 0 : i64, batch_dims = 0 : i64}}>'
        return self.emit(f"{op} : ({table.type}, {ids_type}) -> {tensor(shape)}", shape)

    def constant_ids(self, values: str) -> str:
        return self.emit(f"stablehlo.constant dense<{values}> : {tensor((1, self.config.seq), 'i32')}", ()).name


def _dense(text: ProgramText, x: Value, name: str) -> Value:
    """x [1, seq, in] -> [1, seq, out], over a matrix as Keras' tensordot does it."""
    kernel = text.weight(f"{name}.kernel")
    flat = text.matmul(text.reshape(x, x.shape[1:]), kernel)
    return text.binary("add", text.reshape(flat, (1, *flat.shape)), text.weight(f"{name}.bias"))


def _norm(text: ProgramText, x: Value, name: str) -> Value:
    size = text.scalar(x.shape[-1])
    mean = text.binary("divide", text.reduce("add", x, 0.0), size)
    centred = text.binary("subtract", x, mean)
    variance = text.binary("divide", text.reduce("add", text.binary("multiply", centred, centred), 0.0), size)
    scale = text.unary("stablehlo.rsqrt", text.binary("add", variance, text.scalar(EPSILON)))
    normal = text.binary("multiply", centred, scale)
    scaled = text.binary("multiply", normal, text.weight(f"{name}.gamma"))
    return text.binary("add", scaled, text.weight(f"{name}.beta"))


def _gelu(text: ProgramText, x: Value) -> Value:
    erf = text.unary("chlo.erf", text.binary("multiply", x, text.scalar(math.sqrt(0.5))))
    half = text.binary("multiply", x, text.scalar(0.5))
    return text.binary("multiply", half, text.binary("add", erf, text.scalar(1.0)))


def _softmax(text: ProgramText, x: Value) -> Value:
    exponential = text.unary(
        "stablehlo.exponential", text.binary("subtract", x, text.reduce("maximum", x, float("-inf")))
    )
    return text.binary("divide", exponential, text.reduce("add", exponential, 0.0))


def _attention(text: ProgramText, x: Value, name: str) -> Value:
    config = text.config

    def heads(part: str) -> Value:
        projected = _dense(text, x, f"{name}.{part}")
        split = text.reshape(projected, (1, config.seq, config.heads, config.head_size))
        return text.transpose(split, (0, 2, 1, 3))

    query, key, value = heads("query"), heads("key"), heads("value")
    scores = text.matmul(query, text.transpose(key, (0, 1, 3, 2)))
    weights = _softmax(text, text.binary("multiply", scores, text.scalar(config.head_size**-0.5)))
    joined = text.transpose(text.matmul(weights, value), (0, 2, 1, 3))
    output = _dense(text, text.reshape(joined, x.shape), f"{name}.output")
    return _norm(text, text.binary("add", output, x), f"{name}.norm")


def _embeddings(text: ProgramText, word: Value) -> Value:
    rows = text.gather(word, "%ids")
    positions = text.constant_ids(f"[{list(range(text.config.seq))}]")
    rows = text.binary("add", rows, text.gather(text.weight("embeddings.position"), positions))
    token_types = text.constant_ids("0")
    rows = text.binary("add", rows, text.gather(text.weight("embeddings.token_type"), token_types))
    return _norm(text, rows, "embeddings.norm")


def program_text(config: BertConfig) -> str:
    """The program in StableHLO, with a marked splat in the place of each weight."""
    text = ProgramText(config)
    word = text.weight("embeddings.word")
    x = _embeddings(text, word)
    for i in range(config.layers):
        x = _attention(text, x, f"layer{i}.attention")
        inner = _gelu(text, _dense(text, x, f"layer{i}.intermediate"))
        x = _norm(text, text.binary("add", _dense(text, inner, f"layer{i}.output"), x), f"layer{i}.norm")
    x = _norm(text, _gelu(text, _dense(text, x, "head.transform")), "head.norm")
    flat = text.matmul(text.reshape(x, x.shape[1:]), text.transpose(word, (1, 0)))
    logits = text.binary("add", text.reshape(flat, (1, *flat.shape)), text.weight("head.bias"))
    head = f"func.func @main(%ids: {tensor((1, config.seq), 'i32')}) -> {logits.type} {{"
    return "\n".join([head, *text.lines, f"  return {logits.name} : {logits.type}", "}", ""])


def write(config: BertConfig, path: Path) -> None:
    """Writes the program with its weights as dense_resource. Holds the weights in memory once."""
    from iree.compiler import ir  # large, and whoever needs only the weights or the reference does without it

    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(program_text(config))
        for op in _weights(module):
            name = ir.StringAttr(op.attributes["weight"]).value
            # The attribute borrows the array and keeps it alive: nothing is copied.
            weight = ir.DenseResourceElementsAttr.get_from_buffer(config.weight(name), name, op.results[0].type)
            op.attributes["value"] = weight
            del op.attributes["weight"]
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            module.operation.write_bytecode(file)


def _weights(module: ir.Module) -> list[ir.Operation]:
    """The constants that stand for weights."""
    body = module.body.operations[0].regions[0].blocks[0].operations
    return [op.operation for op in body if "weight" in op.attributes]


def reference(config: BertConfig, ids: npt.NDArray[np.int32]) -> Floats:
    """The logits [1, seq, vocab] of ids [1, seq], computed by numpy in float64."""

    def weight(name: str) -> Floats:
        return config.weight(name).astype(np.float64)

    def dense(x: Floats, name: str) -> Floats:
        return np.asarray(x @ weight(f"{name}.kernel") + weight(f"{name}.bias"))

    def norm(x: Floats, name: str) -> Floats:
        centred = x - x.mean(-1, keepdims=True)
        normal = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
        return np.asarray(normal * weight(f"{name}.gamma") + weight(f"{name}.beta"))

    def gelu(x: Floats) -> Floats:
        erf = np.vectorize(math.erf, otypes=[np.float64])
        return np.asarray(x * 0.5 * (1 + erf(x * math.sqrt(0.5))))

    def attention(x: Floats, name: str) -> Floats:
        def heads(part: str) -> Floats:
            projected = dense(x, f"{name}.{part}")
            return np.swapaxes(projected.reshape(len(x), config.heads, config.head_size), 0, 1)

        scores = heads("query") @ heads("key").swapaxes(1, 2) / math.sqrt(config.head_size)
        exponential = np.exp(scores - scores.max(-1, keepdims=True))
        weights = exponential / exponential.sum(-1, keepdims=True)
        joined = (weights @ heads("value")).swapaxes(0, 1).reshape(x.shape)
        return norm(dense(joined, f"{name}.output") + x, f"{name}.norm")

    word = weight("embeddings.word")
    rows = word[ids[0]] + weight("embeddings.position")[: config.seq] + weight("embeddings.token_type")[0]
    x = norm(rows, "embeddings.norm")
    for i in range(config.layers):
        x = attention(x, f"layer{i}.attention")
        inner = gelu(dense(x, f"layer{i}.intermediate"))
        x = norm(dense(inner, f"layer{i}.output") + x, f"layer{i}.norm")
    x = norm(gelu(dense(x, "head.transform")), "head.norm")
    return np.asarray((x @ word.T + weight("head.bias"))[np.newaxis])


def main() -> None:
    defaults = BertConfig()
    parser = argparse.ArgumentParser(description="Write a BertForMaskedLM program with seeded random weights.")
    for name in ("layers", "seq", "hidden", "heads", "vocab", "seed"):
        parser.add_argument(f"--{name}", type=int, default=getattr(defaults, name), help="default: %(default)s")
    parser.add_argument("-o", dest="output", type=Path, required=True, help="the .mlirbc file to write")
    arguments = vars(parser.parse_args())
    output = arguments.pop("output")
    write(BertConfig(**arguments), output)


if __name__ == "__main__":
    main()
