"""Makes malformed policies by mutation and by a grammar, and checks how loading them ends."""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from constpolicy.policy.document import PolicyError
from constpolicy.policy.load import load_policy
from constpolicy.policy.schema import Policy, When

MOST_SECONDS = 2.0
_KEYS = [info.alias or name for name, info in Policy.model_fields.items()]
_PREDICATES = [info.alias or name for name, info in When.model_fields.items()]
_VALUES = [
    "1",
    "-1",
    "64KiB",
    "'>= 1MiB'",
    "5 %",
    "[]",
    "{}",
    "null",
    "yes",
    "1e999",
    "evaluate",
    "[pad, [x]]",
    "!!x y",
]
_VALUES += ["&a b", "*a", "0x10", "2026-01-01", "'\\u0000'", '"\\x07"', "1" * 400, "{a: {b: {c: d}}}", "~", "| x", "<<"]
_WHOLE = """schema: 1
name: whole
description: everything that a policy can say
default: evaluate
rules:
  - name: tables
    when: {kind: [iota, broadcast], result_bytes: ">= 64KiB", not: {function: "main*"}}
    action: fuse
allow: {dequantize: false, transpose: true}
limits: {max_expansion_ratio: 1.0, max_result_bytes: 64MiB, max_growth_bytes: 64KiB}
budgets: {file_growth: 1%, resident_growth: 4MiB, load_bytes: 64MiB}
otherwise: [share, initialize]
verify: {rtol: 1e-5, atol: 1e-6}
flags: []
"""


def malformed(seed: int) -> Iterator[bytes]:
    """An endless stream of policy files, most of them wrong in some way."""
    rng = random.Random(seed)
    while True:
        yield _mutated(rng) if rng.random() < 0.5 else _generated(rng).encode("utf-8", "surrogatepass")


def _mutated(rng: random.Random) -> bytes:
    data = bytearray(_WHOLE.encode())
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data))
        change = rng.randrange(5)
        if change == 0:
            del data[at : at + rng.randint(1, 20)]
        elif change == 1:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 8)))
        elif change == 2:
            data[at:at] = data[at : at + rng.randint(1, 60)]
        elif change == 3:
            data[at:at] = rng.choice(
                [b"\t", b"{", b"[" * 40, b"- ", b": ", b"&a ", b"*a", b"!!t ", b"\r", b"\xff\xfe", b"#"]
            )
        else:
            data[at:at] = rng.choice(_VALUES).encode()
        if not data:
            data = bytearray(b"a")
    return bytes(data)


def _generated(rng: random.Random) -> str:
    lines = ["schema: 1", "name: x"] if rng.random() < 0.8 else []
    for _ in range(rng.randint(0, 6)):
        key = rng.choice([*_KEYS, "nmae", "Limits", ""])
        if key == "rules" and rng.random() < 0.7:
            when = f"{rng.choice(_PREDICATES)}: {rng.choice(_VALUES)}"
            lines.append(f"rules: [{{when: {{{when}}}, action: {rng.choice(_VALUES)}}}]")
        else:
            lines.append(f"{key}: {rng.choice(_VALUES)}")
    return "\n".join(lines)


def outcome(file: Path) -> str:
    """How loading ends: "policy" or "error". Raises AssertionError for anything else, and if it took too long."""
    started = time.monotonic()
    message = None
    try:
        load_policy(str(file))
    except PolicyError as error:
        message = str(error)
    seconds = time.monotonic() - started
    assert seconds < MOST_SECONDS, f"took {seconds:.1f} s"
    if message is None:
        return "policy"
    assert str(file) in message, f"the error does not name the file: {message}"
    assert "\n" not in message, f"the error has several lines: {message}"
    return "error"


def fuzz(count: int, seed: int) -> Counter[str]:
    """Loads so many policies; counts how they ended."""
    ends: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="constpolicy-fuzz-") as folder:
        file = Path(folder) / "policy.yaml"
        for number, data in zip(range(count), malformed(seed), strict=False):
            file.write_bytes(data)
            try:
                ends[outcome(file)] += 1
            except BaseException:
                print(f"policy {number} of seed {seed}:\n{data!r}")
                raise
    return ends


def main() -> int:
    parser = argparse.ArgumentParser(description="Load malformed policies and check that each ends well.")
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    ends = fuzz(arguments.count, arguments.seed)
    print(f"{arguments.count} policies: {ends['error']} clear errors, {ends['policy']} valid after all")
    return 0
