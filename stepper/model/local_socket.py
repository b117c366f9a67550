"""Unix sockets between processes of one user: how they are named, and who is at the other end."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections.abc import Iterator

import msgspec

_PEER = struct.Struct("3i")


class Peer(msgspec.Struct, frozen=True):
    """The process at the other end, as the kernel says."""

    pid: int
    user: int


def peer(connection: socket.socket) -> Peer:
    """Who has connected, or listens.

    Raises:
        OSError: the kernel does not say.
    """
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    pid, user, _ = _PEER.unpack(told)
    return Peer(pid, user)


@contextlib.contextmanager
def short_address(path: str) -> Iterator[str]:
    """A name for a socket in any folder: the kernel takes no more than 107 bytes of one.

    Raises:
        OSError: there is no such folder.
    """
    folder, name = os.path.split(path)
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)
