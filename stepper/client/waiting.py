"""Whether a program waits for input: what its threads ask of the kernel, which says so."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator

_STDIN = 0
_TERMINAL = "/dev/tty"
"""Every process's name of its own one, which `getpass` opens."""

_CALLS = {
    "x86_64": {
        0: "read",
        19: "read",
        23: "select",
        270: "select",
        7: "poll",
        271: "poll",
        232: "epoll",
        281: "epoll",
        441: "epoll",
    },
    "aarch64": {63: "read", 65: "read", 72: "select", 73: "poll", 22: "epoll", 441: "epoll"},
}
"""What waits for files, by the numbers of the kernel's calls, with and without a signal mask."""

_POLLED = struct.Struct("ihh")
_MOST = 4096
"""How many files are looked at: no program that reads a terminal waits for more of them at once."""


def waits_for_input(pid: int) -> bool:
    """Whether the main thread waits for its standard input and nothing else; False also where that
    cannot be told, as on another system or of another user's process."""
    with contextlib.suppress(OSError, ValueError):
        return list(_awaited(f"/proc/{pid}")) == [_STDIN]
    return False


def reads_terminal(pid: int, terminal: str) -> bool | None:
    """Whether a thread of a process, or of those that it has started, waits for what is typed.

    Args:
        pid: the process.
        terminal: path of the terminal that it was started on.

    Returns:
        None: the kernel does not say what the process waits for.
    """
    if os.uname().machine not in _CALLS:
        return None
    try:
        with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
            file.read()
    except OSError:
        return None
    return any(_reads(process, terminal) for process in _and_children(pid))


def _and_children(pid: int) -> Iterator[int]:
    """A process and all that it has started."""
    yield pid
    for thread in _threads(pid):
        with contextlib.suppress(OSError), open(f"{thread}/children", encoding="ascii") as file:
            for child in file.read().split():
                yield from _and_children(int(child))


def _threads(pid: int) -> Iterator[str]:
    with contextlib.suppress(OSError):
        yield from (f"/proc/{pid}/task/{each}" for each in os.listdir(f"/proc/{pid}/task"))


def _reads(pid: int, terminal: str) -> bool:
    for thread in _threads(pid):
        # It may end, or come out of its call, meanwhile.
        with contextlib.suppress(OSError, ValueError, struct.error):
            for file in _awaited(thread):
                if os.readlink(f"/proc/{pid}/fd/{file}") in (terminal, _TERMINAL):
                    return True
    return False


def _awaited(thread: str) -> Iterator[int]:
    """The files that a thread waits to read from; none: it does not wait for any.

    Raises:
        OSError: it cannot be looked at.
        ValueError: it runs.
    """
    with open(f"{thread}/syscall", encoding="ascii") as file:
        call, *arguments = file.read().split()
    first, second = (int(each, 16) for each in arguments[:2])
    match _CALLS.get(os.uname().machine, {}).get(int(call)):
        case "read":
            yield first
        case "select" if second:
            bits = _memory(thread, second, (min(first, _MOST) + 7) // 8)
            yield from (at for at in range(min(first, _MOST)) if bits[at // 8] >> at % 8 & 1)
        case "poll":
            polled = _memory(thread, first, min(second, _MOST) * _POLLED.size)
            yield from (file for file, _, _ in _POLLED.iter_unpack(polled))
        case "epoll":
            with open(f"{thread}/fdinfo/{first}", encoding="ascii") as info:
                for line in info:
                    if line.startswith("tfd:"):
                        yield int(line.split()[1])


def _memory(thread: str, address: int, size: int) -> bytes:
    with open(f"{thread}/mem", "rb", buffering=0) as memory:
        return os.pread(memory.fileno(), size, address)
