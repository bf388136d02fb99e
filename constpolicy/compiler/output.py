"""Output files that are complete or as they were: written beside their place and renamed."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from constpolicy.records import ConstPolicyError


@contextmanager
def replacing(path: str) -> Iterator[str]:
    """Gives a path to write to; when the block ends without an exception, what was written takes `path`'s place.

    "-", devices, pipes and the like are written directly. A symbolic link keeps pointing to the file, which is
    replaced. The new file has the old one's permissions, or those of a newly created file.
    Raises ConstPolicyError if the folder does not exist or cannot be written to.
    """
    target = Path(os.path.realpath(path))
    if path == "-" or (target.exists() and not target.is_file()):
        yield path
        return
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".partial")
    except OSError as error:
        raise ConstPolicyError(f"cannot write {path}: {error.strerror}: {target.parent}") from None
    os.close(handle)
    try:
        yield temporary
        os.chmod(temporary, _permissions(target))
        os.replace(temporary, target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


def _permissions(target: Path) -> int:
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
