"""Lookups that found what an earlier one had found: a row of numbers each (see the schema).

Whoever asks for such a lookup gets what was told of the one that it repeats, under its own numbers.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import NamedTuple

import msgspec

from stepper.recording.database import Database, damaged
from stepper.recording.packing import unpacked_run
from stepper.recording.schema import MOST_TOGETHER, RepeatedLookups


class Repeat(NamedTuple):
    """A repeated lookup: the columns of `RepeatedLookups`."""

    translation: int
    attempt: int
    frame: int
    moment: int
    repeats: int
    nanoseconds: int


class Repeats:
    """Those that were there at the last `load`. Nothing else reads their table."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._decoder = msgspec.msgpack.Decoder(RepeatedLookups)
        self._all: list[Repeat] = []
        self._by_attempt: dict[int, Repeat] = {}
        self._there = database.has_table("repeated_lookups")

    def load(self) -> list[Repeat]:
        """Those that are new.

        Raises:
            RecordingError: the recording is damaged.
        """
        found: list[Repeat] = []
        if not self._there:
            return found
        newest = self._all[-1] if self._all else None
        for first, count, body in self._database.query(
            tuple[int, int, bytes],
            "SELECT first, count, body FROM repeated_lookups WHERE first > ? ORDER BY first",
            (0 if newest is None else newest.translation,),
        ):
            run = unpacked_run(self._database, self._decoder, body)
            columns = msgspec.structs.astuple(run)
            if not 1 <= count <= MOST_TOGETHER or any(len(each) != count for each in columns):
                raise damaged(self._database.path, f"there are not {count} lookups from {first} on")
            found += map(Repeat, *columns)
        for before, each in zip([newest, *found], found, strict=False):
            if (before is not None and not _in_order(before, each)) or min(each) < 0:
                raise damaged(self._database.path, f"lookup {each.translation} is in disorder")
        self.take_over(found)
        return found

    def take_over(self, found: list[Repeat]) -> None:
        """Add those that come next, as another reader of the same file has read them."""
        self._all += found
        self._by_attempt.update((each.attempt, each) for each in found)

    def before(self, translation: int | None) -> list[Repeat]:
        """Those that were read, before one translation; None: all."""
        return [each for each in self._all if translation is None or each.translation < translation]

    def of_attempt(self, attempt: int) -> Repeat | None:
        """The one with that attempt, if it is a repeated one's."""
        return self._by_attempt.get(attempt)

    def before_frame(self, frame: int) -> Repeat | None:
        """The last one whose first frame is not behind that one."""
        at = bisect_right(self._all, frame, key=attrgetter("frame"))
        return self._all[at - 1] if at else None

    def with_frames(self, first: int, last: int | None) -> list[Repeat]:
        """Those that can have frames between two numbers, both included; None: there is no end."""
        begin = bisect_right(self._all, first, key=attrgetter("frame"))
        end = None if last is None else bisect_right(self._all, last, key=attrgetter("frame"))
        return self._all[max(begin - 1, 0) : end]


def _in_order(one: Repeat, other: Repeat) -> bool:
    return all(before < after for before, after in zip(one[:4], other[:4], strict=True))
