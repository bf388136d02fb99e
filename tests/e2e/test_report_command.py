"""`constpolicy report`: written reports in other forms."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
import yaml

from scripts.models import cases
from tests.e2e.programs import CPU, constpolicy

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    (program,) = cases.write(folder, ["tied_scaled"])
    file = folder / "report.json"
    ended = constpolicy(
        "compile", program, "-o", folder / "out.vmfb", "--policy", "upstream", "--policy-report", file, *CPU
    )
    assert ended.returncode == 0, ended.stderr.decode()
    return file


def test_the_schema_names_all_that_a_report_holds(written: Path) -> None:
    schema = json.loads(constpolicy("report", "schema").stdout)
    assert set(json.loads(written.read_text())) == set(schema["properties"])
    assert schema["$defs"]["CandidateReport"]["properties"].keys() >= {"id", "action", "reason", "growth_bytes"}


def test_the_table_of_a_written_report_is_that_of_the_compile(written: Path) -> None:
    shown = constpolicy("report", "text", written).stdout.decode()
    assert "policy upstream" in shown
    assert "+500 KiB" in shown


def test_html_is_written_beside_the_report_or_where_it_is_said(written: Path, tmp_path: Path) -> None:
    assert constpolicy("report", "html", written).returncode == 0
    assert constpolicy("report", "html", written, "-o", tmp_path / "page.html").returncode == 0
    page = (tmp_path / "page.html").read_text()
    assert written.with_suffix(".html").read_text() == page
    assert constpolicy("report", "html", written, "-o", "-").stdout.decode() == page
    assert page.startswith("<!doctype html>")


def test_a_compile_writes_its_report_as_html_by_the_suffix(tmp_path: Path) -> None:
    (program,) = cases.write(tmp_path, ["rope_table"])
    page = tmp_path / "report.html"
    ended = constpolicy("compile", program, "-o", tmp_path / "out.vmfb", "--policy-report", page, *CPU)
    assert ended.returncode == 0, ended.stderr.decode()
    assert page.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(("gate", "exit_code"), [("growth <= 1%", 4), ("growth <= 600KiB", 0)])
def test_a_gate_on_a_written_report_is_an_annotation_and_an_exit_code(written: Path, gate: str, exit_code: int) -> None:
    ended = constpolicy("report", "github", written, "--gate", gate)
    assert ended.returncode == exit_code
    assert ended.stdout.decode().startswith("::error title=constpolicy gate,file=") == (exit_code == 4)


@pytest.mark.parametrize("form", ["text", "html", "markdown", "github"])
def test_what_is_no_report_is_refused(tmp_path: Path, form: str) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text("{}")
    for path, says in ((wrong, "this is no report"), (tmp_path / "missing.json", "cannot be read")):
        ended = constpolicy("report", form, path)
        assert ended.returncode == 2
        assert says in ended.stderr.decode()


def test_the_commands_of_the_workflow_in_the_documentation_work(tmp_path: Path) -> None:
    text = (DOCS / "ci.md").read_text()
    workflow = yaml.safe_load(text.split("```yaml")[1].split("```")[0])
    steps = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    (program,) = cases.write(tmp_path, ["tied_plain"])
    known = {
        "model.mlir": str(program),
        "build/": f"{tmp_path}/",
        "$GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    ran = 0
    for script in steps:
        for line in script.replace("\\\n", " ").splitlines():
            for name, value in known.items():
                line = line.replace(name, value)
            words, _, target = line.partition(">>")
            if words.startswith("constpolicy "):
                ended = constpolicy(*shlex.split(words)[1:])
                assert ended.returncode == 0, (line, ended.stderr.decode())
                assert not target or ended.stdout
                ran += 1
    assert ran >= 3
