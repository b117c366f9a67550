"""What the recording room says when it cannot do what was asked."""

from __future__ import annotations


class RecordingError(Exception):
    """A recording cannot be made, opened or read.

    The message says what happened, to which file, and what to do next; it is meant to be shown as
    it is.
    """


class RecordingBusyError(RecordingError):
    """Another process holds the file's write lock right now; the same call may work later."""
