"""The file of a recording, and what lies beside it, before SQLite is let near either.

SQLite believes in names. What is called `X-journal` beside `X` is rolled back into it by whoever
opens `X` for writing, and a journal can name one more file that is then deleted, any file; `X-wal`
is read as part of `X`; `X-shm` is mapped into memory. For a file of one's own that is how nothing
is lost. A recording that was sent by somebody comes with whatever its sender put beside it.

So the question is who made those files, and the kernel answers it: a writer in write-ahead logging
holds a lock on the recording as long as it has it open. While somebody holds one, the `-wal` and
the `-shm` are that writer's, and the recording is followed in place. When nobody does, SQLite gets
to see the file alone, as one that cannot change, or a private copy of it and of its log.

Locks of this kind have a trap: they belong to the process, and go when it closes *any* descriptor
of the file. A file that SQLite has open in this process is therefore never opened here (`in_use`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from stepper.recording.opening_lock import ReentrantLock
from stepper.support.system import READ

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # there is one wherever mypy is run

SIDE_FILES = ("-journal", "-wal", "-shm")
"""What SQLite appends to the name of a file for those that it makes beside it."""

_JOURNAL_MARK = bytes.fromhex("d9d505f920a163d7")
_LOG_MARKS = (bytes.fromhex("377f0682"), bytes.fromhex("377f0683"))
_INDEX_VERSION = 3_007_000

_LOCKS_AT, _LOCKS_LENGTH = 0x40000000, 512
"""The bytes of a file that SQLite locks; they are part of its format."""
_FLOCK = "@qqihh" if sys.platform == "darwin" else "@hhqqi4x"
"""`struct flock` of C."""

_Key = tuple[int, int, int]

lock = ReentrantLock()
"""Had by whoever opens or closes a recording in this process: see the module's essay. By `during`
only: another thread that opens one would wait for ever for what an exception has left locked."""

_open_here: Counter[_Key] = Counter()

# A child that is forked while another thread has the lock must find it free.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
    )


class Found(NamedTuple):
    """What there is under a recording's name."""

    real: str
    """The absolute path, with no symbolic link in it: SQLite looks beside that one."""
    head: bytes
    """The first bytes; none when this process has the file open."""
    open_here: bool
    """Whether this process has it open by SQLite."""
    holder: int | None
    """The process that has it open by SQLite (0: one that cannot be seen); None: nobody has."""
    logging: bool
    """Whether it was left in write-ahead logging; only known when nobody has it open."""
    log_size: int
    """Bytes in a `-wal` beside it; 0: there is none, or it is no plain file."""
    changed: float
    """When it was changed last."""


def look(path: str) -> Found:
    """Look at a file without changing anything of it, or of what is beside it.

    Raises:
        OSError: it cannot be read; a FileNotFoundError when there is none, an IsADirectoryError
            when it is none.
        ValueError: no file can have such a name.
    """
    return lock.during(_look, os.path.realpath(path))


def _look(real: str) -> Found:
    status = os.stat(real)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(real)
    if not stat.S_ISREG(status.st_mode):
        raise OSError("it is not a plain file")
    if _open_here[_key(status)]:
        return Found(real, b"", True, os.getpid(), False, _log_size(real), status.st_mtime)
    descriptor = os.open(real, READ)
    try:
        head = os.read(descriptor, 100)
        holder = _holder(descriptor)
    finally:
        os.close(descriptor)
    # SQLite writes into bytes 18 and 19 whether the file wants a log (2) or a journal (1).
    return Found(
        real, head, False, holder, head[19:20] == b"\x02", _log_size(real), status.st_mtime
    )


@contextlib.contextmanager
def copied(found: Found, directory: str) -> Iterator[str]:
    """A private copy of a recording and its log, made in `directory`; gone afterwards, though
    whoever has it open by then can read on.

    Raises:
        OSError: it cannot be copied.
    """
    copy = os.path.join(directory, "recording")
    # Beforehand, since a file full of holes would take them all.
    if os.stat(found.real).st_size + found.log_size > shutil.disk_usage(directory).free:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    try:
        _copy(found.real, copy)
        _copy(found.real + "-wal", copy + "-wal")
        yield copy
    finally:
        for suffix in ("", *SIDE_FILES):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(copy + suffix)


def in_use(path: str) -> tuple[tuple[int, int], Callable[[], None]]:
    """Note that this process has a file open by SQLite: its device and inode, and what ends that.

    Raises:
        FileNotFoundError: it is gone.
    """
    status = os.stat(path)
    key = _key(status)
    _open_here[key] += 1

    def end() -> None:
        _open_here[key] -= 1
        if _open_here[key] <= 0:
            del _open_here[key]

    return (status.st_dev, status.st_ino), end


def delete_leftovers(path: str) -> str:
    """Delete what SQLite left beside a file that is gone, for a new one of that name.

    Returns the path of what is in the way and no leftover of SQLite's; empty: nothing is.

    Raises:
        OSError: one cannot be deleted.
    """
    for suffix, is_leftover in zip(SIDE_FILES, (_is_journal, _is_log, _is_index), strict=True):
        beside = path + suffix
        try:
            status = os.lstat(beside)
            if not stat.S_ISREG(status.st_mode):
                return beside
            with open(beside, "rb") as file:
                head = file.read(28)
            if head and not is_leftover(head):
                return beside
            os.unlink(beside)
        except FileNotFoundError:
            continue
    return ""


def _is_journal(head: bytes) -> bool:
    return head.startswith(_JOURNAL_MARK) or not any(head)


def _is_log(head: bytes) -> bool:
    return head.startswith(_LOG_MARKS) or not any(head)


def _is_index(head: bytes) -> bool:
    return int.from_bytes(head[:4], sys.byteorder) in (0, _INDEX_VERSION)


def _key(status: os.stat_result) -> _Key:
    # A forked child has none of its parent's locks, and none of its files open by SQLite.
    return os.getpid(), status.st_dev, status.st_ino


def _holder(descriptor: int) -> int | None:
    """The process that holds one of SQLite's locks on a file; this one's are not seen."""
    if fcntl is None:  # where no program is watched, nobody writes a recording
        return None
    asked = (fcntl.F_WRLCK, os.SEEK_SET, _LOCKS_AT, _LOCKS_LENGTH, 0)
    order = (2, 3, 4, 0, 1) if sys.platform == "darwin" else (0, 1, 2, 3, 4)
    answer = fcntl.fcntl(
        descriptor, fcntl.F_GETLK, struct.pack(_FLOCK, *(asked[place] for place in order))
    )
    fields = dict(zip(order, struct.unpack(_FLOCK, answer), strict=True))
    return None if fields[0] == fcntl.F_UNLCK else max(0, fields[4])


def _log_size(real: str) -> int:
    try:
        status = os.lstat(real + "-wal")
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _copy(source: str, target: str) -> None:
    with (
        open(os.open(source, READ), "rb") as reading,
        open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as writing,
    ):
        shutil.copyfileobj(reading, writing, 1 << 20)
