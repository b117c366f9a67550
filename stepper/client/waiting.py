"""Whether a program waits for input: what its main thread asks of the kernel, which says so."""

from __future__ import annotations

import os

_STDIN = 0

_READ = {"x86_64": (0, 19), "aarch64": (63, 65)}
"""Numbers of `read` and `readv`; their first argument is the file."""

_SELECT = {"x86_64": (23, 270), "aarch64": (72,)}
"""Numbers of `select` and `pselect6`, which `input()` is in with readline; their first argument is
one more than the highest file, so with 1 there can be stdin only."""


def waits_for_input(pid: int) -> bool:
    """Whether the main thread waits for its standard input; False also where that cannot be told,
    as on another system or of another user's process."""
    try:
        with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
            number, _, rest = file.read().partition(" ")
        call, argument = int(number), int(rest.partition(" ")[0], 16)
    except (OSError, ValueError):  # ValueError: `running`
        return False
    machine = os.uname().machine
    reads = call in _READ.get(machine, ()) and argument == _STDIN
    return reads or (call in _SELECT.get(machine, ()) and argument == _STDIN + 1)
