"""The action `fuse`: the expression goes back to its readers unprotected.

DispatchCreation then fuses it into a consumer (gathers, elementwise chains, tables from iota), or, where nothing
takes it, hoists it again: computed at load time, as with `initialize`.
"""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir

from constpolicy.rewrite.inline import Loads, put_back


def fuse(initializer: ir.Operation, globals_by_name: Mapping[str, ir.Operation], loads: Loads) -> None:
    """Moves the body to every reader, without barriers, and erases the initializer and its globals."""
    put_back(initializer, globals_by_name, loads, barriers=False)
