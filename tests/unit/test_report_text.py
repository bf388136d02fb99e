"""The table for the terminal: nothing that comes from a policy or a model reaches it raw."""

from __future__ import annotations

import io

from rich.console import Console

from constpolicy.report.model import PolicyReport
from constpolicy.report.text import show
from tests.unit.test_report_forms import candidate, report, source

EVIL = "\x1b[31mRED\x1b]0;title\x07\x9b2J\r\n\u202e[bold]"


def test_control_characters_of_any_name_are_made_visible() -> None:
    worst = candidate(EVIL, 65536, EVIL, source(EVIL, 65536), growth=65536).model_copy(
        update={"kind": EVIL, "reason": EVIL}
    )
    whole = report(worst, candidate("b", 1, EVIL), warning=EVIL).model_copy(
        update={
            "policy": PolicyReport(name=EVIL, origin=EVIL, content={}),
            "budgets": [EVIL],
            "fallbacks": [EVIL],
        }
    )
    stream = io.StringIO()
    show(whole, Console(file=stream, width=4000), all_candidates=False)
    text = stream.getvalue()
    assert "\\x1b[31mRED" in text
    assert "[bold]" in text  # no markup
    assert all(char.isprintable() or char == "\n" for char in text)
