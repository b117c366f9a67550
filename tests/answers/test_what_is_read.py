"""A question about one function, or one moment, does not read what happened in the whole run: in a
long one that would be felt. Of the bench's some hundred thousand events most are skipped frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stepper.analysis.here import why_here
from stepper.analysis.questions import QUESTIONS
from stepper.model.trace import Event
from tests.answers.running import Recorded
from tests.answers.test_here import NOTABLE

MOST = 400
"""Events that one answer may read, beside those of the moment that is asked about: where the
program runs functions of its own without the compiler, one has hundreds."""

ABOUT = {"function": "activations_of_layers", "expression": "x.shape[0]"}


@pytest.fixture
def read(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events each reading has found."""
    found: list[int] = []
    original: Callable[..., list[Event]] = recorded[0].events

    def events(*args: Any, **options: Any) -> list[Event]:
        result = original(*args, **options)
        found.append(len(result))
        return result

    monkeypatch.setattr(recorded[0], "events", events)
    return found


ASKED = [each for each in QUESTIONS.values() if {arg.name for arg in each.arguments} <= {*ABOUT}]


@pytest.mark.parametrize("question", ASKED, ids=[question.name for question in ASKED])
def test_a_question_about_a_function(question: Any, recorded: Recorded, read: list[int]) -> None:
    list(question.answer()(recorded[0], *(ABOUT[each.name] for each in question.arguments)))
    assert sum(read) < MOST


def test_a_question_about_a_moment(recorded: Recorded, read: list[int]) -> None:
    recording, *_ = recorded
    moments = sorted({event.moment for event in recording.events(kinds=NOTABLE)})
    assert len(moments) > 1_000
    for moment in moments[::29]:
        there = len(recording.events(after=moment - 1, before=moment + 1))
        read.clear()
        why_here(recording, moment)
        assert sum(read) < MOST + there, moment
