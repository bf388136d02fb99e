#!/usr/bin/env python3
"""Write small programs that show one effect of const-eval each.

    python -m scripts.models.cases OUT_FOLDER [NAME ...]
    python -m scripts.models.cases --list

Every program has a function `@main` and takes what its signature says. Integer inputs are row numbers:
each case says how many rows there are.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

VOCAB, HIDDEN, POSITIONS, BATCH = 2000, 64, 512, 8


@dataclass(frozen=True)
class Case:
    """A program, what it shows, and the bound of its integer inputs (None: it has none)."""

    name: str
    shows: str
    build: Callable[[], str]
    rows: int | None = None


def f32(count: int, seed: int) -> str:
    """The literal of `count` float32 values in [-1, 1)."""
    return _literal(np.random.default_rng(seed).uniform(-1, 1, count).astype(np.float32).tobytes())


def i8(count: int, seed: int) -> str:
    """The literal of `count` bytes, all values equally likely."""
    return _literal(np.random.default_rng(seed).bytes(count))


def i4(count: int, seed: int) -> str:
    """The literal of `count` four-bit integers, which MLIR spells as one byte each."""
    return _literal(np.random.default_rng(seed).integers(0, 16, count, dtype=np.uint8).tobytes())


def _literal(data: bytes) -> str:
    return f'"0x{data.hex().upper()}"'


def _affine(dims: str, results: str) -> str:
    return f"affine_map<({dims}) -> ({results})>"


def _generic(dims: str, ins: Sequence[tuple[str, str, str]], out: tuple[str, str], body: str) -> str:
    """An all-parallel linalg.generic over `dims`, without its result.

    ins: value, type and map results of each operand; out: type and map results. The body's block arguments are
    %a, %b, ... for the operands, and it yields its own value.
    """
    out_type, out_map = out
    maps = ", ".join(_affine(dims, m) for m in [*(m for _, _, m in ins), out_map])
    kinds = ", ".join(['"parallel"'] * len(dims.split(",")))
    given = f"ins({', '.join(v for v, _, _ in ins)} : {', '.join(t for _, t, _ in ins)})" if ins else ""
    names = [f"%{chr(ord('a') + i)}: {_element(t)}" for i, (_, t, _) in enumerate(ins)]
    return f"""linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
    {given} outs(%empty_{_suffix(out_type)} : {out_type}) {{
  ^bb0({", ".join([*names, f"%out: {_element(out_type)}"])}):
    {body}
  }} -> {out_type}"""


def _element(tensor_type: str) -> str:
    return tensor_type.removeprefix("tensor<").removesuffix(">").split("x")[-1]


def _suffix(tensor_type: str) -> str:
    return tensor_type.removeprefix("tensor<").removesuffix(">")


def _empties(*tensor_types: str) -> str:
    return "\n".join(f"  %empty_{_suffix(t)} = tensor.empty() : {t}" for t in tensor_types)


def _matmul(result: str, x: tuple[str, str], w: tuple[str, str], out_type: str) -> str:
    element = _element(out_type)
    return f"""  %zero = arith.constant 0.0 : {element}
  %filled = linalg.fill ins(%zero : {element}) outs(%empty_{_suffix(out_type)} : {out_type}) -> {out_type}
  {result} = linalg.matmul ins({x[0]}, {w[0]} : {x[1]}, {w[1]}) outs(%filled : {out_type}) -> {out_type}"""


def _rows(table: str, table_type: str, ids: str, count: int, hidden: int) -> str:
    """A gather of `count` rows, without its result."""
    types = f"({table_type}, tensor<{count}xi32>) -> tensor<{count}x{hidden}xf32>"
    return f'"stablehlo.torch_index_select"({table}, {ids}) <{{dim = 0 : i64, batch_dims = 0 : i64}}> : {types}'


# The tied embedding: a table that is gathered from and multiplied with

TABLE = f"tensor<{VOCAB}x{HIDDEN}xf32>"
TRANSPOSED = f"tensor<{HIDDEN}x{VOCAB}xf32>"


def tied_plain() -> str:
    logits = f"tensor<{BATCH}x{VOCAB}xf32>"
    x = f"tensor<{BATCH}x{HIDDEN}xf32>"
    return f"""func.func @main(%ids: tensor<{BATCH}xi32>, %x: {x}) -> ({x}, {logits}) {{
  %table = stablehlo.constant dense<{f32(VOCAB * HIDDEN, 1)}> : {TABLE}
  %rows = {_rows("%table", TABLE, "%ids", BATCH, HIDDEN)}
  %transposed = stablehlo.transpose %table, dims = [1, 0] : ({TABLE}) -> {TRANSPOSED}
  %logits = stablehlo.dot_general %x, %transposed, contracting_dims = [1] x [0] : ({x}, {TRANSPOSED}) -> {logits}
  return %rows, %logits : {x}, {logits}
}}
"""


def _tied_computed(element: str, compute: str) -> str:
    """`compute` makes %y of the `element` type from the table's %a, on its way to the transposed copy."""
    x, rows = f"tensor<{BATCH}x{HIDDEN}x{element}>", f"tensor<{BATCH}x{HIDDEN}xf32>"
    logits, copy = f"tensor<{BATCH}x{VOCAB}x{element}>", f"tensor<{HIDDEN}x{VOCAB}x{element}>"
    gather = f"""%row = arith.index_cast %a : i32 to index
    %column = linalg.index 1 : index
    %y = tensor.extract %table[%row, %column] : {TABLE}
    linalg.yield %y : f32"""
    transposing = f"""{compute}
    linalg.yield %y : {element}"""
    return f"""func.func @main(%ids: tensor<{BATCH}xi32>, %x: {x}) -> ({rows}, {logits}) {{
  %table = arith.constant dense<{f32(VOCAB * HIDDEN, 1)}> : {TABLE}
{_empties(rows, copy, logits)}
  %rows = {_generic("i, j", [("%ids", f"tensor<{BATCH}xi32>", "i")], (rows, "i, j"), gather)}
  %copy = {_generic("i, j", [("%table", TABLE, "j, i")], (copy, "i, j"), transposing)}
{_matmul("%logits", ("%x", x), ("%copy", copy), logits)}
  return %rows, %logits : {rows}, {logits}
}}
"""


def tied_scaled() -> str:
    return _tied_computed("f32", "%scale = arith.constant 1.250000e-01 : f32\n    %y = arith.mulf %a, %scale : f32")


def tied_f16() -> str:
    return _tied_computed("f16", "%y = arith.truncf %a : f32 to f16")


def tied_concat() -> str:
    x, rows = f"tensor<{BATCH}x{2 * HIDDEN}xf32>", f"tensor<{BATCH}x{HIDDEN}xf32>"
    logits, joined = f"tensor<{BATCH}x{VOCAB}xf32>", f"tensor<{2 * HIDDEN}x{VOCAB}xf32>"
    return f"""func.func @main(%ids: tensor<{BATCH}xi32>, %x: {x}) -> ({rows}, {logits}) {{
  %table = stablehlo.constant dense<{f32(VOCAB * HIDDEN, 1)}> : {TABLE}
  %block = stablehlo.constant dense<{f32(VOCAB * HIDDEN, 2)}> : {TRANSPOSED}
  %rows = {_rows("%table", TABLE, "%ids", BATCH, HIDDEN)}
  %transposed = stablehlo.transpose %table, dims = [1, 0] : ({TABLE}) -> {TRANSPOSED}
  %joined = stablehlo.concatenate %transposed, %block, dim = 0 : ({TRANSPOSED}, {TRANSPOSED}) -> {joined}
  %logits = stablehlo.dot_general %x, %joined, contracting_dims = [1] x [0] : ({x}, {joined}) -> {logits}
  return %rows, %logits : {rows}, {logits}
}}
"""


# Tables that grow with the context


def bert_positions() -> str:
    table, x = f"tensor<{POSITIONS}x{HIDDEN}xf32>", f"tensor<1x{POSITIONS}x{HIDDEN}xf32>"
    types = f"tensor<2x{HIDDEN}xf32>"
    return f"""func.func @main(%x: {x}) -> {x} {{
  %position_table = stablehlo.constant dense<{f32(POSITIONS * HIDDEN, 3)}> : {table}
  %type_table = stablehlo.constant dense<{f32(2 * HIDDEN, 4)}> : {types}
  %all = stablehlo.iota dim = 0 : tensor<{POSITIONS}xi32>
  %zeros = stablehlo.constant dense<0> : tensor<{POSITIONS}xi32>
  %positions = {_rows("%position_table", table, "%all", POSITIONS, HIDDEN)}
  %types = {_rows("%type_table", types, "%zeros", POSITIONS, HIDDEN)}
  %sum = stablehlo.add %positions, %types : {table}
  %batch = stablehlo.broadcast_in_dim %sum, dims = [1, 2] : ({table}) -> {x}
  %y = stablehlo.add %x, %batch : {x}
  return %y : {x}
}}
"""


def rope_table() -> str:
    table, x = f"tensor<{POSITIONS}x{HIDDEN}xf32>", f"tensor<{BATCH}x{POSITIONS}x{HIDDEN}xf32>"
    cosine = """%position = linalg.index 0 : index
    %integer = arith.index_cast %position : index to i32
    %float = arith.sitofp %integer : i32 to f32
    %angle = arith.mulf %float, %a : f32
    %cosine = math.cos %angle : f32
    linalg.yield %cosine : f32"""
    multiply = "%y = arith.mulf %a, %b : f32\n    linalg.yield %y : f32"
    return f"""func.func @main(%x: {x}) -> {x} {{
  %frequencies = arith.constant dense<{f32(HIDDEN, 5)}> : tensor<{HIDDEN}xf32>
{_empties(table, x)}
  %table = {_generic("i, j", [("%frequencies", f"tensor<{HIDDEN}xf32>", "j")], (table, "i, j"), cosine)}
  %y = {_generic("n, i, j", [("%x", x, "n, i, j"), ("%table", table, "i, j")], (x, "n, i, j"), multiply)}
  return %y : {x}
}}
"""


def many_tables() -> str:
    count, size = 8, 448
    row, table = f"tensor<{size}xf32>", f"tensor<{size}x{size}xf32>"
    lines = [f"func.func @main(%x0: {table}) -> {table} {{"]
    for i in range(count):
        lines += [
            f"  %row{i} = stablehlo.constant dense<{f32(size, 100 + i)}> : {row}",
            f"  %left{i} = stablehlo.broadcast_in_dim %row{i}, dims = [0] : ({row}) -> {table}",
            f"  %right{i} = stablehlo.broadcast_in_dim %row{i}, dims = [1] : ({row}) -> {table}",
            f"  %outer{i} = stablehlo.multiply %left{i}, %right{i} : {table}",
            f"  %table{i} = stablehlo.exponential %outer{i} : {table}",
            f"  %x{i + 1} = stablehlo.add %x{i}, %table{i} : {table}",
        ]
    return "\n".join([*lines, f"  return %x{count} : {table}", "}", ""])


# Weights


def dequantized_weight() -> str:
    size = 256
    x, quantized, weight = f"tensor<{BATCH}x{size}xf32>", f"tensor<{size}x{size}xi8>", f"tensor<{size}x{size}xf32>"
    scales = f"tensor<{size}xf32>"
    widen = """%float = arith.sitofp %a : i8 to f32
    %y = arith.mulf %float, %b : f32
    linalg.yield %y : f32"""
    operands = [("%quantized", quantized, "i, j"), ("%scales", scales, "j")]
    return f"""func.func @main(%x: {x}) -> {x} {{
  %quantized = arith.constant dense<{i8(size * size, 3)}> : {quantized}
  %scales = arith.constant dense<{f32(size, 4)}> : {scales}
{_empties(weight, x)}
  %weight = {_generic("i, j", operands, (weight, "i, j"), widen)}
{_matmul("%y", ("%x", x), ("%weight", weight), x)}
  return %y : {x}
}}
"""


def splat_weight() -> str:
    size = 256
    x, weight = f"tensor<{BATCH}x{size}xf32>", f"tensor<{size}x{size}xf32>"
    return f"""func.func @main(%x: {x}) -> {x} {{
  %weight = stablehlo.constant dense<1.250000e-01> : {weight}
  %y = stablehlo.dot_general %x, %weight, contracting_dims = [1] x [0] : ({x}, {weight}) -> {x}
  return %y : {x}
}}
"""


def parameters() -> str:
    x, logits = f"tensor<{BATCH}x{HIDDEN}xf32>", f"tensor<{BATCH}x{VOCAB}xf32>"
    scale = (
        "%scale = arith.constant 3.000000e-01 : f32\n    %y = arith.mulf %a, %scale : f32\n    linalg.yield %y : f32"
    )
    return f"""util.global private @table = #flow.parameter.named<"model"::"table"> : {TABLE}
util.global private @bias = #flow.parameter.named<"model"::"bias"> : tensor<{VOCAB}xf32>
func.func @main(%x: {x}) -> {logits} {{
  %table = util.global.load @table : {TABLE}
  %bias = util.global.load @bias : tensor<{VOCAB}xf32>
{_empties(TRANSPOSED, logits)}
  %copy = {_generic("i, j", [("%table", TABLE, "j, i")], (TRANSPOSED, "i, j"), scale)}
{_matmul("%product", ("%x", x), ("%copy", TRANSPOSED), logits)}
  %rows = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<{VOCAB}xf32>) -> {logits}
  %y = stablehlo.add %product, %rows : {logits}
  return %y : {logits}
}}
"""


# What the evaluating JIT refuses


def refused_i4() -> str:
    x, weight, wide = "tensor<32x32xf32>", "tensor<32x32xi4>", "tensor<32x32xf32>"
    xor = """%three = arith.constant 3 : i4
    %y = arith.xori %a, %three : i4
    linalg.yield %y : i4"""
    widen = "%y = arith.sitofp %a : i4 to f32\n    linalg.yield %y : f32"
    return f"""func.func @main(%x: {x}) -> {x} {{
  %packed = arith.constant dense<{i4(32 * 32, 6)}> : {weight}
{_empties(*dict.fromkeys([weight, wide, x]))}
  %flipped = {_generic("i, j", [("%packed", weight, "j, i")], (weight, "i, j"), xor)}
  %wide = {_generic("i, j", [("%flipped", weight, "i, j")], (wide, "i, j"), widen)}
{_matmul("%y", ("%x", x), ("%wide", wide), x)}
  return %y : {x}
}}
"""


def refused_complex() -> str:
    size = 16
    x, waves = f"tensor<{size}x{size}xf32>", f"tensor<{size}x{size}xcomplex<f32>>"
    return f"""func.func @main(%x: {x}) -> ({x}, {waves}) {{
  %re = stablehlo.constant dense<{f32(size * size, 7)}> : {x}
  %im = stablehlo.constant dense<{f32(size * size, 8)}> : {x}
  %z = stablehlo.complex %re, %im : {waves}
  %transposed = stablehlo.transpose %z, dims = [1, 0] : ({waves}) -> {waves}
  %waves = stablehlo.multiply %transposed, %z : {waves}
  %real = stablehlo.real %waves : ({waves}) -> {x}
  %y = stablehlo.add %x, %real : {x}
  return %y, %waves : {x}, {waves}
}}
"""


# How candidates hang together


def several_functions() -> str:
    x, weight = f"tensor<{BATCH}x{HIDDEN}xf32>", f"tensor<{HIDDEN}x{HIDDEN}xf32>"

    def user(name: str, op: str) -> str:
        return f"""func.func @{name}(%x: {x}) -> {x} {{
  %source = util.global.load @source : {weight}
  %transposed = stablehlo.transpose %source, dims = [1, 0] : ({weight}) -> {weight}
  %table = stablehlo.exponential %transposed : {weight}
  %product = stablehlo.dot_general %x, %table, contracting_dims = [1] x [0] : ({x}, {weight}) -> {x}
  %y = stablehlo.{op} %product, %x : {x}
  return %y : {x}
}}
"""

    table = f"util.global private @source = dense<{f32(HIDDEN * HIDDEN, 9)}> : {weight}\n"
    return table + user("main", "add") + user("other", "subtract")


def chain() -> str:
    x, table = f"tensor<{BATCH}x{HIDDEN}xf32>", f"tensor<{HIDDEN}x{HIDDEN}xf32>"
    product = "contracting_dims = [1] x [0]"
    return f"""func.func @main(%x: {x}) -> ({x}, {x}) {{
  %source = stablehlo.constant dense<{f32(HIDDEN * HIDDEN, 10)}> : {table}
  %first = stablehlo.dot_general %source, %source, {product} : ({table}, {table}) -> {table}
  %second = stablehlo.dot_general %first, %source, {product} : ({table}, {table}) -> {table}
  %y0 = stablehlo.dot_general %x, %first, {product} : ({x}, {table}) -> {x}
  %y1 = stablehlo.dot_general %x, %second, {product} : ({x}, {table}) -> {x}
  return %y0, %y1 : {x}, {x}
}}
"""


def user_initializer() -> str:
    x, table = f"tensor<{BATCH}x{HIDDEN}xf32>", f"tensor<{HIDDEN}x{HIDDEN}xf32>"
    product = "contracting_dims = [1] x [0]"
    return f"""util.global private @table : {table}
util.initializer {{
  %source = stablehlo.constant dense<{f32(HIDDEN * HIDDEN, 11)}> : {table}
  %transposed = stablehlo.transpose %source, dims = [1, 0] : ({table}) -> {table}
  %value = stablehlo.exponential %transposed : {table}
  util.global.store %value, @table : {table}
  util.return
}}
func.func @main(%x: {x}) -> {x} {{
  %table = util.global.load @table : {table}
  %shift = stablehlo.constant dense<{f32(HIDDEN * HIDDEN, 12)}> : {table}
  %cosine = stablehlo.cosine %shift : {table}
  %sum = stablehlo.add %table, %cosine : {table}
  %y = stablehlo.dot_general %x, %sum, {product} : ({x}, {table}) -> {x}
  return %y : {x}
}}
func.func @other(%x: {x}) -> {x} {{
  %table = util.global.load @table : {table}
  %y = stablehlo.dot_general %x, %table, {product} : ({x}, {table}) -> {x}
  return %y : {x}
}}
"""


def captured_value() -> str:
    x, table = f"tensor<{BATCH}x{POSITIONS}xf32>", f"tensor<{POSITIONS}xf32>"
    source = f"tensor<{HIDDEN}xf32>"
    capture = f"""%position = linalg.index 0 : index
    %place = arith.remui %position, %size : index
    %value = tensor.extract %source[%place] : {source}
    %y = math.sin %value : f32
    linalg.yield %y : f32"""
    multiply = "%y = arith.mulf %a, %b : f32\n    linalg.yield %y : f32"
    return f"""func.func @main(%x: {x}) -> {x} {{
  %source = arith.constant dense<{f32(HIDDEN, 13)}> : {source}
  %size = arith.constant {HIDDEN} : index
{_empties(table, x)}
  %table = {_generic("i", [], (table, "i"), capture)}
  %y = {_generic("n, i", [("%x", x, "n, i"), ("%table", table, "i")], (x, "n, i"), multiply)}
  return %y : {x}
}}
"""


def scalar() -> str:
    x, source = f"tensor<{HIDDEN}xf32>", f"tensor<{POSITIONS}xf32>"
    reduce = "applies stablehlo.add across dimensions = [0]"
    multiply = "%y = arith.mulf %a, %root : f32\n    linalg.yield %y : f32"
    return f"""func.func @main(%x: {x}) -> {x} {{
  %source = stablehlo.constant dense<{f32(POSITIONS, 14)}> : {source}
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%source init: %zero) {reduce} : ({source}, tensor<f32>) -> tensor<f32>
  %scalar = tensor.extract %sum[] : tensor<f32>
  %root = math.exp %scalar : f32
{_empties(x)}
  %y = {_generic("i", [("%x", x, "i")], (x, "i"), multiply)}
  return %y : {x}
}}
"""


CASES = tuple(
    Case(build.__name__, shows, build, rows)
    for build, rows, shows in [
        (tied_plain, VOCAB, "the tied embedding: absorbed at default flags, stored twice under data tiling"),
        (tied_scaled, VOCAB, "a scaled and transposed copy of a table that is also gathered from: stored twice"),
        (tied_f16, VOCAB, "a copy of half the size that cannot be turned back exactly: sharing is illegal"),
        (tied_concat, VOCAB, "a copy hidden in a concatenation"),
        (bert_positions, None, "evaluating makes the file smaller, since the sources die"),
        (rope_table, None, "a computed table that grows with the context; inlined, it fuses"),
        (dequantized_weight, None, "an i8 weight widened to f32: left for load time, packed under data tiling"),
        (many_tables, None, "eight tables, each within IREE's 1 MiB threshold: only a total sees them"),
        (splat_weight, None, "a splat that data tiling makes dense"),
        (parameters, None, "an expression on parameters: never evaluated"),
        (refused_i4, None, "an i4 result, which the evaluating JIT refuses"),
        (refused_complex, None, "complex numbers, which the evaluating JIT refuses"),
        (several_functions, None, "two functions that compute the same expression of one global"),
        (chain, None, "a candidate that reads another candidate's global"),
        (user_initializer, None, "the user's own initializer, read by two functions and by a candidate"),
        (captured_value, None, "a body that captures constants from outside its region"),
        (scalar, None, "a scalar result: evaluated or inlined, never initialized"),
    ]
)


def write(folder: Path, names: Sequence[str] = ()) -> list[Path]:
    """Writes the named cases (all, if none is named) as NAME.mlir and gives their paths.

    Raises ValueError for a name that is not a case.
    """
    known = {case.name: case for case in CASES}
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"no such case: {', '.join(unknown)}; there are {', '.join(known)}")
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in names or known:
        path = folder / f"{name}.mlir"
        path.write_text(known[name].build())
        paths.append(path)
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description="Write small programs that show one effect of const-eval each.")
    parser.add_argument("--list", action="store_true", help="say what each case shows, and write nothing")
    parser.add_argument("folder", type=Path, nargs="?", help="where to write them")
    parser.add_argument("names", nargs="*", help="which to write; default: all")
    arguments = parser.parse_args()
    if arguments.list:
        for case in CASES:
            print(f"{case.name:20} {case.shows}")
    elif arguments.folder is None:
        parser.error("say where to write them, or --list")
    else:
        try:
            write(arguments.folder, arguments.names)
        except ValueError as error:
            parser.error(str(error))


if __name__ == "__main__":
    main()
