"""The growth of the file that is predicted, and the real one, for models under policies.

The real growth is the size of the finished .vmfb against the build in which every candidate is left for load time;
that one holds the code of all initializers, about a kilobyte each, which is no part of the prediction.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from constpolicy.policy.load import builtin_names
from constpolicy.report.model import Report
from scripts.models import cases, fetch

CPU = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)
FLAGS = {"default": (), "gdt": ("--iree-global-opt-data-tiling",)}
_ALLOWED_BYTES = 64 * 1024
_ALLOWED_PART = 0.01
_NOTHING_EVALUATED = "schema: 1\nname: at-load\ndefault: initialize\n"


@dataclass(frozen=True)
class Row:
    """One model under one policy; sizes in bytes."""

    model: str
    flags: str
    policy: str
    predicted: int
    real: int

    @property
    def error(self) -> int:
        return self.predicted - self.real

    @property
    def close(self) -> bool:
        """Within 1 % of the growth, or 64 KB."""
        return abs(self.error) <= max(_ALLOWED_BYTES, _ALLOWED_PART * abs(self.real))


def rows(model: str, path: Path, policies: list[str], flags: str, folder: Path) -> list[Row]:
    """Compiles the model under each policy, and with everything left for load time."""
    base_policy = folder / "at-load.yaml"
    base_policy.write_text(_NOTHING_EVALUATED)
    base = _compile(path, str(base_policy), FLAGS[flags], folder)
    if base is None:
        print(f"{model}, {flags}: does not compile", file=sys.stderr)
        return []
    table = []
    for policy in policies:
        report = _compile(path, policy, FLAGS[flags], folder)
        if report is None:
            print(f"{model}, {flags}, {policy}: does not compile", file=sys.stderr)
            continue
        real = (report.totals.file_bytes or 0) - (base.totals.file_bytes or 0)
        table.append(Row(model, flags, policy, report.totals.predicted_growth_bytes, real))
    return table


def _compile(path: Path, policy: str, flags: tuple[str, ...], folder: Path) -> Report | None:
    output, report = folder / "out.vmfb", folder / "report.json"
    command = [sys.executable, "-m", "constpolicy", "compile", str(path), "-o", str(output), "--policy", policy]
    ended = subprocess.run([*command, "--policy-report", str(report), *CPU, *flags], capture_output=True)
    return Report.model_validate_json(report.read_text()) if ended.returncode == 0 else None


def markdown(table: list[Row]) -> str:
    lines = ["| model | flags | policy | predicted | real | error | within |", "|---|---|---|--:|--:|--:|---|"]
    lines += [
        f"| {row.model} | {row.flags} | {row.policy} | {row.predicted:,} | {row.real:,} | {row.error:,} |"
        f" {'yes' if row.close else '**no**'} |"
        for row in table
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare predicted and real growth of the file.")
    parser.add_argument(
        "--models", help="names of scripts.models.fetch, or files (default: all of scripts.models.cases)"
    )
    parser.add_argument("--policies", default=",".join(builtin_names()))
    parser.add_argument("--flags", default="default,gdt", help="of default, gdt")
    arguments = parser.parse_args()
    table: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="constpolicy-table-") as temporary:
        folder = Path(temporary)
        if arguments.models:
            names = arguments.models.split(",")
            paths = [Path(name) if Path(name).is_file() else fetch.get(name) for name in names]
        else:
            paths = cases.write(folder / "cases")
            names = [path.stem for path in paths]
        for name, path in zip(names, paths, strict=True):
            for flags in arguments.flags.split(","):
                table += rows(Path(name).stem, path, arguments.policies.split(","), flags, folder)
    print(markdown(table))
    far = [row for row in table if not row.close]
    print(f"\n{len(table) - len(far)} of {len(table)} within 1 % of the growth or 64 KB")
    return 0
