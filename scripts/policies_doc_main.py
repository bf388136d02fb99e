"""Write docs/built-in-policies.md from what scripts/bench has measured.

    scripts/bench --models minilm,ocr_cls --policies upstream,balanced,... --json results.json
    scripts/policies_doc results.json

Several results are put one after the other; what is kept of them stands in docs/built-in-policies.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from constpolicy.policy.load import builtin_names, load_policy

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "built-in-policies.md"
DATA = ROOT / "docs" / "built-in-policies.json"
_BASELINE = "iree-compile"
_TITLES = {"default": "no other flags", "gdt": "--iree-global-opt-data-tiling", "odt": "--iree-opt-data-tiling"}
_HEAD = """\
# The built-in policies

Written by `scripts/policies_doc`; the numbers are those of `scripts/bench`, with IREE {version} on two cores of an
x86-64 CPU, for `--iree-llvmcpu-target-cpu=host`.

## What each is for

{principles}

## Which to take

| what is short | take | what it costs |
|---|---|---|
| nothing in particular | `balanced`, the default | widened weights, second copies: computed at load |
| flash | `balanced` or `small`, which are within a few KB of each other: compare them | as above |
| memory | `low-memory` | what would be computed at load is computed on each call |
| time to load | `low-memory`, or `fast-load` if calls must not be slower | the latter is as large as upstream's |
| time of a call | `balanced`; `fast-load` stores what `balanced` computes at load | size |
| surprise | `upstream` | what iree-compile's const-eval costs |

## What each does to real models

`x` is the ratio to iree-compile's own file in the same run, the median of interleaved samples; load and memory are
those of iree.runtime's `local-task` device, memory as the process grows by at load, mapped file pages included. Where
nothing is decided otherwise, what differs from 1 is the noise.
"""


@dataclass(frozen=True)
class Line:
    """One model under one policy: bytes of the file, milliseconds, bytes of memory, ratios to iree-compile's."""

    model: str
    flags: str
    policy: str
    bytes: int
    bytes_ratio: float
    load_ms: float
    call_ratio: float
    resident_bytes: int
    outputs_equal: bool


def lines(results: Mapping[str, Any]) -> list[Line]:
    """The lines of one file of results, of the tools that ran."""
    return [_line(row) for row in results["rows"] if row["running"] is not None]


def _line(row: Mapping[str, Any]) -> Line:
    running = row["running"]
    return Line(
        model=row["model"],
        flags=row["flags"],
        policy=row["tool"],
        bytes=row["bytes"],
        bytes_ratio=round(row["bytes_ratio"], 3),
        load_ms=round(running["load_seconds"]["value"]["median"] * 1e3, 1),
        call_ratio=round(running["call_seconds"]["ratio"]["median"], 2),
        resident_bytes=int(running["resident_bytes"]["median"]),
        outputs_equal=running["difference"] == 0,
    )


def page(version: str, measured: Sequence[Line]) -> str:
    """The page as Markdown."""
    principles = "\n".join(f"- **{name}**: {load_policy(name).policy.description}" for name in builtin_names())
    parts = [_HEAD.format(version=version, principles=principles)]
    for model, flags in dict.fromkeys((line.model, line.flags) for line in measured):
        group = [line for line in measured if (line.model, line.flags) == (model, flags)]
        parts.append(f"\n### {model}, {_TITLES.get(flags, flags)}\n\n{_table(group)}\n")
    return "".join(parts)


def _table(group: Sequence[Line]) -> str:
    rows = ["| | file | x | load | call x | memory | outputs |", "|---|--:|--:|--:|--:|--:|---|"]
    for line in group:
        name = line.policy if line.policy == _BASELINE else f"`{line.policy}`"
        memory = f"{line.resident_bytes / 2**20:,.1f} MiB"
        equal = "equal" if line.outputs_equal else "other roundings"
        ratio, call = f"{line.bytes_ratio:.3f}", f"{line.call_ratio:.2f}"
        rows.append(f"| {name} | {line.bytes:,} | {ratio} | {line.load_ms:,.1f} ms | {call} | {memory} | {equal} |")
    return "\n".join(rows)


def kept() -> tuple[str, list[Line]]:
    """IREE's version, and the lines that the page was last written from."""
    data = json.loads(DATA.read_text(encoding="utf-8"))
    return data["iree"], [Line(**line) for line in data["lines"]]


def main() -> int:
    parser = argparse.ArgumentParser(description="Write docs/built-in-policies.md from results of scripts/bench.")
    parser.add_argument("results", nargs="*", type=Path, help="JSON files of scripts/bench; none: write the page again")
    parser.add_argument("--iree", default="3.13.0", help="the version that was measured (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.results:
        measured = [line for path in arguments.results for line in lines(json.loads(path.read_text()))]
        DATA.write_text(
            json.dumps({"iree": arguments.iree, "lines": [asdict(line) for line in measured]}, indent=1) + "\n"
        )
    version, measured = kept()
    PAGE.write_text(page(version, measured), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}: {len(measured)} lines")
    return 0
