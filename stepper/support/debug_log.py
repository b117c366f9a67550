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

from stepper.support.descriptors import Kept

VARIABLE = "STEPPER_DEBUG"


_path = os.path.abspath(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else ""
_descriptor: int | None = None
_kept = Kept()


def _open() -> None:
    global _descriptor, _kept
    try:
        _descriptor = os.open(_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        sys.stderr.write(f"stepper: {VARIABLE}={_path} cannot be written: {error.strerror}\n")
        _descriptor = None
    else:
        _kept = Kept([_descriptor])


if _path:
    _open()


def log(text: str) -> None:
    """Write a line, if that was asked for. What cannot be written is lost: stepper goes on."""
    if _descriptor is not None and _kept.lost():
        _open()
    if _descriptor is None:
        return
    module = sys._getframe(1).f_globals.get("__name__", "?")
    line = f"{time.time():.6f} {os.getpid()}:{_thread.get_ident()} {module}: {text}"
    with contextlib.suppress(OSError):
        os.write(_descriptor, line.replace("\n", "\\n").encode(errors="backslashreplace") + b"\n")
