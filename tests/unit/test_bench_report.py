"""The benchmark's numbers: medians, ratios within a round, the table and the JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.bench_report import HEADERS, Failure, Measured, Results, Row, Running, Spread, cells, table


def _row(tool: str, running: Running | None = None) -> Row:
    seconds = Measured.of([2.0, 4.0, 6.0], [1.0, 4.0, 6.0])
    return Row("minilm", "default", tool, 22_961_781, 0.685, False, seconds, seconds, running)


def test_a_ratio_is_taken_between_runs_of_the_same_round() -> None:
    measured = Measured.of([1.0, 10.0, 3.0], [2.0, 5.0, 3.0])
    assert measured.value == Spread(3.0, 1.0, 10.0)
    assert measured.ratio == Spread(1.0, 0.5, 2.0)


def test_a_ratio_of_unequal_numbers_of_samples_is_an_error() -> None:
    with pytest.raises(ValueError, match="zip"):
        Measured.of([1.0, 2.0], [1.0])


def test_a_module_that_was_not_run_leaves_its_cells_empty() -> None:
    assert len(cells(_row("balanced"))) == len(HEADERS)
    assert cells(_row("balanced"))[-5:] == ("", "", "", "", "")


def test_outputs_are_called_equal_only_without_any_difference() -> None:
    seconds = Measured.of([0.001], [0.001])
    running = [Running(seconds, seconds, Spread.of([1024 * 1024]), difference) for difference in (0.0, 3.1e-6)]
    assert [cells(_row("small", r))[-1] for r in running] == ["equal", "3.1e-06"]


def test_the_table_has_one_line_a_row_in_columns_of_one_width() -> None:
    lines = table([_row("iree-compile"), _row("none")]).splitlines()
    assert len(lines) == 3
    position = lines[0].index("bytes") + len("bytes")
    assert all(line[:position].endswith(end) for line, end in zip(lines, ("bytes", "781", "781"), strict=True))


def test_the_json_holds_median_min_and_max_of_everything(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    Results((_row("small"),), (Failure("magika", "gdt", "fetch", "why"),)).write(path)
    content = json.loads(path.read_text())
    assert content["rows"][0]["compile_seconds"] == {
        "value": {"median": 4.0, "min": 2.0, "max": 6.0},
        "ratio": {"median": 1.0, "min": 1.0, "max": 2.0},
    }
    assert content["failures"] == [{"model": "magika", "flags": "gdt", "tool": "fetch", "message": "why"}]
