"""What the benchmark finds, as data, as JSON and as a table."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

MIB = 1024 * 1024


@dataclass(frozen=True)
class Spread:
    """Median, least and most of several samples."""

    median: float
    min: float
    max: float

    @classmethod
    def of(cls, samples: Sequence[float]) -> Spread:
        return cls(statistics.median(samples), min(samples), max(samples))

    @classmethod
    def ratio(cls, samples: Sequence[float], baseline: Sequence[float]) -> Spread:
        """Of the ratios of samples taken in the same round, so that a busy moment counts for both."""
        return cls.of([s / b for s, b in zip(samples, baseline, strict=True)])


@dataclass(frozen=True)
class Measured:
    """A quantity, and its ratio to iree-compile's (less is better)."""

    value: Spread
    ratio: Spread

    @classmethod
    def of(cls, samples: Sequence[float], baseline: Sequence[float]) -> Measured:
        return cls(Spread.of(samples), Spread.ratio(samples, baseline))


@dataclass(frozen=True)
class Running:
    """The compiled module at work. Seconds; bytes that the process grew by at load."""

    load_seconds: Measured
    call_seconds: Measured
    resident_bytes: Spread
    difference: float  # largest absolute difference of the outputs to those of iree-compile's file; 0: the same bits


@dataclass(frozen=True)
class Row:
    """One tool on one model under one set of flags."""

    model: str
    flags: str
    tool: str
    bytes: int
    bytes_ratio: float
    identical: bool  # the file is iree-compile's, byte for byte
    compile_seconds: Measured
    peak_bytes: Measured
    running: Running | None = None


@dataclass(frozen=True)
class Failure:
    """What was not measured, and why."""

    model: str
    flags: str
    tool: str
    message: str


@dataclass(frozen=True)
class Results:
    rows: tuple[Row, ...]
    failures: tuple[Failure, ...]

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")


HEADERS = (
    "model",
    "flags",
    "tool",
    "bytes",
    "x",
    "same file",
    "compile s",
    "x",
    "peak MiB",
    "x",
    "load ms",
    "call ms",
    "x",
    "resident MiB",
    "outputs",
)


def cells(row: Row) -> tuple[str, ...]:
    """The row as the table shows it: medians, and ratios to iree-compile."""
    seconds, peak = row.compile_seconds, row.peak_bytes
    return (
        row.model,
        row.flags,
        row.tool,
        f"{row.bytes:,}",
        f"{row.bytes_ratio:.3f}",
        "yes" if row.identical else "no",
        f"{seconds.value.median:.2f}",
        f"{seconds.ratio.median:.3f}",
        f"{peak.value.median / MIB:.0f}",
        f"{peak.ratio.median:.3f}",
        *_running_cells(row.running),
    )


def _running_cells(running: Running | None) -> tuple[str, ...]:
    if running is None:
        return ("", "", "", "", "")
    call = running.call_seconds
    return (
        f"{running.load_seconds.value.median * 1e3:.2f}",
        f"{call.value.median * 1e3:.3f}",
        f"{call.ratio.median:.3f}",
        f"{running.resident_bytes.median / MIB:.1f}",
        "equal" if running.difference == 0 else f"{running.difference:.1e}",
    )


def table(rows: Sequence[Row]) -> str:
    """The rows in columns: the first three to the left, numbers to the right."""
    lines = [HEADERS, *map(cells, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADERS))]

    def text(line: Sequence[str]) -> str:
        padded = [c.ljust(w) if i < 3 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))]
        return "  ".join(padded).rstrip()

    return "\n".join(map(text, lines))
