"""Static quantisation to QDQ form by onnxruntime, which only this module needs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

from scripts.models.registry import Input

_SAMPLES = 4


class _RandomCalibration(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime has no types
    """A few seeded random samples: sizes and structure matter here, accuracy does not."""

    def __init__(self, inputs: tuple[Input, ...]) -> None:
        self._samples = self._make(inputs)

    def _make(self, inputs: tuple[Input, ...]) -> Iterator[dict[str, npt.NDArray[np.float32]]]:
        rng = np.random.default_rng(0)
        for _ in range(_SAMPLES):
            yield {i.name: rng.uniform(i.low, i.high, i.shape).astype(i.dtype) for i in inputs}

    def get_next(self) -> dict[str, npt.NDArray[np.float32]] | None:
        return next(self._samples, None)


def quantize(path: Path, quantized: Path, inputs: tuple[Input, ...]) -> None:
    """Quantises the .onnx file, weights per channel, and writes it to `quantized`."""
    reader = _RandomCalibration(inputs)
    quantize_static(str(path), str(quantized), reader, quant_format=QuantFormat.QDQ, per_channel=True)
