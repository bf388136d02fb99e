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


def test_json_and_the_table_say_the_same_sizes(tied: Path) -> None:
    data = json.loads(constpolicy("size", tied, "--json").stdout)
    shown = constpolicy("size", tied, "--all").stdout.decode()
    for size in (*data["totals"].values(), *(part["bytes"] for part in data["parts"])):
        assert f"{size:,}" in shown


def test_the_dispatches_of_a_function_are_counted(tied: Path) -> None:
    (main,) = (function for function in segments.read(tied).functions if function.name != "__init")
    assert main.dispatches == 2


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
