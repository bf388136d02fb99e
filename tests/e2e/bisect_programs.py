"""Programs with many candidates, and checks that look for the result of one in the compiled file."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

SIZE = 16
TABLE, ROW = f"tensor<{SIZE}x{SIZE}xi32>", f"tensor<{SIZE}xi32>"
_OUTER = "affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>"

ROPE = """
  %frequencies = arith.constant dense<[0.9, 0.7, 0.31, 0.11]> : tensor<4xf32>
  %e = tensor.empty() : tensor<256x4xf32>
  %cosines = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%frequencies : tensor<4xf32>) outs(%e : tensor<256x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %position = linalg.index 0 : index
    %integer = arith.index_cast %position : index to i32
    %float = arith.sitofp %integer : i32 to f32
    %angle = arith.mulf %float, %a : f32
    %cosine = math.cos %angle : f32
    linalg.yield %cosine : f32
  } -> tensor<256x4xf32>
  %rotated = arith.mulf %v, %cosines : tensor<256x4xf32>
"""


def row(number: int) -> npt.NDArray[np.int32]:
    return np.random.default_rng(number).integers(1, 40_000, SIZE, dtype=np.int32)


def products(count: int, rope: bool = False) -> str:
    """A function that adds so many tables, each the products of a row with itself, to its input.

    With `rope`, it multiplies another input by a table of cosines, too.
    """
    lines = []
    for k in range(count):
        lines.append(f"""
  %row{k} = arith.constant dense<{row(k).tolist()}> : {ROW}
  %empty{k} = tensor.empty() : {TABLE}
  %table{k} = linalg.generic {{indexing_maps = [{_OUTER}], iterator_types = ["parallel", "parallel"]}}
      ins(%row{k}, %row{k} : {ROW}, {ROW}) outs(%empty{k} : {TABLE}) {{
  ^bb0(%a: i32, %b: i32, %o: i32):
    %product = arith.muli %a, %b : i32
    linalg.yield %product : i32
  }} -> {TABLE}
  %x{k + 1} = arith.addi %x{k}, %table{k} : {TABLE}""")
    value = f"tensor<256x4xf32>, {TABLE}" if rope else TABLE
    results = f"%rotated, %x{count}" if rope else f"%x{count}"
    arguments = f"%v: tensor<256x4xf32>, %x0: {TABLE}" if rope else f"%x0: {TABLE}"
    body = (ROPE if rope else "") + "".join(lines)
    return f"func.func @main({arguments}) -> ({value}) {{{body}\n  return {results} : {value}\n}}\n"


def check_against(folder: Path, *numbers: int) -> str:
    """A command for --check that fails if the file holds all of these tables."""
    values = [np.outer(row(k), row(k)).astype(np.int32).tobytes().hex() for k in numbers]
    script = folder / "check.py"
    script.write_text(
        "import sys\n"
        "data = open(sys.argv[1], 'rb').read()\n"
        f"sys.exit(all(bytes.fromhex(value) in data for value in {json.dumps(values)}))\n"
    )
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(script))} {{vmfb}}"


def line_of(text: str, what: str) -> int:
    """The line, from 1, in which this stands first."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if what in line)
