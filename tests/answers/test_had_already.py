"""What is advised is never what the program has already: a mark, or dynamic=True. That a setting is
not which it sets itself the counts of the bench say: with the remedy there is less."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from stepper.analysis.advice import Advice
from stepper.analysis.handed_on import spelling
from stepper.analysis.recompile_advice import advise
from stepper.analysis.recompile_series import History, histories
from stepper.analysis.recompiles import recompilations
from stepper.analysis.shapes import sizes
from stepper.model.shapes import Why
from stepper.model.trace import Outcome, Translation
from stepper.recording.reader import Recording
from tests.answers.running import Recorded

pytestmark = pytest.mark.slow

MARK = re.compile(r"\b(mark_dynamic|mark_unbacked)\(([^()]+), (\d+)\)")
DYNAMIC = "dynamic=True)"
HAS = {"mark_dynamic": Why.MARKED, "mark_unbacked": Why.MARKED_UNBACKED}


def had(recording: Recording, history: History, advice: Advice) -> Iterator[str]:
    """What a piece of advice names that all entries were made with."""
    code = history.recompilations[0].translation.code
    made = [
        item
        for item in recording.translations()
        if item.code == code and item.outcome is Outcome.COMPILED
    ]
    if DYNAMIC in advice.text and made and all(item.dynamic is True for item in made):
        yield DYNAMIC
    for how, tensor, dim in MARK.findall(advice.text):
        name = f"{tensor}.shape[{dim}]"
        if made and all((name, HAS[how]) in marked(recording, item) for item in made):
            yield f"{how}({tensor}, {dim})"


def marked(recording: Recording, item: Translation) -> set[tuple[str, Why]]:
    """The sizes of an entry by the names that they have for the program, and why each is one."""
    spell = spelling(recording, item)
    return {(spell(size.source), size.why) for size in sizes(recording, item)}


def test_no_mark_or_option_is_advised_that_the_program_has(recorded: Recorded) -> None:
    recording, *_ = recorded
    found = [
        (history, advice)
        for history in histories(recording, recompilations(recording, ""))
        for advice in advise(recording, history)
    ]
    named = [advice for _, advice in found if MARK.search(advice.text) or DYNAMIC in advice.text]
    assert len(named) > 100
    assert not [
        f"{history.name}: {each} in {advice.text}"
        for history, advice in found
        for each in had(recording, history, advice)
    ]
