"""Rows of tables that were written in order, found without an index.

No index is built while recording, but rows are appended in the order of moments. So where a moment
is in a table is found by bisecting on the id, and who asks for one attempt after the other finds
most of what he wants among the rows that were read before.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from operator import attrgetter
from typing import Generic, Protocol, TypeVar

from stepper.recording.database import Database

_SEARCHED_TOGETHER = 128
"""Rows that are read at once where a search ends."""
_READ_TOGETHER = 512
"""Rows that are read at once, whosever they are."""
_LARGEST = 2**63 - 1


class _Known:
    """What has been seen of a table: places that were found, and the rows that were read last."""

    def __init__(self) -> None:
        self.bounds: list[int] = []
        self.ids: list[int] = []
        self.near_columns: list[int] = []
        self.near_ids: list[int] = []

    def near(self, bound: int) -> int | None:
        """The place among the rows read last; None when it is not sure to be there."""
        columns = self.near_columns
        if columns and columns[0] < bound <= columns[-1]:
            return self.near_ids[bisect_left(columns, bound)]
        return None


class RowFinder:
    """Finds rows by a column in whose order a table was written, without an index.

    What was found stays true, since rows are only appended; and who goes through attempts asks for
    one place after the other. So the search begins at the nearest place known, and its last step
    reads some rows at once: the next place asked for is mostly among them.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tables: dict[str, _Known] = {}

    def first(self, table: str, column: str, bound: int) -> int:
        """The smallest id whose `column` is at least `bound`; one more than the largest id when
        there is none."""
        known = self._tables.setdefault(table, _Known())
        near = known.near(bound)
        if near is not None:
            return near
        at = bisect_left(known.bounds, bound)
        if at < len(known.bounds) and known.bounds[at] == bound:
            return known.ids[at]
        # Asked for both at once, SQLite would go through the whole table.
        ends = self._database.query(
            tuple[int | None, int | None],
            f"SELECT (SELECT min(id) FROM {table}), (SELECT max(id) FROM {table})",
        )
        low, last = ends[0] if ends else (None, None)
        if low is None or last is None:
            return 0
        low = known.ids[at - 1] if at else low
        high = known.ids[at] if at < len(known.ids) else last + 1
        found = self._between(table, column, bound, low, high)
        if found <= last:
            known.bounds.insert(at, bound)
            known.ids.insert(at, found)
        return found

    def _between(self, table: str, column: str, bound: int, low: int, high: int) -> int:
        sql = f"SELECT id, {column} FROM {table} WHERE id >= ? ORDER BY id LIMIT ?"
        known = self._tables[table]
        step = 0
        while low < high:
            together = _SEARCHED_TOGETHER if not step or high - low <= _SEARCHED_TOGETHER else 1
            middle = low if together > 1 else min(low + step, (low + high) // 2)
            rows = self._database.query(tuple[int, int], sql, (middle, together))
            if together > 1:
                known.near_ids = [id for id, _ in rows]
                known.near_columns = [each for _, each in rows]
            if not rows or rows[0][1] >= bound:
                high, step = middle, high
                continue
            near = known.near(bound)
            if near is not None:
                return near
            low, step = rows[-1][0] + 1, 2 * step or _SEARCHED_TOGETHER
        return high


class _OfAttempt(Protocol):
    @property
    def id(self) -> int: ...
    @property
    def attempt(self) -> int: ...


Row = TypeVar("Row", bound=_OfAttempt)


class Stretch(Generic[Row]):
    """The rows of a table by attempt; those that were read last are kept, whosever they are.

    A question about a whole recording goes from attempt to attempt, and a query for each costs more
    than what it finds. So a stretch of the table is read at once: the rows of the attempts that
    follow are mostly in it. It stands as it was read until it is told to `forget`: only of attempts
    that were over by then it has all there will ever be.
    """

    def __init__(
        self, database: Database, finder: RowFinder, row: type[Row], table: str, column: str
    ) -> None:
        """
        Args:
            database: of which recording.
            finder: knows places in its tables.
            row: a NamedTuple of columns, `id`, `attempt` and `column` among them.
            table: where they are.
            column: the moment of each row; rows are in its order.
        """
        self._database = database
        self._finder = finder
        self._row = row
        self._table = table
        self._column = column
        self._moment: Callable[[Row], int] = attrgetter(column)
        self._sql = f"SELECT {', '.join(row.__annotations__)} FROM {table} WHERE id >= ?"
        self.forget()

    def forget(self) -> None:
        """Read anew when next asked."""
        self._rows: list[Row] = []
        self._moments: list[int] = []
        self._first, self._last = 0, -1

    def of(self, attempt: int, first: int, last: int) -> list[Row]:
        """The rows of an attempt that is over, in order.

        Args:
            attempt: whose.
            first: the first moment that one of them can have.
            last: the last one.
        """
        if not self._first <= first <= last <= self._last:
            self._read(first)
            if last > self._last:
                return self.growing(attempt, first, last)
        start, end = bisect_left(self._moments, first), bisect_right(self._moments, last)
        return [row for row in self._rows[start:end] if row.attempt == attempt]

    def growing(
        self, attempt: int, first: int, last: int | None = None, *, after: int | None = None
    ) -> list[Row]:
        """The rows that an attempt has in the file now, in order.

        Args:
            attempt: whose.
            first: the first moment that one of them can have.
            last: the last one; None: there is no end yet.
            after: only rows after this one, by its id.
        """
        sql, start = self._sql, self._start(first) if after is None else after + 1
        params = [start, attempt]
        sql += " AND attempt = ?"
        if last is not None:
            sql += " AND id < ?"
            params.append(self._finder.first(self._table, self._column, last + 1))
        return self._database.query(self._row, sql + " ORDER BY id", params)

    def _read(self, first: int) -> None:
        self._rows = self._database.query(
            self._row, self._sql + " ORDER BY id LIMIT ?", (self._start(first), _READ_TOGETHER)
        )
        self._moments = [self._moment(row) for row in self._rows]
        # The next row, which was not read, can have the moment of the last one that was.
        cut = len(self._rows) == _READ_TOGETHER
        self._first, self._last = first, self._moments[-1] - 1 if cut else _LARGEST

    def _start(self, first: int) -> int:
        """The id of the first row at a moment, or after it."""
        if self._moments and self._moments[0] < first <= self._moments[-1]:
            return self._rows[bisect_left(self._moments, first)].id
        return self._finder.first(self._table, self._column, first)
