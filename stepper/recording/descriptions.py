"""Descriptions of values by number, out of the runs in which they are stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from stepper.recording.catalog import unpacked
from stepper.recording.database import Database, damaged
from stepper.recording.schema import MOST_TOGETHER

_RUN = "SELECT first, count, body FROM descriptions WHERE first <= ? ORDER BY first DESC LIMIT 1"


class Descriptions:
    """The table of descriptions. Nothing else reads it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._decoder = msgspec.msgpack.Decoder(list[bytes])

    def bodies(self, numbers: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """Of those that are there: the number and the encoded Value. Each run is read once.

        Raises:
            RecordingError: the file is damaged.
        """
        first, bodies = 0, list[bytes]()
        for number in sorted(numbers):
            if not 0 <= number - first < len(bodies):
                found = self._database.one(tuple[int, int, bytes], _RUN, (number,))
                if found is None:
                    continue
                first, count, body = found
                if not 0 < count <= MOST_TOGETHER:
                    raise damaged(self._database.path, f"a run of {count} descriptions")
                bodies = unpacked(self._database, self._decoder, body)
                if len(bodies) != count:
                    raise damaged(self._database.path, "a run of descriptions was cut")
            if number - first < len(bodies):
                yield number, bodies[number - first]
