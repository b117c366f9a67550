"""Lookups that are told again: a hit that finds in everything what an earlier one has found.

A program calls what it has compiled over and over, and nearly every call finds the same entry with
the same values. To describe and to write each of its guards anew would take the program longer than
all that is wanted to be known of it. So the moments of one lookup are kept as they were written,
and another one that found just that is these moments again, with one row of numbers (the table
`repeated_lookups`). Who it is that finds out that nothing differs is the engine.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from stepper._C import MOMENTS_PER_COMMIT, Passage
from stepper.model.trace import EventKind, Translation
from stepper.uncompiled import keep_out

if TYPE_CHECKING:
    from stepper.debuggee.recorder import Recorder
    from stepper.recording.writer import Writer

_EVENTS = frozenset({EventKind.LOOKUP, EventKind.HIT, EventKind.END})


class ToldLookup(NamedTuple):
    """A lookup that hit, kept to be told again when another one finds what it found."""

    record: Translation
    passage: Passage
    frames: int
    """How many numbers its frames take."""
    texts: tuple[str, str, str]
    """What its events say: that it begins, that it has hit, that it is over."""


def tell_again(recorder: Recorder, writer: Writer, told: ToldLookup, began: int) -> int | None:
    """See `stepper.debuggee.engine.Recorder.lookup_again`."""
    walks, steps, controller = recorder.walks, recorder.steps, recorder.controller
    walks.forget_the_lost()
    if (
        not recorder.everything or walks.muted or walks.busy or controller.alert
        or not _EVENTS.isdisjoint(controller.wanted) or walks.level != told.record.level
    ):  # fmt: skip
        return None
    with walks.writing:
        begun, hit, over = told.texts
        id, attempt = recorder.new_walk_ids()
        steps.flush()
        first, frame = steps.moment + 1, steps.last_frame + 1
        around = None if steps.current is None else steps.current.id
        writer.event(first, EventKind.LOOKUP, begun, id, around)
        steps.last_frame += told.frames
        spent = time.perf_counter_ns() - began
        row = (id, attempt, frame, first, told.record.id, spent)
        # Neither without the other: a lookup without its moments, or moments of nobody's.
        told.passage.again(frame, writer.repeated_lookup, row)
        writer.event(steps.moment, EventKind.HIT, hit, None, frame)
        writer.event(steps.moment, EventKind.END, over, id, around)
        if steps.waiting >= MOMENTS_PER_COMMIT:
            writer.flush()
        writer.flush_soon()
    return id


keep_out()
