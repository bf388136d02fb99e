"""Measure what policies cost and bring, against iree-compile, in one run.

    scripts/bench --models minilm,rope_table --policies upstream,balanced --flags default,gdt --json out.json

Every ratio is taken between runs of the same round, and the order of the tools turns from round to round.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.bench_compile import BASELINE, SCRIPT, SWITCHES, CompileRun, Tool, environment, run, tools
from scripts.bench_report import Failure, Measured, Results, Row, Running, Spread, table

TARGET = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)
FLAG_SETS = {
    "default": (),
    "gdt": ("--iree-global-opt-data-tiling",),
    "odt": ("--iree-opt-data-tiling",),
    "notranspose": ("--iree-global-opt-propagate-transposes=false",),
}


@dataclass(frozen=True)
class Options:
    rounds: int
    samples: int
    device: str
    extra: tuple[str, ...]


class WorkerError(Exception):
    """A part that runs in a process of its own failed; the text is its last line."""


def _worker(*arguments: str) -> Any:
    """The JSON that the worker prints."""
    command = [sys.executable, "-m", "scripts.bench_worker", *arguments]
    result = subprocess.run(command, env=environment(), capture_output=True, text=True)
    if result.returncode != 0:
        last = (result.stderr.strip().splitlines() or ["no message"])[-1]
        raise WorkerError(f"{last} (exit code {result.returncode})")
    return json.loads(result.stdout.splitlines()[-1])


@dataclass(frozen=True)
class Compiled:
    """A tool's runs, one a round, and the file of the last."""

    tool: Tool
    output: Path
    runs: tuple[CompileRun, ...]


def compile_all(
    given: list[Tool], model: Path, flags: tuple[str, ...], rounds: int, folder: Path
) -> tuple[list[Compiled], dict[str, str]]:
    """Compiles with every tool in every round. Gives those that worked, and the messages of those that did not."""
    runs: dict[str, list[CompileRun]] = {tool.name: [] for tool in given}
    failed: dict[str, str] = {}
    for number in range(rounds):
        for tool in given if number % 2 == 0 else reversed(given):
            if tool.name in failed:
                continue
            result = run(tool.compiling(model, _output(folder, tool), flags))
            runs[tool.name].append(result)
            if result.exit_code != 0:
                failed[tool.name] = f"exit code {result.exit_code}: {result.message[-2000:]}"
    worked = [Compiled(t, _output(folder, t), tuple(runs[t.name])) for t in given if t.name not in failed]
    return worked, failed


def _output(folder: Path, tool: Tool) -> Path:
    return folder / f"{tool.name.replace('/', '_')}.vmfb"


def run_all(model: str, compiled: list[Compiled], options: Options) -> dict[str, Running]:
    """Loads and calls every module; identical files are measured as well, which shows the noise."""
    loads: dict[str, list[dict[str, float]]] = {c.tool.name: [] for c in compiled}
    for number in range(options.rounds):
        for c in compiled if number % 2 == 0 else reversed(compiled):
            loads[c.tool.name].append(_worker("load", str(c.output), options.device))
    files = [str(c.output) for c in compiled]
    called = _worker("calls", model, options.device, str(options.samples), *files)
    found = {}
    for c, call in zip(compiled, called, strict=True):
        own, first = loads[c.tool.name], loads[compiled[0].tool.name]
        found[c.tool.name] = Running(
            load_seconds=Measured.of([load["seconds"] for load in own], [load["seconds"] for load in first]),
            call_seconds=Measured.of(call["seconds"], called[0]["seconds"]),
            resident_bytes=Spread.of([load["resident_bytes"] for load in own]),
            difference=call["difference"],
        )
    return found


def measure(model: str, flag_set: str, given: list[Tool], options: Options, folder: Path) -> Results:
    """All that is to be known of one model under one set of flags."""

    def failure(tool: str, message: str) -> Failure:
        return Failure(model, flag_set, tool, message)

    try:
        path = Path(_worker("locate", model))
    except WorkerError as error:
        return Results((), (failure("fetch", str(error)),))
    flags = (*TARGET, *FLAG_SETS[flag_set], *options.extra)
    compiled, messages = compile_all(given, path, flags, options.rounds, folder)
    failures = [failure(tool, message) for tool, message in messages.items()]
    if BASELINE in messages:
        return Results((), tuple(failures))
    running: dict[str, Running] = {}
    try:
        # The script's file is the binary's; running it again would tell nothing.
        running = run_all(model, [c for c in compiled if c.tool.name != SCRIPT], options)
    except WorkerError as error:
        failures.append(failure("run", str(error)))
    rows = [_row(model, flag_set, c, compiled[0], running.get(c.tool.name)) for c in compiled]
    for c in compiled:
        c.output.unlink()
    return Results(tuple(rows), tuple(failures))


def _row(model: str, flag_set: str, c: Compiled, baseline: Compiled, running: Running | None) -> Row:
    size = c.output.stat().st_size
    return Row(
        model=model,
        flags=flag_set,
        tool=c.tool.name,
        bytes=size,
        bytes_ratio=size / baseline.output.stat().st_size,
        identical=filecmp.cmp(c.output, baseline.output, shallow=False),
        compile_seconds=Measured.of([r.seconds for r in c.runs], [r.seconds for r in baseline.runs]),
        peak_bytes=Measured.of([r.peak_bytes for r in c.runs], [r.peak_bytes for r in baseline.runs]),
        running=running,
    )


def _parser() -> argparse.ArgumentParser:
    usage = "scripts/bench [options] [-- IREE_FLAG ...]"
    parser = argparse.ArgumentParser(prog="scripts/bench", usage=usage, description=(__doc__ or "").split("\n")[0])

    def names(text: str) -> list[str]:
        return [name for name in text.split(",") if name]

    models = "of scripts.models.fetch --list, of scripts.models.cases --list, or files (default: %(default)s)"
    parser.add_argument("--models", type=names, default="minilm,rope_table", help=models)
    policies = f"built-in names, files, or {' and '.join(SWITCHES)} (default: %(default)s)"
    parser.add_argument("--policies", type=names, default="upstream,balanced", help=policies)
    parser.add_argument(
        "--flags", type=names, default="default", help=f"of {', '.join(FLAG_SETS)} (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=5, help="compiles and loads of each (default: %(default)s)")
    parser.add_argument("--samples", type=int, default=15, help="samples of calls of each (default: %(default)s)")
    parser.add_argument("--device", default="local-task", help="IREE's driver name (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write median, min and max of everything")
    parser.add_argument("iree_flags", nargs="*", metavar="IREE_FLAG", help="for every compile")
    return parser


def main() -> int:
    parser = _parser()
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.flags if name not in FLAG_SETS]:
        parser.error(f"no such set of flags: {', '.join(unknown)}; there are {', '.join(FLAG_SETS)}")
    if arguments.rounds < 1 or arguments.samples < 1:
        parser.error("--rounds and --samples count from 1")
    options = Options(arguments.rounds, arguments.samples, arguments.device, tuple(arguments.iree_flags))
    given = tools(arguments.policies)
    rows: list[Row] = []
    failures: list[Failure] = []
    with tempfile.TemporaryDirectory(prefix="constpolicy-bench-") as folder:
        for model in arguments.models:
            for flag_set in arguments.flags:
                print(f"measuring {model}, {flag_set}", file=sys.stderr, flush=True)
                found = measure(model, flag_set, given, options, Path(folder))
                rows += found.rows
                failures += found.failures
    results = Results(tuple(rows), tuple(failures))
    print(table(rows))
    for f in failures:
        print(f"not measured: {f.model}, {f.flags}, {f.tool}: {f.message}", file=sys.stderr)
    if arguments.json:
        results.write(arguments.json)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
