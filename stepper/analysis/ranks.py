"""Many recordings of one program: which of them did the same.

The ranks of a job run one program, and mostly compile the same. To compare each with each would
read every recording as often as there are recordings. So each is read once, and where there are
many, by several processes: all that a comparison of two looks at
(`stepper.analysis.compare_recordings`), frame after frame in their order, goes into a digest, and
those of one digest are a class. Only digests are kept, whatever the number of recordings. Then one
of each class is compared with one of the largest class, which says where they part and why.

What is left out is what is left out there: numbers and addresses that differ between any two runs,
and the numbers of lines.
"""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import os
import signal
from array import array
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from typing import NamedTuple

import msgspec

from stepper.analysis.collectives import Compared, GroupHistory, compare, histories
from stepper.analysis.compare_recordings import (
    FrameDiff,
    body_of,
    compare_runs,
    plain,
    what_is_compared,
)
from stepper.analysis.walks import compilations
from stepper.model.trace import Translation
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from stepper.recording.session_folder import Process

_SIZE = 16
_WORTH_WORKERS = 32
"""So many recordings are read by several processes."""
_MOST_WORKERS = 4
"""Each has a recording in memory."""


class Class(msgspec.Struct, frozen=True):
    """Processes that did the same."""

    processes: tuple[Process, ...]
    frames: int
    """That were compiled in each."""
    moments: int
    """In the first of them."""


class Ranks(msgspec.Struct, frozen=True):
    """All processes of a session that are compared."""

    classes: tuple[Class, ...]
    """The largest first; of equals, one that compiled something, then the one with the lowest
    rank."""
    unreadable: tuple[tuple[Process, str], ...] = ()
    """Those that cannot be compared, and why."""
    unfinished: tuple[Process, ...] = ()
    """Those whose recordings have no end: what they did afterwards is not known."""
    unrecorded: tuple[Process, ...] = ()
    """Ranks without a recording."""
    collectives: Compared = Compared((), (), ())
    """What the collectives that they began say."""

    @property
    def alike(self) -> bool:
        """Whether all did the same, as far as is known."""
        found = self.collectives
        parted = bool(found.partings) or any(each.missing for each in found.standings)
        return len(self.classes) < 2 and not self.unreadable and not parted


def compared(processes: Sequence[Process]) -> list[Process]:
    """The processes of a session that are ranks; all with a recording, when none has a rank."""
    recorded = [each for each in processes if each.recording]
    ranks = [each for each in recorded if each.rank is not None]
    return sorted(ranks, key=lambda each: (each.rank or 0, each.started)) or recorded


def unrecorded(processes: Sequence[Process]) -> list[Process]:
    """The ranks of a session that have no recording. A process that became another program, or
    that starts the others, is none."""
    recorded = {each.rank for each in processes if each.recording}
    found = {each.rank: each for each in processes if each.rank is not None}
    return [each for rank, each in sorted(found.items()) if rank not in recorded]


def classes(processes: Iterable[Process], without: Iterable[Process] = ()) -> Ranks:
    """Group processes by what they did. Each recording is read once.

    Args:
        processes: those to compare.
        without: ranks that have no recording.

    Raises:
        RecordingError: a process that reads some of them was killed.
    """
    found: dict[bytes, list[Process]] = {}
    sizes: dict[bytes, tuple[int, int]] = {}
    unreadable: list[tuple[Process, str]] = []
    unfinished: list[Process] = []
    read: list[Process] = []
    begun: dict[int, dict[str, GroupHistory]] = {}
    every = list(processes)
    for process, did in zip(every, _all_read([each.recording for each in every]), strict=True):
        if isinstance(did, str):
            unreadable.append((process, did))
            continue
        sizes.setdefault(did.digest, (did.frames, did.moments))
        begun[len(read)] = did.begun
        if not did.ended:
            unfinished.append(process)
        found.setdefault(did.digest, []).append(process)
        read.append(process)
    made = [Class(tuple(members), *sizes[whole]) for whole, members in found.items()]
    # Stable: then by the order they came in. What compiled nothing, as the process that starts the
    # others, is nothing that they are held against.
    made.sort(key=lambda each: (-len(each.processes), not each.frames))
    return Ranks(
        tuple(made), tuple(unreadable), tuple(unfinished), tuple(without), compare(read, begun)
    )


class _Did(NamedTuple):
    """What is kept of a recording."""

    digest: bytes
    frames: int
    moments: int
    ended: bool
    begun: dict[str, GroupHistory]


def _all_read(paths: Sequence[str]) -> Iterator[_Did | str]:
    """What each recording says, or why it cannot be read; in their order."""
    workers = min(_MOST_WORKERS, os.cpu_count() or 1)
    if len(paths) < _WORTH_WORKERS or workers < 2:
        yield from map(_read, paths)
        return
    # Started anew: a copy of a process that has threads may hang. Ctrl-C is for this one.
    pool = ProcessPoolExecutor(
        workers,
        multiprocessing.get_context("spawn"),
        signal.signal,
        (signal.SIGINT, signal.SIG_IGN),
    )
    try:
        yield from pool.map(_read, paths)
    except BrokenProcessPool as error:
        raise RecordingError(
            "a process that reads recordings was killed, as it is when memory runs out: have fewer "
            f"of them in the folder, or more memory ({error})"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _read(path: str) -> _Did | str:
    try:
        with contextlib.closing(Recording.open(path)) as recording:
            codes = _Codes(recording)
            frames = [_digest(recording, each, codes) for each in compilations(recording)]
            whole = hashlib.blake2b(b"".join(frames), digest_size=_SIZE).digest()
            ended = recording.ended is not None
            return _Did(whole, len(frames), recording.newest, ended, histories(recording))
    except RecordingError as error:
        return str(error)


def first_divergence(a: Recording, b: Recording) -> FrameDiff | Translation | None:
    """Where two recordings part first: in a frame, or at one that only one of them has."""
    return compare_runs(a, b).first


class _Codes(dict[int, bytes]):
    """The code objects of a recording, as far as they are compared: many frames are of one."""

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self._recording = recording

    def __missing__(self, id: int) -> bytes:
        body = "\n".join(body_of(self._recording.code(id)))
        found = self[id] = hashlib.blake2b(_compared(body), digest_size=_SIZE).digest()
        return found


def _digest(recording: Recording, item: Translation, codes: _Codes) -> bytes:
    """A compilation, as far as it is compared."""
    digest = hashlib.blake2b(digest_size=_SIZE)
    for text in what_is_compared(recording, item):
        digest.update(_short(text) if len(text) < _SHORT else _compared(text))
    for attempt in recording.attempts(item.id):
        for frame in recording.frames(attempt.id):
            digest.update(codes[frame.code])
    for numbers in _steps(recording, item):
        digest.update(numbers.tobytes())
    return digest.digest()


def _compared(text: str) -> bytes:
    return plain(text).encode(errors="replace") + b"\0"


_SHORT = 200
_short = lru_cache(maxsize=16_384)(_compared)
"""`_compared` for texts such as instructions, which are in each recording again and again."""


def _steps(recording: Recording, item: Translation) -> Iterator[array[int]]:
    """The instructions of a compilation: of each the frame, in the order in which the frames were
    entered, and its index."""
    for attempt in recording.attempts(item.id):
        last = recording.newest if attempt.last_moment is None else attempt.last_moment
        own = {frame.id: number for number, frame in enumerate(recording.frames(attempt.id))}
        for run in recording.runs(attempt.first_moment, last):
            kept = [at for at, frame in enumerate(run.frames) if frame in own]
            # As many bytes for each, and not for each run: what is one run in one recording may be
            # two in the other.
            pairs = array("q")
            for at in kept:
                pairs.append(own[run.frames[at]])
                pairs.append(run.ips[at])
            yield pairs
