"""How long a key takes to be seen: `stepper open` on a pseudo-terminal, as a user has it.

The time is the clock's, from the key's being written to the terminal until the picture of its
moment has come; the program's own waiting for its next turn to draw is in it. A measure inside of
the program would not know that, and would count what waits for the widgets to rest. What panes add
when the cursor has rested a while, as they do on purpose, is not in it, and is over before the next
key.
"""

from __future__ import annotations

import os
import select
import sys
import time

import pexpect

MOVES = "ssnlSslnLs"
_SIZE = (45, 160)
_PICTURE = 0.03
"""Seconds without anything drawn after which a picture is over."""
_RESTED = 0.15
"""Seconds after which the panes have added what they do when the cursor rests."""
_SETTLED = 1.5
"""Seconds after which all is there at the start."""


def key_times(path: str, moment: int, rounds: int = 10) -> list[float]:
    """Seconds that each of `MOVES` took, again and again, in a recording opened at a moment."""
    command = ["-m", "stepper", "open", path, "--at", str(moment)]
    screen = pexpect.spawn(sys.executable, command, dimensions=_SIZE, timeout=None)
    try:
        select.select([screen.child_fd], [], [])
        _drawn(screen, _SETTLED)
        return [_taken(screen, key) for _ in range(rounds) for key in MOVES]
    finally:
        screen.close(force=True)


def _taken(screen: pexpect.spawn[bytes], key: str) -> float:
    begun = time.perf_counter()
    os.write(screen.child_fd, key.encode())  # what pexpect sends, it first holds for 50 ms
    select.select([screen.child_fd], [], [])
    seen = _drawn(screen, _PICTURE)
    _drawn(screen, _RESTED)
    return seen - begun


def _drawn(screen: pexpect.spawn[bytes], quiet: float) -> float:
    """When the last came before so many seconds without anything."""
    last = time.perf_counter()
    while select.select([screen.child_fd], [], [], quiet)[0]:
        os.read(screen.child_fd, 65536)
        last = time.perf_counter()
    return last
