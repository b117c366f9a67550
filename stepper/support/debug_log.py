"""`STEPPER_DEBUG=FILE`: what stepper itself does, for whoever mends it.

Each line says when (seconds since the epoch), in which process and thread, which module speaks, and
what it did. Several processes write to one file: the front end, the program, and those that they
start. A line is one `write` to a file that was opened for appending, so lines never mix.

Not the `logging` package: its loggers, handlers and levels belong to the program that is watched,
which may configure them, count them, or be compiled while it does. Values of the program are never
written, only names of what happened.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import sys
import time

VARIABLE = "STEPPER_DEBUG"


def _opened() -> int | None:
    path = os.environ.get(VARIABLE)
    if not path:
        return None
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        sys.stderr.write(f"stepper: {VARIABLE}={path} cannot be written: {error.strerror}\n")
        return None


_descriptor = _opened()


def log(text: str) -> None:
    """Write a line, if that was asked for. What cannot be written is lost: stepper goes on."""
    if _descriptor is None:
        return
    module = sys._getframe(1).f_globals.get("__name__", "?")
    line = f"{time.time():.6f} {os.getpid()}:{_thread.get_ident()} {module}: {text}"
    with contextlib.suppress(OSError):
        os.write(_descriptor, line.replace("\n", "\\n").encode(errors="backslashreplace") + b"\n")
