"""Work that may take for ever, or all memory, in a copy of the process that can be killed.

A question in SQL can call one function that runs for minutes, and SQLite asks nobody meanwhile
whether it should go on. A thread cannot be ended from outside, a process can. So the copy does the
work and sends what it finds through a pipe; when the time is up it is killed, wherever it is. It
may use a gigabyte more than the process had. Windows has no copies of a process: there the work is
done here, and given up between two things that it gives.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import struct
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import msgspec

with contextlib.suppress(ImportError):  # Windows
    import resource

MEMORY = 1 << 30
"""Bytes that the work may use."""
_SIZE = struct.Struct(">Q")
_LOOK_EVERY = 0.05
_READ = 1 << 16


class GivenUpError(Exception):
    """The work was ended: the time was up, or nobody wants it any more."""


class DiedError(Exception):
    """The copy of the process ended in the midst of its work; the message says how."""


def run_in_fork(
    work: Callable[[], Iterator[object]],
    *,
    seconds: float | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Any]:
    """What `work` gives, made by a copy of this process, which ends with the iterator.

    Args:
        work: gives what msgpack can hold.
        seconds: how long it may work in all; the time in which nobody waits for it is not counted.
        stop: asked now and then; True gives it up.

    Raises:
        GivenUpError: it took too long, or `stop` said so.
        DiedError: the copy was killed by somebody else, for want of memory for instance.
    """
    if not hasattr(os, "fork"):
        yield from _given_here(work, seconds, stop)
        return
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # From Python 3.12 on, that there are other threads. They are not needed.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _work(work, reader, writer)
    os.close(writer)
    try:
        yield from _received(reader, seconds, stop)
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _given_here(
    work: Callable[[], Iterator[object]], seconds: float | None, stop: Callable[[], bool]
) -> Iterator[Any]:
    until = time.monotonic() + (float("inf") if seconds is None else seconds)
    for piece in work():
        if stop() or time.monotonic() > until:
            raise GivenUpError
        yield msgspec.msgpack.decode(msgspec.msgpack.encode(piece))


def _work(work: Callable[[], Iterator[object]], reader: int, writer: int) -> NoReturn:
    try:
        # What the user interrupts is this process's parent, which kills it.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.close(reader)
        _limit_memory()
        for piece in work():
            data = msgspec.msgpack.encode(piece)
            _write(writer, _SIZE.pack(len(data)))
            _write(writer, data)
        _write(writer, _SIZE.pack(0))
    finally:
        # Not by an exception, and without what the process does at its end.
        os._exit(0)


def _limit_memory() -> None:
    with contextlib.suppress(OSError, ValueError), open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))


def _write(writer: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(writer, rest) :]


def _received(reader: int, seconds: float | None, stop: Callable[[], bool]) -> Iterator[Any]:
    worked = 0.0
    buffer = bytearray()
    while True:
        since = time.monotonic()
        ready, _, _ = select.select([reader], [], [], _LOOK_EVERY)
        data = os.read(reader, _READ) if ready else None
        worked += time.monotonic() - since
        if stop() or (seconds is not None and worked > seconds):
            raise GivenUpError
        if data is None:
            continue
        if not data:
            raise DiedError("it ended before it was done, perhaps for want of memory")
        buffer += data
        while len(buffer) >= _SIZE.size:
            (size,) = _SIZE.unpack_from(buffer)
            if not size:
                return
            if len(buffer) < _SIZE.size + size:
                break
            piece = msgspec.msgpack.decode(memoryview(buffer)[_SIZE.size : _SIZE.size + size])
            del buffer[: _SIZE.size + size]
            yield piece
