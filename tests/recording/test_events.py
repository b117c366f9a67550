"""Events, as they are counted and found without reading all of them."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stepper.model.trace import Event, EventKind
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from stepper.recording.schema import EVENT_KINDS
from stepper.recording.writer import Writer
from tests.tape import FACTS

_RECORDED = (
    "translation", "attempt", "inline", "return", "guard", "node", "side-effect", "symbol",
    "specialize", "shape-guard", "data-dependent", "shape", "graph-break", "restart", "skip",
    "recompile", "cache-limit", "exception", "end", "lookup", "guard-fail", "hit", "miss",
    "entry", "invalidate", "evict", "execute", "stop", "intervention", "note",
)  # fmt: skip
"""The kinds in the order in which recordings of format 15 and later count them."""

_KINDS = (EventKind.GUARD, EventKind.NODE, EventKind.GRAPH_BREAK)
_RARE = EventKind.RESTART
_MOMENTS = 60


def _as_now(connection: sqlite3.Connection) -> None:
    """Leave it as it is written."""


def _as_format_14(connection: sqlite3.Connection) -> None:
    for column in ("earliest", "latest", "kinds"):
        connection.execute(f"ALTER TABLE events DROP COLUMN {column}")
    connection.execute("PRAGMA user_version=14")


def _before_the_last_kind(connection: sqlite3.Connection) -> None:
    """As it was written when there was a kind less."""
    connection.execute("UPDATE events SET kinds = substr(kinds, 1, length(kinds) - 4)")


def _run(writer: Writer, source: random.Random, number: int) -> None:
    """Some events, mostly in order."""
    for _ in range(source.randrange(12)):
        moment = source.choice((number, number, number + 1, source.randrange(_MOMENTS)))
        kind = _RARE if source.random() < 0.02 else source.choice(_KINDS)
        writer.event(moment, kind, f"said {source.randrange(9)}")
    writer.flush()


@pytest.fixture(params=(_as_now, _as_format_14, _before_the_last_kind))
def recordings(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[list[Recording]]:
    """Some, whose events come in runs of several lengths."""
    change: Callable[[sqlite3.Connection], None] = request.param
    opened = []
    for seed in range(8):
        path = tmp_path / f"{seed}.stepper"
        writer, source = Writer(str(path), FACTS), random.Random(seed)
        for number in range(source.choice((1, 3, 30))):
            _run(writer, source, number)
        writer.close()
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            change(connection)
        opened.append(Recording.open(str(path)))
    yield opened
    for recording in opened:
        recording.close()


def test_the_numbers_of_kinds_stay_what_they_are() -> None:
    assert (*map(str, EVENT_KINDS),) == _RECORDED, "a new kind stands at the end, here too"


def test_events_are_found_as_if_all_were_looked_at(recordings: list[Recording]) -> None:
    source = random.Random(1)
    found_any = 0
    for recording in recordings:
        every = recording.events()
        assert [event.id for event in every] == [*range(1, len(every) + 1)]
        for _ in range(80):
            kinds = source.choice((None, (), _KINDS[:1], _KINDS[1:], (_RARE,)))
            text = source.choice(("", "", "SAID 3"))
            after, before = source.randrange(-1, _MOMENTS), source.choice((None, 7, 30, 59))
            offset, limit = source.randrange(9), source.choice((None, 0, 5))
            fit = [event for event in every if kinds is None or event.kind in kinds]
            having = [event for event in fit if text.lower() in event.text]
            assert recording.event_count(kinds, text) == len(having)
            between = [
                event
                for event in having
                if (event.moment > after or after <= 0)
                and (before is None or event.moment < before)
            ]
            page = between[offset:][:limit]
            assert page == recording.events(
                kinds, after=after, before=before, text=text, limit=limit, offset=offset
            )
            found_any += len(page)
    assert found_any > 150


def test_the_nearest_event_is_found_in_either_direction(recordings: list[Recording]) -> None:
    def order(event: Event) -> tuple[int, int]:
        return event.moment, event.id

    for recording in recordings:
        recording.oldest, recording.newest = 1, _MOMENTS  # no moment is recorded, and events are
        every = sorted(recording.events(), key=order)
        for moment in range(_MOMENTS + 1):
            for kinds in (None, _KINDS[:1], (_RARE,)):
                fit = [event for event in every if kinds is None or event.kind in kinds]
                later = [event for event in fit if event.moment > moment]
                earlier = [event for event in fit if event.moment < moment and event.moment]
                assert recording.next_event(moment, kinds, 1) == next(iter(later), None)
                if earlier:
                    assert recording.next_event(moment, kinds, -1) == earlier[-1]


def test_the_events_before_a_moment_are_counted(recordings: list[Recording]) -> None:
    for recording in recordings:
        every = recording.events()
        for kinds in (_KINDS[:1], (_RARE,), _KINDS):
            moments = recording.event_moments(kinds)
            fit = sorted(event.moment for event in every if event.kind in kinds)
            assert list(moments) == fit
            assert len(moments) == len(fit)
            for moment in range(_MOMENTS + 1):
                assert moments.before(moment) == sum(each < moment for each in fit)


def test_what_is_written_later_is_found_too(tmp_path: Path) -> None:
    path = str(tmp_path / "grows.stepper")
    writer, source = Writer(path, FACTS), random.Random(7)
    writer.event(40, EventKind.GUARD, "said first")
    writer.flush()
    recording = Recording.open(path)
    assert recording.event_count() == 1
    for number in range(30):
        _run(writer, source, number)
        recording.refresh()
        again = Recording.open(path)
        for kinds in (None, *((kind,) for kind in _KINDS)):
            assert recording.events(kinds, after=20) == again.events(kinds, after=20)
            assert recording.events(kinds, text="3") == again.events(kinds, text="3")
            wanted = (EventKind.NODE,) if kinds is None else kinds
            assert [*recording.event_moments(wanted)] == [*again.event_moments(wanted)]
            before = [recording.event_moments(wanted).before(at) for at in range(_MOMENTS)]
            assert before == [again.event_moments(wanted).before(at) for at in range(_MOMENTS)]
        again.close()
    assert recording.event_count() > 50
    recording.close()
    writer.close()


def test_counting_decodes_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "long.stepper")
    writer = Writer(path, FACTS)
    for moment in range(1, 100):
        writer.event(moment, EventKind.NODE if moment % 3 else EventKind.GUARD, "said")
        writer.flush()
    writer.close()
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE events SET body = x'95'")
    with contextlib.closing(Recording.open(path)) as recording:
        assert recording.event_count() == 99
        assert recording.event_count((EventKind.GUARD,)) == 33
        assert recording.event_moments((EventKind.NODE,)).before(50) == 33
        with pytest.raises(RecordingError):
            recording.events(limit=1)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET earliest = earliest - 1",
        "UPDATE events SET latest = latest + 1",
        "UPDATE events SET kinds = x'00' || substr(kinds, 1, length(kinds) - 1)",
        "UPDATE events SET kinds = substr(kinds, 5)",
        "UPDATE events SET kinds = zeroblob(length(kinds))",
        "UPDATE events SET kinds = 'many'",
    ],
)
def test_a_run_that_is_not_what_its_row_says_is_refused(tmp_path: Path, statement: str) -> None:
    path = str(tmp_path / "spoilt.stepper")
    writer = Writer(path, FACTS)
    writer.event(3, EventKind.GUARD, "said")
    writer.event(4, EventKind.NODE, "said")
    writer.close()
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    with contextlib.closing(Recording.open(path)) as recording, pytest.raises(RecordingError):
        recording.events()
