"""SQL over a recording, read only.

The file itself is never asked: a database in memory holds the views of `stepper.analysis.views`,
empty at first. SQLite is asked what a question reads, those views are filled from the reader, and
the question is run. So a question can neither change nor harm anything; what remains is that it
could reach out (`ATTACH`), change how the connection works (`PRAGMA`) or take for ever. An
authorizer that knows SELECT and nothing else sees to the first two, a progress handler to the last.

Views of the file were the alternative. SQLite would have to decode msgpack by functions of ours for
every row, its planner could not count on an order, and what a column is called would be the same
as how it is stored.
"""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import time
from collections.abc import Callable, Iterator
from typing import Any

from stepper.analysis.views import COLUMNS, FILLERS, Row, tables
from stepper.recording.reader import Recording

_ALLOWED = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
_FORBIDDEN_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer"})
_OPERATIONS = 20_000
"""Of SQLite's virtual machine, between two looks at the clock: a fraction of a millisecond."""
_FETCHED = 256
_LONGEST_TEXT = 64 * 1024 * 1024
"""Bytes that a question can make of a value."""
_FILLED_AT_ONCE = 2_000


class QueryError(Exception):
    """A question cannot be answered; the message says why and what to do."""


class Query:
    """A question's answer: its columns, and its rows as they are found."""

    def __init__(
        self,
        recording: Recording,
        sql: str,
        *,
        seconds: float | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """
        Args:
            recording: what is asked.
            sql: one SELECT over the views.
            seconds: how long SQLite may work in all; None: as long as it takes.
            stop: asked now and then; True gives the question up.

        Raises:
            QueryError: it is no SELECT, it is misspelt, or it was given up.
            RecordingError: the recording is damaged where it is read.
        """
        self._seconds = seconds
        self._stop = stop
        self._worked = 0.0
        self._since: float | None = None
        self._connection = _empty_views()
        try:
            self._fill(recording, self._names_read(sql))
            self._connection.set_progress_handler(self._give_up, _OPERATIONS)
            with self._working():
                self._cursor = self._connection.execute(sql)
        except BaseException:
            self.close()
            raise
        self.columns: tuple[str, ...] = tuple(item[0] for item in self._cursor.description or ())
        if not self.columns:
            self.close()
            raise QueryError(f"a question begins with SELECT or WITH; {_VIEWS_THERE}")

    def rows(self) -> Iterator[Row]:
        """The rows, each once; huge results are never held as a whole.

        Raises:
            QueryError: it was given up, or a value grew too long.
        """
        while True:
            with self._working():
                found = self._cursor.fetchmany(_FETCHED)
            if not found:
                return
            yield from found

    def close(self) -> None:
        """Let go of what was filled. Harmless when already closed."""
        self._connection.close()

    def _names_read(self, sql: str) -> set[str]:
        """The tables that a question reads, once it is seen that it only reads."""
        names: set[str] = set()
        refused: list[int] = []

        def authorize(action: int, first: str | None, second: str | None, *_: Any) -> int:
            if action == sqlite3.SQLITE_READ and first is not None:
                names.add(first)
            if action in _ALLOWED and (second or "").lower() not in _FORBIDDEN_FUNCTIONS:
                return sqlite3.SQLITE_OK
            refused.append(action)
            return sqlite3.SQLITE_DENY

        self._connection.set_authorizer(authorize)
        explains = sql.lstrip().lower().startswith("explain")
        try:
            with self._working():
                self._connection.execute(sql if explains else f"EXPLAIN {sql}").close()
        except QueryError as error:
            if refused:
                raise QueryError(f"only SELECT is possible here; {_VIEWS_THERE}") from error
            raise
        return names

    def _fill(self, recording: Recording, names: set[str]) -> None:
        wanted = [name for name in FILLERS if name in names]
        # What the question may do is settled; these statements are ours.
        self._connection.set_authorizer(None)
        for name in wanted:
            rows = self._watched(FILLERS[name](recording))
            first = next(rows, None)
            if first is not None:
                marks = ", ".join("?" * len(first))
                self._connection.executemany(
                    f'INSERT INTO "{name}" VALUES ({marks})', itertools.chain((first,), rows)
                )
        self._connection.commit()
        self._connection.execute("PRAGMA query_only=ON")
        self._connection.set_authorizer(_only_reading)

    def _watched(self, rows: Iterator[Row]) -> Iterator[Row]:
        for count, row in enumerate(rows):
            if count % _FILLED_AT_ONCE == 0 and self._stop():
                raise QueryError("given up")
            yield row

    def _give_up(self) -> int:
        over = False
        if self._seconds is not None and self._since is not None:
            over = self._worked + time.monotonic() - self._since > self._seconds
        return int(over or self._stop())

    @contextlib.contextmanager
    def _working(self) -> Iterator[None]:
        """Count the time that SQLite works, and say in words what it raises."""
        self._since = time.monotonic()
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError) as error:
            raise QueryError(self._meaning(error)) from error
        finally:
            self._worked += time.monotonic() - self._since
            self._since = None

    def _meaning(self, error: Exception) -> str:
        text = str(error)
        if text == "interrupted":
            if self._stop():
                return "given up"
            return f"given up after {self._seconds:g} s; --timeout allows more"
        if text.startswith("no such table"):
            return f"{text}; {_VIEWS_THERE}"
        if text.startswith("no such column"):
            return f"{text}; stepper query FILE lists all columns"
        if "one statement" in text:
            return "one statement at a time"
        if 'near "values"' in text:
            return f'{text}; values is a word of SQL: write "values" in double quotes'
        if text == "authorization denied":
            return f"only SELECT is possible here; {_VIEWS_THERE}"
        return text


_VIEWS_THERE = f"the views are {', '.join(COLUMNS)}"


def _only_reading(action: int, first: str | None, second: str | None, *_: Any) -> int:
    allowed = action in _ALLOWED and (second or "").lower() not in _FORBIDDEN_FUNCTIONS
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _empty_views() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_TEXT)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    for pragma in ("journal_mode=OFF", "synchronous=OFF", "trusted_schema=OFF"):
        connection.execute(f"PRAGMA {pragma}")
    for statement in tables():
        connection.execute(statement)
    return connection
