"""SQL over a recording, read only.

The file itself is never asked: a database in memory holds the views of `stepper.analysis.views`,
empty at first. SQLite is asked what a question reads, those views are filled from the reader, and
the question is run. So a question can neither change nor harm anything; what remains is that it
could reach out (`ATTACH`), change how the connection works (`PRAGMA`), or take for ever and all
memory. An authorizer that knows SELECT and nothing else sees to the first two; the last is why the
question is run in a process of its own (`stepper.analysis.answering`).

Views of the file were the alternative. SQLite would have to decode msgpack by functions of ours for
every row, its planner could not count on an order, and what a column is called would be the same
as how it is stored.
"""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

from stepper.analysis.answering import MEMORY, DiedError, GivenUpError, run_in_fork
from stepper.analysis.session_views import SessionViews
from stepper.analysis.stretches import SCHEMA as STRETCHES
from stepper.analysis.stretches import TIMES, check_stretches
from stepper.analysis.views import RecordingViews, Row
from stepper.recording.database import damaged
from stepper.recording.reader import Recording
from stepper.recording.statements import statements

_ALLOWED = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
_FORBIDDEN_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer"})
_SENT_TOGETHER = 256
_LONG = 100_000
"""Characters and bytes after which a row is sent at once."""
_LONGEST_TEXT = 64 * 1024 * 1024
"""Bytes that a question can make of a value."""
_FILLED_AT_ONCE = 2_000
_FEW_PARAMETERS = 240
"""How many a statement has: fewer than any SQLite takes."""


class QueryError(Exception):
    """A question cannot be answered; the message says why and what to do."""


class Query:
    """A question's answer: its columns, and its rows as they are found."""

    def __init__(
        self,
        asked: Recording | SessionViews,
        sql: str,
        *,
        seconds: float | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """
        Args:
            asked: a recording, or the views of a session folder.
            sql: one SELECT over the views.
            seconds: how long SQLite may work in all; None: as long as it takes.
            stop: asked now and then; True gives the question up.

        Raises:
            QueryError: it is no SELECT, it is misspelt, or it was given up.
            RecordingError: the recording is damaged where it is read.
        """
        self._seconds = seconds
        self._stop = stop
        self._pieces: Iterator[Any] = iter(())
        views = RecordingViews(asked) if isinstance(asked, Recording) else asked
        self._there = f"the views are {', '.join(views.columns)}"
        self._connection = _empty(views.tables())
        try:
            names, columns = self._names_read(sql)
            if isinstance(asked, Recording) and "_moment" in names and TIMES.isdisjoint(columns):
                for statement in statements(STRETCHES):
                    self._connection.execute(statement)
                names, _ = self._names_read(sql)
            self._fill(views, names)
            self._pieces = run_in_fork(lambda: self._answer(sql), seconds=seconds, stop=stop)
            self.columns: tuple[str, ...] = tuple(self._next())
        except BaseException:
            self.close()
            raise
        if not self.columns:
            self.close()
            raise QueryError(f"a question begins with SELECT or WITH; {self._there}")

    def rows(self) -> Iterator[Row]:
        """The rows, each once; huge results are never held as a whole.

        Raises:
            QueryError: it was given up, or a value grew too long.
        """
        while (rows := self._next()) is not None:
            yield from map(tuple, rows)

    def close(self) -> None:
        """Let go of what was filled, and end what is under way. Harmless when already closed."""
        if isinstance(self._pieces, Generator):
            self._pieces.close()
        self._connection.close()

    def _next(self) -> Any:
        """What the other process says next; None: it is done.

        Raises:
            QueryError: it was given up, or it failed.
        """
        try:
            kind, piece = next(self._pieces, ("rows", None))
        except GivenUpError:
            why = "" if self._stop() else f" after {self._seconds:g} s; --timeout allows more"
            raise QueryError(f"given up{why}") from None
        except (DiedError, OSError) as error:
            raise QueryError(f"nobody can answer this: {error}") from None
        if kind == "error":
            raise QueryError(piece)
        return piece

    def _answer(self, sql: str) -> Iterator[object]:
        """In the other process: the columns, then rows; or what went wrong."""
        try:
            with _in_words(self._there):
                cursor = self._connection.execute(sql)
                yield "columns", [item[0] for item in cursor.description or ()]
                rows: list[Row] = []
                for row in cursor:
                    rows.append(row)
                    if len(rows) == _SENT_TOGETHER or _length(row) > _LONG:
                        yield "rows", rows
                        rows = []
                yield "rows", rows
        except QueryError as error:
            yield "error", str(error)

    def _names_read(self, sql: str) -> tuple[set[str], set[str]]:
        """The tables that a question reads, once it is seen that it only reads, and the columns of
        `instructions`."""
        names: set[str] = set()
        columns: set[str] = set()
        refused: list[int] = []

        def authorize(action: int, first: str | None, second: str | None, *_: Any) -> int:
            if action == sqlite3.SQLITE_READ and first is not None:
                names.add(first)
                if first == "instructions" and second:
                    columns.add(second)
            if action in _ALLOWED and (second or "").lower() not in _FORBIDDEN_FUNCTIONS:
                return sqlite3.SQLITE_OK
            refused.append(action)
            return sqlite3.SQLITE_DENY

        self._connection.set_authorizer(authorize)
        explains = sql.lstrip().lower().startswith("explain")
        try:
            with _in_words(self._there):
                self._connection.execute(sql if explains else f"EXPLAIN {sql}").close()
        except QueryError as error:
            if refused:
                raise QueryError(f"only SELECT is possible here; {self._there}") from error
            raise
        # What the question may do is settled; the next statements are ours.
        self._connection.set_authorizer(None)
        return names, columns

    def _fill(self, views: RecordingViews | SessionViews, names: set[str]) -> None:
        for name, found in views.rows(names):
            while rows := list(itertools.islice(found, _FILLED_AT_ONCE)):
                if self._stop():
                    raise QueryError("given up")
                try:
                    self._insert(name, rows)
                except (sqlite3.Error, OverflowError, UnicodeError) as error:
                    raise damaged(views.path, f"{name}: {error}") from error
        if "_stretch" in names:
            check_stretches(self._connection, views.path)
        self._connection.commit()
        self._connection.execute("PRAGMA query_only=ON")
        self._connection.set_authorizer(_only_reading)

    def _insert(self, name: str, rows: list[Row]) -> None:
        """Several rows with each statement: it is the statements that take time."""
        values = f"({', '.join('?' * len(rows[0]))})"
        together = max(1, _FEW_PARAMETERS // len(rows[0]))
        whole = len(rows) // together * together
        for first, over, size in ((0, whole, together), (whole, len(rows), 1)):
            sql = f'INSERT INTO "{name}" VALUES {", ".join([values] * size)}'
            flat = (
                tuple(itertools.chain.from_iterable(rows[at : at + size]))
                for at in range(first, over, size)
            )
            self._connection.executemany(sql, flat)


@contextlib.contextmanager
def _in_words(there: str) -> Iterator[None]:
    """Say in words what SQLite raises."""
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError, ValueError) as error:
        raise QueryError(_meaning(str(error), there)) from error
    except (MemoryError, RecursionError) as error:
        raise QueryError(
            f"this takes more than {MEMORY >> 20} MB of memory; ask for less at once"
        ) from error


def _meaning(text: str, there: str) -> str:
    if text.startswith("no such table"):
        return f"{text}; {there}"
    if text.startswith("no such column"):
        return f"{text}; stepper query FILE lists all columns"
    if "one statement" in text:
        return "one statement at a time"
    if 'near "values"' in text:
        return f'{text}; values is a word of SQL: write "values" in double quotes'
    if text in ("authorization denied", "not authorized"):  # to prepare, and to carry out
        return f"only SELECT is possible here; {there}"
    return text


def _length(row: Row) -> int:
    return sum(len(value) for value in row if isinstance(value, (str, bytes)))


def _only_reading(action: int, first: str | None, second: str | None, *_: Any) -> int:
    allowed = action in _ALLOWED and (second or "").lower() not in _FORBIDDEN_FUNCTIONS
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _empty(tables: Iterable[str]) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_TEXT)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    for pragma in ("journal_mode=OFF", "synchronous=OFF", "trusted_schema=OFF"):
        connection.execute(f"PRAGMA {pragma}")
    for statement in tables:
        connection.execute(statement)
    return connection
