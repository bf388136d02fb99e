"""Every example of docs/policy-guide.md is run, and prints what the guide shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "policy-guide.md"
_BLOCK = re.compile(r"```(?P<kind>\w+)(?: file=(?P<file>\S+))?\n(?P<text>.*?)```", re.DOTALL)
_EXIT_CODE = re.compile(r"\[exit code (\d+)\]")


@dataclass(frozen=True)
class Command:
    words: str
    shown: tuple[str, ...]
    exit_code: int


def sections() -> dict[str, str]:
    """The guide's text by heading; what stands before the first one prepares all of them."""
    first, *parts = re.split(r"^## ", GUIDE.read_text(), flags=re.MULTILINE)
    return {"": first} | {part.partition("\n")[0]: part for part in parts}


def commands(block: str) -> Iterator[Command]:
    """The commands of a console block, each with the lines that are shown below it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        words, _, output = part.partition("\n")
        code = _EXIT_CODE.search(output)
        shown = tuple(line.strip() for line in _EXIT_CODE.sub("", output).splitlines() if line.strip())
        yield Command(words, shown, int(code[1]) if code else 0)


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command of the guide, which the guide's author writes for a shell."""
    flags = re.search(r'FLAGS="(.*?)"', GUIDE.read_text())
    assert flags is not None
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"FLAGS": flags[1], "PATH": path, "PYTHONPATH": str(ROOT)}
    return subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("guide")
    (generate,) = (
        c for block in _BLOCK.finditer(sections()[""]) for c in commands(block["text"]) if "cases" in c.words
    )
    assert run(generate.words, folder).returncode == 0
    return folder


@pytest.mark.parametrize("heading", [heading for heading in sections() if heading])
def test_an_example_of_the_guide_prints_what_it_shows(folder: Path, heading: str) -> None:
    for block in _BLOCK.finditer(sections()[heading]):
        if block["file"]:
            (folder / block["file"]).write_text(block["text"])
        if block["kind"] != "console":
            continue
        for command in commands(block["text"]):
            ended = run(command.words, folder)
            printed = [line.strip() for line in (ended.stdout + ended.stderr).splitlines() if line.strip()]
            assert _anywhere(printed) == _anywhere(command.shown), command.words
            assert ended.returncode == command.exit_code


def _anywhere(lines: Sequence[str]) -> list[str]:
    """The lines without what depends on the machine: the time taken, and the size of its CPU's code."""
    machine = re.compile(r"took \d+\.\d s|file: [\d,]+ bytes|^[\d,]+ +[\d.]+ %")
    return [machine.sub("", line) for line in lines]
