"""Static quantisation to QDQ form by onnxruntime, which only this module needs."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from scripts.models.registry import Input

_SAMPLES = 4


class RandomCalibration:
    """A few seeded random samples: sizes and structure matter here, accuracy does not."""

    def __init__(self, inputs: tuple[Input, ...]) -> None:
        rng = np.random.default_rng(0)
        self._samples = iter(
            [{i.name: rng.uniform(i.low, i.high, i.shape).astype(i.dtype) for i in inputs} for _ in range(_SAMPLES)]
        )

    def get_next(self) -> dict[str, npt.NDArray[np.float32]] | None:
        return next(self._samples, None)


def quantize(path: Path, quantized: Path, inputs: tuple[Input, ...]) -> None:
    """Quantises the .onnx file, weights per channel, and writes it to `quantized`.

    Raises ImportError where onnxruntime is not installed.
    """
    # Not an import statement: the types have to check with and without onnxruntime, which brings none.
    library = importlib.import_module("onnxruntime.quantization")
    library.quantize_static(
        str(path),
        str(quantized),
        RandomCalibration(inputs),
        quant_format=library.QuantFormat.QDQ,
        per_channel=True,
    )
