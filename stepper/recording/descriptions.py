"""Descriptions of values by number, out of the runs in which they are stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from stepper.recording.database import Database, damaged
from stepper.recording.packing import inflated, unpacked_run
from stepper.recording.schema import MOST_TOGETHER

_RUNS = (
    "SELECT first, count, body FROM descriptions"
    " WHERE first >= (SELECT max(first) FROM descriptions WHERE first <= ?) AND first <= ?"
    " ORDER BY first LIMIT ?"
)
_LEAST = -(2**63)
"""Below every number: those of walks are negative."""

_TOGETHER = 64
"""Runs that are read at once; they are short where little was described."""


class Descriptions:
    """The table of descriptions. Nothing else reads it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._decoder = msgspec.msgpack.Decoder(list[bytes])

    def bodies(self, numbers: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """The number and the encoded Value of each that is there. Each run is read once.

        Raises:
            RecordingError: the file is damaged.
        """
        wanted = sorted(numbers)
        at = 0
        while at < len(wanted):
            # A run that lies between two numbers is for neither: no more are read than are wanted.
            together = min(len(wanted) - at, _TOGETHER)
            runs = self._database.query(
                tuple[int, int, bytes], _RUNS, (wanted[at], wanted[-1], together)
            )
            before = at
            for first, count, body in runs:
                bodies = self._bodies(count, body)
                while at < len(wanted) and wanted[at] - first < count:
                    if wanted[at] >= first:
                        yield wanted[at], bodies[wanted[at] - first]
                    at += 1
            at += at == before

    def containing(self, text: str) -> Iterator[int]:
        """The numbers of those with a text in them, in any case; only runs that have it are taken
        apart.

        Raises:
            RecordingError: the file is damaged.
        """
        wanted, after = text.encode(errors="replace").lower(), _LEAST
        while runs := self._database.query(
            tuple[int, int, bytes],
            "SELECT first, count, body FROM descriptions WHERE first > ? ORDER BY first LIMIT ?",
            (after, _TOGETHER),
        ):
            for first, count, body in runs:
                after = first
                run = inflated(self._database, body)
                if wanted in run.lower():
                    for number, each in enumerate(self._bodies(count, run), first):
                        if wanted in each.lower():
                            yield number

    def _bodies(self, count: int, body: bytes) -> list[bytes]:
        if not 0 < count <= MOST_TOGETHER:
            raise damaged(self._database.path, f"a run of {count} descriptions")
        bodies = unpacked_run(self._database, self._decoder, body)
        if len(bodies) != count:
            raise damaged(self._database.path, "a run of descriptions was cut")
        return bodies
