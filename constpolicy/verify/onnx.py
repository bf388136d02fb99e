"""ONNX Runtime as what a build is compared with, and the import of .onnx files. Needs the extras of those names."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from constpolicy.records import ConstPolicyError
from constpolicy.verify.input_values import Array
from constpolicy.verify.record import FailureKind
from constpolicy.verify.run import RunError
from constpolicy.verify.signature import Signature


def import_model(path: Path, folder: Path) -> Path:
    """The .mlir that iree-import-onnx makes of the model, in the folder. Raises ConstPolicyError."""
    if importlib.util.find_spec("onnx") is None:
        raise ConstPolicyError(f"{path} is an ONNX model, and reading it needs onnx: pip install 'constpolicy[onnx]'")
    imported = folder / f"{path.stem}.mlir"
    command = [sys.executable, "-m", "iree.compiler.tools.import_onnx", str(path), "-o", str(imported)]
    ended = subprocess.run([*command, "--opset-version", "17"], capture_output=True, text=True)
    if ended.returncode != 0:
        lines = ended.stderr.strip().splitlines() or ["it said nothing"]
        raise ConstPolicyError(f"{path}: iree-import-onnx cannot import it: {lines[-1]}")
    return imported


class OnnxRuntime:
    """A model run by ONNX Runtime on the CPU, with its inputs and outputs in the order of the function's."""

    def __init__(self, model: Path, signature: Signature) -> None:
        # Not an import statement: the types have to check with and without onnxruntime, which brings none.
        try:
            library: Any = importlib.import_module("onnxruntime")
        except ImportError as error:
            hint = "pip install 'constpolicy[onnxruntime]'"
            raise ConstPolicyError(f"ONNX Runtime is not installed ({error}): {hint}") from error
        if not model.is_file():
            raise ConstPolicyError(f"{model}: there is no such file")
        options = library.SessionOptions()
        options.log_severity_level = 3  # errors
        try:
            self._session: Any = library.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has classes of its own for each status, with no common base
            raise ConstPolicyError(f"{model}: ONNX Runtime cannot load it: {_first_line(error)}") from error
        self._names = [value.name for value in self._session.get_inputs()]
        if len(self._names) != len(signature.inputs):
            raise ConstPolicyError(
                f"{model} takes {len(self._names)} inputs and @{signature.name} {len(signature.inputs)}: "
                "they are not the same model"
            )
        self._signature = signature

    def call(self, function: str, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        """The outputs; raises RunError if ONNX Runtime gives an error."""
        try:
            outputs = self._session.run(None, dict(zip(self._names, arrays, strict=True)))
        except Exception as error:
            raise RunError(FailureKind.ERROR, f"gave an error: {_first_line(error)}") from error
        results = self._signature.results
        if len(outputs) != len(results):
            raise RunError(FailureKind.SIGNATURE, f"gives {len(outputs)} outputs where the module has {len(results)}")
        return tuple(np.asarray(output) for output in outputs)

    def restart(self) -> None:
        """Nothing to do: it has no state."""


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
