"""The flags for compiling a second module beside the program, with the same code generation and no other effects."""

from __future__ import annotations

from collections.abc import Mapping

_SWITCHES = ("iree-opt-const-eval", "iree-opt-const-expr-hoisting")
_FILES = (
    "iree-hal-dump-executable-files-to",
    "iree-hal-dump-executable-sources-to",
    "iree-hal-dump-executable-benchmarks-to",
    "iree-hal-dump-executable-configurations-to",
    "iree-hal-dump-executable-intermediates-to",
    "iree-hal-dump-executable-binaries-to",
    "iree-llvmcpu-static-library-output-path",
    "iree-parameter-encoder-output-file",
    "iree-parameter-export",
    "iree-parameter-splat",
    "iree-scheduling-dump-statistics-file",
)


def overrides(flags: Mapping[str, str]) -> dict[str, str]:
    """The flags (name: value) to set, of those in force: everything is computed where it is written, when it is
    called, and no file is written beside the output.
    """
    off = {name: "false" for name in _SWITCHES if name in flags}
    return off | {name: "" for name in _FILES if flags.get(name)}
