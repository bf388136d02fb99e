"""The small programs: what can be said of them without compiling."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.models import cases


def test_writing_a_case_gives_the_same_text_every_time(tmp_path: Path) -> None:
    first = cases.write(tmp_path / "a", ["rope_table", "dequantized_weight"])
    second = cases.write(tmp_path / "b", ["rope_table", "dequantized_weight"])
    assert [path.read_text() for path in first] == [path.read_text() for path in second]


def test_without_names_every_case_is_written_under_its_own_name(tmp_path: Path) -> None:
    paths = cases.write(tmp_path)
    assert [path.stem for path in paths] == [case.name for case in cases.CASES]
    assert all("func.func @main(" in path.read_text() for path in paths)


def test_an_unknown_case_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no such case: rope; there are tied_plain, "):
        cases.write(tmp_path / "new", ["rope_table", "rope"])
    assert not (tmp_path / "new").exists()


def test_every_case_that_takes_row_numbers_says_how_many_rows_there_are() -> None:
    for case in cases.CASES:
        takes_integers = "i32>" in case.build().split("{", 1)[0].split("->")[0]
        assert takes_integers == (case.rows is not None), case.name
