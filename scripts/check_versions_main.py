"""Runs the end-to-end tests that hold in every version of IREE in several of them, each in an environment of its own.

The environments are made in build/versions from the package registry, and kept. Where the registry cannot be reached,
or has no package for this Python, a version is skipped, and the table says so.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "versions"
DEFAULT = ("3.6.0", "3.9.0", "3.13.0")  # the oldest, one between, the newest
OTHERS = ("20241104.1068", "3.7.1", "3.8.0", "3.10.0", "3.11.0", "3.12.0")
RUNTIMES = {"3.7.1": "3.7.0"}  # where the runtime had no release of the compiler's number
TESTS = ("tests/e2e/test_versions.py", "tests/e2e/test_python_api.py")
_TEST_TOOLS = ("pytest", "pytest-timeout", "pytest-xdist")
_UNREACHABLE = re.compile(r"NewConnectionError|ConnectionError|ReadTimeout|ConnectTimeout|ProxyError|resolve")
_NO_PACKAGE = "No matching distribution found for iree"


class Skipped(Exception):
    """The version cannot be tried here, for the reason given."""


@dataclass(frozen=True)
class Result:
    """What came of one version. `programs` counts how those compiled under `upstream` compare with iree-compile's."""

    version: str
    passed: int = 0
    failed: tuple[str, ...] = ()
    programs: Counter[str] = field(default_factory=Counter)
    skipped: str = ""

    def row(self) -> str:
        """The version's row of the table, in Markdown."""
        if self.skipped:
            return f"| {self.version} | skipped: {self.skipped} | | | |"
        total = self.programs.total()
        counts = [f"{self.programs[how]} of {total}" for how in ("same bytes", "same IR", "fails alike")]
        return "| " + " | ".join([self.version, *counts, f"{self.passed} of {self.passed + len(self.failed)}"]) + " |"


def requirements(version: str) -> list[str]:
    """What is installed beside constpolicy itself, as pip takes it. Snapshots before 3.0 had other package names."""
    base = "" if version.startswith("20") else "base-"
    iree = [f"iree-{base}compiler=={version}", f"iree-{base}runtime=={RUNTIMES.get(version, version)}"]
    own = [each for each in metadata.requires("constpolicy") or () if "extra ==" not in each]
    return [*iree, *(each for each in own if not each.startswith("iree-")), *_TEST_TOOLS]


def environment(version: str) -> Path:
    """The Python of the version's environment, which is made if it is not there. Raises Skipped."""
    folder, wanted = FOLDER / version, "\n".join([str(ROOT), sys.version, *requirements(version)])
    python, made_for = folder / "bin" / "python", folder / "wanted"
    if made_for.is_file() and made_for.read_text() == wanted:
        return python
    print(f"check_versions: making {folder.relative_to(ROOT)}", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    constraints = folder / "constraints.txt"
    lines = (ROOT / "constraints.txt").read_text().splitlines(keepends=True)
    constraints.write_text("".join(line for line in lines if not line.startswith("iree-")))
    _pip(python, "--constraint", str(constraints), *requirements(version))
    _pip(python, "--no-deps", "--editable", str(ROOT))
    made_for.write_text(wanted)
    return python


def _pip(python: Path, *arguments: str) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode == 0:
        return
    if _UNREACHABLE.search(ended.stderr):
        raise Skipped("the package registry cannot be reached")
    if _NO_PACKAGE in ended.stderr:
        raise Skipped(f"no package for Python {sys.version_info.major}.{sys.version_info.minor}")
    raise SystemExit(ended.stderr)


def check(version: str, pytest_arguments: Sequence[str]) -> Result:
    """Runs the tests in one version."""
    try:
        python = environment(version)
    except Skipped as reason:
        return Result(version, skipped=str(reason))
    print(f"check_versions: testing with IREE {version}", file=sys.stderr)
    record = FOLDER / f"{version}.xml"
    record.unlink(missing_ok=True)
    options = ("--full", "-p", "no:cacheprovider", "--quiet", f"--junitxml={record}", "-o", "junit_family=xunit1")
    subprocess.run([python, "-m", "pytest", *options, *TESTS, *pytest_arguments], cwd=ROOT, stdout=sys.stderr)
    if not record.is_file():
        return Result(version, failed=("the tests did not run",))
    return read(version, record)


def read(version: str, record: Path) -> Result:
    """The result that pytest recorded as JUnit XML."""
    cases = [case for case in ElementTree.parse(record).iter("testcase") if case.find("skipped") is None]
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    compared = Counter(each.attrib["value"] for each in ElementTree.parse(record).iter("property"))
    compared["differs"] = sum("upstream_gives" in case.attrib["name"] for case in failed)
    return Result(version, len(cases) - len(failed), tuple(case.attrib["name"] for case in failed), compared)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", help=f"releases of the compiler; default: {' '.join(DEFAULT)}")
    parser.add_argument("--all", action="store_true", help=f"also {' '.join(OTHERS)}")
    parser.add_argument("-k", metavar="WORD", help="only the tests of this name, as for pytest")
    arguments = parser.parse_args()
    chosen = (*(arguments.versions or DEFAULT), *(OTHERS if arguments.all else ()))
    results = [check(version, ("-k", arguments.k) if arguments.k else ()) for version in chosen]
    print("| IREE | same bytes as iree-compile | same IR, code varies | fail alike | tests passed |")
    print("|---|---|---|---|---|")
    for result in results:
        print(result.row())
    failed = [f"{result.version}: {name}" for result in results for name in result.failed]
    for each in failed:
        print(f"failed in {each}", file=sys.stderr)
    return 1 if failed else 0
