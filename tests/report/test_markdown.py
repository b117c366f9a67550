"""Markdown for an issue: short, and nothing of a recording is markup in it."""

from __future__ import annotations

import re

import pytest

from stepper.recording.reader import Recording
from stepper.report.gathering import gather
from stepper.report.markdown import LONGEST, markdown, span
from tests.analysis.conftest import Recorded
from tests.report.conftest import MARKUP, QUOTES

_SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:.*?[^`])\1(?!`)")

_BLOCK = re.compile(r"^   (`{3,})\n(?:   .*\n)*?   \1$", re.MULTILINE)


def outside_spans(text: str) -> str:
    """What is Markdown in it, and not code."""
    return _SPAN.sub("", _BLOCK.sub("", text))


def test_hostile_texts_are_code(hostile: Recording) -> None:
    text = markdown(gather(hostile, name="run.stepper"))
    assert MARKUP in text
    for sign in ("<", "@everyone", "#1", "onerror", "alert"):
        assert sign not in outside_spans(text)
    assert "\x1b" not in text
    assert len(text) <= LONGEST + 100


@pytest.mark.parametrize("text", ["a", "a`b", "``", "`a`", " a ", "a```b``c", QUOTES])
def test_a_span_holds_any_text(text: str) -> None:
    match = _SPAN.fullmatch(span(text))
    assert match is not None
    inside = span(text)[len(match[1]) : -len(match[1])]
    assert text in (inside, inside[1:-1])


def test_every_row_of_a_table_has_as_many_cells(hostile: Recording) -> None:
    lines = markdown(gather(hostile)).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert rows
    for at, line in enumerate(rows):
        if re.fullmatch(r"\|( --- \|)+", line):
            columns = line.count("|")
            assert len(re.findall(r"(?<!\\)\|", rows[at - 1])) == columns
            assert len(re.findall(r"(?<!\\)\|", rows[at + 1])) == columns


def test_what_matters_is_told(recorded: Recorded) -> None:
    breaks = markdown(gather(recorded("demos/graph_breaks.py", "--lookups"), name="run.stepper"))
    assert "7 graph breaks" in breaks
    assert '`print("in the helper")`' in breaks
    assert "`stepper open run.stepper --at N`" in breaks
    sizes = markdown(gather(recorded("demos/sizes.py")))
    assert "`0/0 in_a_name` `x.shape[0]` is `5`, which was the symbol `s77` (dynamic=True)" in sizes
    assert re.search(r"`requires Eq\(s77, 5\)` `\S*sizes.py:17 in in_a_name`", sizes)
    again = markdown(gather(recorded("demos/recompilation.py", "--lookups")))
    assert "`x.shape[0]: expected 4, actual 5  TENSOR_MATCH L['x']`" in again
    assert "`recompile_limit reached at call 5" in again
