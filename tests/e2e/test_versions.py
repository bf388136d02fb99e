"""What holds in every supported version of IREE; `scripts/check_versions` runs these tests in several of them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from iree.compiler.tools import core

import constpolicy as python_api
from constpolicy.compiler import tool, versions
from constpolicy.report.model import Report
from constpolicy.verify import InputSpec, Tolerance, verify_files
from scripts.conformance_main import DECIDED
from scripts.models.cases import CASES, write
from tests.e2e.programs import CPU, action_policy, compile_under, compile_upstream, constpolicy

INSTALLED = versions.installed()
# Packing matmul operands in GlobalOptimization is the default before 3.8, and has another flag since 3.9.
_DATA_TILING = "--iree-opt-data-tiling" if INSTALLED < (3, 9) else "--iree-global-opt-data-tiling"
FLAGS: dict[str, tuple[str, ...]] = {"plain": (f"{_DATA_TILING}=false",), "tiled": (f"{_DATA_TILING}=true",)}
BUILT_IN = ("upstream", "balanced", "small", "low-memory", "fast-load", "none")
ROUNDED = Tolerance(rtol=1e-5, atol=1e-5)  # what is inlined fuses differently, and so rounds differently
BEFORE_CODE_GENERATION = "--compile-to=executable-sources"
TRIES = 8  # to see that iree-compile, given the same, writes another file: 3.6 does for some programs, 3.10 for all
IDS = {
    ("bert_positions", "plain"): ("a9013f9838fd",),
    ("dequantized_weight", "tiled"): ("594fca248389",),
    ("parameters", "tiled"): ("c26ee1d1dc70",),
    ("several_functions", "plain"): ("182f360a6430", "182f360a6430-2"),
    ("several_functions", "tiled"): ("3dfbae6a920e", "3dfbae6a920e-2"),
    ("tied_concat", "plain"): ("0607cc03f204", "380b293e55af"),
    ("tied_concat", "tiled"): ("06e7f76f847c", "58094caa4bf1"),
    ("tied_f16", "tiled"): ("1b1b5a888a61",),
    ("tied_plain", "tiled"): ("f2390c28ebb9",),
    ("tied_scaled", "tiled"): ("ae8f9bceca5a",),
    ("user_initializer", "tiled"): ("88829e9dc35c", "372f8dbdee7a", "e469e71f2548"),
}
NOT_HOISTED_SO_BEFORE_3 = {("bert_positions", "plain"), ("several_functions", "plain")}
VARIES_BEFORE_3_9 = {("tied_concat", "plain"), ("user_initializer", "tiled")}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cases")
    write(folder)
    return folder


def iree_compile(source: Path, output: Path, flags: tuple[str, ...]) -> int:
    return subprocess.run([tool.executable(), source, "-o", output, *CPU, *flags], capture_output=True).returncode


def both(source: Path, folder: Path, flags: tuple[str, ...], *more: str) -> tuple[bytes | None, bytes | None]:
    """What constpolicy and iree-compile write; None for each that fails. Their exit codes are the same."""
    ours, theirs = folder / "ours", folder / "theirs"
    strict = ("--policy", DECIDED, "--policy-strict")
    code = constpolicy("compile", source, "-o", ours, *strict, *CPU, *flags, *more).returncode
    assert code == iree_compile(source, theirs, (*flags, *more))
    return (ours.read_bytes() if ours.exists() else None, theirs.read_bytes() if theirs.exists() else None)


def again(source: Path, folder: Path, flags: tuple[str, ...], *more: str) -> bytes:
    iree_compile(source, folder / "again", (*flags, *more))
    return (folder / "again").read_bytes()


@pytest.mark.full
@pytest.mark.parametrize("flags", list(FLAGS))
@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_upstream_gives_what_iree_compile_gives_or_fails_as_it_does(
    programs: Path, tmp_path: Path, name: str, flags: str, record_property: Callable[[str, object], None]
) -> None:
    """Byte for byte; where iree-compile differs from itself, up to code generation, and in one of its own ways."""
    source = programs / f"{name}.mlir"
    ours, theirs = both(source, tmp_path, FLAGS[flags])
    if ours == theirs:
        record_property("upstream", "fails alike" if ours is None else "same bytes")
        return
    assert any(again(source, tmp_path, FLAGS[flags]) != theirs for _ in range(TRIES)), "iree-compile is reproducible"
    ours, theirs = both(source, tmp_path, FLAGS[flags], BEFORE_CODE_GENERATION)
    own = (again(source, tmp_path, FLAGS[flags], BEFORE_CODE_GENERATION) for _ in range(TRIES))
    assert ours in (theirs, *own)
    record_property("upstream", "same IR")


@pytest.mark.parametrize(("name", "flags"), list(IDS))
def test_an_expression_has_the_same_id_in_every_version(programs: Path, name: str, flags: str) -> None:
    if INSTALLED < (3, 0) and (name, flags) in NOT_HOISTED_SO_BEFORE_3:
        pytest.skip("IREE hoists another expression there")
    if INSTALLED < (3, 9) and (name, flags) in VARIES_BEFORE_3_9:
        pytest.skip("IREE hoists one expression or two there, and not the same each time")
    ended = constpolicy("explain", programs / f"{name}.mlir", "--json", "--policy", "upstream", *CPU, *FLAGS[flags])
    assert ended.returncode == 0, ended.stderr.decode()
    candidates = Report.model_validate_json(ended.stdout).candidates
    assert tuple(candidate.id for candidate in candidates) == IDS[name, flags]


@pytest.mark.full
@pytest.mark.parametrize("action", ["evaluate", "initialize", "inline", "fuse", "share"])
@pytest.mark.parametrize("name", ["rope_table", "several_functions", "tied_concat", "user_initializer"])
def test_a_program_computes_the_same_whatever_becomes_of_its_candidates(
    programs: Path, tmp_path: Path, name: str, action: str
) -> None:
    reference, candidate = tmp_path / "reference.vmfb", tmp_path / "candidate.vmfb"
    compile_upstream(programs / f"{name}.mlir", reference, *FLAGS["tiled"])
    compile_under(action_policy(tmp_path, action), programs / f"{name}.mlir", candidate, *FLAGS["tiled"])
    verification = verify_files(reference, candidate, inputs=InputSpec(), tolerance=ROUNDED)
    assert verification.passed, verification.summary()


@pytest.mark.full
@pytest.mark.parametrize("policy", BUILT_IN)
def test_every_built_in_policy_passes_its_verification(programs: Path, policy: str) -> None:
    ended = constpolicy("verify", programs / "tied_plain.mlir", "--policy", policy, *CPU, *FLAGS["tiled"])
    assert ended.returncode == 0, ended.stdout.decode() + ended.stderr.decode()


def test_balanced_shares_the_packed_copy_of_a_table(programs: Path, tmp_path: Path) -> None:
    output, report, upstream = tmp_path / "o.vmfb", tmp_path / "r.json", tmp_path / "u.vmfb"
    source = programs / "tied_plain.mlir"
    policy = ("--policy", "balanced", "--policy-report", report)
    assert constpolicy("compile", source, "-o", output, *policy, *CPU, *FLAGS["tiled"]).returncode == 0
    (candidate,) = Report.model_validate_json(report.read_text()).candidates
    assert (candidate.action, candidate.outcome) == ("share", "shared")
    compile_upstream(source, upstream, *FLAGS["tiled"])
    assert upstream.stat().st_size - output.stat().st_size > 500_000


def test_explain_shows_the_expression_and_leaves_large_constants_out(programs: Path) -> None:
    id = IDS["tied_plain", "tiled"][0]
    source = programs / "tied_plain.mlir"
    ended = constpolicy("explain", source, "--id", id, "--policy", "upstream", *CPU, *FLAGS["tiled"])
    assert ended.returncode == 0, ended.stderr.decode()
    assert ".pack" in ended.stdout.decode()
    assert len(ended.stdout) < 10_000


def test_the_python_api_compiles_as_that_of_the_compiler_does(programs: Path) -> None:
    source = str(programs / "tied_plain.mlir")
    options: dict[str, Any] = {"target_backends": ["llvm-cpu"], "extra_args": ["--iree-llvmcpu-target-cpu=host"]}
    assert python_api.compile_file(source, policy="upstream", **options) == core.compile_file(source, **options)
