"""The collectives of `torch.distributed`, by torch's own flight recorder.

Collectives come from many places: the program's Python, DistributedDataParallel's reducer, graphs.
The last two never pass through Python, and Dynamo traces the functions of the first: a wrapper
around one would be in its graphs, an instruction more in one would be in what it guards. But
torch notes the newest 2,000 of all of them itself, in C++, with the stacks that began them, since
it expects jobs to hang. That is read here, so nothing of the program is touched.

A rank that hangs does nothing at which it could be asked. So a thread looks, from the first process
group on, once a second. Mostly it asks how far the groups are, which costs nothing, and writes
that down. The collectives themselves take up to a tenth of a second to be read, so they are
read when nothing goes on any more, before torch would throw any away, and at the session's end; and
never more than a hundredth of the time goes into it, unless torch would throw them away.

Like the channel's, the thread is made with `_thread` and takes no signals, and it is not there
during a fork. It never waits for the lock to write: where somebody has it, it looks a second later.
"""

from __future__ import annotations

import _thread
import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from stepper.debuggee.engine import Engine, Recorder
from stepper.engines.common import versions
from stepper.engines.common.placed_probes import Probes
from stepper.model.collective import Collective, CollectiveReading, ProcessGroup
from stepper.model.program import PythonFrame
from stepper.model.value import SHORT_DTYPES
from stepper.recording.process_entry import born_at
from stepper.uncompiled import keep_out

_EVERY = 1.0
"""Seconds from one look to the next."""
_AT_ONCE = 1000
"""New collectives after which they are read, though it is early: half of what torch keeps."""
_SHARE = 100
"""One part of the time in so many is spent with reading at most."""
_LONGEST_WAIT = 1.0
"""Seconds that the thread's end is waited for. It does nothing that takes long."""
_MOST_FRAMES = 50

_DTYPES = {
    "Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16",
    "Long": "int64", "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8",
    "Bool": "bool", "ComplexFloat": "complex64", "ComplexDouble": "complex128",
}  # fmt: skip
"""The names of dtypes in the flight recorder, where they are others."""

Status = dict[tuple[str, int], tuple[int, int]]
"""How far each process group is, by backend and number: the newest collective that was begun, and
the newest that is over."""


class WatchesCollectives(Engine):
    """An engine that tells its recorder of collectives, whatever its compiler is."""

    _collectives: CollectivesWatcher | None = None

    def install(self, recorder: Recorder) -> None:
        super().install(recorder)
        self._collectives = CollectivesWatcher(self)
        self._collectives.install()

    def uninstall(self) -> None:
        watcher, self._collectives = self._collectives, None
        if watcher is not None:
            watcher.uninstall()

    def before_fork(self) -> None:
        if self._collectives is not None:
            self._collectives.pause()

    def after_fork(self) -> None:
        if self._collectives is not None:
            self._collectives.go_on()


class _Thread(NamedTuple):
    """The thread that looks."""

    pid: int
    stop: _thread.LockType
    """Released when it is to end."""
    ended: _thread.LockType
    """Released when it has."""


class CollectivesWatcher:
    """Tells an engine's recorder of collectives."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._probes = Probes()
        self._thread: _Thread | None = None
        self._begun = False
        """Whether there has been a process group."""
        self._told: Status = {}
        """What has been written down."""
        self._read: Status = {}
        """How far they were when the collectives were read."""
        self._not_before = 0.0
        """When they can be read again without taking too much of the time."""
        self._newest: dict[str, int] = {}
        """Id of the newest collective that was read, by backend."""
        self._open: set[tuple[str, int]] = set()
        """Those that were not over, by backend and id."""
        self._members: dict[str, tuple[int, ...]] = {}
        """Ranks of the groups' members, by name. A group that was destroyed keeps them."""

    def install(self) -> None:
        """Begin to look when there is a process group."""
        if not versions.HAS_COLLECTIVES:
            return
        self._pid = os.getpid()
        self._whole = self._engine.recorder.from_the_start
        self._since = _process_began() if self._whole else time.time_ns()
        self._probes.place(versions.GROUP_MADE, self._engine.safely(self._begin))
        if versions.process_groups():
            self._begin()

    def uninstall(self) -> None:
        """Read what there is, and look no more."""
        self._probes.remove()
        self.pause()
        begun, self._begun = self._begun, False
        if begun and self._pid == os.getpid():
            self._read_all()

    def pause(self) -> None:
        """End the thread: the program is about to fork."""
        thread, self._thread = self._thread, None
        if thread is not None and thread.pid == os.getpid():
            thread.stop.release()
            thread.ended.acquire(timeout=_LONGEST_WAIT)

    def go_on(self) -> None:
        """After a fork, in the parent: look again. Not if that would be the program's second
        thread, since Python counts them just after this."""
        if self._begun and self._thread is None and len(os.listdir("/proc/self/task")) > 1:
            self._start()

    def _begin(self) -> None:
        self._begun = True
        if self._thread is None:
            self._start()

    def _start(self) -> None:
        stop, ended = _thread.allocate_lock(), _thread.allocate_lock()
        stop.acquire()
        ended.acquire()
        thread = _Thread(os.getpid(), stop, ended)
        # The thread inherits the mask: signals are for the program's own threads.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            _thread.start_new_thread(self._watch, (thread,))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        self._thread = thread

    def _watch(self, thread: _Thread) -> None:
        lock = self._engine.recorder.walks.lock
        look = self._engine.safely(self._look)
        try:
            while not thread.stop.acquire(timeout=_EVERY):
                if lock.acquire(blocking=False):
                    try:
                        look()
                    finally:
                        lock.release()
        finally:
            thread.ended.release()

    def _look(self) -> None:
        if not self._begun:  # it has ended meanwhile
            return
        status = _status(versions.flight_records(collectives=False))
        goes_on = status != self._told
        many = _count(status) - _count(self._read) > _AT_ONCE
        waited = time.monotonic() >= self._not_before
        if many or (status != self._read and not goes_on and waited):
            self._read_all()
        elif goes_on:
            groups = tuple(self._groups(status, {}))
            self._told = status
            reading = CollectiveReading(time.time_ns(), groups, whole=self._whole)
            self._engine.recorder.collectives(reading)
        else:
            return
        if not self._engine.recorder.walks.translating:  # which commits by itself
            self._engine.recorder.commit()

    def _read_all(self) -> None:
        began = time.monotonic()
        records = versions.flight_records(collectives=True)
        at = time.time_ns()
        status = _status(records)
        self._members = {**self._members, **versions.process_groups()}
        names: dict[tuple[str, int], tuple[str, str]] = {}
        stacks: dict[tuple[PythonFrame, ...], int] = {}
        found: list[Collective] = []
        missed = 0
        for backend, record in records.items():
            entries = [each for each in record["entries"] if self._is_ours(each)]
            names |= {(backend, each["pg_id"]): each["process_group"] for each in entries}
            newest = self._newest.get(backend, 0)
            if entries:
                missed += max(0, entries[0]["record_id"] - newest) if newest else 0
            for entry in entries:
                id = entry["record_id"] + 1
                if id > newest or (backend, id) in self._open:
                    each = self._collective(backend, entry, stacks)
                    if id > newest or each.over:
                        found.append(each)
                    (self._open.discard if each.over else self._open.add)((backend, id))
                    self._newest[backend] = max(id, self._newest.get(backend, 0))
        groups = tuple(self._groups(status, names))
        if found or groups:
            reading = CollectiveReading(
                at, groups, tuple(found), tuple(stacks), self._whole, missed
            )
            self._engine.recorder.collectives(reading)
        self._told = self._read = status
        self._not_before = time.monotonic() + _SHARE * (time.monotonic() - began)

    def _is_ours(self, entry: Mapping[str, Any]) -> bool:
        """Whether this process began it in this session: one that was forked has its parent's."""
        return bool(entry["time_created_ns"] >= self._since)

    def _groups(
        self, status: Status, names: Mapping[tuple[str, int], tuple[str, str]]
    ) -> Iterator[ProcessGroup]:
        """The groups that have gone on since they were told, or whose names are known now."""
        for key in status.keys() | names.keys():
            name, description = names.get(key, ("", ""))
            if name or status.get(key) != self._told.get(key):
                numbers = status.get(key, (0, 0))
                members = self._members.get(name, ())
                yield ProcessGroup(*key, *numbers, name, description, members)

    def _collective(
        self, backend: str, entry: Mapping[str, Any], stacks: dict[tuple[PythonFrame, ...], int]
    ) -> Collective:
        frames = tuple(self._program_frames(entry["frames"]))
        single = bool(entry["is_p2p"])
        return Collective(
            backend=backend,
            id=entry["record_id"] + 1,
            group=entry["pg_id"],
            number=entry["p2p_seq_id" if single else "collective_seq_id"],
            name=entry["profiling_name"].rpartition(":")[2],
            began=entry["time_created_ns"],
            ended=entry["time_discovered_completed_ns"] or None,
            over=bool(entry["retired"]) or entry["state"] == "completed",
            single=single,
            inputs=tuple(_tensors(entry["input_dtypes"], entry["input_sizes"])),
            outputs=tuple(_tensors(entry["output_dtypes"], entry["output_sizes"])),
            stack=stacks.setdefault(frames, len(stacks)) if frames else None,
        )

    def _program_frames(self, frames: Iterable[Mapping[str, Any]]) -> Iterator[PythonFrame]:
        """The program's own, outermost first."""
        found = [
            PythonFrame(each["filename"], each["line"], each["name"])
            for each in frames
            if not each["filename"].startswith("<") and self._engine.is_program(each["filename"])
        ]
        yield from reversed(found[:_MOST_FRAMES])


def _status(records: Mapping[str, Mapping[str, Any]]) -> Status:
    number = versions.sequence_number
    return {
        (backend, int(group)): (
            number(each["last_enqueued_collective"]), number(each["last_completed_collective"]),
        )
        for backend, record in records.items()
        for group, each in record["pg_status"].items()
    }  # fmt: skip


def _count(status: Status) -> int:
    return sum(begun for begun, _ in status.values())


def _tensors(dtypes: Iterable[str], sizes: Iterable[Iterable[int]]) -> Iterator[str]:
    for dtype, size in zip(dtypes, sizes, strict=False):
        name = _DTYPES.get(dtype, dtype)
        yield f"{SHORT_DTYPES.get(name, name)}[{', '.join(map(str, size))}]"


def _process_began() -> int:
    """When this process began, or was forked, in nanoseconds since the epoch; what the kernel
    knows of it is rounded, this is not before."""
    ticks = born_at(os.getpid())
    if not ticks:
        return 0
    second = os.sysconf("SC_CLK_TCK")
    began = (ticks + 1) * 1_000_000_000 // second
    return time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME) + began


keep_out()
