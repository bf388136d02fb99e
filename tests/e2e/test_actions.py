"""Every action on every small program: the program still compiles, and computes what iree-compile's does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from constpolicy.verify import InputRange, InputSpec, Tolerance, verify_files
from scripts.conformance_main import DECIDED
from scripts.models.cases import CASES, write
from tests.e2e.programs import DATA_TILING, action_policy, compile_under, compile_upstream

# Inlining changes what fuses, and so how sums are rounded.
EXACT_ACTIONS = ("evaluate", "initialize", "share")
ROUNDED = Tolerance(rtol=1e-5, atol=1e-5)
IREE_FAILS = {("refused_i4", DATA_TILING)}  # iree-compile itself does not compile these
NEEDS_AN_ARCHIVE = {"parameters"}
ROWS = {case.name: case.rows for case in CASES}
RUNNABLE = [name for name in ROWS if name not in NEEDS_AN_ARCHIVE]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cases")
    write(folder)
    return folder


def combinations(full: bool) -> Iterator[object]:
    """(case, flags, action); the short run takes every case and every action, but not all of their combinations."""
    actions = ("evaluate", "initialize", "inline", "fuse", "share")
    for index, name in enumerate(RUNNABLE):
        for flags in ((), (DATA_TILING,)):
            if (name, *flags) in IREE_FAILS:
                continue
            for number, action in enumerate(actions):
                short = not flags and (index + number) % 3 == 0
                if short != full:
                    yield pytest.param(name, flags, action, marks=[pytest.mark.full] if full else [])


@pytest.mark.parametrize(("name", "flags", "action"), [*combinations(False), *combinations(True)])
def test_a_program_computes_the_same_whatever_becomes_of_its_candidates(
    programs: Path, tmp_path: Path, name: str, flags: tuple[str, ...], action: str
) -> None:
    reference, candidate = tmp_path / "reference.vmfb", tmp_path / "candidate.vmfb"
    compile_upstream(programs / f"{name}.mlir", reference, *flags)
    compile_under(action_policy(tmp_path, action), programs / f"{name}.mlir", candidate, *flags)
    rows = ROWS[name]
    inputs = InputSpec(iterations=2, ranges=(InputRange(name="input0", low=0, high=rows - 1),) if rows else ())
    tolerance = Tolerance() if action in EXACT_ACTIONS else ROUNDED
    verification = verify_files(reference, candidate, inputs=inputs, tolerance=tolerance)
    assert verification.passed, verification.summary()


@pytest.mark.parametrize("name", list(ROWS))
@pytest.mark.parametrize("flags", [(), (DATA_TILING,)], ids=["default", "data-tiling"])
def test_evaluating_everything_gives_the_bytes_of_iree_compile(
    programs: Path, tmp_path: Path, name: str, flags: tuple[str, ...]
) -> None:
    if (name, *flags) in IREE_FAILS:
        pytest.skip("iree-compile itself does not compile this")
    reference, candidate = tmp_path / "reference.vmfb", tmp_path / "candidate.vmfb"
    compile_upstream(programs / f"{name}.mlir", reference, *flags)
    compile_under(DECIDED, programs / f"{name}.mlir", candidate, *flags)
    assert candidate.read_bytes() == reference.read_bytes()


def test_evaluation_that_fails_in_iree_is_survived_by_leaving_the_culprit_for_load_time(
    programs: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.vmfb"
    compile_under("balanced", programs / "refused_i4.mlir", output, DATA_TILING)
    assert output.stat().st_size > 0
