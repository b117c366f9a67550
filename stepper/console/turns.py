"""Which process of a program the console is at, and when it is another one's turn."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from functools import partial

from stepper.analysis.live_processes import ProcessWatch, place_of
from stepper.client.cursor import Cursor
from stepper.client.events import Ended, SessionEvent
from stepper.client.processes import Heard
from stepper.client.session import Session, open_recording
from stepper.model.control import Position, Stopped

_PATIENCE = 5.0
"""Seconds for which a process is waited for that steps while another one stands still: it may
wait for that one."""


_ANSWERS = 0.5
"""Seconds within which a program says where it is, unless it keeps all of its threads from that."""


def awaited_text(session: Session) -> str:
    """What a program that is asked to stop does until then; empty: that is not known."""
    if session.waits_for_input:
        return "it waits for input"
    if session.compiles_since is not None:
        return f"the backend has been at work for {time.monotonic() - session.compiles_since:.0f} s"
    with contextlib.suppress(TimeoutError):
        told = session.locate().result(_ANSWERS).data
        if isinstance(told, Position) and (place := place_of(told)):
            return f"it runs {place}"
    return ""


class Turns:
    """The processes that a console can be at; without children, the one."""

    def __init__(self, first: Session) -> None:
        self.first = first
        """The program itself."""
        self.processes = first.processes
        self.watch = None if self.processes is None else ProcessWatch(self.processes)
        """What each process does; None: there is only the one."""
        self._session = first
        self._cursors: dict[Session, Cursor] = {}
        self._opened: dict[str, Session] = {}
        """Recordings of other processes of a session folder, by their paths."""
        self._standing: list[Session] = []
        """Those that have stopped and were not gone on from, in that order."""
        self._over: set[Session] = set()
        self._until: float | None = None
        """When another one's stop is gone to; None: at once."""

    def opened(self, path: str) -> Session:
        """The session over another process's recording.

        Raises:
            RecordingError: it cannot be read.
        """
        if self.first.recording_path and os.path.samefile(path, self.first.recording_path):
            return self.first
        if path not in self._opened:
            self._opened[path] = open_recording(path)
        return self._opened[path]

    def close(self) -> None:
        """Close what was opened here."""
        for session in self._opened.values():
            session.close()

    def subscribe(self, heard: Heard) -> Callable[[], None]:
        """Have `heard` called with what happens in each process; returns what ends that."""
        if self.processes is None:
            return self.first.subscribe(partial(heard, self.first))
        return self.processes.subscribe(heard)

    def turn_to(self, session: Session) -> Cursor:
        """Be at another process; returns its cursor."""
        self._session = session
        if session not in self._cursors:
            self._cursors[session] = Cursor(session)
            self._cursors[session].begin()
        return self._cursors[session]

    def runs(self, session: Session, *, far: bool) -> None:
        """A process is waited for from now on; see `Shell.wait`."""
        if session in self._standing:
            self._standing.remove(session)
        self._until = None if far else time.monotonic() + _PATIENCE

    def heard(self, session: Session, event: SessionEvent) -> None:
        """Something has happened in a process."""
        if isinstance(event, Stopped) and session not in self._standing:
            self._standing.append(session)
        elif isinstance(event, Ended):
            self._over.add(session)
            if session in self._standing:
                self._standing.remove(session)

    @property
    def settled(self) -> bool:
        """Whether there is nothing to wait for: the process stands still, or it and the program are
        over."""
        return self._session in self._standing or {self._session, self.first} <= self._over

    def standing(self) -> Session | None:
        """Another process that stands still; None: there is none."""
        return next((each for each in self._standing if each is not self._session), None)

    def other(self) -> Session | None:
        """Another process whose turn it is."""
        late = self._until is None or self._session in self._over or self.patience == 0
        return self.standing() if late and not self.settled else None

    @property
    def patience(self) -> float | None:
        """For how many seconds the process is still waited for; None: without end."""
        if self._until is None or self.standing() is None:
            return None
        return max(0.0, self._until - time.monotonic())

    def end_program(self, seconds: float) -> None:
        """End it in order, else by force."""
        if self.processes is not None:
            self.processes.terminate()
        elif self.first.live:
            self.first.terminate()
        if self.first.live and not self.first.wait(seconds):
            self.first.kill()
            self.first.wait(seconds)
