"""The timeline as a report tells it: the model of the full screen's, cut into columns."""

from __future__ import annotations

from collections.abc import Iterable

from stepper.client.frame_names import compiled_name, frame_name
from stepper.client.timeline_model import LOOKUP_MARKS, MARKS, Run, Timeline, Window
from stepper.model.trace import EventKind
from stepper.report import contents
from stepper.report.places import Places
from stepper.report.room import Room

COLUMNS = 480
"""A desktop's width has so many that a thumb or a mouse can still hit."""
_DEEPEST = 16
_MARKS = (EventKind.RECOMPILE, EventKind.CACHE_LIMIT, *MARKS[:2], *LOOKUP_MARKS)
"""The rare ones: marks for every guard and node would be a solid bar."""


def timeline(places: Places, room: Room) -> contents.Timeline:
    """All moments along a line."""
    recording = places.recording
    model = Timeline()
    for attempt in recording.attempts():
        walk = recording.translation(attempt.translation)
        frames = recording.frames(attempt.id)
        model.add_attempt(attempt, frames, thread=walk.thread, level=walk.level)
    window = Window(max(recording.oldest, 1), max(recording.newest, 1), COLUMNS)
    for kind in _MARKS:
        model.set_marks(kind, recording.event_moments((kind,)))
    return contents.Timeline(
        columns=COLUMNS,
        attempts=room.of("timeline", _attempts(places, model.attempts(window))),
        depths=room.of(
            "timeline",
            (
                tuple(_frames(places, model.spans(depth, window)))
                for depth in range(min(model.depth, _DEEPEST))
            ),
        ),
        marks=tuple(
            contents.Marks(
                places.tell.own(kind),
                {at: count for at, count in enumerate(model.counts(kind, window)) if count},
            )
            for kind in _MARKS
            if model.has_any((kind,))
        ),
    )


def _attempts(places: Places, runs: Iterable[Run]) -> Iterable[contents.Bar]:
    recording = places.recording
    for run in runs:
        attempt = recording.attempt(run.id)
        walk = recording.translation(attempt.translation)
        name, moment = places.tell.name(compiled_name(recording, walk)), attempt.first_moment
        yield contents.Bar(run.first, run.last, walk.id, name, run.number, places.moment(moment))


def _frames(places: Places, runs: Iterable[Run]) -> Iterable[contents.Bar]:
    recording = places.recording
    for run in runs:
        frame = recording.frame(run.id)
        walk = recording.attempt(frame.attempt).translation
        label = recording.code(frame.code).label
        name = places.tell.name(label if run.number > 1 else frame_name(recording, frame.id))
        yield contents.Bar(run.first, run.last, walk, name, run.number, frame.first_moment)
