"""Models under policies: the standard that was applied, the worst error of any output, and the per-tensor result.

Every cell is a run of `constpolicy verify` for this machine's CPU, against the build of `upstream`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from iree import runtime

from constpolicy.policy.load import builtin_names
from scripts.models import cases, fetch
from scripts.models.registry import MODELS

CPU = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu")
TARGETS = {"host": "--iree-llvmcpu-target-cpu=host", "generic": "--iree-llvmcpu-target-cpu=generic"}


@dataclass(frozen=True)
class Row:
    """One model under one policy, in the table's words."""

    model: str
    policy: str
    standard: str
    worst: str
    passed: str
    tensors: str

    def markdown(self) -> str:
        return f"| {self.model} | {self.policy} | {self.standard} | {self.worst} | {self.passed} | {self.tensors} |"


HEADER = (
    Row("model", "policy", "standard", "worst error", "passed", "tensors").markdown() + "\n|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class Subject:
    """A model with the options that `verify` needs for it."""

    name: str
    path: Path
    options: tuple[str, ...] = ()


def grouped(rows: list[Row]) -> Iterator[Row]:
    """The rows of one model, with those policies in one row that came to the same."""
    policies: dict[Row, list[str]] = {}
    for row in rows:
        policies.setdefault(replace(row, policy=""), []).append(row.policy)
    for row, names in policies.items():
        yield replace(row, policy=", ".join(names))


def verified(subject: Subject, policy: str, options: list[str]) -> Row:
    command = [sys.executable, "-m", "constpolicy", "verify", str(subject.path), "--policy", policy, "--json"]
    ended = subprocess.run([*command, *subject.options, *CPU, *options], capture_output=True, text=True)
    if ended.returncode not in (0, 3):
        error = ended.stderr.strip().splitlines()
        print(f"{subject.name}, {policy}: {error[0] if error else 'failed'}", file=sys.stderr)
        return Row(subject.name, policy, "-", "does not compile", "-", "-")
    result = json.loads(ended.stdout)
    return Row(
        subject.name,
        policy,
        _standard(result),
        _worst(result),
        "yes" if result["passed"] else "**no**",
        _tensors(result.get("tensors")),
    )


def _standard(result: dict[str, Any]) -> str:
    if result["reason"].startswith("bit-exact"):
        return "bit-exact"
    bounds = result["tolerance"]
    return f"rtol {bounds['rtol']:g}, atol {bounds['atol']:g}"


def _worst(result: dict[str, Any]) -> str:
    failures = [result["failure"], *(check["failure"] for check in result["functions"])]
    if texts := [failure["text"] for failure in failures if failure]:
        return str(texts[0])[:80]
    found = [o["statistics"] for check in result["functions"] for o in check["outputs"] if o["statistics"]]
    if not found:
        return "none: bit-exact"
    worst = max(found, key=lambda of: float(of["max_absolute"]))
    text = f"{worst['max_absolute']:.2g} ({worst['max_ulp']} ULP), {worst['differing']} of {worst['elements']} differ"
    return text + (f", {worst['broken']} not finite" if worst["broken"] else "")


def _tensors(result: dict[str, Any] | None) -> str:
    """What the verification says of the evaluated results, where it holds that."""
    if result is None:
        return "-"
    tensors = result["tensors"]
    if not tensors:
        return "nothing evaluated"
    compared = [tensor for tensor in tensors if not tensor["not_checked"]]
    exact = sum(tensor["bit_exact"] for tensor in compared)
    failed = sum(not tensor["passed"] for tensor in tensors)
    text = f"{exact} of {len(compared)} bit-exact"
    if len(tensors) > len(compared):
        text += f", {len(tensors) - len(compared)} not checked"
    return text + (f", **{failed} failed**" if failed else "")


def subjects(names: list[str], folder: Path) -> Iterator[Subject]:
    """The models of these names: of the registry, of the cases, or files. No names: all cases."""
    known = [case.name for case in cases.CASES]
    for name in names or known:
        if name in known:
            (path,) = cases.write(folder, [name])
            yield Subject(name, path, _parameters(folder) if name == "parameters" else ())
        elif name in MODELS:
            yield Subject(name, fetch.get(name), tuple(_ranges(name)))
        else:
            yield Subject(Path(name).stem, Path(name))


def _ranges(name: str) -> Iterator[str]:
    """The values that make sense to a model of the registry."""
    for position, value in enumerate(MODELS[name].inputs):
        high = value.high - 1 if value.dtype.startswith("int") else value.high
        yield f"--range=input{position}:{value.low:g},{high:g}"


def _parameters(folder: Path) -> tuple[str, ...]:
    """The option with an archive of what the case `parameters` reads."""
    random = np.random.default_rng(0)
    shapes = {"table": (cases.VOCAB, cases.HIDDEN), "bias": (cases.VOCAB,)}
    values = {name: random.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()}
    runtime.save_archive_file(values, folder / "parameters.irpa")
    return (f"--parameters=model={folder / 'parameters.irpa'}",)


def main() -> int:
    parser = argparse.ArgumentParser(description="Verify policies on models, and print a table.")
    parser.add_argument("models", nargs="*", help="cases, names of scripts.models.fetch, or files (default: all cases)")
    parser.add_argument("--policies", default=",".join(name for name in builtin_names() if name != "upstream"))
    parser.add_argument("--target", choices=TARGETS, default="host", help="the CPU that the code is made for")
    parser.add_argument("--tensors", action="store_true", help="check each evaluated result, too")
    arguments = parser.parse_args()
    options = [TARGETS[arguments.target], *(["--tensors"] if arguments.tensors else [])]
    failed = 0
    print(HEADER)
    with tempfile.TemporaryDirectory(prefix="constpolicy-verify-") as folder:
        for subject in subjects(arguments.models, Path(folder)):
            rows = [verified(subject, policy, options) for policy in arguments.policies.split(",")]
            failed += sum(row.passed != "yes" for row in rows)
            for row in grouped(rows):
                print(row.markdown(), flush=True)
    return 1 if failed else 0
