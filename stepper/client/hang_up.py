"""A terminal that was closed under us.

Its end is told by SIGHUP, of which most programs die. Under `nohup`, or beneath a program that
leads the session and passes the signal on to nobody (make does so), there is none. Then each read
of the terminal is an end of file, at once and for ever, and whoever goes on reading takes a whole
processor until somebody notices.
"""

from __future__ import annotations

import select
import sys


class HangUp:
    """Whether the terminal that is read is gone."""

    def __init__(self) -> None:
        # Windows has none, and closes what runs in a window with it.
        self._poll = select.poll() if hasattr(select, "poll") else None
        if self._poll is not None and sys.__stdin__ is not None:
            # Asked for nothing: that it hung up is said all the same.
            self._poll.register(sys.__stdin__.fileno(), 0)

    @property
    def happened(self) -> bool:
        """Whether it is gone; this reads nothing from it."""
        return self._poll is not None and bool(self._poll.poll(0))
