"""Moments in a row, in either direction: what every movement and every search goes along.

A filter looks at each frame of a run once, not at each moment, and only what passes becomes an
object: so passing over a call of 100,000 instructions takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Set

from stepper.model.trace import Frame, Moment
from stepper.recording.catalog import Catalog
from stepper.recording.moments import Moments, Run


class MomentIterator:
    """Goes through moments in order."""

    def __init__(self, moments: Moments, catalog: Catalog) -> None:
        self._moments = moments
        self._catalog = catalog

    def all(self, start: int, direction: int) -> Iterator[Moment]:
        """Each moment beyond `start`, nearest first."""
        return self._where(lambda ids: ids, start, direction)

    def outside_calls(self, frame: Frame, start: int, direction: int) -> Iterator[Moment]:
        """Each moment beyond `start` but those in calls that `frame` makes, nearest first.

        A frame that is entered later has a greater id. So in one attempt every frame that this one
        called has a greater id, and those that do not are all that can end a movement: itself, its
        callers, and the beginning of another attempt.
        """
        roots = self._catalog.outlines.roots
        return self._where(
            lambda ids: {id for id in ids if id <= frame.id} | roots(ids), start, direction
        )

    def outside(self, frame: Frame, start: int, direction: int) -> Iterator[Moment]:
        """Each moment beyond `start` that is neither in `frame` nor in calls that it makes, nearest
        first."""
        roots = self._catalog.outlines.roots
        return self._where(
            lambda ids: ({id for id in ids if id < frame.id} | roots(ids)) - {frame.id},
            start,
            direction,
        )

    def in_codes(self, codes: Collection[int], start: int, direction: int) -> Iterator[Moment]:
        """Each moment beyond `start` that is in one of these code objects."""
        in_codes = self._catalog.outlines.in_codes
        return self._where(lambda ids: in_codes(ids, codes), start, direction)

    def _where(
        self, wanted: Callable[[Set[int]], Set[int]], start: int, direction: int
    ) -> Iterator[Moment]:
        for run in self._beyond(start, direction):
            frames = wanted({*run.frames})
            if not frames:
                continue
            order = range(len(run.frames))
            for i in order if direction > 0 else reversed(order):
                if run.frames[i] in frames:
                    yield Moment(run.first + i, run.frames[i], run.ips[i])

    def _beyond(self, start: int, direction: int) -> Iterator[Run]:
        if direction > 0:
            return self._moments.runs(start + 1, self._moments.newest)
        return self._moments.runs(1, start - 1, -1)
