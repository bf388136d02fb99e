"""Output files are complete or as they were."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from constpolicy.compiler.output import CannotWrite, replacing


def _write(path: str | Path, text: str, *, commit: bool = True) -> None:
    with replacing(str(path)) as output:
        Path(output.path).write_text(text)
        if commit:
            output.commit()


def test_a_committed_file_replaces_the_old_one_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    _write(path, "new")
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["out"]


def test_without_a_commit_everything_is_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    _write(path, "new", commit=False)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_an_exception_leaves_everything_as_it_was(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="stop"), replacing(str(tmp_path / "out")):
        raise ValueError("stop")
    assert os.listdir(tmp_path) == []


def test_a_new_file_has_the_permissions_that_the_mask_leaves(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        _write(tmp_path / "out", "new")
    finally:
        os.umask(mask)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o640


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.touch()
    path.chmod(0o604)
    _write(path, "new")
    assert path.stat().st_mode & 0o777 == 0o604


def test_a_symbolic_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "out").symlink_to("folder/file")
    _write(tmp_path / "out", "new")
    assert (tmp_path / "out").is_symlink()
    assert (tmp_path / "folder" / "file").read_text() == "new"
    assert os.listdir(tmp_path / "folder") == ["file"]


@pytest.mark.parametrize("path", ["-", "/dev/null"])
def test_what_is_no_file_is_written_directly(path: str) -> None:
    with replacing(path) as output:
        assert output.path == path
        output.commit()


def test_a_missing_folder_cannot_be_written_to(tmp_path: Path) -> None:
    with pytest.raises(CannotWrite, match="No such file or directory"), replacing(str(tmp_path / "missing" / "out")):
        pass


def test_a_name_of_the_greatest_length_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    _write(path, "new")
    assert path.read_text() == "new"
