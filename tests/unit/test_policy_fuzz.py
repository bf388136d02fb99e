"""Malformed policies end in one clear error each, never in a traceback; what is taken can be used and reported."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest

from constpolicy.policy.decide import decide
from constpolicy.policy.document import PolicyError
from constpolicy.policy.load import LoadedPolicy, load_policy
from constpolicy.policy.written import as_yaml
from constpolicy.records import ConstPolicyError
from scripts.fuzz_policies_main import fuzz
from tests.unit.policy_programs import KIB, candidate, program, source

PROGRAM = program(candidate("c", 64 * KIB, source("s", 16 * KIB)), candidate("d", KIB))
PLACES = [
    *(f"{key}: $" for key in ("name", "description", "extends", "default", "otherwise", "allow", "rules", "verify")),
    *(f"allow: {{{pair}}}" for pair in ("pad: $", "$: true")),
    *(f"limits: {{{key}: $}}" for key in ("max_expansion_ratio", "max_result_bytes", "max_growth_bytes", "otherwise")),
    *(f"budgets: {{{key}: $}}" for key in ("file_growth", "load_bytes", "evaluate_seconds", "otherwise")),
    *(f"share: {{{key}: $}}" for key in ("whole_table", "max_gathered_rows", "store_once")),
    *(f"verify: {{{key}: $}}" for key in ("rtol", "statistic", "quantile", "ulp", "cosine", "outputs", "inputs")),
    *(f"verify: {{inputs: {{{key}: $}}}}" for key in ("seed", "iterations", "sets", "ranges", "shapes")),
    *(f"verify: {{inputs: {{ranges: {{{pair}}}}}}}" for pair in ("x: [$, 1]", "$: [0, 1]")),
    *(
        f"rules: [{{when: {{{key}: $}}, action: inline}}]"
        for key in ("kind", "contains", "result_bytes", "growth", "ratio", "rank", "type", "function", "id", "widening")
    ),
    *(f"rules: [{{when: {{{key}: $}}, action: fuse}}]" for key in ("any", "all", "not", "phase", "affinity", "$")),
    "rules: [{when: $, action: inline}]",
    "rules: [{name: $, when: {}, action: inline}]",
    "rules: [{when: {}, action: $}]",
    "flags: [$]",
    "$: 1",
    "$",
]
LONG = "5" * 5000
VALUES = [
    *("nan", ".nan", "inf", ".inf", "-.inf", "nan%", "inf%", "1e400%", "-5%", "1.0e+400", "'> nan'", "'>= inf'", "-1"),
    *(f"0x{LONG}", LONG, f"0{LONG}", f"0b{'1' * 5000}", f"1:{'30:' * 2000}30", f"1.{LONG}", f"{LONG}.5e7", f"{LONG}%"),
    *(f"'{LONG}'", f"'{LONG} KiB'", f"'{LONG}%'", f"'> {LONG}'", f"'> 1.{LONG}'", f"'> 1e{LONG}'", "x" * 5000),
    *('"a\\0b"', '"\\ud800"', '"\\e[31m"', '"\\u202e"', '"\\x9b31m"', '"\\u2028"', '"--x=a\\0"', '"\\udcff: 1"'),
    *(
        "-o",
        "-o=x",
        "--o",
        "--help",
        "-h",
        "--version",
        "--compile-to=input",
        "--print-options",
        "--",
        "-",
        "model.mlir",
    ),
    *(
        "@file",
        "",
        "~",
        "null",
        "{}",
        "[]",
        "[~]",
        "[[]]",
        "{a: }",
        "true",
        "'true'",
        "2026-01-01",
        "=",
        "<<",
        "!",
        "? x",
    ),
    *(
        "9223372036854775808",
        "-9223372036854775808",
        "9223372036854775807",
        "0.1",
        "[1, 0]",
        "/dev/null",
        "a.yaml",
        ".",
    ),
]


def endings(folder: Path, text: str) -> list[LoadedPolicy | str]:
    """What becomes of a policy that is named, and of the same one when it is found beside a model."""
    (folder / "model.constpolicy.yaml").write_bytes(text.encode())
    results: list[LoadedPolicy | str] = []
    for reference in (str(folder / "model.constpolicy.yaml"), None):
        try:
            results.append(load_policy(reference, model=folder / "model.mlir", environ={}))
        except PolicyError as error:
            results.append(str(error))
    return results


@pytest.mark.parametrize("place", PLACES)
def test_whatever_stands_anywhere_in_a_policy_is_refused_with_its_place_or_can_be_used(
    tmp_path: Path, place: str
) -> None:
    lines = {"schema": "schema: 1", "name": "name: x"}
    for value in VALUES:
        line = place.replace("$", value)
        for ending in endings(tmp_path, "\n".join((lines | {place.partition(":")[0]: line}).values())):
            if isinstance(ending, str):
                assert ending.startswith(f"{tmp_path}/model.constpolicy.yaml:"), ending
                assert ending.replace("\t", " ").isprintable(), f"{value[:40]!r}: {ending!r}"
            else:
                _use(ending)


def _use(loaded: LoadedPolicy) -> None:
    json.dumps(loaded.policy.as_data(), allow_nan=False, ensure_ascii=False).encode()
    as_yaml(loaded.policy, loaded.written).encode()
    assert not any("\0" in flag for flag in loaded.policy.flags)
    with suppress(ConstPolicyError):  # a budget that cannot be kept
        decide(PROGRAM, loaded.policy)


def test_malformed_policies_are_refused_clearly() -> None:
    assert fuzz(count=300, seed=1)["error"] > 200


@pytest.mark.full
def test_many_malformed_policies_are_refused_clearly() -> None:
    assert fuzz(count=5000, seed=2)["error"] > 3500
