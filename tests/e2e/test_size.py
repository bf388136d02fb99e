"""`constpolicy size`: every byte of a .vmfb is accounted for, and what is no .vmfb is refused."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

from constpolicy.records import ConstPolicyError
from constpolicy.report import segments
from scripts.models import cases
from tests.e2e.programs import CPU, constpolicy

CASES = ("tied_scaled", "rope_table")
VARIANTS: tuple[tuple[str, ...], ...] = (
    (),
    ("--iree-vm-emit-polyglot-zip=false",),
    ("--iree-vm-bytecode-module-strip-debug-ops", "--iree-vm-bytecode-module-strip-source-map"),
    ("--iree-hal-local-target-device-backends=vmvx",),
)


def compiled(folder: Path, case: str, flags: Sequence[str] = ()) -> Path:
    (program,) = cases.write(folder, [case])
    output = folder / "out.vmfb"
    ended = constpolicy("compile", program, "-o", output, "--policy", "upstream", *CPU, *flags)
    assert ended.returncode == 0, ended.stderr.decode()
    return output


@pytest.fixture(scope="module")
def tied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("size"), "tied_scaled")


@pytest.mark.parametrize("flags", VARIANTS)
def test_the_parts_follow_one_another_and_add_up_to_the_file(tmp_path: Path, flags: tuple[str, ...]) -> None:
    output = compiled(tmp_path, "tied_scaled", flags)
    report = segments.read(output)
    end = 0
    for part in report.parts:
        assert part.offset == end
        end += part.bytes
    assert end == report.bytes == output.stat().st_size == sum(report.totals.values())
    assert report.totals["constants"] > 900_000
    assert report.totals["executables"] > 1000
    assert report.totals["bytecode"] > 1000


@pytest.mark.parametrize("policy", ["upstream", "balanced", "none"])
def test_the_report_of_a_compile_traces_every_constant(tmp_path: Path, policy: str) -> None:
    (program,) = cases.write(tmp_path, ["tied_scaled"])
    output, written = tmp_path / "out.vmfb", tmp_path / "report.json"
    ended = constpolicy("compile", program, "-o", output, "--policy", policy, "--policy-report", written, *CPU)
    assert ended.returncode == 0, ended.stderr.decode()
    report = json.loads(written.read_text())
    constants = [part for part in report["file"]["parts"] if part["group"] == "constants"]
    evaluated = {c["id"] for c in report["candidates"] if c["outcome"] == "evaluated"}
    assert {part["candidate"] for part in constants if part["candidate"]} == evaluated
    (source,) = (part["source"] for part in constants if not part["candidate"])
    assert source.startswith("@__shared") if policy == "balanced" else source.endswith("tied_scaled.mlir:2:12)")
    assert {part["bytes"] for part in constants} == {512_000}
    assert report["file"]["bytes"] == output.stat().st_size == sum(p["bytes"] for p in report["file"]["parts"])


def test_tracing_the_constants_leaves_the_file_as_it_is(tied: Path, tmp_path: Path) -> None:
    (program,) = cases.write(tied.parent, ["tied_scaled"])
    traced = tmp_path / "traced.vmfb"
    ended = constpolicy("compile", program, "-o", traced, "--policy", "upstream", "--policy-summary", *CPU)
    assert ended.returncode == 0
    assert traced.read_bytes() == tied.read_bytes()
    assert b"constants (2)" in ended.stderr


STORED_TWICE = """
func.func @flat() -> tensor<64xf32> {
  %a = arith.constant dense<{flat}> : tensor<64xf32>
  return %a : tensor<64xf32>
}
func.func @square() -> tensor<8x8xf32> {
  %b = arith.constant dense<{square}> : tensor<8x8xf32>
  return %b : tensor<8x8xf32>
}
"""


def test_a_constant_that_is_stored_twice_is_named_with_where_it_stands_first(tmp_path: Path) -> None:
    numbers = [float(k * k) for k in range(64)]
    program, output, written = (tmp_path / name for name in ("twice.mlir", "twice.vmfb", "twice.json"))
    rows = [numbers[8 * k : 8 * k + 8] for k in range(8)]
    program.write_text(STORED_TWICE.replace("{flat}", str(numbers)).replace("{square}", str(rows)))
    ended = constpolicy("compile", program, "-o", output, "--policy", "upstream", "--policy-report", written, *CPU)
    assert ended.returncode == 0, ended.stderr.decode()
    constants = [part for part in json.loads(written.read_text())["file"]["parts"] if part["group"] == "constants"]
    (first, copy) = constants
    assert (first["bytes"], first["same_as"]) == (256, None)
    assert (copy["bytes"], copy["same_as"]) == (256, first["offset"])


def test_json_and_the_table_say_the_same_sizes(tied: Path) -> None:
    data = json.loads(constpolicy("size", tied, "--json").stdout)["file"]
    shown = constpolicy("size", tied, "--all").stdout.decode()
    for size in (*data["totals"].values(), *(part["bytes"] for part in data["parts"])):
        assert f"{size:,}" in shown


def test_the_dispatches_of_a_function_are_counted(tied: Path) -> None:
    (main,) = (function for function in segments.read(tied).functions if function.name != "__init")
    assert main.dispatches == 2


def test_running_shows_what_initializers_allocate_at_load(tied: Path, tmp_path: Path) -> None:
    left, policy = tmp_path / "left.vmfb", tmp_path / "load.yaml"
    policy.write_text("schema: 1\nname: load\ndefault: initialize\n")
    (program,) = cases.write(tmp_path, ["tied_scaled"])
    assert constpolicy("compile", program, "-o", left, "--policy", policy, *CPU).returncode == 0
    for file, dispatches in ((tied, 0), (left, 1)):
        data = json.loads(constpolicy("size", file, "--run", "--json").stdout)
        (init,) = (f for f in data["file"]["functions"] if f["name"] == "__init")
        assert data["run"]["allocated_bytes"] == 512_000 * init["dispatches"]
        assert init["dispatches"] == dispatches
        (call,) = data["run"]["calls"]
        assert call["peak_bytes"] > 64 * 1000
        assert call["seconds"] > 0


def test_a_shorter_file_is_refused_unless_only_the_archives_directory_is_missing(tied: Path, tmp_path: Path) -> None:
    whole = tied.read_bytes()
    short = tmp_path / "short.vmfb"
    for length in (0, 1, 10, 67, 100, 1000, 5000, len(whole) // 2, len(whole) - 100, len(whole) - 1):
        short.write_bytes(whole[:length])
        with pytest.raises(ConstPolicyError, match="this is no") if length < len(whole) - 500 else nullcontext():
            assert sum(part.bytes for part in segments.read(short).parts) == length


def test_damaged_files_are_refused_or_add_up_in_little_time(tied: Path, tmp_path: Path) -> None:
    whole, damaged, chance = tied.read_bytes()[:20_000], tmp_path / "damaged.vmfb", random.Random(1)
    tail = bytes(tied.stat().st_size - len(whole))
    refused = 0
    started = time.monotonic()
    for _ in range(100):
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 20)):
            data[chance.randrange(7000)] = chance.choice((0, 1, 127, 255))
        damaged.write_bytes(data + tail)
        try:
            assert sum(part.bytes for part in segments.read(damaged).parts) == len(data) + len(tail)
        except ConstPolicyError:
            refused += 1
    assert refused > 10
    assert time.monotonic() - started < 60


@pytest.mark.parametrize("content", [b"not a module, but long enough to be one " * 4, b"PK\x03\x04" + bytes(200)])
def test_a_file_that_is_none_is_an_error_of_the_user(tmp_path: Path, content: bytes) -> None:
    other = tmp_path / "other.bin"
    other.write_bytes(content)
    ended = constpolicy("size", other)
    assert ended.returncode == 2
    assert b"other.bin: this is no" in ended.stderr


def test_a_file_that_is_not_there_is_an_error_of_the_user(tmp_path: Path) -> None:
    ended = constpolicy("size", tmp_path / "missing.vmfb")
    assert ended.returncode == 2
    assert os.strerror(2).encode() in ended.stderr
