"""Which policy is meant: the one that the user names, the environment's, the model's own, or the default.

Nothing is read here and no schema is loaded, so that a compile can begin before its policy is there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

BUILTIN = "built-in policy"  # begins the place of what stands in one
_VARIABLE = "CONSTPOLICY_POLICY"
_DEFAULT = "balanced"


@dataclass(frozen=True)
class Choice:
    """The policy that is meant, a built-in name or a file, and why it is that one.

    `beside_model` says that it was found there, and not named by the user.
    """

    reference: str
    origin: str
    beside_model: bool = False

    @property
    def is_builtin(self) -> bool:
        """Whether it is a built-in policy; those set no flags."""
        return not self.beside_model and self.reference in builtins()


def choose(reference: str | None, model: Path | None, environ: Mapping[str, str] = os.environ) -> Choice:
    """The policy that is meant.

    Args:
      reference: A built-in name or a file, as the user wrote it; None looks at the environment variable
        CONSTPOLICY_POLICY, then for MODEL.constpolicy.yaml beside the model, and takes `balanced` in the end.
      model: The program's file, if it is one.
    """
    if reference is not None:
        return Choice(reference, f"'{reference}', as named")
    if environ.get(_VARIABLE):
        return Choice(environ[_VARIABLE], f"'{environ[_VARIABLE]}', from {_VARIABLE}")
    beside = model.with_suffix(".constpolicy.yaml") if model is not None and model.name else None
    if beside is not None and os.path.isfile(beside):  # also False for a name that is too long
        return Choice(str(beside), f"{beside}, found beside the model", beside_model=True)
    return Choice(_DEFAULT, f"'{_DEFAULT}', the default")


def builtins() -> dict[str, Path]:
    """The files of the built-in policies by name: in the wheel inside the package, in a checkout at its top."""
    package = Path(__file__).parents[1]
    packaged = package / "policies"
    folder = packaged if packaged.is_dir() else package.parent / "policies"
    return {file.stem: file for file in sorted(folder.glob("*.yaml"))}
