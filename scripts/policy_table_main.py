"""The growth that is predicted, and the real one, for models under policies.

    scripts/policy_table --json rows.json                        # the small programs of scripts.models.cases
    scripts/policy_table --models minilm,resnet50 --json more.json
    scripts/policy_table --page rows.json more.json              # writes docs/growth-prediction.md

Growth is against the build in which every candidate is left for load time, and equal constants are stored once, which
IREE does only where their types are equal, too. It is predicted for the constants in the file; the file grows by the
code, too, that IREE generates for what is left.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
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
PAGE = Path(__file__).parents[1] / "docs" / "growth-prediction.md"
_ALLOWED_BYTES = 64 * 1024
_ALLOWED_PART = 0.01
_NOTHING_EVALUATED = "schema: 1\nname: at-load\ndefault: initialize\nshare: {store_once: true}\n"
_HEAD = """\
# Predicted and real growth

Written by `scripts/policy_table`, for `--iree-llvmcpu-target-cpu=host` on an x86-64 CPU. Bytes, against the build in
which every candidate is left for load time and equal constants are stored once: what the policy's decisions were
predicted to add, what the constants in the finished file grew by, and what the whole file did. The last differs by the
code that IREE generates for what is left for load time or for each call, which nobody knows before it is generated.
Policies that come to the same are in one line.

{summary}

| model | flags | policies | predicted | constants | file | differs by |
|---|---|---|--:|--:|--:|---|
"""


@dataclass(frozen=True)
class Row:
    """One model under one policy; growth in bytes: of what was predicted, of the file's constants and of the file."""

    model: str
    flags: str
    policy: str
    predicted: int
    constants: int
    file: int

    @property
    def constants_close(self) -> bool:
        """Whether the constants grew as predicted, within 1 % of their growth or 64 KB."""
        return _close(self.predicted, self.constants)

    @property
    def file_close(self) -> bool:
        """Whether the file grew as predicted, within 1 % of its growth or 64 KB."""
        return _close(self.predicted, self.file)


def _close(predicted: int, real: int) -> bool:
    return abs(predicted - real) <= max(_ALLOWED_BYTES, _ALLOWED_PART * abs(real))


def rows(model: str, path: Path, policies: Sequence[str], flags: str, folder: Path) -> Iterator[Row]:
    """Compiles the model under each policy, and with everything left for load time."""
    base_policy = folder / "at-load.yaml"
    base_policy.write_text(_NOTHING_EVALUATED)
    base = _compile(path, str(base_policy), FLAGS[flags], folder)
    if base is None:
        print(f"{model}, {flags}: does not compile", file=sys.stderr)
        return
    for policy in policies:
        report = _compile(path, policy, FLAGS[flags], folder)
        if report is None:
            print(f"{model}, {flags}, {policy}: does not compile", file=sys.stderr)
            continue
        constants, size = _sizes(report)
        base_constants, base_size = _sizes(base)
        predicted = report.totals.predicted_growth_bytes
        yield Row(model, flags, policy, predicted, constants - base_constants, size - base_size)


def _compile(path: Path, policy: str, flags: tuple[str, ...], folder: Path) -> Report | None:
    output, report = folder / "out.vmfb", folder / "report.json"
    command = [sys.executable, "-m", "constpolicy", "compile", str(path), "-o", str(output), "--policy", policy]
    ended = subprocess.run([*command, "--policy-report", str(report), *CPU, *flags], capture_output=True)
    return Report.model_validate_json(report.read_text()) if ended.returncode == 0 else None


def _sizes(report: Report) -> tuple[int, int]:
    """Bytes of the constants in the file, and of the file."""
    assert report.file is not None, "a .vmfb was written"
    return report.file.totals["constants"], report.file.bytes


def summary(table: Sequence[Row]) -> str:
    """How many rows are within 1 % of the growth or 64 KB."""
    constants, file = sum(row.constants_close for row in table), sum(row.file_close for row in table)
    return (
        f"Within 1 % of the growth or 64 KB: the constants in {constants} of {len(table)} builds, "
        f"the whole file in {file}."
    )


def lines(table: Sequence[Row]) -> list[str]:
    """The rows as lines of a table in Markdown."""
    grouped: dict[tuple[str, str, int, int, int], list[Row]] = {}
    for row in table:
        grouped.setdefault((row.model, row.flags, row.predicted, row.constants, row.file), []).append(row)
    return [_line(group) for group in grouped.values()]


def _line(alike: Sequence[Row]) -> str:
    row, policies = alike[0], ", ".join(row.policy for row in alike)
    missed = [what for what, close in (("constants", row.constants_close), ("code", row.file_close)) if not close]
    numbers = f"{row.predicted:,} | {row.constants:,} | {row.file:,}"
    return f"| {row.model} | {row.flags} | {policies} | {numbers} | {missed[0] if missed else ''} |"


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare predicted and real growth of the file.")
    parser.add_argument(
        "--models", help="names of scripts.models.fetch, or files (default: all of scripts.models.cases)"
    )
    parser.add_argument("--policies", default=",".join(builtin_names()))
    parser.add_argument("--flags", default="default,gdt", help="of default, gdt")
    parser.add_argument("--json", type=Path, help="write the rows here")
    parser.add_argument(
        "--page", nargs="+", type=Path, metavar="JSON", help="measure nothing; write the page from these"
    )
    arguments = parser.parse_args()
    if arguments.page:
        table = [Row(**row) for path in arguments.page for row in json.loads(path.read_text())]
        PAGE.write_text(_HEAD.format(summary=summary(table)) + "\n".join(lines(table)) + "\n", encoding="utf-8")
    else:
        table = measured(arguments.models, arguments.policies.split(","), arguments.flags.split(","))
        print("\n".join(lines(table)))
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(row) for row in table]))
    print(summary(table))
    return 0 if all(row.constants_close for row in table) else 1


def measured(models: str | None, policies: Sequence[str], flag_sets: Sequence[str]) -> list[Row]:
    """The rows of all these models under all policies and sets of flags."""
    with tempfile.TemporaryDirectory(prefix="constpolicy-table-") as temporary:
        folder = Path(temporary)
        if models:
            paths = {
                Path(name).stem: Path(name) if Path(name).is_file() else fetch.get(name) for name in models.split(",")
            }
        else:
            paths = {path.stem: path for path in cases.write(folder / "cases")}
        return [
            row
            for name, path in paths.items()
            for flags in flag_sets
            for row in rows(name, path, policies, flags, folder)
        ]
