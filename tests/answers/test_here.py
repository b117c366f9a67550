"""A moment's answer says what the answer about the whole run says of it."""

from __future__ import annotations

from stepper.analysis.breaks import causes
from stepper.analysis.conditions import LEAVES
from stepper.analysis.failures import failures
from stepper.analysis.here import event_at, glimpse, here_lines, why_here
from stepper.analysis.recompile_advice import advice_against
from stepper.analysis.recompile_lines import differing_text, spelling_of
from stepper.analysis.recompiles import changes_of, recompilations
from stepper.analysis.sources import unscoped
from stepper.client.text import ELLIPSIS
from stepper.model.datum import UNKNOWN
from stepper.model.trace import EventKind
from stepper.recording.reader import Recording
from tests.answers.running import Recorded

NOTABLE = (
    EventKind.EXCEPTION, EventKind.GRAPH_BREAK, EventKind.CACHE_LIMIT, EventKind.RECOMPILE,
    EventKind.MISS, EventKind.GUARD_FAIL, EventKind.SPECIALIZE, EventKind.DATA_DEPENDENT,
    EventKind.INVALIDATE, EventKind.EVICT, EventKind.SKIP, EventKind.HIT, EventKind.END,
)  # fmt: skip


def about(recording: Recording, moment: int, kind: EventKind) -> bool:
    """Whether a moment is about this, and about no other of its kind."""
    found = event_at(recording, moment)
    those = recording.events(kinds=(kind,), after=moment - 1, before=moment + 1)
    return found is not None and found.kind is kind and len(those) == 1


def test_of_a_break_it_says_line_and_change(recorded: Recorded) -> None:
    recording, *_ = recorded
    asked = 0
    for cause in causes(recording):
        if not about(recording, cause.moment, EventKind.GRAPH_BREAK):
            continue
        here = why_here(recording, cause.moment)
        assert cause.kind in here.headline
        assert here.culprit is not None
        assert here.culprit.place == cause.place
        assert here.remedy == ("" if cause.change is None else str(cause.change))
        asked += 1
    assert asked > 20


def test_of_a_failure_it_says_the_line_to_blame(recorded: Recorded) -> None:
    recording, *_ = recorded
    asked = 0
    for failed in failures(recording):
        moment = failed.failure.moment
        if not about(recording, moment, EventKind.EXCEPTION):
            continue
        here = why_here(recording, moment)
        assert failed.failure.exception in here.headline
        if failed.place is not None:
            assert here.culprit is not None
            assert here.culprit.place == failed.place
        asked += 1
    assert asked > 5


def test_of_a_recompilation_it_says_what_was_otherwise(recorded: Recorded) -> None:
    recording, *_ = recorded
    asked = 0
    for found in recompilations(recording):
        moment, nearest = found.translation.first_moment - 1, found.nearest
        if nearest is None or not about(recording, moment, EventKind.RECOMPILE):
            continue
        here = why_here(recording, moment)
        spell = spelling_of(recording, nearest)
        failure = nearest.failures[0]
        said = differing_text(failure, spell).removeprefix("fails: ").removesuffix(ELLIPSIS)
        wanted = [each.expected != UNKNOWN for each in failure.differences]
        told = any(wanted) or (not wanted and failure.kind in LEAVES)
        how = "wants" if told else "does not fit:"
        assert f"{nearest.entry} {how} {said.replace(', with ', ', actual ')}" in here.headline
        asked += 1
        known = advice_against(recording, found.translation)
        for change in changes_of(nearest)[:1]:
            meant = (unscoped(change.source), change.by.aspect)
            about_it = [each.text for each in known if (each.source, each.aspect) == meant]
            if known and known[0].first:
                about_it = [known[0].text]
            assert here.remedy in about_it or not about_it, "what the headline says comes first"
    assert asked > 20


def test_whatever_happens_is_told_and_leads_into_the_recording(recorded: Recorded) -> None:
    recording, *_ = recorded
    moments = {event.moment for event in recording.events(kinds=NOTABLE)}
    for moment in sorted(moments)[::7]:
        at_once, here = glimpse(recording, moment), why_here(recording, moment)
        assert at_once.kind is here.kind
        assert here.headline
        assert "\n" not in here.headline
        for line in here_lines(recording, moment):
            assert line.moment is None or line.moment <= recording.newest
        if here.culprit is not None:
            assert 0 <= here.culprit.start <= max(here.culprit.end, len(here.culprit.text))


def test_the_second_attempt_is_there_because_of_the_break(recorded: Recorded) -> None:
    recording, *_ = recorded
    again = next(each for each in recording.attempts() if each.number == 2)
    here = why_here(recording, again.first_moment + 1)
    assert here.kind is None
    first = recording.attempts(again.translation)[0]
    assert (f"attempt {first.number} was thrown away", first.last_moment) in [
        (line.text.partition(":")[0], line.moment) for line in here.leads
    ]
