"""What the program printed, written into its recording by the front end that owns the terminal.

This is the second writer of the file. It takes the write lock for single rows only, so that the
program, which writes through its own connection, hardly ever waits for it.
"""

from __future__ import annotations

import contextlib

from stepper.recording.database import Database
from stepper.recording.errors import RecordingBusyError, RecordingError
from stepper.recording.packing import clean


class OutputLog:
    """Appends pieces of terminal output to a recording that exists already."""

    failed: str
    """Empty, or why output is no longer recorded; later pieces are dropped, nothing is raised."""

    def __init__(self, path: str) -> None:
        """Open the recording.

        Raises:
            RecordingError: there is none, it is no recording, or it may not be written.
        """
        self._database = Database.append(path, timeout=2.0)
        self._waiting: list[tuple[int, str]] = []
        self.failed = ""

    def append(self, moment: int, data: str) -> None:
        """Add a piece that arrived when `moment` was the newest one."""
        if self.failed or not data:
            return
        self._waiting.append((moment, clean(data)))
        try:
            sql = "INSERT INTO output (moment, data) VALUES (?, ?)"
            self._database.write([(sql, self._waiting)])
        except RecordingBusyError:
            return  # it goes along with the next piece
        except RecordingError as error:
            self.failed = str(error)
        self._waiting.clear()

    def note_end(self, ended: str) -> None:
        """Say how the program ended, if it could not say so itself; never fails."""
        with contextlib.suppress(RecordingError):
            self._database.write([("UPDATE session SET ended = ? WHERE ended IS NULL", [(ended,)])])

    def close(self) -> None:
        """Let go; the last one to do so leaves a single file."""
        self._database.tidy()
        self._database.close()
