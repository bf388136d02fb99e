"""How scripts/check_versions reads what the tests in one version gave, and what it installs."""

from __future__ import annotations

from pathlib import Path

from scripts.check_versions_main import Result, read, requirements

COMPARED = """<testcase name="test_upstream_gives[%s]">
<properties><property name="upstream" value="%s"/></properties></testcase>"""
RECORD = f"""<testsuites><testsuite>
{COMPARED % ("a", "same bytes")}
{COMPARED % ("b", "fails alike")}
<testcase name="test_upstream_gives[c]"><failure message="differs"/></testcase>
<testcase name="test_ids"><skipped message="not there"/></testcase>
<testcase name="test_verify"/>
</testsuite></testsuites>"""


def test_a_row_counts_programs_by_how_they_compare_and_leaves_skipped_tests_out(tmp_path: Path) -> None:
    record = tmp_path / "record.xml"
    record.write_text(RECORD)
    result = read("3.9.0", record)
    assert result.failed == ("test_upstream_gives[c]",)
    assert result.row() == "| 3.9.0 | 1 of 3 | 0 of 3 | 1 of 3 | 3 of 4 |"


def test_a_version_that_cannot_be_installed_has_a_row_that_says_why() -> None:
    assert Result("3.9.0", skipped="no package for Python 3.14").row().startswith("| 3.9.0 | skipped: no package")


def test_a_version_is_installed_under_the_names_it_was_published_with() -> None:
    assert requirements("3.7.1")[:2] == ["iree-base-compiler==3.7.1", "iree-base-runtime==3.7.0"]
    assert requirements("20241104.1068")[:2] == ["iree-compiler==20241104.1068", "iree-runtime==20241104.1068"]
    assert not [each for each in requirements("20241104.1068") if each.startswith("iree-base")]
