"""Gates for CI: limits on what a compile comes to, checked against its report and, where asked, an older one.

file_bytes <= 25MiB          the finished file
growth <= 1%                 the growth of the file's constants, in bytes or per cent of the program's
vs baseline.json <= +0.5%    the finished file against that of another report
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from constpolicy.policy.units import Amount, format_size
from constpolicy.records import ConstPolicyError
from constpolicy.report.model import CandidateReport, Report

_GATE = re.compile(r"(?P<what>file_bytes|growth|vs (?P<baseline>.+?))\s*<=\s*\+?(?P<limit>[^<=>]+)")
_CULPRITS = 3


@dataclass(frozen=True)
class Gate:
    """A limit on one quantity; `baseline` is the report that it is compared with, if any."""

    text: str
    what: str
    limit: Amount
    baseline: Path | None = None

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Reads a gate as it is written on the command line. Raises ConstPolicyError saying what to write."""
        match = _GATE.fullmatch(text.strip())
        try:
            limit = Amount.parse(match["limit"].strip()) if match else None
        except ValueError as error:
            raise ConstPolicyError(f"gate '{text}': {error}") from None
        if match is None or limit is None:
            forms = "'file_bytes <= 25MiB', 'growth <= 1%' or 'vs baseline.json <= +0.5%'"
            raise ConstPolicyError(f"gate '{text}': write {forms}")
        baseline = Path(match["baseline"]) if match["baseline"] else None
        return cls(text.strip(), "vs" if baseline else match["what"], limit, baseline)

    def exceeded(self, report: Report) -> str | None:
        """What to say if the report does not keep the gate: the numbers, and which candidates grow most; else None."""
        value, most = _value_and_limit(self, report)
        if value <= most:
            return None
        numbers = f"{format_size(value)} > {format_size(most)}"
        return f"gate '{self.text}' is exceeded: {numbers}{_culprits(report)}"


def _value_and_limit(gate: Gate, report: Report) -> tuple[int, int]:
    totals = report.totals
    if gate.what == "growth":
        return totals.predicted_growth_bytes, gate.limit.of(totals.constant_bytes)
    if totals.file_bytes is None:
        raise ConstPolicyError(f"gate '{gate.text}': the compile wrote no file that has a size")
    if gate.baseline is None:
        return totals.file_bytes, gate.limit.of(totals.constant_bytes)
    before = _file_bytes(gate.baseline)
    return totals.file_bytes - before, gate.limit.of(before)


def _file_bytes(baseline: Path) -> int:
    try:
        size = Report.model_validate_json(baseline.read_text(encoding="utf-8")).totals.file_bytes
    except OSError as error:
        raise ConstPolicyError(f"gate vs {baseline}: cannot be read: {error.strerror}") from None
    except (ValidationError, UnicodeDecodeError):
        raise ConstPolicyError(f"gate vs {baseline}: this is no report of this version of constpolicy") from None
    if size is None:
        raise ConstPolicyError(f"gate vs {baseline}: the report is of no finished file")
    return size


def _culprits(report: Report) -> str:
    growing = [c for c in report.candidates if c.action == "evaluate" and c.growth_bytes > 0]
    largest = sorted(growing, key=lambda candidate: -candidate.growth_bytes)[:_CULPRITS]
    if not largest:
        return "; no candidate makes the file grow"
    return f"; most of it by {', '.join(_named(candidate) for candidate in largest)}"


def _named(candidate: CandidateReport) -> str:
    place = f" at {candidate.location}" if candidate.location else ""
    return f"{candidate.id} ({candidate.kind}{place}, +{format_size(candidate.growth_bytes)})"
