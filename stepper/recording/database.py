"""The only module that opens recordings with sqlite3: how one is made, opened and checked.

**Making.** The file is built under a temporary name, with its schema and identity, and then linked
to its own name. So nobody ever sees half of one, and an existing file is never overwritten: whoever
wants to replace a recording deletes it first. Only then is it switched to write-ahead logging, and
its mode is 0600, since it holds source and values.

**While it grows** there are three files: `X`, `X-wal`, `X-shm`. Committed rows survive a SIGKILL of
the writer; with `synchronous=NORMAL` a power cut can lose the newest ones, never the file. A clean
close folds all into `X` and leaves rollback mode behind, in which a file can be opened from a
read-only directory. When somebody else still reads at that moment, the last one to `tidy` does it.

**Reading** trusts nothing: the connection is read-only, the schema must be the plain tables that we
know (a view, a trigger or a generated column could run SQL of the file's author), and every row is
checked against the types that its reader expects. A file in a read-only directory with a left-over
`-wal` may need a shared-memory file that cannot be made there; it is then read from a private copy.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import quote

import msgspec

from stepper.recording.errors import RecordingBusyError, RecordingError
from stepper.recording.schema import APPLICATION_ID, HISTORY, SCHEMA, VERSION

Row = TypeVar("Row")
Params = Sequence[object]

_CHECKPOINT_PAGES = 4000
"""Length at which SQLite folds the write-ahead log in: rarely, since that waits for the disk."""

_MAX_BLOB = 256 * 1024 * 1024
"""No honest row is longer; a damaged length must not make us allocate gigabytes."""

_HEADER = b"SQLite format 3\x00"


class _Connection(sqlite3.Connection):
    """Closes itself when it is dropped.

    From Python 3.13 on, sqlite3's own warns then, in the user's program. It does so also when its
    owner would close it and both are in one cycle: who is told of its end first is open.
    """

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


class Database:
    """One connection to a recording's file. Every failure is a RecordingError naming the file."""

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self._connection: sqlite3.Connection | None = connection
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self.path = path

    @property
    def _sqlite(self) -> sqlite3.Connection:
        if self._connection is None:
            raise RecordingError(f"{self.path}: this recording has been closed")
        return self._connection

    def query(self, row: type[Row], sql: str, params: Params = ()) -> list[Row]:
        """Run a SELECT; `row` is the tuple type that each row must have.

        Raises:
            RecordingError: the file is damaged, or a row is not of that type.
        """
        connection = self._sqlite
        try:
            rows = connection.execute(sql, params).fetchall()
            return cast(list[Row], msgspec.convert(rows, _list_of(cast(Hashable, row))))
        except (sqlite3.Error, OverflowError, UnicodeError) as error:
            raise _translated(error, self.path) from error
        except msgspec.ValidationError as error:
            raise damaged(self.path, str(error)) from error

    def one(self, row: type[Row], sql: str, params: Params = ()) -> Row | None:
        """The first row of a SELECT, or None."""
        rows = self.query(row, sql, params)
        return rows[0] if rows else None

    def execute(self, sql: str, params: Params = ()) -> None:
        """Run one statement."""
        connection = self._sqlite
        try:
            connection.execute(sql, params)
        except (sqlite3.Error, OverflowError, UnicodeError) as error:
            raise _translated(error, self.path) from error

    def write(self, batches: Iterable[tuple[str, Iterable[Params]]]) -> None:
        """Run statements, each over many rows, as one transaction: all of it is kept or nothing.

        Raises:
            RecordingBusyError: another process writes at this moment; nothing was kept.
            RecordingError: the disk is full, the file is gone, …; nothing was kept.
            UnicodeEncodeError: a str is not Unicode; nothing was kept.
        """
        connection = self._sqlite
        try:
            connection.execute("BEGIN IMMEDIATE")
            for sql, rows in batches:
                connection.executemany(sql, rows)
            connection.execute("COMMIT")
        except (sqlite3.Error, OverflowError, UnicodeEncodeError) as error:
            with contextlib.suppress(sqlite3.Error):
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            if isinstance(error, UnicodeEncodeError):
                raise
            raise _translated(error, self.path) from error

    def data_version(self) -> int:
        """A number that changes when another connection has committed something."""
        found = self.one(tuple[int], "PRAGMA data_version")
        return found[0] if found else 0

    def tidy(self) -> None:
        """Fold the log into the file, so that one file is left; not while others have it open."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("PRAGMA busy_timeout=0")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                self._connection.execute("PRAGMA journal_mode=DELETE").fetchall()

    def close(self) -> None:
        """Let go of the file. Harmless when already closed."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()
        if self._copy is not None:
            self._copy.cleanup()

    def leak(self) -> None:
        """Forget the connection without closing it, in a forked child.

        SQLite's locks and memory belong to the parent; `sqlite3_close` in the child might fold and
        delete the log that the parent still writes. So the object must outlive even the
        interpreter's own clean-up.
        """
        import ctypes

        connection, self._connection = self._connection, None
        if connection is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))

    @classmethod
    def create(cls, path: str, first: Sequence[tuple[str, Params]]) -> Database:
        """Make a new recording and open it for writing; `first` are statements run at its birth.

        Raises:
            RecordingError: something has that name already, or the directory cannot be written.
        """
        _make_file(path, first)
        database = cls.append(path)
        try:
            # Where write-ahead logging is impossible (some network file systems) it stays in
            # rollback mode: slower, and readers sometimes wait, but correct.
            database._pragmas("journal_mode=WAL", f"wal_autocheckpoint={_CHECKPOINT_PAGES}")
            # The first commit waits for the disk. Here nobody is being watched yet.
            database.write([("UPDATE session SET ended = ended", [()])])
        except RecordingError:
            database.close()
            raise
        return database

    @classmethod
    def append(cls, path: str, *, timeout: float = 1.0) -> Database:
        """Open an existing recording for writing.

        Raises:
            RecordingError: there is none, or it may not be written.
        """
        database = _connected(path, "rw", timeout)
        try:
            _check_identity(database)
            database._pragmas("synchronous=NORMAL", "trusted_schema=OFF")
        except RecordingError:
            database.close()
            raise
        return database

    @classmethod
    def read(cls, path: str) -> Database:
        """Open a recording for reading, whether it still grows, was closed, or lost its writer.

        Raises:
            RecordingError: the file is missing, foreign, damaged, newer than this stepper, or
            unreadable.
        """
        _check_readable(path)
        database = _open_for_reading(path)
        try:
            _check_identity(database)
            _check_schema(database)
        except RecordingError:
            database.close()
            raise
        return database

    def _pragmas(self, *pragmas: str) -> None:
        for pragma in pragmas:
            self.execute(f"PRAGMA {pragma}")


@lru_cache(maxsize=64)
def _list_of(row: Hashable) -> Any:
    return list[row]  # type: ignore[valid-type]


def damaged(path: str, what: str) -> RecordingError:
    """The error for content that no writer of ours can have written."""
    return RecordingError(
        f"{path}: this recording is damaged ({what}). It may have been cut short "
        "or changed by another program. Record the program again."
    )


def tidy(path: str) -> None:
    """Leave one file where a recording had three, if nobody has it open; never fails."""
    with contextlib.suppress(RecordingError):
        database = Database.append(path, timeout=0)
        database.tidy()
        database.close()


def _connected(path: str, mode: str, timeout: float, *, immutable: bool = False) -> Database:
    name = quote(os.fsencode(os.path.abspath(path)))
    uri = f"file:{name}?mode={mode}" + ("&immutable=1" if immutable else "")
    try:
        connection = sqlite3.connect(
            uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False,
            factory=_Connection,
        )  # fmt: skip
    except sqlite3.Error as error:
        raise _translated(error, path) from error
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_BLOB)
    return Database(connection, path)


def _make_file(path: str, first: Sequence[tuple[str, Params]]) -> None:
    target = Path(path)
    if os.path.lexists(path) and not (target.is_file() and target.stat().st_size == 0):
        raise _taken(path)
    temporary = str(target.with_name(f".{target.name}.{os.getpid()}.tmp"))
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise _cannot_create(path, error) from error
    try:
        database = _connected(temporary, "rw", 1.0)
        try:
            database._pragmas("journal_mode=OFF", "synchronous=OFF")
            database._pragmas(f"application_id={APPLICATION_ID}", f"user_version={VERSION}")
            for statement in SCHEMA.split(";\n"):
                database.execute(statement)
            for sql, params in first:
                database.execute(sql, params)
        finally:
            database.close()
        _publish(temporary, path)
    except RecordingError as error:
        raise RecordingError(f"{path}: the recording cannot be created. {error}") from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def _publish(temporary: str, path: str) -> None:
    """Give the finished file its name, without ever replacing one that has content."""
    try:
        with contextlib.suppress(FileNotFoundError):
            if os.path.getsize(path) == 0:
                os.unlink(path)
        # What a killed writer left of an older file with this name is not part of ours.
        for suffix in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path + suffix)
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise _taken(path) from None
        except OSError:  # a file system without hard links
            os.rename(temporary, path)
    except OSError as error:
        raise _cannot_create(path, error) from error


def _taken(path: str) -> RecordingError:
    what = "a directory" if os.path.isdir(path) else "a file that is not a recording"
    with contextlib.suppress(RecordingError):
        Database.read(path).close()
        what = "a recording already"
    advice = "Delete it first, or" if what == "a recording already" else "To keep it safe,"
    return RecordingError(
        f"{path} is {what}; nothing was overwritten. {advice} choose another name."
    )


def _cannot_create(path: str, error: OSError) -> RecordingError:
    directory = os.path.dirname(os.path.abspath(path))
    return RecordingError(
        f"{path}: the recording cannot be created: {error.strerror or error}. "
        f"Make {directory} exist and writable, or choose another place with -o FILE."
    )


def _check_readable(path: str) -> None:
    try:
        with open(path, "rb") as file:
            start = file.read(len(_HEADER))
    except FileNotFoundError:
        raise RecordingError(f"{path}: there is no such file. Check the name.") from None
    except IsADirectoryError:
        raise RecordingError(f"{path} is a directory; give a recording inside it.") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise RecordingError(f"{path} cannot be read: {reason}. Check its permissions.") from error
    if start != _HEADER:
        what = "is empty" if not start else "is not a recording of stepper"
        raise RecordingError(f"{path} {what}. Recordings are made by `stepper record -o FILE …`.")


def _open_for_reading(path: str) -> Database:
    database = _connected(path, "ro", 2.0)
    try:
        _harden(database)
        return database
    except RecordingError as error:
        database.close()
        if not isinstance(error.__cause__, sqlite3.OperationalError):
            raise
    # Most likely the directory is read-only and the log's shared memory cannot be made there.
    wal = path + "-wal"
    if not os.path.exists(wal) or os.path.getsize(wal) == 0:
        database = _connected(path, "ro", 2.0, immutable=True)
        _harden_or_close(database)
        return database
    return _open_copy(path, wal)


def _open_copy(path: str, wal: str) -> Database:
    directory: tempfile.TemporaryDirectory[str] | None = None
    try:
        directory = tempfile.TemporaryDirectory(prefix="stepper-")
        copy = os.path.join(directory.name, "recording")
        shutil.copyfile(path, copy)
        shutil.copyfile(wal, copy + "-wal")
    except OSError as error:
        if directory is not None:
            directory.cleanup()
        raise RecordingError(
            f"{path}: its writer was killed and its directory is read-only, so it must be "
            f"copied to be read, and that failed: {error.strerror or error}. Copy it and "
            f"{os.path.basename(wal)} to a directory that you can write, and open it there."
        ) from error
    database = _connected(copy, "ro", 2.0)
    database._copy = directory
    database.path = path
    _harden_or_close(database)
    return database


def _harden_or_close(database: Database) -> None:
    try:
        _harden(database)
    except RecordingError:
        database.close()
        raise


def _harden(database: Database) -> None:
    """Read nothing but data from a file of unknown author. The last line touches the file."""
    database._pragmas("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON", "mmap_size=0")
    database.query(tuple[int], "SELECT count(*) FROM sqlite_schema")


def _check_identity(database: Database) -> None:
    path = database.path
    application = database.one(tuple[int], "PRAGMA application_id")
    version = database.one(tuple[int], "PRAGMA user_version")
    if application != (APPLICATION_ID,) or version is None:
        raise RecordingError(
            f"{path} is a database, but not a recording of stepper. "
            "Recordings are made by `stepper record -o FILE …`."
        )
    if version[0] > VERSION:
        raise RecordingError(
            f"{path} was made by a newer stepper (format {version[0]}; this one reads up to "
            f"{VERSION}). "
            "Upgrade: pip install --upgrade torch-stepper."
        )
    if version[0] < 1:
        raise damaged(path, f"format {version[0]}")
    if version[0] not in HISTORY:
        raise RecordingError(
            f"{path} was made by a stepper from before the first release (format {version[0]}; "
            f"this one reads {min(HISTORY)} to {VERSION}). Record the program again."
        )


def _check_schema(database: Database) -> None:
    path = database.path
    for kind, name in database.query(tuple[str, str], "SELECT type, name FROM sqlite_schema"):
        if kind != "table":
            raise damaged(path, f"it holds a {kind} named {name!r}, which a recording never does")
    for table, columns in expected_columns().items():
        found = database.query(
            tuple[str, int], "SELECT name, hidden FROM pragma_table_xinfo(?)", (table,)
        )
        if any(hidden for _, hidden in found) or not columns <= {name for name, _ in found}:
            raise damaged(path, f"its table {table!r} is not as it should be")


@lru_cache(maxsize=1)
def expected_columns() -> dict[str, set[str]]:
    """Tables of the schema and their columns, as SQLite understands them."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA)
        return dict(_columns(connection))


def _columns(connection: sqlite3.Connection) -> Iterator[tuple[str, set[str]]]:
    for (table,) in connection.execute("SELECT name FROM sqlite_schema").fetchall():
        rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        yield str(table), {str(name) for (name,) in rows}


def _translated(error: Exception, path: str) -> RecordingError:
    """What an SQLite error means for a person."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return RecordingBusyError(
            f"{path}: another process is writing to the recording. Try again in a moment."
        )
    if name.startswith("SQLITE_FULL"):
        return RecordingError(f"{path}: the disk is full. Free some space and record again.")
    if name.startswith("SQLITE_IOERR"):
        return RecordingError(
            f"{path}: the disk refuses to read or write ({name}). Check its free space."
        )
    if name.startswith("SQLITE_READONLY"):
        return RecordingError(f"{path} may not be written. Choose another place with -o FILE.")
    if name.startswith(("SQLITE_CANTOPEN", "SQLITE_PERM")):
        return RecordingError(
            f"{path} cannot be opened ({error}). Check that it and its directory exist and that "
            "you may use them."
        )
    if name.startswith("SQLITE_NOTADB"):
        return RecordingError(f"{path} is not a recording of stepper.")
    return damaged(path, str(error))
