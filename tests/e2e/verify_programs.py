"""Small programs for the tests of verify, compiled by the real iree-compile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

COMPILER = Path(sys.executable).with_name("iree-compile")
FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-input-demote-f64-to-f32=false",
)
FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("i4", "i8", "i16", "i32", "i64")
PASSED_THROUGH = ("f8E4M3FN", "f8E5M2", "ui8", "si16")


def compiled(folder: Path, name: str, text: str, *flags: str) -> Path:
    """The path of `name`.vmfb in the folder, compiled from MLIR text."""
    output = folder / f"{name}.vmfb"
    command = [str(COMPILER), "-", "-o", str(output), *FLAGS, *flags]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return output


def adds(element_type: str, constant: str, *, shape: str = "2x3x", name: str = "main", op: str = "arith.addf") -> str:
    """A function that adds a constant to its input."""
    tensor = f"tensor<{shape}{element_type}>"
    return f"""
        func.func @{name}(%x: {tensor}) -> {tensor} {{
          %c = arith.constant dense<{constant}> : {tensor}
          %0 = {op} %x, %c : {tensor}
          return %0 : {tensor}
        }}"""


def every_type(number: int) -> str:
    """A function for each element type, named after it, that adds the number (or, for i1, is its parity)."""
    functions = [adds(t, f"{number}.0", name=t) for t in FLOATS]
    functions += [adds(t, str(number), name=t, op="arith.addi") for t in INTEGERS]
    functions.append(adds("i1", "true" if number % 2 else "false", name="i1", op="arith.xori"))
    functions.append(_adds_complex(number))
    for type_ in PASSED_THROUGH:  # there is no arithmetic on these for the CPU: the number chooses the element
        functions.append(f"""
        func.func @{type_}(%x: tensor<4x{type_}>) -> tensor<1x{type_}> {{
          %0 = tensor.extract_slice %x[{number}] [1] [1] : tensor<4x{type_}> to tensor<1x{type_}>
          return %0 : tensor<1x{type_}>
        }}""")
    return "\n".join(functions)


def _adds_complex(number: int) -> str:
    return f"""
        func.func @complex(%x: tensor<6xcomplex<f32>>) -> tensor<6xcomplex<f32>> {{
          %e = tensor.empty() : tensor<6xcomplex<f32>>
          %c = complex.constant [{number}.0 : f32, 1.0 : f32] : complex<f32>
          %0 = linalg.generic {{
              indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}}
              ins(%x : tensor<6xcomplex<f32>>) outs(%e : tensor<6xcomplex<f32>>) {{
            ^bb0(%a: complex<f32>, %o: complex<f32>):
              %b = complex.add %a, %c : complex<f32>
              linalg.yield %b : complex<f32>
          }} -> tensor<6xcomplex<f32>>
          return %0 : tensor<6xcomplex<f32>>
        }}"""


ACCUMULATES = """
    util.global private mutable @sum = dense<0.0> : tensor<4xf32>
    func.func @add(%x: tensor<4xf32>) {
      %0 = util.global.load @sum : tensor<4xf32>
      %1 = arith.addf %0, %x : tensor<4xf32>
      util.global.store %1, @sum : tensor<4xf32>
      return
    }
    func.func @get() -> tensor<4xf32> {
      %0 = util.global.load @sum : tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
FORGETS = ACCUMULATES.replace("arith.addf %0, %x", "arith.maximumf %x, %x")


def reads_at(offset: int) -> str:
    """Two functions; @gather reads its table that far from where its indices point."""
    return f"""
    func.func @gather(%i: tensor<4xi64>, %t: tensor<16xf32>) -> tensor<4xf32> {{
      %e = tensor.empty() : tensor<4xf32>
      %offset = arith.constant {offset} : i64
      %0 = linalg.generic {{
          indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}}
          ins(%i : tensor<4xi64>) outs(%e : tensor<4xf32>) {{
        ^bb0(%x: i64, %o: f32):
          %y = arith.addi %x, %offset : i64
          %k = arith.index_cast %y : i64 to index
          %v = tensor.extract %t[%k] : tensor<16xf32>
          linalg.yield %v : f32
      }} -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }}""" + adds("f32", "1.0", name="other")


LOOPS_UNLESS_ZERO = """
    func.func @main(%n: tensor<i32>) -> tensor<i32> {
      %zero = arith.constant 0 : i32
      %one = arith.constant dense<1> : tensor<i32>
      %r = scf.while (%x = %n) : (tensor<i32>) -> tensor<i32> {
        %v = tensor.extract %x[] : tensor<i32>
        %p = arith.cmpi ne, %v, %zero : i32
        scf.condition(%p) %x : tensor<i32>
      } do {
      ^bb0(%y: tensor<i32>):
        %z = arith.muli %y, %one : tensor<i32>
        %w = arith.ori %z, %one : tensor<i32>
        scf.yield %w : tensor<i32>
      }
      return %r : tensor<i32>
    }"""

FILLS = """
    func.func @main(%n: index, %x: f32) -> tensor<?xf32> {
      %e = tensor.empty(%n) : tensor<?xf32>
      %0 = linalg.fill ins(%x : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""

SCALES_BY_PARAMETER = """
    util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<4xf32>
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %w = util.global.load @w : tensor<4xf32>
      %0 = arith.mulf %x, %w : tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
