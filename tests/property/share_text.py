"""The text of a function, built op by op."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Shape = tuple[int, ...]
Array = npt.NDArray[np.generic]

DTYPES = {"f32": np.float32, "i32": np.int32, "f16": np.float16, "i8": np.int8}


def tensor(shape: Shape, element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


@dataclass
class Function:
    """A function under construction: lines of its body, arguments and results with their types and values."""

    name: str
    element: str
    rng: np.random.Generator
    lines: list[str] = field(default_factory=list)
    arguments: list[tuple[str, str]] = field(default_factory=list)
    inputs: list[Array] = field(default_factory=list)
    results: list[tuple[str, str]] = field(default_factory=list)

    def emit(self, op: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"    {name} = {op}")
        return name

    def constant(self, values: Array) -> str:
        data = values.tobytes().hex().upper()
        return self.emit(f'arith.constant dense<"0x{data}"> : {tensor(values.shape, self.element)}')

    def argument(self, values: Array, element: str) -> str:
        name = f"%a{len(self.arguments)}"
        self.arguments.append((name, tensor(values.shape, element)))
        self.inputs.append(values)
        return name

    def operand(self, shape: Shape) -> str:
        """An argument of random numbers."""
        return self.argument(numbers(self.rng, shape, self.element), self.element)

    def empty(self, shape: Shape) -> str:
        return self.emit(f"tensor.empty() : {tensor(shape, self.element)}")

    def zero(self) -> str:
        return self.emit(f"arith.constant {'0.0' if self.element[0] == 'f' else '0'} : {self.element}")

    def returns(self, value: str, shape: Shape) -> None:
        self.results.append((value, tensor(shape, self.element)))

    @property
    def sum(self) -> str:
        return "arith.addf" if self.element[0] == "f" else "arith.addi"

    def generic(self, inputs: list[tuple[str, str, Shape]], out: Shape, body: str, loops: int, reduced: int = 0) -> str:
        """A linalg.generic. `inputs` are value, map results and shape; the last loops are `reduced`."""
        dims = ", ".join(f"d{k}" for k in range(loops))
        outs = ", ".join(f"d{k}" for k in range(loops - reduced))
        maps = ", ".join(f"affine_map<({dims}) -> ({results})>" for results in (*(i[1] for i in inputs), outs))
        kinds = ", ".join(['"parallel"'] * (loops - reduced) + ['"reduction"'] * reduced)
        init = self.empty(out)
        if reduced:
            type = tensor(out, self.element)
            init = self.emit(f"linalg.fill ins({self.zero()} : {self.element}) outs({init} : {type}) -> {type}")
        values = ", ".join(i[0] for i in inputs)
        types = ", ".join(tensor(i[2], "i32" if i[0].startswith("%ids") else self.element) for i in inputs)
        ins = f" ins({values} : {types})" if inputs else ""
        elements = ("i32" if i[0].startswith("%ids") else self.element for i in inputs)
        block = "".join(f"%i{k}: {element}, " for k, element in enumerate(elements))
        result = tensor(out, self.element)
        return self.emit(
            f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}{ins}"
            f" outs({init} : {result}) {{\n    ^bb0({block}%o: {self.element}):\n{body}    }} -> {result}"
        )

    def text(self) -> str:
        arguments = ", ".join(f"{name}: {type}" for name, type in self.arguments)
        types = ", ".join(type for _, type in self.results)
        values = ", ".join(value for value, _ in self.results)
        body = "\n".join(self.lines)
        return f"  func.func @{self.name}({arguments}) -> ({types}) {{\n{body}\n    return {values} : {types}\n  }}\n"


def numbers(rng: np.random.Generator, shape: Shape, element: str) -> Array:
    if element[0] == "f":
        return rng.standard_normal(shape).astype(DTYPES[element])
    return rng.integers(-100, 100, shape).astype(DTYPES[element])
