"""The report as one HTML file that needs nothing else: no network, no other file.

Whatever comes from a model or a policy is data: it is embedded as JSON in which no markup can end the element, and the
page's script writes it as text. The content security policy lets nothing run but that script.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from string import Template
from typing import Any

from constpolicy.report.contents import parts
from constpolicy.report.diff import Difference
from constpolicy.report.model import Report


def report_page(report: Report) -> str:
    """The report as HTML."""
    content = [part.model_dump(mode="json") for part in parts(report)]
    return _page({"report": report.model_dump(mode="json"), "parts": content})


def difference_page(difference: Difference) -> str:
    """The difference of two reports as HTML."""
    return _page({"difference": difference.model_dump(mode="json")})


def _page(data: dict[str, Any]) -> str:
    folder = resources.files("constpolicy.report") / "page"
    page, style, script = (
        (folder / name).read_text(encoding="utf-8") for name in ("page.html", "style.css", "script.js")
    )
    return Template(page).substitute(
        style=style, script=script, style_hash=_hash(style), script_hash=_hash(script), data=embedded(data)
    )


def embedded(data: dict[str, Any]) -> str:
    """JSON that can stand in a script element: nothing in it looks like markup."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
