"""Time deciding under budgets, on a generated program of many candidates that share many sources."""

from __future__ import annotations

import argparse
import time
from random import Random

from constpolicy.policy.decide import decide
from constpolicy.policy.schema import Policy
from constpolicy.records import (
    Action,
    Candidate,
    ConstPolicyError,
    HoistedGlobal,
    Kind,
    Origin,
    Program,
    Reader,
    Source,
    ValueType,
)

BUDGETS: tuple[dict[str, str], ...] = (
    {"file_growth": "0%"},
    {"file_growth": "1%", "load_bytes": "20GiB"},
    {"file_growth": "50%", "load_bytes": "20GiB"},
    {"file_growth": "200%", "load_bytes": "20GiB"},
    {"file_growth": "5%", "evaluate_bytes": "1GiB"},
    {"evaluate_seconds": "60"},
    {"file_growth": "50%", "load_bytes": "4GiB"},  # impossible
)
_TYPE = ValueType("tensor<1xf32>", "f32", (1,), 32)


def program(candidates: int, sources: int, seed: int = 0) -> Program:
    """Candidates that read one to three of the sources each; the program needs a third of the sources itself."""
    random = Random(seed)
    shared = [_source(f"s{number}", random) for number in range(sources)]
    return Program(
        tuple(_candidate(number, shared, random) for number in range(candidates)),
        sum(source.bytes for source in shared),
    )


def _source(name: str, random: Random) -> Source:
    size = random.randrange(1_000, 1_000_000)
    readers = (Reader("@main", Kind.GATHER),) if random.random() < 1 / 3 else ()
    return Source(name, name, _TYPE, size, size, Origin.RESOURCE, False, readers)


def _candidate(number: int, shared: list[Source], random: Random) -> Candidate:
    size = random.randrange(100, 2_000_000)
    return Candidate(
        f"c{number}",
        (HoistedGlobal(f"@g{number}", _TYPE, size),),
        Kind.ELEMENTWISE,
        frozenset({Kind.ELEMENTWISE}),
        tuple(random.sample(shared, random.randrange(1, 4))),
        (Reader("@main", Kind.CONTRACTION),),
        refusals={Action.SHARE: "it is no matrix"},
        work_bytes=2 * size + random.randrange(1_000),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Time deciding under budgets, on a generated program.")
    parser.add_argument("--candidates", type=int, default=10_000)
    parser.add_argument("--sources", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=3, help="of which the slowest counts")
    arguments = parser.parse_args()
    generated = program(arguments.candidates, arguments.sources)
    for budgets in BUDGETS:
        policy = Policy.model_validate({"schema": 1, "name": "bench", "budgets": budgets})
        seconds, said = max(_decided(generated, policy) for _ in range(arguments.rounds))
        print(f"{seconds:.2f} s  {', '.join(f'{name} {budget}' for name, budget in budgets.items())}: {said}")
    return 0


def _decided(generated: Program, policy: Policy) -> tuple[float, str]:
    """Seconds that it took, and the last that is said about the budgets."""
    started = time.monotonic()
    try:
        said = decide(generated, policy).budget_notes[-1]
    except ConstPolicyError as error:
        said = str(error)
    return time.monotonic() - started, said
