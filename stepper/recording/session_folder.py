"""A session folder: the recordings of a program and of the processes that it started.

    12345.json           one for each process: what it says of itself
    12345.stepper        its recording, where there was something to record
    12345.<time>.exit.json   how it ended, told by whoever waited for it

`stepper.recording.process_entry` writes them and says why they are so. What is read here is
untrusted: it is checked for its types, its size and its number, and a name in it leads to no file
outside of the folder. A file that cannot be read is told, and the others are read nevertheless.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from stepper.recording import occupied
from stepper.recording.errors import RecordingError
from stepper.recording.process_entry import SUFFIX, born_at
from stepper.support.system import READ

T = TypeVar("T")

LARGEST = 64 * 1024
"""Bytes of an entry that are read."""
MOST = 20_000
"""Processes that are read of one folder."""
_ENTRY = re.compile(r"\d+(-\d+)?\.json", re.ASCII)
_EXIT = re.compile(r"\d+\.\d+\.exit\.json", re.ASCII)
SOCKET = "front-end"
"""Name of the socket at which a front end listens, while there is one."""
_OURS = re.compile(
    r"front-end|\d+(-\d+)*(\.json|\.stepper(-wal|-shm|-journal)?|\.\d+\.exit\.json)(\.\d+\.draft)?",
    re.ASCII,
)


class _Entry(msgspec.Struct, frozen=True):
    pid: int
    parent: int = 0
    how: str = ""
    born: int = 0
    boot: str = ""
    rank: int | None = None
    command: tuple[str, ...] = ()
    started: float = 0.0
    ended: float | None = None
    exit: int | None = None
    name: str = ""
    recording: str = ""
    note: str = ""


class _Exit(msgspec.Struct, frozen=True):
    pid: int
    status: int
    at: float


class Process(msgspec.Struct, frozen=True):
    """One process of a session."""

    pid: int
    parent: int
    """Number of the process that started it, which need not be one of the session's."""
    how: str
    """`first`: the one that a front end started; `fork`: a copy of its parent; `start`: a program
    of its own."""
    rank: int | None
    command: tuple[str, ...]
    name: str
    """How `multiprocessing` calls it; empty: it does not, or it was killed before it had told."""
    started: float
    ended: float | None
    """Seconds since the epoch; None: it runs, or nobody saw its end."""
    state: str
    """`running`, `exited`, `killed` (by a signal), `replaced` (by another program in the same
    process), `gone` (without having told its end)."""
    exit: int | None
    """Its exit code, or the signal that killed it; None: nobody has told."""
    recording: str
    """Path of its recording; empty: there was nothing to record."""
    note: str
    """What it has to tell of its recording."""


class SessionFolder(msgspec.Struct, frozen=True):
    """What a session folder holds."""

    path: str
    processes: tuple[Process, ...]
    """In the order in which they started."""
    unreadable: tuple[str, ...] = ()
    """What is wrong with files of the folder, a sentence each."""

    @property
    def recorded(self) -> tuple[Process, ...]:
        """The processes that have a recording."""
        return tuple(process for process in self.processes if process.recording)


def is_session(path: str) -> bool:
    """Whether there is a folder of this name with an index of processes."""
    try:
        return any(map(_ENTRY.fullmatch, os.listdir(path)))
    except (OSError, ValueError):
        return False


def read(path: str) -> SessionFolder:
    """Read the index of a session folder.

    Recordings that no entry belongs to, as in a folder that somebody has put together, are
    processes too.

    Raises:
        RecordingError: it cannot be read, or is none.
    """
    try:
        names = sorted(os.listdir(path))
    except NotADirectoryError:
        raise RecordingError(
            f"{path}: this is a file and no session folder. `stepper record --children -o FOLDER` "
            "makes one."
        ) from None
    except (OSError, ValueError) as error:
        raise RecordingError(f"{path}: it cannot be read: {_reason(error)}.") from None
    entries = [name for name in names if _ENTRY.fullmatch(name)]
    if len(entries) > MOST:
        raise RecordingError(f"{path}: it has {len(entries):,} entries; {MOST:,} are the most.")
    trouble: list[str] = []
    exits = list(_decoded(path, filter(_EXIT.fullmatch, names), _Exit, trouble))
    known = [entry for _, entry in _decoded(path, entries, _Entry, trouble)]
    known.sort(key=lambda entry: (entry.started, entry.pid))
    there = set(names)
    processes = [_process(path, entry, known, [e for _, e in exits], there) for entry in known]
    claimed = {os.path.basename(process.recording) for process in processes}
    processes += _without_entry(path, [n for n in names if n.endswith(SUFFIX)], claimed, trouble)
    if not processes and not trouble:
        raise RecordingError(
            f"{path}: this is no session folder: it holds no recording. `stepper record "
            "--children -o FOLDER` makes one."
        )
    return SessionFolder(path, tuple(processes), tuple(trouble))


def _decoded(
    folder: str, names: Iterable[str], kind: type[T], trouble: list[str]
) -> Iterator[tuple[str, T]]:
    decoder = msgspec.json.Decoder(kind)
    for name in names:
        try:
            descriptor = os.open(os.path.join(folder, name), READ)
            with open(descriptor, "rb") as file:
                data = file.read(LARGEST + 1)
            if data and len(data) <= LARGEST:  # an empty one is about to be written
                yield name, decoder.decode(data)
            elif data:
                trouble.append(f"{name}: it is larger than an entry can be")
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            trouble.append(f"{name}: {_reason(error)}")


def _process(
    folder: str, entry: _Entry, known: list[_Entry], exits: list[_Exit], there: set[str]
) -> Process:
    later = [
        other.started
        for other in known
        if other is not entry and other.pid == entry.pid and other.started > entry.started
    ]
    until = min(later, default=float("inf"))
    told = [each for each in exits if each.pid == entry.pid and entry.started <= each.at <= until]
    state, code, ended = _state(entry, told[-1] if told else None, known)
    plain = entry.recording in there and entry.recording.endswith(SUFFIX)
    return Process(
        pid=entry.pid,
        parent=entry.parent,
        how=entry.how,
        rank=entry.rank,
        command=entry.command,
        name=entry.name,
        started=entry.started,
        ended=ended,
        state=state,
        exit=code,
        recording=os.path.join(folder, entry.recording) if plain else "",
        note=entry.note,
    )


def _state(
    entry: _Entry, told: _Exit | None, known: list[_Entry]
) -> tuple[str, int | None, float | None]:
    """State, exit code or signal, and end."""
    if told is not None:
        ended = entry.ended if entry.ended is not None else told.at
        # As Linux, where it was written, has both; not every reader's system can take it apart.
        if by := told.status & 0x7F:
            return "killed", by, ended
        return "exited", told.status >> 8 & 0xFF, ended
    if entry.ended is not None:
        return "exited", entry.exit, entry.ended
    if entry.born and any(
        other.born == entry.born and other.pid == entry.pid and other.started > entry.started
        for other in known
    ):
        return "replaced", None, None
    return ("running" if _runs(entry) else "gone"), None, None


def _runs(entry: _Entry) -> bool:
    """Whether the very process runs here: not another one with its number, nor on another
    machine."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            here = file.read().strip()
    except (OSError, ValueError):
        return False
    return bool(entry.born) and entry.boot == here and born_at(entry.pid) == entry.born


def _without_entry(
    folder: str, names: Iterable[str], claimed: set[str], trouble: list[str]
) -> Iterator[Process]:
    from stepper.recording.reader import Recording

    for name in names:
        if name in claimed:
            continue
        path = os.path.join(folder, name)
        try:
            recording = Recording.open(path)
        except RecordingError as error:
            trouble.append(str(error))
            continue
        facts, ended = recording.facts, recording.ended
        recording.close()
        yield Process(
            pid=facts.pid,
            parent=0,
            how="",
            rank=facts.rank,
            command=facts.argv,
            name="",
            started=facts.started,
            ended=None,
            state="exited" if ended == "exit" else "gone",
            exit=None,
            recording=path,
            note="",
        )


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def make(path: str) -> str:
    """Make a folder for a session, for this user alone; returns its absolute path.

    Raises:
        OSError: it cannot be made, or it is there and not empty.
    """
    path = os.path.abspath(path)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path) or os.listdir(path):
            raise
    # Programs' data can be in it; the umask may have been laxer, or the folder another's choice.
    os.chmod(path, 0o700)
    return path


def is_in_use(path: str) -> bool:
    """Whether a process of the session runs."""
    try:
        return any(process.state == "running" for process in read(path).processes)
    except RecordingError:
        return False


def delete(path: str) -> None:
    """Delete a session folder that holds what is ours and nothing else.

    Raises:
        OSError: it cannot be deleted.
    """
    if is_removable(path):
        shutil.rmtree(path)


def is_removable(path: str) -> bool:
    """Whether a folder holds what is ours and nothing else, and nobody has any of it open.

    Raises:
        OSError: it cannot be looked into.
    """
    names = os.listdir(path)
    recordings = (os.path.join(path, name) for name in names if name.endswith(SUFFIX))
    return (
        not os.path.islink(path)
        and all(_OURS.fullmatch(name) for name in names)
        and all(map(occupied.is_removable, recordings))
        and not is_in_use(path)
    )
