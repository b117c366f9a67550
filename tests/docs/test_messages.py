"""The messages that the page on troubleshooting quotes are stepper's own words."""

from __future__ import annotations

import re

import pytest

from tests.docs.transcripts import ROOT

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
MESSAGES = [
    quoted
    for row in re.findall(r"^\| ([^|]*`[^|]*) \|", PAGE, re.MULTILINE)
    for quoted in re.findall("`([^`]+)`", row)
]


def test_there_are_messages() -> None:
    assert len(MESSAGES) > 8


@pytest.mark.parametrize("message", MESSAGES)
def test_a_quoted_message_is_said(message: str) -> None:
    """Word for word; `…` stands for what differs, which a format string has in braces."""
    sources = "\n".join(path.read_text() for path in sorted((ROOT / "stepper").rglob("*.py")))
    joined = re.sub(r'"\s*\n\s*f?"', "", sources)
    for piece in message.split("…"):
        assert piece.strip() in joined
