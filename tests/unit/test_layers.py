"""The layout holds: the package reads downwards, IREE stays where it belongs, and the command line starts fast."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "constpolicy"
LAYERS: tuple[str, ...] = ("records", "ddmin", "policy", "compiler", "candidates", "rewrite", "pipeline")
LAYERS += ("trials", "attempt", "driver", "verify", "report", "tune", "cli")
MODULES = sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = frozenset(module_name(path) for path in MODULES)


def imports(path: Path) -> Iterator[str]:
    """The full names of everything that the module imports, at its top or inside functions."""
    for node in ast.walk(ast.parse(path.read_text(), path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write imports in full, not relative"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_modules(path: Path) -> Iterator[str]:
    """The modules of this package that the module imports: `a.b.c` may name the module or something in `a.b`."""
    for name in imports(path):
        module = name if name in NAMES else name.rpartition(".")[0]
        if module in NAMES and module != module_name(path):
            yield module


def layer(module: str) -> int:
    """The position in LAYERS; what lies directly in the package and is no layer (the Python API) is above all."""
    name = module.removeprefix("constpolicy.").partition(".")[0]
    return LAYERS.index(name) if name in LAYERS else len(LAYERS)


def is_within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def test_a_module_imports_only_from_its_own_layer_and_those_before_it() -> None:
    too_late = [
        f"{module_name(path)} imports {name}"
        for path in MODULES
        for name in imported_modules(path)
        if layer(name) > layer(module_name(path))
    ]
    assert not too_late


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {module_name(path): set(imported_modules(path)) for path in MODULES}
    assert set(TopologicalSorter(graph).static_order()) == NAMES  # raises CycleError, which names the circle


def test_the_compiler_api_is_used_in_compiler_alone() -> None:
    elsewhere = [
        f"{module_name(path)} imports {name}"
        for path in MODULES
        for name in imports(path)
        if is_within(name, "iree.compiler") and not is_within(name, "iree.compiler.ir")
        if not is_within(module_name(path), "constpolicy.compiler")
    ]
    assert not elsewhere


def test_policy_and_records_know_no_iree() -> None:
    known = [
        f"{module_name(path)} imports {name}"
        for path in MODULES
        for name in imports(path)
        if is_within(module_name(path), "constpolicy.policy", "constpolicy.records") and is_within(name, "iree")
    ]
    assert not known


@pytest.mark.parametrize("module", ["constpolicy.cli.main", "constpolicy.cli.compile_main"])
def test_starting_the_command_line_loads_no_heavy_package(module: str) -> None:
    heavy = ("iree", "numpy", "pydantic", "yaml", "rich", "highspy")
    code = f"import sys, {module}; print(*(name for name in {heavy!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
