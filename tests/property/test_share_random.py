"""Whatever chain of relayouts a table goes through and whoever reads it: shared, the program gives the same bits."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from constpolicy.verify.run import ModuleProcess
from tests.property.share_programs import RandomProgram, programs
from tests.share_everything import compile_shared, compile_upstream

FEW, MANY = 8, 300
SLOW = settings(
    deadline=None, derandomize=True, print_blob=True, suppress_health_check=list(HealthCheck), max_examples=FEW
)


def outputs(module: Path, program: RandomProgram) -> list[bytes]:
    with ModuleProcess(module, device="local-sync") as running:
        calls = [running.call(name, tuple(inputs)) for name, inputs in program.inputs.items()]
    return [array.tobytes() for arrays in calls for array in arrays]


def check(program: RandomProgram, *flags: str) -> bool:
    """Compares with iree-compile's own; tells whether anything was shared."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "program.mlir"
        source.write_text(program.text)
        compile_upstream(source, source.with_suffix(".upstream.vmfb"), *flags)
        offered = compile_shared(source, source.with_suffix(".shared.vmfb"), *flags)
        expected = outputs(source.with_suffix(".upstream.vmfb"), program)
        actual = outputs(source.with_suffix(".shared.vmfb"), program)
    assert actual == expected
    assert not offered.not_shared, "what is offered can be carried out"
    return bool(offered.shared)


@SLOW
@given(programs())
def test_a_few_random_programs_give_the_same_bits_when_shared(program: RandomProgram) -> None:
    check(program)


@pytest.mark.full
def test_many_random_programs_give_the_same_bits_when_shared_and_most_are() -> None:
    shared: Counter[bool] = Counter()

    @settings(SLOW, max_examples=MANY)
    @given(programs())
    def run(program: RandomProgram) -> None:
        shared[check(program)] += 1

    run()
    assert shared.total() >= MANY
    assert shared[True] > shared.total() // 2
