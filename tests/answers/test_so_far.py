"""What has not happened is told as such only of a program that was seen to its end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import get_args

import pytest

from stepper.analysis.overview import overview_lines
from stepper.recording.reader import Recording
from tests.answers.cases import CASES, Question
from tests.answers.running import Recorded
from tests.answers.test_answers import QUESTIONS

pytestmark = pytest.mark.slow

_NONE = re.compile(r"no |none |nothing |each call ", re.IGNORECASE)
"""How a line begins by which something has not happened."""
_LIMITED = ("so far", "recorded", "in what was compiled")
"""How it is said of which time that is true."""
_NOWHERE = "that_is_called_by_nobody"


@pytest.fixture(scope="module")
def growing(recorded: Recorded) -> Iterator[Recording]:
    """The programs, as if the last of them still ran."""
    recording = Recording.open(recorded[0].path)
    recording.ended = None
    yield recording
    recording.close()


@pytest.mark.parametrize("question", get_args(Question))
def test_what_has_not_happened_may_come_yet(question: Question, growing: Recording) -> None:
    names = [f"{name}.<locals>" for name in CASES]
    answers = [
        line.text
        for name in (*names[::7], _NOWHERE)
        for line in [next(QUESTIONS[question](growing, "x", name))]
    ]
    told = [text for text in answers if _NONE.match(text)]
    assert told
    assert not [text for text in told if not any(words in text for words in _LIMITED)]


def test_an_overview_says_so_too(growing: Recording, recorded: Recorded) -> None:
    """As far as there is nothing to tell."""
    assert not any("so far" in line.text for line in overview_lines(recorded[0]))
    assert not any(_NONE.match(line.text) for line in overview_lines(growing))
