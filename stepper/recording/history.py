"""When each tracker was described: made on demand, by one pass over an attempt's deltas.

Most states need none of this, since a keyframe holds what can be reached. It answers what remains:
a tracker that nothing held when the keyframe was taken, and the question where a value came from.
The pass takes about a tenth of a second for 100,000 moments, once, and is continued when the
attempt grows.
"""

from __future__ import annotations

from bisect import bisect_right

import msgspec

from stepper.model.trace import Attempt
from stepper.recording.catalog import Catalog
from stepper.recording.database import Database
from stepper.recording.moments import Moments
from stepper.recording.packing import unpacked


class _Described(msgspec.Struct, frozen=True, array_like=True):
    """The start of a Delta; only `values` is looked at."""

    keep: msgspec.Raw = msgspec.Raw()
    push: msgspec.Raw = msgspec.Raw()
    locals: msgspec.Raw = msgspec.Raw()
    values: tuple[tuple[int, int], ...] = ()


class TrackerHistory:
    """Every description of every tracker of an attempt, by moment."""

    def __init__(self, database: Database, catalog: Catalog, moments: Moments) -> None:
        self._database = database
        self._moments = moments
        self._catalog = catalog
        self._decoder = msgspec.msgpack.Decoder(_Described)
        self._attempts: dict[int, dict[int, list[tuple[int, int]]]] = {}
        self._read_up_to: dict[int, int] = {}

    def description(self, attempt: Attempt, tracker: int, moment: int) -> int | None:
        """Id of the tracker's newest description that is not later than the moment, or None."""
        known = self._read(attempt, moment).get(tracker, [])
        at = bisect_right(known, moment, key=lambda entry: entry[0])
        return known[at - 1][1] if at else None

    def first(self, attempt: Attempt, tracker: int, newest: int) -> int | None:
        """The first moment at which the tracker is described, None when it never is."""
        known = self._read(attempt, newest).get(tracker)
        return known[0][0] if known else None

    def descriptions(self, attempt: Attempt, newest: int) -> list[tuple[int, int, int]]:
        """Every description, in the order of moments: moment, tracker, id in the table `value`."""
        known = self._read(attempt, newest)
        return sorted(
            (moment, tracker, body) for tracker, found in known.items() for moment, body in found
        )

    def _read(self, attempt: Attempt, moment: int) -> dict[int, list[tuple[int, int]]]:
        """The descriptions, complete at least up to the moment."""
        found = self._attempts.setdefault(attempt.id, {})
        start = self._read_up_to.get(attempt.id, attempt.first_moment - 1)
        end = moment if attempt.last_moment is None else min(moment, attempt.last_moment)
        for id, frame, _, delta in self._moments.steps(start + 1, end):
            if delta is not None and self._catalog.frame(frame).attempt == attempt.id:
                for tracker, body in unpacked(self._database, self._decoder, delta).values:
                    found.setdefault(tracker, []).append((id, body))
            self._read_up_to[attempt.id] = id
        return found
