"""What the program printed, written into its recording by the front end that owns the terminal.

This is the second writer of the file. It takes the write lock for single rows only, so that the
program, which writes through its own connection, hardly ever waits for it.
"""

from __future__ import annotations

import contextlib

from stepper.recording.database import Database
from stepper.recording.errors import RecordingBusyError, RecordingError
from stepper.recording.packing import clean
from stepper.recording.secrets import Secrets
from stepper.recording.unfinished import Pieces

_MOST_WAITING = 4096
"""Pieces that wait while another process holds the write lock."""


class OutputLog:
    """Appends pieces of terminal output to a recording that exists already."""

    failed: str
    """Empty, or why output is no longer recorded; later pieces are dropped, nothing is raised."""

    def __init__(self, path: str, *, secrets: bool = False) -> None:
        """Open the recording.

        Args:
            path: where it is.
            secrets: whether what looks like a secret is written, too.

        Raises:
            RecordingError: there is none, it is no recording, or it may not be written.
        """
        self._database = Database.append(path)
        self._pieces = None if secrets else Pieces(Secrets())
        self._waiting: list[tuple[int, str]] = []
        self.failed = ""

    def append(self, moment: int, data: str) -> None:
        """Add a piece that arrived when `moment` was the newest one.

        The end of it is not written yet when it could be the beginning of a secret.
        """
        if self.failed or not data:
            return
        self._write([(moment, data)] if self._pieces is None else self._pieces.add(moment, data))

    def finish(self) -> None:
        """Write all that came: nothing more does."""
        if self._pieces is not None and not self.failed:
            self._write(self._pieces.rest())

    def _write(self, pieces: list[tuple[int, str]]) -> None:
        self._waiting += [(moment, clean(data)) for moment, data in pieces if data]
        if not self._waiting:
            return
        try:
            sql = "INSERT INTO output (moment, data) VALUES (?, ?)"
            self._database.write([(sql, self._waiting)], (self._waiting.clear,))
        except RecordingBusyError as error:
            if len(self._waiting) >= _MOST_WAITING:  # else it goes along with the next piece
                self.failed = str(error)
        except RecordingError as error:
            self.failed = str(error)
        if self.failed:
            self._waiting.clear()

    def note_end(self, ended: str) -> None:
        """Say how the program ended, if it could not say so itself; never fails."""
        with contextlib.suppress(RecordingError):
            self._database.write([("UPDATE session SET ended = ? WHERE ended IS NULL", [(ended,)])])

    def close(self) -> None:
        """Write what waits, and let go; the last one to do so leaves a single file."""
        self.finish()
        self._database.tidy()
        self._database.close()
