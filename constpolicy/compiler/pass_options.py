"""Values in the text of a pass pipeline."""

from __future__ import annotations

from constpolicy.records import ConstPolicyError


def quoted(path: str) -> str:
    """The path as one value of a pass option. Raises ConstPolicyError if it cannot be written as one."""
    if '"' in path:
        raise ConstPolicyError(f"cannot hand the path {path} to a pass of the compiler: it holds a quotation mark")
    return f'"{path}"' if any(c in path for c in " {},'()") else path
