"""Run every program of some folders through iree-compile and through constpolicy, and list what differs.

    scripts/conformance tests/ir --split
    scripts/conformance ~/iree/tests/e2e --flags default --flags "O3=--iree-opt-level=O3" --json result.json

Compared are the exit code, stdout, stderr and every file that the compile leaves behind, byte by byte. The exit code is
1 if anything differs or does not end in time. Under a policy that does anything else than `upstream`, outputs differ by
intention: `--only-exit-code` shows whether the same programs compile.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from constpolicy.compiler import tool
from scripts.conformance_run import Observed, Timeout, differences, observe

DECIDED = Path(__file__).parent / "upstream.yaml"
TARGET = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)
FLAG_SETS = {
    "default": (),
    "global-opt-data-tiling": ("--iree-global-opt-data-tiling",),
    "opt-data-tiling": ("--iree-opt-data-tiling",),
    "O3": ("--iree-opt-level=O3",),
    "const-eval-off": ("--iree-opt-const-eval=false",),
    "hoisting-off": ("--iree-opt-const-expr-hoisting=false",),
}
_SPLIT = re.compile(r"^// -----.*$", re.MULTILINE)


OUTCOMES = ("compiled", "rejected", "crashed", "unsteady", "differs", "timeout")  # unsteady: iree-compile from itself


@dataclass(frozen=True)
class Program:
    """One input: the file to compile, and what to call it."""

    name: str
    path: Path


@dataclass(frozen=True)
class Comparison:
    """One program under one flag set, and one of OUTCOMES: the first three are the same for both."""

    program: str
    flags: str
    outcome: str
    details: tuple[str, ...] = ()

    @property
    def is_bad(self) -> bool:
        return self.outcome in ("differs", "timeout")


@dataclass(frozen=True)
class Tools:
    """The commands to compare, up to the model, and how."""

    ours: tuple[str, ...]
    timeout: float
    only_exit_code: bool


def programs(given: Sequence[Path], split_into: Path | None) -> Iterator[Program]:
    """The files, and the .mlir files in the folders; with `split_into`, cut at lines `// -----` into that folder."""
    for root in given:
        for path in sorted(root.rglob("*.mlir")) if root.is_dir() else [root]:
            name = str(path.relative_to(root)) if root.is_dir() else path.name
            parts = _SPLIT.split(path.read_text(errors="surrogateescape")) if split_into else []
            if split_into is None or len(parts) == 1:
                yield Program(name, path.resolve())
                continue
            for number, part in enumerate(parts, 1):
                piece = split_into / f"{str(path.resolve()).lstrip('/')}.{number}.mlir"
                piece.parent.mkdir(parents=True, exist_ok=True)
                piece.write_text(part, errors="surrogateescape")
                yield Program(f"{name}#{number}", piece)


def compare(tools: Tools, job: tuple[Program, str, tuple[str, ...]]) -> Comparison:
    """Compiles one program with both tools."""
    program, name, flags = job
    arguments = [str(program.path), "-o", "out", *TARGET, *flags]
    expected = observe([str(tool.executable()), *arguments], tools.timeout)
    actual = observe([*tools.ours, *arguments], tools.timeout)
    if isinstance(expected, Timeout) or isinstance(actual, Timeout):
        if isinstance(expected, Timeout) and isinstance(actual, Timeout):
            return Comparison(program.name, name, "timeout", ("both",))
        who = "iree-compile" if isinstance(expected, Timeout) else "constpolicy"
        return Comparison(program.name, name, "timeout", (f"only {who}",))
    found = differences(expected, actual)
    if tools.only_exit_code:
        found = [line for line in found if line.startswith("exit code")]
    if found:
        again = observe([str(tool.executable()), *arguments], tools.timeout)
        steady = isinstance(again, Observed) and not differences(expected, again)
        return Comparison(program.name, name, "differs" if steady else "unsteady", tuple(found))
    outcome = "crashed" if expected.crashed else "rejected" if expected.exit_code else "compiled"
    return Comparison(program.name, name, outcome)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="+", type=Path, metavar="FOLDER|FILE")
    parser.add_argument("--split", action="store_true", help="cut the files at the lines `// -----`")
    parser.add_argument("--sample", type=int, metavar="N", help="only N of the programs, always the same ones")
    parser.add_argument(
        "--flags",
        action="append",
        metavar="NAME[=FLAGS]",
        help=f"a flag set: one of {', '.join(FLAG_SETS)}, or any name with its flags; repeatable [all of these]",
    )
    parser.add_argument("--policy", default=str(DECIDED), help="the policy to compile under [scripts/upstream.yaml]")
    parser.add_argument("--command", help="the command to compare, up to the model [this repository's]")
    parser.add_argument("--only-exit-code", action="store_true", help="compare nothing but the exit code")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="programs at a time [%(default)s]")
    parser.add_argument("--timeout", type=float, default=120, metavar="SECONDS", help="per compile [%(default)s]")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every comparison here")
    return parser.parse_args(arguments)


def _flag_set(text: str) -> tuple[str, tuple[str, ...]]:
    name, given, flags = text.partition("=")
    if not given and name not in FLAG_SETS:
        sys.exit(f"--flags {name}: unknown; give it as NAME=FLAGS, or one of {', '.join(FLAG_SETS)}")
    return name, tuple(shlex.split(flags)) if given else FLAG_SETS[name]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    flag_sets = dict(map(_flag_set, options.flags or FLAG_SETS))
    ours = shlex.split(options.command or f"{shlex.quote(sys.executable)} -m constpolicy.cli.compile_main")
    tools = Tools((*ours, "--policy", options.policy), options.timeout, options.only_exit_code)
    with tempfile.TemporaryDirectory(prefix="conformance-split-") as folder:
        given = list(programs(options.inputs, Path(folder) if options.split else None))
        if options.sample is not None and options.sample < len(given):
            given = random.Random(0).sample(given, options.sample)
        jobs = [(program, name, flags) for program in given for name, flags in flag_sets.items()]
        done = []
        with ThreadPoolExecutor(options.jobs) as pool:
            for comparison in pool.map(partial(compare, tools), jobs):
                done.append(comparison)
                if comparison.is_bad:
                    _show(comparison)
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(comparison) for comparison in done], indent=1))
    _summarise(done, list(flag_sets))
    return int(any(comparison.is_bad for comparison in done))


def _show(comparison: Comparison) -> None:
    print(f"{comparison.outcome}: {comparison.program} [{comparison.flags}]")
    for line in comparison.details:
        print(f"    {line}")
    sys.stdout.flush()


def _summarise(done: Sequence[Comparison], flag_sets: Sequence[str]) -> None:
    count = Counter((comparison.flags, comparison.outcome) for comparison in done)
    print(f"{'flags':<24}" + "".join(f"{outcome:>10}" for outcome in OUTCOMES))
    for name in flag_sets:
        print(f"{name:<24}" + "".join(f"{count[name, outcome]:>10}" for outcome in OUTCOMES))
