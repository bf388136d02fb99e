"""Every link of the README and the pages of docs/ to a file of the repository leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]*)?\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in _LINK.findall(page.read_text(encoding="utf-8")):
        if ":" in target:  # elsewhere
            continue
        file = page.parent / target if target else page
        assert file.exists(), f"{page.name} links to {target}"
        if anchor:
            anchors = {_anchor(heading) for heading in _HEADING.findall(file.read_text(encoding="utf-8"))}
            assert anchor[1:] in anchors, f"{page.name} links to {target}{anchor}"
