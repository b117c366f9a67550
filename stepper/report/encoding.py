"""The report as JSON."""

from __future__ import annotations

import msgspec

from stepper.report.contents import Report


def encoded(report: Report) -> str:
    """One object, as docs/report-format.md describes it, with a line end."""
    return msgspec.json.encode(report).decode() + "\n"
