"""Writes a report's file: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile


class WritingError(Exception):
    """The file cannot be written; the message says why. What had its name before is as it was."""


def write(path: str, text: str) -> None:
    """Write a file under another name and then give it its own, so that nobody sees half of it.

    It is for its owner's eyes only, as recordings are; a file that is replaced keeps its mode. A
    link is followed. What is no regular file (a terminal, a pipe) is written to as it is.

    Raises:
        WritingError: the directory is missing or read-only, the disk is full …
    """
    target = os.path.realpath(path)
    try:
        mode = os.stat(target).st_mode if os.path.lexists(target) else None
        if mode is not None and not stat.S_ISREG(mode):
            with open(target, "w", encoding="utf-8") as there:
                there.write(text)
        else:
            _replace(target, text, None if mode is None else stat.S_IMODE(mode))
    except OSError as error:
        raise WritingError(f"{path} cannot be written: {error.strerror or error}") from error


def _replace(target: str, text: str, mode: int | None) -> None:
    folder, name = os.path.split(target)
    number, temporary = tempfile.mkstemp(dir=folder, prefix=f".{name[:80]}.", suffix=".part")
    try:
        with open(number, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(number)  # some file systems only say now that the disk is full
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
