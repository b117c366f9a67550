"""The locals of many moments, cheaper than their states.

A lookup's moments say everything in their locals (see `stepper.debuggee.walks`), and there are as
many as guards were run. Whoever counts or lists them needs no stack, no blocks and no values
behind values; so this is one pass over the deltas of an attempt, from its beginning.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from stepper.model.trace import Attempt, Moment
from stepper.model.value import Value
from stepper.recording.catalog import Catalog
from stepper.recording.database import Database
from stepper.recording.moments import Moments
from stepper.recording.packing import unpacked
from stepper.recording.state import StateBuilder

_TOGETHER = 500
"""Moments whose descriptions are fetched at once."""


class _Locals(msgspec.Struct, frozen=True, array_like=True):
    """A Delta of which only the locals and the descriptions are looked at."""

    keep: msgspec.Raw = msgspec.Raw()
    push: msgspec.Raw = msgspec.Raw()
    locals: dict[str, int] | None = None
    values: tuple[tuple[int, int], ...] = ()


class LocalsReader:
    """Reads the locals of attempts."""

    def __init__(
        self, database: Database, catalog: Catalog, moments: Moments, states: StateBuilder
    ) -> None:
        self._database = database
        self._catalog = catalog
        self._moments = moments
        self._states = states
        self._decoder = msgspec.msgpack.Decoder(_Locals)

    def of(self, attempt: Attempt, newest: int) -> Iterator[tuple[Moment, dict[str, Value]]]:
        """Each moment of an attempt, in order, with the locals of its own frame."""
        waiting: list[tuple[Moment, dict[str, int]]] = []
        for each in self._trackers(attempt, newest):
            waiting.append(each)
            if len(waiting) == _TOGETHER:
                yield from self._described(waiting)
                waiting = []
        yield from self._described(waiting)

    def _trackers(self, attempt: Attempt, newest: int) -> Iterator[tuple[Moment, dict[str, int]]]:
        """Locals as ids in the table `value`."""
        bodies: dict[int, int] = {}
        frames: dict[int, dict[str, int]] = {
            frame.id: {} for frame in self._catalog.frames(attempt.id)
        }
        last = newest if attempt.last_moment is None else attempt.last_moment
        for id, frame, ip, delta in self._moments.steps(attempt.first_moment, last):
            names = frames.get(frame)
            if names is None:
                continue
            if delta is not None:
                change = unpacked(self._database, self._decoder, delta)
                bodies.update(change.values)
                for name, tracker in (change.locals or {}).items():
                    if tracker:
                        names[name] = tracker
                    else:
                        names.pop(name, None)
            known = {name: bodies[each] for name, each in names.items() if each in bodies}
            yield Moment(id, frame, ip), known

    def _described(
        self, waiting: list[tuple[Moment, dict[str, int]]]
    ) -> Iterator[tuple[Moment, dict[str, Value]]]:
        ids = sorted({body for _, names in waiting for body in names.values()})
        values = dict(zip(ids, self._states.values(ids), strict=True))
        for moment, names in waiting:
            yield moment, {name: values[body] for name, body in names.items()}
