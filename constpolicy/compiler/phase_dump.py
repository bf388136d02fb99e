"""`--dump-compilation-phases-to` for the phase that the policy extends: what is dumped is the IR after the policy."""

from __future__ import annotations

from pathlib import Path

from constpolicy.compiler.library import ir
from constpolicy.compiler.pass_options import quoted
from constpolicy.compiler.phases import HOISTING
from constpolicy.compiler.session import Session


class DelayedDump:
    """Between the end of IREE's own phase and `write`, nothing is dumped: the legs in between are ours."""

    def __init__(self, session: Session) -> None:
        """To be made right after the phase, whose dump it takes over."""
        self._session = session
        self._folder, session.dump_phases_to = session.dump_phases_to, None
        self._file = _newest(Path(self._folder)) if self._folder is not None else None

    def write(self, module: ir.Operation) -> None:
        """Dumps the module in place of what IREE dumped; from now on, phases are dumped again."""
        self._session.dump_phases_to = self._folder
        if self._file is not None:
            self._session.run_passes(module, f"iree-util-dump-module{{path={quoted(str(self._file))}}}")


def _newest(folder: Path) -> Path | None:
    """IREE names the file after the module or its source; the one written last is it."""
    dumps = sorted(folder.glob(f"*.{HOISTING}.mlir"), key=lambda file: file.stat().st_mtime_ns)
    return dumps[-1] if dumps else None
