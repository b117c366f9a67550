"""The timeline's columns: which frames and marks each of them shows."""

from __future__ import annotations

import pytest

from stepper.client.timeline_model import Run, Timeline, Window
from stepper.model.trace import Attempt, EventKind, Frame


def attempt(id: int, first: int, last: int | None) -> Attempt:
    return Attempt(id=id, translation=1, number=id, first_moment=first, last_moment=last)


def frame(id: int, depth: int, first: int, last: int | None) -> Frame:
    return Frame(id, 1, None, depth, 1, first, last)


@pytest.fixture
def timeline() -> Timeline:
    made = Timeline()
    frames = [frame(1, 0, 1, 100), frame(2, 1, 11, 20), frame(3, 1, 31, 60), frame(4, 2, 41, 50)]
    made.add_attempt(attempt(1, 1, 100), frames)
    made.add_attempt(attempt(2, 101, None), [frame(5, 0, 101, None)])
    made.set_marks(EventKind.GUARD, [1, 1, 55, 199])
    return made


def test_spans_stand_in_the_columns_of_their_moments(timeline: Timeline) -> None:
    window = Window(1, 200, 20)
    assert timeline.depth == 3
    assert timeline.attempts(window) == [Run(0, 10, 1, 1), Run(10, 20, 2, 1)]
    assert timeline.spans(0, window) == [Run(0, 10, 1, 1), Run(10, 20, 5, 1)]
    assert timeline.spans(1, window) == [Run(1, 2, 2, 1), Run(3, 6, 3, 1)]
    assert timeline.spans(2, window) == [Run(4, 5, 4, 1)]
    assert timeline.spans(9, window) == []


def test_marks_are_counted_by_column(timeline: Timeline) -> None:
    counts = timeline.counts(EventKind.GUARD, Window(1, 200, 20))
    assert {column: count for column, count in enumerate(counts) if count} == {0: 2, 5: 1, 19: 1}


def test_columns_too_narrow_to_tell_frames_apart_say_how_many_there_are(
    timeline: Timeline,
) -> None:
    assert timeline.spans(1, Window(1, 200, 2)) == [Run(0, 1, 2, 2)]


def test_a_moment_wider_than_a_column_fills_all_of_its_columns(timeline: Timeline) -> None:
    window = Window(40, 4, 12)
    assert timeline.spans(2, window) == [Run(3, 12, 4, 1)]
    assert [window.column(moment) for moment in (40, 41, 42, 43)] == [0, 3, 6, 9]
    assert [window.moments(column)[0] for column in range(12)] == [
        *(40, 40, 40, 41, 41, 41, 42, 42, 42, 43, 43, 43),
    ]


def test_every_moment_is_in_the_column_that_names_it() -> None:
    for span in (1, 7, 50, 99, 1000):
        for width in (1, 10, 80):
            window = Window(5, span, width)
            for moment in range(5, 5 + span):
                low, high = window.moments(window.column(moment))
                assert low <= moment < high


def test_unfinished_spans_can_be_replaced_by_what_is_known_later(timeline: Timeline) -> None:
    timeline.forget_from(101)
    timeline.add_attempt(attempt(2, 101, 150), [frame(5, 0, 101, 150)])
    timeline.add_attempt(attempt(3, 151, None), [frame(6, 0, 151, None)])
    window = Window(1, 200, 4)
    assert timeline.attempts(window) == [Run(0, 2, 1, 1), Run(2, 3, 2, 1), Run(3, 4, 3, 1)]


def test_zooming_keeps_the_moment_in_place_and_stays_inside_the_session() -> None:
    window = Window(1, 1000, 100)
    closer = window.zoomed(0.5, 600, 1000)
    assert closer.span == 500
    assert abs(closer.column(600) - window.column(600)) <= 1
    assert closer.zoomed(100, 600, 1000) == window
    assert window.zoomed(1e-9, 600, 1000).span == 25


def test_a_window_follows_the_moment_that_leaves_it() -> None:
    window = Window(100, 80, 40)
    assert window.showing(150, 1000) == window
    assert window.showing(180, 1000) == Window(111, 80, 40)
    assert window.showing(99, 1000) == Window(89, 80, 40)
    assert window.showing(1000, 1000) == Window(921, 80, 40)
