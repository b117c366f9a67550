"""`is-guarded` claims nothing that an experiment refutes."""

from __future__ import annotations

import pytest

from stepper.analysis.guard_lines import guarded_lines
from tests.answers.running import Recorded
from tests.answers.swept import SWEPT

pytestmark = pytest.mark.slow

FREE = ("is not guarded", "is free", "not its elements")
GUARDED = ("is guarded", "is a property", "is what __getattr__ gives", "only the ")
NO_ANSWER = ("nothing is called", "what a call gives", "no entry")


@pytest.mark.parametrize("name", SWEPT)
def test_what_is_claimed_is_what_happens(name: str, recorded: Recorded) -> None:
    expression = SWEPT[name].expression
    first, *_ = (line.text for line in guarded_lines(recorded[0], expression, f"{name}.<locals>"))
    recompiled = recorded[1][name]
    assert not any(words in first for words in NO_ANSWER), first
    free = any(words in first for words in FREE)
    assert free or any(words in first for words in GUARDED), first
    assert recompiled == (not free), first
