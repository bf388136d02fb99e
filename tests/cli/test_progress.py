"""On a terminal, a line shows how far the compile is; in a pipe, nothing does (which every other test here sees)."""

from __future__ import annotations

import io
import re
import subprocess
from pathlib import Path

from constpolicy.cli.progress import Progress
from constpolicy.compiler.child import Step
from scripts.bench_compile import environment
from scripts.models import cases
from tests.cli.comparison import CONSTPOLICY, TARGET, on_a_terminal

_ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]")


def _shown(*arguments: str, policy: str) -> tuple[int, str]:
    """The exit code, and all that a terminal was told on stderr, in lines, without colours and movements."""
    exit_code, shown = on_a_terminal(*arguments, policy=policy, stream="stderr")
    return exit_code, _ESCAPES.sub(b"", shown).replace(b"\r", b"\n").decode()


def test_a_terminal_sees_the_phases_and_which_expression_is_evaluated(tmp_path: Path) -> None:
    (source,) = (path for path in cases.write(tmp_path) if path.stem == "many_tables")
    output = tmp_path / "out.vmfb"
    exit_code, shown = _shown(str(source), "-o", str(output), *TARGET, policy="fast-load")
    assert (exit_code, output.exists()) == (0, True)
    steps = [(int(number), int(total)) for number, total in re.findall(r"const-eval (\d+)/(\d+)", shown)]
    assert steps
    assert steps == sorted(steps)
    assert all(number <= total for number, total in steps)
    assert "global-optimization" in shown
    assert "COMPILING JIT" not in shown


def test_a_terminal_makes_no_difference_to_the_file(tmp_path: Path) -> None:
    (source,) = (path for path in cases.write(tmp_path) if path.stem == "many_tables")
    on_terminal, in_pipe = tmp_path / "terminal.vmfb", tmp_path / "pipe.vmfb"
    assert _shown(str(source), "-o", str(on_terminal), *TARGET, policy="balanced")[0] == 0
    command = [*CONSTPOLICY, "--policy", "balanced", str(source), "-o", str(in_pipe), *TARGET]
    subprocess.run(command, env=environment(), check=True)
    assert on_terminal.read_bytes() == in_pipe.read_bytes()


def test_an_expression_that_takes_long_to_evaluate_is_named_once() -> None:
    times, stream = iter((0.0, 1.0, 4.0, 5.5, 9.0, 10.0, 13.0)), io.StringIO()
    progress = Progress(stream, clock=lambda: next(times))
    progress.begin()
    progress.step(Step(0, 2, "0a1b2c (transpose, tensor<2x3xf32>)"))
    for _ in range(4):  # the third is one too late
        progress.tick()
    progress.step(Step(1, 2, "3d4e5f (pad, tensor<[8]xf32>)"))
    progress.tick()
    progress.end()
    assert stream.getvalue().count("0a1b2c (transpose, tensor<2x3xf32>) has taken more than 5 s") == 1
    assert "3d4e5f" not in stream.getvalue()
