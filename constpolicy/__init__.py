"""constpolicy: iree-compile, with a policy that decides what const-eval may store.

`compile_file` and `compile_str` mirror `iree.compiler.tools`; they are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from constpolicy.api import compile_file, compile_str

__all__ = ["compile_file", "compile_str"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from constpolicy import api

        return getattr(api, name)
    raise AttributeError(f"module 'constpolicy' has no attribute '{name}'")
