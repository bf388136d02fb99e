"""The hand-written types for the IREE bindings describe what the bindings have."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

TYPINGS = Path(__file__).parents[2] / "typings"
# OpView and Operation have these; their common base is typed as if it had them, since it never occurs alone.
ON_BOTH_SUBCLASSES = {"operation", "opview", "successors"}
# Seen by type checkers, or set on instances only.
NOT_ON_THE_CLASS = {"__buffer__", "_session_p", "_inv_p", "_output_p", "_source_p", "device", "vm_instance"}
NOT_ON_THE_CLASS |= {"default_vm_modules"}


def module_name(stub: Path) -> str:
    return ".".join(stub.relative_to(TYPINGS).with_suffix("").parts).removesuffix(".__init__")


def declared(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


@pytest.mark.parametrize("stub", sorted(TYPINGS.rglob("*.pyi")), ids=module_name)
def test_every_declared_name_exists_in_the_installed_module(stub: Path) -> None:
    module = importlib.import_module(module_name(stub))
    tree = ast.parse(stub.read_text())
    missing = [name for name in declared(tree.body) if not hasattr(module, name)]
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name not in missing:
            of_the_class = getattr(module, node.name)
            names = set(declared(node.body)) - NOT_ON_THE_CLASS
            names -= ON_BOTH_SUBCLASSES if node.name == "_OperationBase" else set()
            missing += [f"{node.name}.{name}" for name in sorted(names) if not hasattr(of_the_class, name)]
    assert not missing
