"""The only module that opens recordings with sqlite3: how one is made, opened and checked.

**Making.** The file is built under a temporary name, with its schema and identity, and then linked
to its own name. So nobody ever sees half of one, and an existing file is never overwritten: whoever
wants to replace a recording deletes it first. Only then is it switched to write-ahead logging, and
its mode is 0600, since it holds source and values.

**While it grows** there are three files: `X`, `X-wal`, `X-shm`. Committed rows survive a SIGKILL of
the writer; with `synchronous=NORMAL` a power cut can lose the newest ones, never the file. A clean
close folds all into `X` and leaves rollback mode behind. When somebody else has it open at that
moment, the program's front end does it, if there is one, and else `X-wal` stays, empty.

**Reading** trusts nothing, and changes nothing: not the file, not what is beside it, not what its
folder holds. `stepper.recording.files` says whether its writer is at work. If so, it is followed in
place, its shared memory mapped to be read only. If not, SQLite gets to see the file alone, as one
that cannot change; or, when a killed writer left a log, a private copy of both. The schema must be
the plain tables that we know (a view, a trigger, a virtual table or a generated column could run
code of the file's author's choice), and every row is checked against the types that its reader
expects.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from stepper.recording import files
from stepper.recording.at_once import Call, at_once
from stepper.recording.errors import RecordingBusyError, RecordingError
from stepper.recording.schema import APPLICATION_ID, HISTORY, LATER, SCHEMA, VERSION
from stepper.recording.statements import statements
from stepper.support.descriptors import Kept, open_on

Row = TypeVar("Row")
Params = Sequence[object]

_CHECKPOINT_PAGES = 4000
"""Length at which SQLite folds the write-ahead log in: rarely, since that waits for the disk."""

_PATIENCE = 1000
"""Milliseconds that a writer waits for another one."""

_STREAMED_TOGETHER = 2048
"""Rows that are read at once of a table that is gone through."""

_MAX_BLOB = 256 * 1024 * 1024
"""No honest row is longer; a damaged length must not make us allocate gigabytes."""

_HEADER = b"SQLite format 3\x00"


_LAST_WORDS = 64 * 1024
"""Bytes of the disk that are there to say that it is full: some pages of SQLite's log."""

_SETTLING = 2.0
"""Seconds in which a file that is being opened or closed by its writer comes to rest."""


class _Connection(sqlite3.Connection):
    """Closes itself when it is dropped, and notes that it has a file open in place.

    From Python 3.13 on, sqlite3's own warns then, in the user's program. It does so also when its
    owner would close it and both are in one cycle: who is told of its end first is open.
    """

    file: tuple[int, int] | None = None
    """Device and inode of a file that is open in place."""
    ends: Callable[[], None] | None = None
    """Says that it is not any more."""
    closing = False
    """Whether it was closed, or that was begun and interrupted."""
    kept = Kept()
    """The descriptors that SQLite has, of a file that is written."""

    def close(self) -> None:
        """Let go of the file."""
        self.closing = True
        files.lock.during(self._close)

    def _close(self) -> None:
        if self.kept.lost():
            self.leak()
        else:
            super().close()
        ends, self.ends = self.ends, None
        if ends is not None:
            ends()

    def leak(self) -> None:
        """Let it outlive even the interpreter's clean-up: SQLite never lets go of the file."""
        import ctypes

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


def _taken_beside(path: str) -> tuple[int, Kept] | None:
    """Some room of the disk, held by a file without a name; None where there is none to have."""
    try:
        taken = os.open(os.path.dirname(path) or ".", os.O_TMPFILE | os.O_RDWR, 0o600)
    except (OSError, AttributeError):  # it is Linux that has such files
        return None
    try:
        os.posix_fallocate(taken, 0, _LAST_WORDS)
    except OSError:
        os.close(taken)
        return None
    return taken, Kept([taken])


class Database:
    """One connection to a recording's file. Every failure is a RecordingError naming the file."""

    def __init__(self, connection: _Connection, path: str) -> None:
        self._connection: _Connection | None = connection
        self.path = path
        self.aside = ""
        """How it is read, in a sentence, when that is not in place."""
        self._room: tuple[int, Kept] | None = None
        self.before_reading: Callable[[], None] | None = None
        """Called before something is read; what it raises goes to whoever reads."""

    @property
    def _sqlite(self) -> _Connection:
        if self._connection is None or self._connection.closing:
            raise RecordingError(f"{self.path}: this recording has been closed")
        if self._connection.kept.lost():
            raise RecordingError(
                f"{self.path}: the program has closed all files that it found open, as daemons do, "
                "and the recording with them. To have what it does afterwards, begin with "
                "`stepper.record()` there; processes that it starts are recorded with --children."
            )
        return self._connection

    def query(self, row: type[Row], sql: str, params: Params = ()) -> list[Row]:
        """Run a SELECT; `row` is the tuple type that each row must have.

        Raises:
            RecordingError: the file is damaged, or a row is not of that type.
        """
        connection = self._sqlite
        self._announce()
        try:
            rows = connection.execute(sql, params).fetchall()
            return cast(list[Row], msgspec.convert(rows, _list_of(cast(Hashable, row))))
        except (sqlite3.Error, OverflowError, UnicodeError) as error:
            raise _translated(error, self.path) from error
        except msgspec.ValidationError as error:
            raise damaged(self.path, str(error)) from error

    def stream(self, row: type[Row], sql: str, params: Params = ()) -> Iterator[Row]:
        """What `query` gives, some thousand rows at a time: of a long table that is not kept as it
        is, the rows together would take more memory than what is made of them.

        Raises:
            RecordingError: as `query`.
        """
        try:
            cursor = self._sqlite.execute(sql, params)
            self._announce()
            while rows := cursor.fetchmany(_STREAMED_TOGETHER):
                yield from cast(list[Row], msgspec.convert(rows, _list_of(cast(Hashable, row))))
                self._announce()
        except (sqlite3.Error, OverflowError, UnicodeError) as error:
            raise _translated(error, self.path) from error
        except msgspec.ValidationError as error:
            raise damaged(self.path, str(error)) from error

    def _announce(self) -> None:
        if self.before_reading is not None:
            self.before_reading()

    def one(self, row: type[Row], sql: str, params: Params = ()) -> Row | None:
        """The first row of a SELECT, or None."""
        rows = self.query(row, sql, params)
        return rows[0] if rows else None

    def has_table(self, name: str) -> bool:
        """Whether there is a table of that name: older files lack some."""
        sql = "SELECT count(*) FROM sqlite_master WHERE name = ?"
        return bool(self.query(tuple[int], sql, (name,))[0][0])

    def has_column(self, table: str, name: str) -> bool:
        """Whether a table has a column of that name."""
        sql = "SELECT count(*) FROM pragma_table_info(?) WHERE name = ?"
        return bool(self.query(tuple[int], sql, (table, name))[0][0])

    def execute(self, sql: str, params: Params = ()) -> None:
        """Run one statement."""
        connection = self._sqlite
        try:
            connection.execute(sql, params)
        except (sqlite3.Error, OverflowError, UnicodeError) as error:
            raise _translated(error, self.path) from error

    def write(
        self, batches: Iterable[tuple[str, Iterable[Params]]], *then: Call, wait: bool = True
    ) -> None:
        """Run statements, each over many rows, as one transaction: all of it is kept or nothing,
        and when it is kept, the calls in `then` have been made, whatever exception comes from
        outside meanwhile (see `at_once`).

        Args:
            batches: the statements with their rows, which no Python code may make.
            then: calls of C functions.
            wait: whether to wait for another process that writes.

        Raises:
            RecordingBusyError: another process writes at this moment; nothing was kept.
            RecordingError: the disk is full, the file is gone, …; nothing was kept.
            UnicodeEncodeError: a str is not Unicode; nothing was kept.
        """
        connection = self._sqlite
        execute = connection.execute
        calls: list[Call] = [(execute, "BEGIN IMMEDIATE")]
        if connection.in_transaction:  # of a time when undoing it was interrupted, too
            calls.insert(0, (execute, "ROLLBACK"))
        calls += [(connection.executemany, sql, rows) for sql, rows in batches]
        try:
            execute(f"PRAGMA busy_timeout={_PATIENCE if wait else 0}")
            at_once(*calls, (execute, "COMMIT"), *then)
        except BaseException as error:
            if connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    execute("ROLLBACK")
            if isinstance(error, (sqlite3.Error, OverflowError)):
                raise _translated(error, self.path) from error
            raise

    def data_version(self) -> int:
        """A number that changes when another connection has committed something."""
        found = self.one(tuple[int], "PRAGMA data_version")
        return found[0] if found else 0

    def missing(self) -> bool:
        """Whether the file's name is gone, or stands for another file."""
        try:
            status = os.stat(self.path)
        except OSError:
            return True
        connection = self._connection
        return connection is not None and connection.file != (status.st_dev, status.st_ino)

    def tidy(self) -> None:
        """Fold the log into the file, so that one file is left; not while others have it open."""
        # SQLite deletes by name what is beside a file.
        if self._usable() and not self.missing():
            assert self._connection is not None
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("PRAGMA busy_timeout=0")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                self._connection.execute("PRAGMA journal_mode=DELETE").fetchall()
            self._keep()

    def make_room(self) -> None:
        """Give up what was taken of the disk for the last words: now they are to be written."""
        room, self._room = self._room, None
        if room is not None and not room[1].lost():
            os.close(room[0])

    def close(self) -> None:
        """Let go of the file. Harmless when already closed."""
        self.make_room()
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def fold(self) -> None:
        """Fold as much of the log into the file as nobody reads; its name may be gone."""
        if self._usable():
            assert self._connection is not None
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def leak(self) -> None:
        """Forget the connection without closing it, in a forked child.

        SQLite's locks and memory belong to the parent; `sqlite3_close` in the child might fold and
        delete the log that the parent still writes.
        """
        self.make_room()
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.leak()

    @classmethod
    def create(cls, path: str, first: Sequence[tuple[str, Params]]) -> Database:
        """Make a new recording and open it for writing; `first` are statements run at its birth.

        Raises:
            RecordingError: something has that name already, or the directory cannot be written.
        """

        def fill(database: Database) -> None:
            database._pragmas(f"application_id={APPLICATION_ID}", f"user_version={VERSION}")
            for statement in statements(SCHEMA):
                database.execute(statement)
            for sql, params in first:
                database.execute(sql, params)

        return cls._made(path, fill)

    def again(self, path: str) -> Database:
        """Make a new recording that holds what this one does, and open it for writing.

        Raises:
            RecordingError: as `create`.
        """
        return self._made(path, lambda database: self._sqlite.backup(database._sqlite))

    def _usable(self) -> bool:
        return self._connection is not None and not self._connection.kept.lost()

    def _keep(self) -> None:
        if self._connection is not None:
            beside = (self.path + suffix for suffix in files.SIDE_FILES)
            self._connection.kept = Kept(open_on([self.path, *beside]))

    @classmethod
    def _made(cls, path: str, fill: Callable[[Database], None]) -> Database:
        _make_file(path, fill)
        database = cls.append(path)
        try:
            # It is how readers know that somebody writes: see `stepper.recording.files`.
            if database.one(tuple[str], "PRAGMA journal_mode=WAL") != ("wal",):
                raise RecordingError(
                    f"{path}: its file system has no shared memory, which a recording needs while "
                    "it grows. Choose another place with -o FILE."
                )
            database._pragmas(f"wal_autocheckpoint={_CHECKPOINT_PAGES}")
            # The first commit waits for the disk. Here nobody is being watched yet.
            database.write([("UPDATE session SET ended = ended", [()])])
            # Readers only look at the shared memory, so their mark in the log is set here.
            database.query(tuple[int], "SELECT count(*) FROM session")
            database._keep()
        except RecordingError:
            database.close()
            raise
        database._room = _taken_beside(path)
        return database

    @classmethod
    def append(cls, path: str) -> Database:
        """Open a recording for writing: for its own writer, and for the front end that started it.

        Raises:
            RecordingError: there is none, or it may not be written.
        """
        real = os.path.realpath(path)
        _refuse_journal(path, real)
        database = _connected(path, real, "mode=rw", in_place=True)
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
        until = time.monotonic() + _SETTLING
        while True:
            last = time.monotonic() > until
            try:
                found = _found(path)
                database = _open_for_reading(path, found)
            except RecordingError as error:
                if last or not _passes(error):
                    raise
            else:
                if last or not _is_being_born(database, found):
                    return database
                database.close()
            time.sleep(0.01)

    def _pragmas(self, *pragmas: str) -> None:
        for pragma in pragmas:
            self.execute(f"PRAGMA {pragma}")


_MOST_QUOTED = 200
"""Characters of what SQLite or msgspec say is wrong with a file."""


@lru_cache(maxsize=64)
def _list_of(row: Hashable) -> Any:
    return list[row]  # type: ignore[valid-type]  # a type that is known when it runs


def damaged(path: str, what: str) -> RecordingError:
    """The error for content that no writer of ours can have written."""
    # SQLite quotes what it does not understand, which can be anything of any length.
    words = " ".join(what.split())
    told = "".join(each if each.isprintable() else "·" for each in words[:_MOST_QUOTED])
    return RecordingError(
        f"{path}: this recording is damaged ({told}). It may have been cut short "
        "or changed by another program. Record the program again."
    )


def _connected(path: str, real: str, options: str, *, in_place: bool = False) -> Database:
    """Open a file by SQLite; `in_place`: it can change meanwhile, and is locked."""
    uri = f"{Path(real).as_uri()}?{options}"
    try:
        connection = files.lock.during(_connection, uri, real if in_place else "")
    except sqlite3.Error as error:
        raise _translated(error, path) from error
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_BLOB)
    return Database(connection, path)


def _connection(uri: str, in_place: str) -> _Connection:
    connection = sqlite3.connect(
        uri, uri=True, timeout=_PATIENCE / 1000, isolation_level=None,
        check_same_thread=False, factory=_Connection,
    )  # fmt: skip
    if in_place:
        with contextlib.suppress(FileNotFoundError):
            connection.file, connection.ends = files.in_use(in_place)
    return connection


def _make_file(path: str, fill: Callable[[Database], None]) -> None:
    target = Path(path)
    if os.path.lexists(path) and not (target.is_file() and target.stat().st_size == 0):
        raise _taken(path)
    temporary = str(target.with_name(f".{target.name}.{os.getpid()}.tmp"))
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise _cannot_create(path, error) from error
    try:
        database = _connected(path, os.path.realpath(temporary), "mode=rw", in_place=True)
        try:
            database._pragmas("journal_mode=OFF", "synchronous=OFF")
            fill(database)
        except sqlite3.Error as error:
            raise _translated(error, path) from error
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
        if other := files.delete_leftovers(path):
            raise RecordingError(
                f"{other} is there, and SQLite would take it for a part of the recording. "
                "Move it away, or choose another name."
            )
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise _taken(path) from None
        except OSError:  # a file system without hard links
            os.rename(temporary, path)
    except OSError as error:
        raise _cannot_create(path, error) from error


def _refuse_journal(path: str, real: str) -> None:
    """See that nothing is rolled back into a file that is opened for writing."""
    until = time.monotonic() + _SETTLING / 10
    while os.path.lexists(real + "-journal"):
        # Its own writer has one for a moment while it closes.
        if time.monotonic() > until:
            raise RecordingError(
                f"{path}-journal is there, and SQLite would change the recording by what it says. "
                "Move it away."
            )
        time.sleep(0.01)


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


def _found(path: str) -> files.Found:
    try:
        found = files.look(path)
    except FileNotFoundError:
        raise RecordingError(f"{path}: there is no such file. Check the name.") from None
    except IsADirectoryError:
        raise RecordingError(f"{path} is a directory; give a recording inside it.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RecordingError(f"{path} cannot be read: {reason}. Check its permissions.") from error
    if not found.open_here and not found.head.startswith(_HEADER):
        what = "is not a recording of stepper" if found.head else "is empty"
        raise RecordingError(f"{path} {what}. Recordings are made by `stepper record -o FILE …`.")
    return found


def _open_for_reading(path: str, found: files.Found) -> Database:
    if found.holder is not None:
        database = _connected(path, found.real, "mode=ro&readonly_shm=1", in_place=True)
    elif found.logging and found.log_size:
        return _open_copy(path, found)
    else:
        database = _connected(path, found.real, "mode=ro&immutable=1")
    return _checked(database)


def _open_copy(path: str, found: files.Found) -> Database:
    try:
        with (
            tempfile.TemporaryDirectory(prefix="stepper-") as directory,
            files.copied(found, directory) as copy,
        ):
            database = _checked(_connected(path, copy, "mode=ro"))
    except OSError as error:
        raise RecordingError(
            f"{path}: its writer was killed and left {os.path.basename(path)}-wal, so both are "
            f"copied to be read, and that failed: {error.strerror or error}. Name a directory with "
            "more room in TMPDIR."
        ) from error
    database.aside = (
        f"{path}: its writer was killed. What it left in {os.path.basename(path)}-wal is read, too,"
        " from a copy of both; the files stay as they are."
    )
    return database


def _checked(database: Database) -> Database:
    """Read nothing but data from a file of unknown author."""
    try:
        database._pragmas(
            "trusted_schema=OFF", "query_only=ON", "cell_size_check=ON", "mmap_size=0"
        )
        _check_identity(database)
        _check_schema(database)
    except RecordingError:
        database.close()
        raise
    return database


def _passes(error: RecordingError) -> bool:
    """Whether an error may be over in a moment: a writer was about to open or to close the file."""
    name = getattr(error.__cause__, "sqlite_errorname", "")
    return str(name).startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PROTOCOL"))


def _is_being_born(database: Database, found: files.Found) -> bool:
    """Whether its writer may have made the file and is about to open it."""
    return (
        found.holder is None
        and not found.log_size
        and time.time() - found.changed < _SETTLING
        and database.one(tuple[str | None], "SELECT ended FROM session") == (None,)
    )


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
            f"{path} was made by an older stepper (format {version[0]}; this one reads "
            f"{min(HISTORY)} to {VERSION}). Record the program again, or open it with that stepper."
        )


def _check_schema(database: Database) -> None:
    path = database.path
    parts = database.query(tuple[str, str, int], "SELECT type, name, rootpage FROM sqlite_schema")
    for kind, name, root in parts:
        if kind != "table" or root <= 0:
            kind = "virtual table" if kind == "table" else kind
            raise damaged(path, f"it holds a {kind} named {name!r}, which a recording never does")
    version = database.one(tuple[int], "PRAGMA user_version") or (VERSION,)
    for table, columns in expected_columns().items():
        if LATER.get(table, 0) > version[0]:
            continue
        columns = {name for name in columns if LATER.get(f"{table}.{name}", 0) <= version[0]}
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
    # The second: there is no room for the file through which connections find each other.
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")):
        return RecordingError(f"{path}: the disk is full. Free some space and record again.")
    if name.startswith("SQLITE_IOERR"):
        return RecordingError(
            f"{path}: the disk refuses to read or write ({name}). Check its free space."
        )
    if name.startswith("SQLITE_READONLY_"):
        return RecordingBusyError(
            f"{path}: its writer was killed in the midst of a change. Try again when nobody has it "
            "open any more."
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
