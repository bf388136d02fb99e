"""The text of a verification: the verdict first, then what differs, sized and with a histogram."""

from __future__ import annotations

import json

import numpy as np

from constpolicy.verify import InputSpec, Tolerance, Verification
from constpolicy.verify.check import compare_output
from constpolicy.verify.compare import comparison
from constpolicy.verify.element_types import element_type
from constpolicy.verify.record import FunctionCheck, HostBuild
from constpolicy.verify.signature import Value
from constpolicy.verify.text import lines


def verification() -> Verification:
    reference = np.ones(1000, np.float32)
    candidate = reference.copy()
    candidate[:100] += np.float32(3e-6)
    candidate[7] = np.nan
    value = Value("y", "tensor<1000xf32>", element_type("f32"), (1000,))
    output = compare_output(value, "seeded inputs", reference, candidate, comparison(Tolerance(atol=1e-5)))
    return Verification(
        reference="upstream",
        candidate="m.mlir under 'p'",
        tolerance=Tolerance(atol=1e-5),
        reason="a test",
        inputs=InputSpec(),
        notes=("x is an index",),
        host_build=HostBuild(why="it is for a toaster", flags=(), decisions=2, missing=("abc: pad",)),
        cause="the toaster",
        functions=(FunctionCheck(function="main", calls=1, outputs=(output,)),),
    )


def test_the_verdict_comes_first_and_then_standard_target_cause_and_inputs() -> None:
    first, *rest = list(lines(verification()))[:5]
    assert first.startswith("against upstream: y: 1 of 1000 elements beyond rtol 0, atol 1e-05, nan where")
    assert rest == [
        "  standard: a test",
        "  target: it is for a toaster; verified a build for this CPU instead, with 2 decisions applied; "
        "not verified, since missing there: abc: pad",
        "  cause: the toaster",
        "  inputs: x is an index",
    ]


def test_the_histogram_counts_every_element_that_is_a_number() -> None:
    text = list(lines(verification()))
    rows = [line.split() for line in text if line.rstrip().endswith("#")]
    assert [(label, int(count)) for label, count, _ in rows] == [("none", 900), ("1e-06..", 99)]
    assert len(rows[0][2]) > len(rows[1][2])
    assert any("NaN or infinite on one side: 1" in line for line in text)


def test_a_verification_reads_back_from_its_json_as_it_was() -> None:
    before = verification()
    assert Verification.model_validate(json.loads(before.model_dump_json())) == before
