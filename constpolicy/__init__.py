"""constpolicy: iree-compile, with a policy that decides what const-eval may store.

`compile_file` and `compile_str` mirror `iree.compiler.tools`; they are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from constpolicy.compiler.tools import compile_file, compile_str

__all__ = ["compile_file", "compile_str"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from constpolicy.compiler import tools

        return getattr(tools, name)
    raise AttributeError(f"module 'constpolicy' has no attribute '{name}'")
