"""Moments in a row, in either direction: what every movement and every search goes along.

A filter is part of the query, so that passing over a call of 100,000 instructions costs SQLite
milliseconds and Python nothing. The parts that are read grow: most movements end after a few
moments.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from stepper.model.trace import Frame, Moment
from stepper.recording.database import Database

_FIRST_PART = 32
_LARGEST_PART = 8192


class MomentRow(NamedTuple):
    """A moment as it is stored, without what changed."""

    id: int
    frame: int
    ip: int


class Walk:
    """Reads moments in order."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self, start: int, direction: int) -> Iterator[Moment]:
        """Each moment beyond `start`, nearest first."""
        return self._parts("", (), start, direction)

    def outside_calls(self, frame: Frame, start: int, direction: int) -> Iterator[Moment]:
        """The same without the calls that `frame` makes.

        A frame that is entered later has a greater id. So in one attempt every frame that this one
        called has a greater id, and those that do not are all that can end a movement: itself, its
        callers, and the beginning of another attempt.
        """
        condition = "AND (frame <= ? OR frame IN (SELECT id FROM frame WHERE depth = 0))"
        return self._parts(condition, (frame.id,), start, direction)

    def outside(self, frame: Frame, start: int, direction: int) -> Iterator[Moment]:
        """The same without the moments of `frame` itself."""
        condition = "AND (frame < ? OR frame IN (SELECT id FROM frame WHERE depth = 0 AND id <> ?))"
        return self._parts(condition, (frame.id, frame.id), start, direction)

    def in_codes(self, codes: Collection[int], start: int, direction: int) -> Iterator[Moment]:
        """Each moment beyond `start` that is in one of these code objects."""
        marks = ",".join(map(str, sorted(codes)))
        condition = f"AND frame IN (SELECT id FROM frame WHERE code IN ({marks}))"
        return self._parts(condition, (), start, direction)

    def _parts(
        self, condition: str, params: tuple[int, ...], start: int, direction: int
    ) -> Iterator[Moment]:
        compare, order = (">", "ASC") if direction > 0 else ("<", "DESC")
        sql = (
            f"SELECT id, frame, ip FROM moment WHERE id {compare} ? {condition}"
            f" ORDER BY id {order} LIMIT ?"
        )
        size = _FIRST_PART
        while True:
            rows = self._database.query(MomentRow, sql, (start, *params, size))
            for row in rows:
                yield Moment(*row)
            if len(rows) < size:
                return
            start = rows[-1].id
            size = min(size * 4, _LARGEST_PART)
