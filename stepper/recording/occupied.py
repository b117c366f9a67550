"""Whether a recording of some name may be replaced.

A new recording takes the place of an old one with its name; but two programs that run at the same
time and were told the same name, the ranks of one training for instance, must not take each
other's away.
"""

from __future__ import annotations

import contextlib
import glob
import os
import stat

from stepper.recording import files
from stepper.recording.errors import RecordingBusyError, RecordingError
from stepper.recording.reader import Recording
from stepper.recording.schema import APPLICATION_ID
from stepper.support.system import user

_SQLITE = b"SQLite format 3\0"


def is_recording(path: str) -> bool:
    """Whether a file is a recording, by the mark in its first bytes.

    Raises:
        OSError: it cannot be read; a FileNotFoundError when there is none.
    """
    found = files.look(path)
    return found.open_here or _mark(found.head) == APPLICATION_ID


def _mark(head: bytes) -> int:
    # SQLite keeps the application's mark in bytes 68 to 71.
    return int.from_bytes(head[68:72])


def writer_of(path: str) -> int | None:
    """The process that still writes the recording `path`; None when nobody does."""
    try:
        holder = files.look(path).holder
        recording = Recording.open(path)
    except RecordingBusyError:
        return holder
    except (OSError, RecordingError):
        return None  # damaged, or of another version: no program of ours writes that
    pid, ended = recording.facts.pid, recording.ended
    recording.close()
    # A number can be another process's by now; but a writer has the file open.
    return None if ended is not None or holder is None or not process_exists(pid) else pid


def is_removable(path: str) -> bool:
    """Whether a file may be deleted to make room: surely a recording, this user's, not a link, and
    nobody has it open."""
    try:
        status = os.lstat(path)
        found = files.look(path)
    except (OSError, ValueError):
        return False
    ours = stat.S_ISREG(status.st_mode) and status.st_uid == user()
    marked = found.head.startswith(_SQLITE) and _mark(found.head) == APPLICATION_ID
    free = not found.open_here and found.holder is None
    return ours and marked and free and not _is_read(status)


def _is_read(status: os.stat_result) -> bool:
    """Whether a process that can be looked into has a file open: a reader of a finished recording
    holds no lock. Where there is no `/proc`, that is not known."""
    for each in glob.iglob("/proc/[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if os.path.samestat(os.stat(each), status):
                return True
    return False


def make_room(path: str) -> None:
    """Delete an older recording of this name; any other kind of file is the writer's to refuse.

    Raises:
        RecordingError: another program is writing it.
        OSError: it cannot be deleted.
    """
    try:
        if not is_recording(path):
            return
    except FileNotFoundError:
        return
    if (pid := writer_of(path)) is not None:
        raise RecordingError(in_use(path, pid))
    delete(path)


def delete(path: str) -> None:
    """Delete a recording, with what SQLite left beside it.

    Raises:
        OSError: it cannot be deleted.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    files.delete_leftovers(path)


def in_use(path: str, pid: int) -> str:
    """What to tell someone who wants to record to a file that process `pid` records to."""
    return (
        f"process {pid} is recording to {path} at this moment; "
        "name another file with -o ({rank} and {pid} in it are filled in)"
    )


def process_exists(pid: int) -> bool:
    """Whether a process of that number runs on this machine."""
    if not 0 < pid < 2**31:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name before it is in parentheses and can hold anything. In a container without
            # an init nobody reaps the dead: Z.
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except (OSError, IndexError):
        return True
