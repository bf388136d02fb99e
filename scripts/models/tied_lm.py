"""A small decoder-only language model with tied embeddings, as an .onnx file with seeded random weights.

The graph is what exporters write for such models: rows gathered from the table, pre-norm blocks of causal
attention and GELU, and logits through a Transpose of the same table.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper


@dataclass(frozen=True)
class TiedLmConfig:
    """The size of the model. The defaults give 53 MB of weights, of which the table is 24.6 MB."""

    layers: int = 4
    seq: int = 64
    hidden: int = 384
    heads: int = 6
    vocab: int = 16000
    seed: int = 0


class _Graph:
    """Nodes and weights in the order in which they are made; every value is known by its name."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def node(self, op: str, *inputs: str, **attributes: int | list[int] | float) -> str:
        name = f"{op.lower()}_{len(self.nodes)}"
        node = helper.make_node(op, list(inputs), [name], name=name)
        node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        self.nodes.append(node)
        return name

    def constant(self, name: str, values: npt.NDArray[np.generic]) -> str:
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def random(self, name: str, *shape: int) -> str:
        noise = self.rng.standard_normal(shape, dtype=np.float32)
        return self.constant(name, noise * np.float32(shape[0] ** -0.5 if len(shape) == 2 else 0.02))

    def linear(self, x: str, name: str, size_in: int, size_out: int) -> str:
        product = self.node("MatMul", x, self.random(f"{name}.weight", size_in, size_out))
        return self.node("Add", product, self.random(f"{name}.bias", size_out))

    def norm(self, x: str, name: str, size: int) -> str:
        gamma = self.constant(f"{name}.weight", 1 + np.float32(0.02) * self.rng.standard_normal(size, np.float32))
        return self.node("LayerNormalization", x, gamma, self.random(f"{name}.bias", size), axis=-1, epsilon=1e-5)

    def scalar(self, name: str, value: float) -> str:
        return self.constant(name, np.array(value, dtype=np.float32))


def _attention(graph: _Graph, x: str, name: str, config: TiedLmConfig) -> str:
    size = config.hidden // config.heads
    split = graph.constant(f"{name}.split", np.array([1, config.seq, config.heads, size]))
    join = graph.constant(f"{name}.join", np.array([1, config.seq, config.hidden]))

    def heads(part: str, perm: list[int]) -> str:
        projected = graph.linear(x, f"{name}.{part}", config.hidden, config.hidden)
        return graph.node("Transpose", graph.node("Reshape", projected, split), perm=perm)

    scores = graph.node("MatMul", heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1]))
    scaled = graph.node("Mul", scores, graph.scalar(f"{name}.scale", size**-0.5))
    weights = graph.node("Softmax", graph.node("Add", scaled, "causal_mask"), axis=-1)
    mixed = graph.node("MatMul", weights, heads("value", [0, 2, 1, 3]))
    joined = graph.node("Reshape", graph.node("Transpose", mixed, perm=[0, 2, 1, 3]), join)
    return graph.linear(joined, f"{name}.output", config.hidden, config.hidden)


def _gelu(graph: _Graph, x: str, name: str) -> str:
    erf = graph.node("Erf", graph.node("Mul", x, graph.scalar(f"{name}.root", 0.5**0.5)))
    half = graph.node("Mul", x, graph.scalar(f"{name}.half", 0.5))
    return graph.node("Mul", half, graph.node("Add", erf, graph.scalar(f"{name}.one", 1.0)))


def _block(graph: _Graph, x: str, name: str, config: TiedLmConfig) -> str:
    hidden, inner = config.hidden, 4 * config.hidden
    attended = _attention(graph, graph.norm(x, f"{name}.norm1", hidden), f"{name}.attention", config)
    x = graph.node("Add", x, attended)
    wide = graph.linear(graph.norm(x, f"{name}.norm2", hidden), f"{name}.up", hidden, inner)
    return graph.node("Add", x, graph.linear(_gelu(graph, wide, name), f"{name}.down", inner, hidden))


def write(config: TiedLmConfig, path: Path) -> None:
    """Writes the model: input_ids i64 [1, seq], each in [0, vocab), to logits f32 [1, seq, vocab]."""
    graph = _Graph(config.seed)
    table = graph.random("embedding.weight", config.vocab, config.hidden)
    graph.constant("causal_mask", np.triu(np.full((config.seq, config.seq), -1e9, dtype=np.float32), 1))
    positions = graph.random("position.weight", config.seq, config.hidden)
    x = graph.node("Add", graph.node("Gather", table, "input_ids", axis=0), positions)
    for i in range(config.layers):
        x = _block(graph, x, f"layer{i}", config)
    x = graph.norm(x, "norm", config.hidden)
    logits = graph.node("MatMul", x, graph.node("Transpose", table, perm=[1, 0]))
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, config.seq])
    output = helper.make_tensor_value_info(logits, TensorProto.FLOAT, [1, config.seq, config.vocab])
    made = helper.make_graph(graph.nodes, "tied_lm", [ids], [output], graph.weights)
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
