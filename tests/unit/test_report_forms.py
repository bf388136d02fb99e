"""A report as Markdown and as GitHub's annotations: what comes from a model is shown and is nothing else."""

from __future__ import annotations

import json

from constpolicy.report import contents, github, markdown
from constpolicy.report.file_report import FilePart, FileReport
from constpolicy.report.html import embedded
from constpolicy.report.model import CandidateReport, PolicyReport, Report, SourceReport, Timing, Totals, Versions

KIB = 1024


def source(name: str, size: int, *readers: str) -> SourceReport:
    return SourceReport(
        name=name,
        type="tensor<4xf32>",
        bytes=size,
        stored_bytes=size,
        origin="dense",
        splat=False,
        readers=list(readers),
        location=None,
    )


def candidate(id: str, size: int, action: str, *sources: SourceReport, growth: int = 0) -> CandidateReport:
    return CandidateReport(
        id=id,
        symbol=f"@hoisted_{id}",
        type="tensor<4xf32>",
        result_bytes=size,
        kind="transpose",
        contains=["transpose"],
        phase="global-optimization",
        location="models/a,b:c.mlir:12:3",
        sources=list(sources),
        functions=["@main"],
        uses=1,
        affinity=None,
        work_bytes=2 * size,
        refusals={},
        action=action,
        reason="because",
        decided_by="default",
        growth_bytes=growth,
        warnings=[],
        outcome=None,
    )


def report(*candidates: CandidateReport, constants: int = 0, file: int | None = None, warning: str = "") -> Report:
    return Report(
        input="model.mlir",
        output=None,
        flags=[],
        versions=Versions(constpolicy="1", iree_compiler="2"),
        policy=PolicyReport(name="p", origin="'p', as named", content={}),
        candidates=list(candidates),
        totals=Totals(
            candidates=len(candidates),
            constant_bytes=constants,
            actions={},
            evaluated_bytes=0,
            predicted_growth_bytes=0,
            file_bytes=file,
        ),
        duplicates=[],
        budgets=[],
        fallbacks=[],
        warnings=[warning] if warning else [],
        timing=Timing(phases={}, evaluation=0.0),
    )


def test_the_parts_of_a_file_add_up_to_its_size() -> None:
    kept, dead = source("kept", 8 * KIB, "@main (gather)"), source("dead", 4 * KIB)
    evaluated = candidate("a", 8 * KIB, "evaluate", kept, dead)
    found = contents.parts(report(evaluated, constants=20 * KIB, file=30 * KIB))
    assert [(part.group, part.bytes) for part in found] == [
        ("evaluated results", 8 * KIB),
        ("source constants", 8 * KIB),
        ("source constants", 8 * KIB),  # those that no candidate reads
        ("code and the rest", 6 * KIB),
    ]
    assert "dead" not in [part.name for part in found]


def test_what_was_measured_in_the_file_goes_before_what_was_predicted() -> None:
    measured = FileReport(
        bytes=100,
        totals={"constants": 80, "rest": 20},
        parts=[
            FilePart(group="rest", name="headers", offset=0, bytes=20),
            FilePart(group="constants", name="_const", offset=20, bytes=50, candidate="a"),
            FilePart(group="constants", name="_const_1", offset=70, bytes=10, source="table"),
            FilePart(group="constants", name="_const_2", offset=80, bytes=20, source="table", same_as=70),
        ],
    )
    given = report(candidate("a", 50, "evaluate", source("table", 10)), constants=10, file=100)
    found = contents.parts(given.model_copy(update={"file": measured}))
    assert [(part.group, part.name, part.bytes) for part in found] == [
        ("evaluated results", "transpose of table", 50),
        ("code and the rest", "headers", 20),
        ("source constants", "table, stored again", 20),
        ("source constants", "table", 10),
    ]


def test_a_source_that_something_computes_from_at_load_time_stays_in_the_file() -> None:
    table = source("table", 4 * KIB)
    both = (candidate("a", 8 * KIB, "evaluate", table), candidate("b", 8 * KIB, "initialize", table))
    assert [part.name for part in contents.parts(report(*both, constants=4 * KIB))] == ["transpose of table", "table"]


def test_markdown_shows_the_largest_growth_first_and_no_markup_of_a_model() -> None:
    hostile = source("`<b>|\n", 4)
    lines = list(
        markdown.lines(
            report(
                candidate("small", 4, "evaluate", hostile, growth=1),
                candidate("large", 4, "evaluate", growth=-9000),
                warning="[x](http://example.org) <script>",
            )
        )
    )
    rows = [line for line in lines if line.startswith("| ")][1:]
    assert "large" in rows[0]
    assert "small" in rows[1]
    assert all(row.count("|") == 7 for row in rows)
    assert not any(char in line for line in lines for char in "<`[")


def test_an_annotation_stands_at_the_line_of_the_candidate_that_grows_most_and_cannot_be_broken_out_of() -> None:
    growing = candidate("a", 4, "evaluate", growth=9000)
    error, warning = github.lines(report(growing, warning="100 %\n::error::x"), ["gate 'growth <= 1%' exceeded"])
    assert error == (
        "::error title=constpolicy gate,file=models/a%2Cb%3Ac.mlir,line=12,col=3::gate 'growth <= 1%25' exceeded"
    )
    assert warning == "::warning title=constpolicy::100 %25%0A::error::x"


def test_nothing_in_the_embedded_data_can_end_the_element() -> None:
    data = {"name": "</script><!--&\u2028", "list": ["<"]}
    text = embedded(data)
    assert not set(text) & set("<>&\u2028")
    assert json.loads(text) == data
