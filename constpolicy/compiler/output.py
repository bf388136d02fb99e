"""Output files that are complete or as they were: written beside their place and renamed."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from constpolicy.records import ConstPolicyError


class CannotWrite(ConstPolicyError):
    """There is no place for the output."""


@dataclass(frozen=True)
class Replacement:
    """A file to be written at `path`, and then put in its place by `commit`."""

    path: str
    target: Path | None  # None: `path` is the place itself

    def commit(self) -> None:
        """Puts the file in its place, with the old one's permissions or those of a newly created file."""
        if self.target is not None:
            os.chmod(self.path, _permissions(self.target))
            os.replace(self.path, self.target)


@contextmanager
def replacing(path: str) -> Iterator[Replacement]:
    """Gives a place to write what is to become `path`; without a `commit`, the old file stays as it was.

    "-", devices, pipes and the like are written directly, and so is a file in a folder that takes no new ones. A
    symbolic link keeps pointing to the file, which is replaced. Raises CannotWrite.
    """
    if path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
        yield Replacement(path, None)
        return
    target = Path(os.path.realpath(path))
    try:
        folder = tempfile.mkdtemp(dir=target.parent, prefix=".constpolicy-", suffix=".partial")
    except OSError as error:
        if not os.access(target, os.W_OK):
            raise CannotWrite(f"cannot write {path}: {error.strerror}: {target.parent}") from None
        yield Replacement(path, None)
        return
    # A folder of its own, not an empty file: what is cut to nothing when it is opened, ext4 writes out when it is
    # closed, which takes longer.
    temporary = os.path.join(folder, target.name)
    try:
        yield Replacement(temporary, target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        os.rmdir(folder)


def _permissions(target: Path) -> int:
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
