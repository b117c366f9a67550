"""The recorded moments: which there are, and what is stored of each.

They are stored in runs (see the schema), of whatever length the writer had at hand: some thousands
while the program ran, one for each stop while somebody stepped. So nothing here counts on a size.
Where each run begins and ends is read when the recording is opened and continued at a refresh,
which is some hundred rows for 100,000 moments. The runs themselves are read where they are needed,
several short ones at once, and the last ones read are kept: whoever walks through moments or jumps
to and fro finds them decoded.

A file of unknown author can claim anything. Runs that overlap, or claim more moments than their
bytes can hold, are refused before anything is built on their word. A hole between two runs is an
error only for those who go across it, so that both sides can still be read; to pass over it in
silence would show a state that never was.
"""

from __future__ import annotations

import contextlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import msgspec

from stepper.model.trace import Moment
from stepper.recording.database import Database, damaged
from stepper.recording.errors import RecordingError
from stepper.recording.packing import MOST_BYTES, unpacked, unpacked_run
from stepper.recording.recent import Recent
from stepper.recording.schema import MOST_TOGETHER

_READ_TOGETHER = 1024
"""Moments that are read at once, when more than one run is wanted."""
_KEPT = 65_536
"""Moments that are kept, decoded."""
_LEAST_BYTES = 3
"""What a moment takes in a run's body before that is compressed, at least."""
_LARGEST = 2**63 - 1


class Step(NamedTuple):
    """A moment with what changed since the frame's previous one: an encoded Delta, or None."""

    id: int
    frame: int
    ip: int
    delta: bytes | None


class _Body(msgspec.Struct, frozen=True, array_like=True):
    """A stored run whose deltas and instants wait for somebody who wants them."""

    frames: list[int]
    ips: list[int]
    deltas: msgspec.Raw
    clock: msgspec.Raw = msgspec.Raw(b"\x90")


class Deltas:
    """What changed at the moments of a stored run, decoded when it is first asked for: whoever
    counts, compares or passes over moments never does."""

    def __init__(self, database: Database, first: int, count: int, stored: msgspec.Raw) -> None:
        self._database = database
        self._first = first
        self._count = count
        self._stored = stored

    def between(self, first: int, last: int) -> list[bytes | None]:
        """The deltas of some of the run's moments."""
        return self._all[first - self._first : last - self._first + 1]

    @cached_property
    def _all(self) -> list[bytes | None]:
        found = unpacked(self._database, _DELTAS, bytes(self._stored))
        if len(found) != self._count:
            raise _cut(self._database, self._first, self._count)
        return found


_DELTAS = msgspec.msgpack.Decoder(list[bytes | None])
_CLOCK = msgspec.msgpack.Decoder(list[int])


class Clock:
    """The instants of the moments of a stored run, decoded likewise."""

    def __init__(self, database: Database, first: int, count: int, stored: msgspec.Raw) -> None:
        self._database = database
        self._first = first
        self._count = count
        self._stored = stored

    def between(self, first: int, last: int) -> list[int]:
        """The times of some of the run's moments; none where the file is too old to have any."""
        return self._all[first - self._first : last - self._first + 1]

    @cached_property
    def _all(self) -> list[int]:
        passed = unpacked(self._database, _CLOCK, bytes(self._stored))
        if passed and len(passed) != self._count:
            raise _cut(self._database, self._first, self._count)
        return list(accumulate(passed))


class Run(NamedTuple):
    """Consecutive moments: `first`, `first + 1`, …"""

    first: int
    frames: list[int]
    ips: list[int]
    deltas: Deltas
    clock: Clock

    def cut(self, first: int, last: int) -> Run:
        """The part from moment `first` to moment `last`, both included."""
        start = max(first - self.first, 0)
        end = last - self.first + 1
        if start == 0 and end >= len(self.frames):
            return self
        part = slice(start, end)
        return Run(self.first + start, self.frames[part], self.ips[part], self.deltas, self.clock)

    def steps(self) -> Iterator[Step]:
        """The moments of the run, in order."""
        deltas = self.deltas.between(self.first, self.first + len(self.frames) - 1)
        for offset, (frame, ip, delta) in enumerate(
            zip(self.frames, self.ips, deltas, strict=True)
        ):
            yield Step(self.first + offset, frame, ip, delta)


def _cut(database: Database, first: int, count: int) -> RecordingError:
    return damaged(database.path, f"there are not {count} moments from {first} on")


class Runs(NamedTuple):
    """The first and the last moment of each run."""

    firsts: array[int]
    lasts: array[int]


class Moments:
    """The moments that were there at the last refresh. Nothing else reads their table."""

    def __init__(self, database: Database, known: Runs | None = None) -> None:
        """`known`: what another reader of the same file has read."""
        self._database = database
        self._firsts, self._lasts = known or Runs(array("q"), array("q"))
        self._decoder = msgspec.msgpack.Decoder(_Body)
        self._kept: Recent[Run] = Recent(_KEPT)
        self.refresh()

    @property
    def oldest(self) -> int:
        """Number of the first moment, 0 when there is none."""
        return self._firsts[0] if self._firsts else 0

    @property
    def newest(self) -> int:
        """Number of the newest moment, 0 when there is none."""
        return self._lasts[-1] if self._lasts else 0

    def refresh(self) -> None:
        """Look for newer moments.

        Raises:
            RecordingError: what the file says of them cannot be true.
        """
        newest = self.newest
        for first, count, most in self._database.stream(
            tuple[int, int, int],
            f"SELECT first, count, min({MOST_TOGETHER}, {MOST_BYTES} / {_LEAST_BYTES})"
            " FROM moments WHERE first > ? ORDER BY first",
            (self._firsts[-1] if self._firsts else -_LARGEST,),
        ):
            last = first + count - 1
            if not newest < first <= last <= _LARGEST or count > most:
                raise damaged(self._database.path, f"{count} moments cannot begin at {first}")
            self._firsts.append(first)
            self._lasts.append(last)
            newest = last

    def known(self) -> Runs:
        """What has been read of all of them; a copy, which another thread can have."""
        return Runs(self._firsts[:], self._lasts[:])

    def get(self, id: int) -> Moment | None:
        """One moment, None when it is not recorded."""
        at = bisect_right(self._firsts, id) - 1
        if at < 0 or id > self._lasts[at]:
            return None
        run = self._run(at, at)
        return Moment(id, run.frames[id - run.first], run.ips[id - run.first])

    def runs(self, first: int, last: int, direction: int = 1) -> Iterator[Run]:
        """The moments from `first` to `last`, both included, in runs: for whoever wants many. They
        are not checked for instructions that do not exist, as those of `Recording.moments` are.

        With direction -1 the last run comes first; within a run the order is always the same.

        Raises:
            RecordingError: the recording is damaged, or moments in between are missing.
        """
        if first > last:
            return
        low = bisect_left(self._lasts, first)
        high = bisect_right(self._firsts, last) - 1
        beyond = self._lasts[high] if high >= 0 else 0
        if direction < 0 and last > beyond:
            self._check_joined(high + 1)
        for at in range(low, high + 1) if direction > 0 else range(high, low - 1, -1):
            goes_below = at > low or first < self._firsts[at]
            if direction > 0 and goes_below:
                self._check_joined(at)
            yield self._run(at, high if direction > 0 else low).cut(first, last)
            if direction < 0 and goes_below:
                self._check_joined(at)
        if direction > 0 and last > beyond:
            self._check_joined(high + 1)

    def instants(self, first: int, last: int) -> list[int]:
        """When the moments from `first` to `last`, both included, were, in nanoseconds on the
        compiler's clock; fewer than those where the file is too old to have them."""
        found: list[int] = []
        for run in self.runs(first, last):
            found += run.clock.between(run.first, run.first + len(run.frames) - 1)
        return found

    def steps(self, first: int, last: int) -> Iterator[Step]:
        """The moments from `first` to `last`, both included, with what changed."""
        for run in self.runs(first, last):
            yield from run.steps()

    def _check_joined(self, at: int) -> None:
        """See to it that nothing is missing before a run; there is none after the newest."""
        if at < len(self._firsts):
            last, first = self._lasts[at - 1] if at else 0, self._firsts[at]
            if last + 1 != first:
                missing = f"its moments {last + 1} to {first - 1} are missing"
                raise damaged(self._database.path, missing)

    # Reading runs, named by their place in the order

    def _run(self, at: int, end: int) -> Run:
        """A run; when it must be read, some of those that follow on the way to `end` with it."""
        run = self._kept.get(at)
        return self._read(at, end) if run is None else run

    def _read(self, at: int, end: int) -> Run:
        step = 1 if end > at else -1
        reach, total = at, self._size(at)
        while reach != end and total < _READ_TOGETHER and reach + step not in self._kept:
            reach += step
            total += self._size(reach)
        low, high = min(at, reach), max(at, reach)
        rows = self._database.query(
            tuple[int, int, bytes],
            "SELECT first, count, body FROM moments WHERE first BETWEEN ? AND ? ORDER BY first",
            (self._firsts[low], self._firsts[high]),
        )
        expected = [(self._firsts[i], self._size(i)) for i in range(low, high + 1)]
        if [row[:2] for row in rows] != expected:
            raise damaged(self._database.path, "recorded moments have changed")
        for i, (first, _, body) in enumerate(rows, low):
            if i != at:
                # What is wrong with a neighbour is told to those who ask for it.
                with contextlib.suppress(RecordingError):
                    self._keep(i, self._decoded(first, body, self._size(i)))
        run = self._decoded(*rows[at - low][::2], self._size(at))
        self._keep(at, run)
        return run

    def _size(self, at: int) -> int:
        return self._lasts[at] - self._firsts[at] + 1

    def _decoded(self, first: int, body: bytes, count: int) -> Run:
        found = unpacked_run(self._database, self._decoder, body)
        if not len(found.frames) == len(found.ips) == count:
            raise _cut(self._database, first, count)
        deltas = Deltas(self._database, first, count, found.deltas)
        clock = Clock(self._database, first, count, found.clock)
        return Run(first, found.frames, found.ips, deltas, clock)

    def _keep(self, at: int, run: Run) -> None:
        self._kept.keep(at, run, len(run.frames))
