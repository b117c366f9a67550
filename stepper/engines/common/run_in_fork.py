"""Work that may break everything, done in a copy of the process.

A fork is the whole program as it is, with all its objects, and what becomes of it concerns nobody:
objects are changed in place, code is run that may read beyond a tensor. What it finds comes back
piece by piece through a pipe, so that what it had found before it died is known. Only the thread
that forks is in the copy; those that compute tensors in parallel are not, so it has to compute in
one.
"""

from __future__ import annotations

import os
import select
import signal
import struct
import time
import warnings
from collections.abc import Callable, Iterator
from typing import NoReturn

from stepper.debuggee.children import apart

_SIZE = struct.Struct(">I")


class Died(Exception):
    """The copy of the process ended before it was done; the message says how."""


def run_in_fork(work: Callable[[], Iterator[bytes]], seconds: float) -> Iterator[bytes]:
    """What `work` gives, in a copy of this process.

    Raises:
        Died: it was killed by a signal, or it took too long.
    """
    reader, writer = os.pipe()
    with apart(), warnings.catch_warnings():
        # From Python 3.12 on, that there are other threads. They are not needed.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
        if child == 0:
            os.close(reader)
            _work(work, writer)
    os.close(writer)
    try:
        yield from _received(reader, time.monotonic() + seconds)
    except Died:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        child = 0
        raise
    finally:
        os.close(reader)
        if child:
            _, status = os.waitpid(child, 0)
            code = os.waitstatus_to_exitcode(status)
            if code < 0:
                raise Died(f"the process died of {signal.Signals(-code).name}")


def _work(work: Callable[[], Iterator[bytes]], writer: int) -> NoReturn:
    try:
        silence = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(silence, descriptor)
        for piece in work():
            os.write(writer, _SIZE.pack(len(piece)) + piece)
    finally:
        # Not by an exception, and without what the program does at its end.
        os._exit(0)


def _received(reader: int, until: float) -> Iterator[bytes]:
    buffer = b""
    while True:
        ready, _, _ = select.select([reader], [], [], max(until - time.monotonic(), 0))
        if not ready:
            raise Died("it took too long")
        data = os.read(reader, 1 << 16)
        if not data:
            return
        buffer += data
        while len(buffer) >= _SIZE.size:
            (size,) = _SIZE.unpack_from(buffer)
            if len(buffer) < _SIZE.size + size:
                break
            yield buffer[_SIZE.size : _SIZE.size + size]
            buffer = buffer[_SIZE.size + size :]
