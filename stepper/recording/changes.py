"""What became of guards and nodes after they were written: tables of number and moment."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from stepper.recording.database import Database

_READ_TOGETHER = 512
"""Rows that are read at once, whosever they are."""
_LARGEST = 2**63 - 1


class Changes:
    """The rows of such a table. A stretch of them is read at once and stands until it is told to
    `forget`: whoever goes from attempt to attempt finds there what he asks for next."""

    def __init__(self, database: Database, table: str, column: str) -> None:
        """
        Args:
            database: of which recording.
            table: its name.
            column: whose numbers are in it; the other one is `moment`.
        """
        self._database = database
        self._sql = f"SELECT {column}, moment FROM {table} WHERE {column}"
        self._order = f" ORDER BY {column}"
        self.forget()

    def forget(self) -> None:
        """Read anew when next asked."""
        self._rows: list[tuple[int, int]] = []
        self._first, self._last = 0, -1

    def between(self, first: int, last: int) -> list[tuple[int, int]]:
        """The changes of things with numbers from `first` to `last`: the number and the moment."""
        if not self._first <= first <= last <= self._last:
            self._read(first)
            if last > self._last:
                sql = f"{self._sql} BETWEEN ? AND ?{self._order}"
                return self._database.query(tuple[int, int], sql, (first, last))
        start = bisect_left(self._rows, first, key=_number)
        return self._rows[start : bisect_right(self._rows, last, lo=start, key=_number)]

    def _read(self, first: int) -> None:
        self._rows = self._database.query(
            tuple[int, int], f"{self._sql} >= ?{self._order} LIMIT ?", (first, _READ_TOGETHER)
        )
        cut = len(self._rows) == _READ_TOGETHER
        self._first, self._last = first, self._rows[-1][0] if cut else _LARGEST


def _number(row: tuple[int, int]) -> int:
    return row[0]
