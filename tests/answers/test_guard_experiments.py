"""`is-guarded` claims nothing that an experiment refutes, and knows each guard by its name."""

from __future__ import annotations

import pytest

from stepper.analysis.guard_kinds import why_unchecked
from stepper.analysis.guard_lines import guarded_lines
from stepper.analysis.guard_uses import entries, guards_of
from stepper.analysis.guarded import asked_of
from stepper.analysis.handed_on import spelling
from tests.answers.guard_experiments import EXPERIMENTS
from tests.answers.running import Recorded

pytestmark = pytest.mark.slow

FREE = ("is not guarded", "is free", "not its elements")
GUARDED = ("is guarded", "is a property", "is what __getattr__ gives", "only the ")
NO_ANSWER = ("nothing is called", "what a call gives", "no entry")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_is_claimed_is_what_happens(name: str, recorded: Recorded) -> None:
    expression = EXPERIMENTS[name].expression
    first, *_ = (line.text for line in guarded_lines(recorded[0], expression, f"{name}.<locals>"))
    recompiled = recorded[1][name]
    assert not any(words in first for words in NO_ANSWER), first
    free = any(words in first for words in FREE)
    assert free or any(words in first for words in GUARDED), first
    assert recompiled == (not free), first


def test_each_guard_is_found_by_the_name_that_answers_have_for_it(recorded: Recorded) -> None:
    recording, *_ = recorded
    told: set[tuple[int, str]] = set()
    unknown = []
    for item in entries(recording):
        spell = spelling(recording, item)
        sources = [each.source for each in guards_of(recording, item) if not why_unchecked(each)]
        names = {spell(source) for source in sources if source}
        for name in sorted(name for name in names if (item.code, name) not in told):
            told.add((item.code, name))
            found = asked_of(recording, item, name)
            if found is None or not (found.near or found.unchecked):
                unknown.append(f"{item.name}: {name}")
    assert len(told) > 1000
    assert not unknown
