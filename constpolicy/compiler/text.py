"""IR as text for people: without the contents of large constants, which are never printed."""

from __future__ import annotations

from constpolicy.compiler.library import ir

_MOST_ELEMENTS = 8


def short_text(op: ir.Operation) -> str:
    """The op in MLIR's syntax, with constants of more than a few elements elided."""
    return op.get_asm(
        large_elements_limit=_MOST_ELEMENTS,
        large_resource_limit=_MOST_ELEMENTS,
        use_local_scope=True,
        assume_verified=True,
    )
