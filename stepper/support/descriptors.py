"""Which file a descriptor is: the program may have closed ours, and opened its own under their
numbers.

Daemons close whatever they find open (`os.closerange`), and a program can put a file anywhere
(`os.dup2`). Neither asks whose it was. What is read from such a number, written to it or closed
then is the program's. So whoever keeps a descriptor asks before each use whether it is still what
was opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

Identity = tuple[int, int]
"""Device and inode: of a socket and of a pipe, too."""

_OPEN = "/proc/self/fd"


class Kept:
    """Descriptors of ours, as they are now."""

    def __init__(self, descriptors: Iterable[int] = ()) -> None:
        self._files = {each: identity(each) for each in descriptors}

    def lost(self) -> bool:
        """Whether one of them is closed, or another file."""
        return any(identity(each) != file for each, file in self._files.items())


def identity(descriptor: int) -> Identity | None:
    """Which file a descriptor is; None when it is none."""
    try:
        facts = os.fstat(descriptor)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def open_on(paths: Iterable[str]) -> list[int]:
    """The descriptors of this process that are open on some files; none where the system does not
    tell."""
    files = set()
    for path in paths:
        try:
            facts = os.stat(path)
        except OSError:
            continue
        files.add((facts.st_dev, facts.st_ino))
    try:
        numbers = [int(name) for name in os.listdir(_OPEN)]
    except OSError:
        return []
    return [number for number in numbers if identity(number) in files]
