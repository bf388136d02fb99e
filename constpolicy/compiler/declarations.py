"""What the program's functions take and return, in the form of `iree.abi.declaration`.

IREE stores that text in the module only for some input dialects; functions imported from ONNX or Torch have none.
"""

from __future__ import annotations

from collections.abc import Iterator

from constpolicy.compiler.library import ir


def declarations(module: ir.Operation) -> dict[str, str]:
    """Declarations of the public functions by name, read from the module after IREE's `abi` phase.

    Functions of several blocks, and those that only call their asynchronous version, are described by the latter or
    left out.
    """
    functions = {ir.StringAttr(op.attributes["sym_name"]).value: op for op in _public_functions(module)}
    found: dict[str, str] = {}
    for name, function in functions.items():
        body = functions.get(f"{name}$async", function)
        if (types := _types(body)) is not None:
            model = "async" if name.endswith("$async") else "sync"
            found[name] = _declaration(model, name, *types)
    return found


def _public_functions(module: ir.Operation) -> Iterator[ir.Operation]:
    for op in module.regions[0].blocks[0].operations:
        if op.name != "util.func" or len(op.regions[0].blocks) != 1:
            continue
        visibility = op.attributes.get("sym_visibility")  # absent on what is public
        if visibility is None or ir.StringAttr(visibility).value == "public":
            yield op.operation


def _types(function: ir.Operation) -> tuple[list[str], list[str]] | None:
    """The types of the inputs and outputs; None if one cannot be told."""
    block = function.regions[0].blocks[0]
    inputs = [_imported(argument) for argument in block.arguments if str(argument.type) != "!hal.fence"]
    terminator = block.operations[len(block.operations) - 1]
    outputs = [_exported(value) for value in terminator.operands]
    if None in inputs or None in outputs:
        return None
    return [text for text in inputs if text], [text for text in outputs if text]


def _imported(argument: ir.Value) -> str | None:
    if str(argument.type) != "!hal.buffer_view":
        return str(argument.type)
    for use in argument.uses:
        if use.owner.name == "hal.tensor.import":
            return str(use.owner.operation.results[0].type)
    return None  # nothing reads it


def _exported(value: ir.Value) -> str | None:
    if str(value.type) != "!hal.buffer_view":
        return str(value.type)
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "hal.tensor.export":
        return None
    return str(owner.operation.operands[0].type)


def _declaration(model: str, name: str, inputs: list[str], outputs: list[str]) -> str:
    takes = ", ".join(f"%input{index}: {text}" for index, text in enumerate(inputs))
    gives = ", ".join(f"%output{index}: {text}" for index, text in enumerate(outputs))
    return f"{model} func @{name}({takes}) -> ({gives})"
