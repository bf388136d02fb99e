"""Which inputs are found to be indices, and how far: what the compile notes about a program's functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from constpolicy import driver
from constpolicy.compiler.flags import parse
from tests.e2e.programs import CPU

INPUT = "tensor<4xi64>"
GATHER = """
      %row{n} = tensor.empty() : tensor<4x8xf32>
      %out{n} = linalg.generic {{
          indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
          iterator_types = ["parallel", "parallel"]}}
          ins({index} : tensor<4xi64>) outs(%row{n} : tensor<4x8xf32>) {{
        ^bb0(%k: i64, %o: f32):
          %r = arith.index_cast %k : i64 to index
          %c = linalg.index 1 : index
          %v = tensor.extract %t{n}[%r, %c] : tensor<{rows}x8xf32>
          linalg.yield %v : f32
      }} -> tensor<4x8xf32>"""
ELEMENTWISE = """
      %e{n} = tensor.empty() : tensor<4x{type}>
      %x{n} = linalg.generic {{
          indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
          ins(%i : tensor<4xi64>) outs(%e{n} : tensor<4x{type}>) {{
        ^bb0(%v: i64, %o: {type}):
          {op}
          linalg.yield %r : {type}
      }} -> tensor<4x{type}>"""
PLUS_FIVE = "%five = arith.constant 5 : i64\n %r = arith.addi %v, %five : i64"
WRAPPED = """%zero = arith.constant 0 : i64
          %size = arith.constant 100 : i64
          %below = arith.cmpi slt, %v, %zero : i64
          %shifted = arith.addi %v, %size : i64
          %r = arith.select %below, %shifted, %v : i64"""
CHOSEN_OTHERWISE = WRAPPED.replace("slt", "sgt")
TO_FLOAT = "%r = arith.sitofp %v : i64 to f32"


def bounds(
    folder: Path, *body: str, tables: str = "tensor<100x8xf32>", result: str = "%out1"
) -> dict[str, dict[int, int]]:
    """The index bounds of a function of an index tensor and tables %t1, %t2."""
    names = ", ".join(f"%t{n}: {type_}" for n, type_ in enumerate(tables.split(), 1))
    head, end = f"func.func @main(%i: {INPUT}, {names}) -> tensor<4x8xf32>", f"return {result} : tensor<4x8xf32>"
    text = f"{head} {{{''.join(body)}\n{end}\n}}"
    file = folder / "program.mlir"
    file.write_text(text)
    compiled = driver.explain(parse([str(file), *CPU]), driver.UPSTREAM)
    assert compiled.exit_code == 0
    return {name: dict(of) for name, of in compiled.facts.index_bounds.items()}


def gather(number: int, rows: int, index: str = "%i") -> str:
    return GATHER.format(n=number, rows=rows, index=index)


def elementwise(op: str, type_: str = "i64", number: int = 9) -> str:
    return ELEMENTWISE.format(n=number, op=op, type=type_)


def test_a_row_number_goes_up_to_the_last_row(tmp_path: Path) -> None:
    assert bounds(tmp_path, gather(1, 100)) == {"main": {0: 99}}


def test_of_two_tables_the_smaller_counts(tmp_path: Path) -> None:
    both = gather(1, 100) + gather(2, 30)
    add = "\n %sum = arith.addf %out1, %out2 : tensor<4x8xf32>"
    found = bounds(tmp_path, both, add, tables="tensor<100x8xf32> tensor<30x8xf32>", result="%sum")
    assert found == {"main": {0: 29}}


def test_the_wrap_around_of_negative_indices_is_seen_through(tmp_path: Path) -> None:
    assert bounds(tmp_path, elementwise(WRAPPED), gather(1, 100, "%x9")) == {"main": {0: 99}}


def test_an_index_that_is_also_turned_into_a_float_is_still_one(tmp_path: Path) -> None:
    spread = """
      %wide = tensor.empty() : tensor<4x8xf32>
      %all = linalg.broadcast ins(%x9 : tensor<4xf32>) outs(%wide : tensor<4x8xf32>) dimensions = [1]
      %sum = arith.addf %out1, %all : tensor<4x8xf32>"""
    found = bounds(tmp_path, elementwise(TO_FLOAT, "f32"), gather(1, 100), spread, result="%sum")
    assert found == {"main": {0: 99}}


@pytest.mark.parametrize("op", [PLUS_FIVE, CHOSEN_OTHERWISE])
def test_of_an_index_that_is_computed_nothing_is_claimed(tmp_path: Path, op: str) -> None:
    assert bounds(tmp_path, elementwise(op), gather(1, 100, "%x9")) == {}


def test_one_unknown_use_beside_an_index_is_enough_to_claim_nothing(tmp_path: Path) -> None:
    found = bounds(
        tmp_path,
        elementwise(PLUS_FIVE) + gather(1, 100) + gather(2, 100, "%x9"),
        "\n %sum = arith.addf %out1, %out2 : tensor<4x8xf32>",
        tables="tensor<100x8xf32> tensor<100x8xf32>",
        result="%sum",
    )
    assert found == {}


def test_of_a_table_of_unknown_size_nothing_is_claimed(tmp_path: Path) -> None:
    body = gather(1, 100).replace("tensor<100x8xf32>", "tensor<?x8xf32>")
    assert bounds(tmp_path, body, tables="tensor<?x8xf32>") == {}
