"""The processes of a program that is under the debugger, and what each of them does now."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from concurrent.futures import Future, wait
from typing import NamedTuple

from stepper.analysis.activity import under_way
from stepper.analysis.collectives import Progress, UnderWay
from stepper.analysis.line import Line
from stepper.analysis.processes import end_text, label
from stepper.analysis.rank_lines import ranks_text
from stepper.analysis.sites import site_at
from stepper.client.processes import Processes
from stepper.client.session import Session
from stepper.client.text import clip
from stepper.model.control import Position, Response, Stopped
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from stepper.recording.session_folder import Process, read

_OWES = 1.0
"""Seconds without an answer after which that is said."""
_WIDTH = 118


class LiveProcess(NamedTuple):
    """A process of the program."""

    entry: Process
    session: Session | None
    """What controls it; None: it has not come to the compiler, or it is no Python."""
    state: str
    """What it does, in words."""

    @property
    def text(self) -> str:
        """The process in a line."""
        rank = "" if self.entry.rank is None else f"rank {self.entry.rank}"
        return f"{self.entry.pid:<8} {rank:<8} {label(self.entry):<28.28} {self.state}".rstrip()


class ProcessWatch:
    """Looks at all processes, again and again. Belongs to the front end's thread."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._newest: dict[Session, tuple[int, float]] = {}
        """The newest moment of each, and when that was seen first."""
        self._asked: dict[Session, Future[Response]] = {}
        self._positions: dict[Session, Position] = {}
        self._progress: dict[Session, Progress] = {}

    def look(self, seconds: float = 0.0) -> list[LiveProcess]:
        """All processes, in the order in which they began.

        Args:
            seconds: to wait for those that are asked where they are; what is not known yet is not
                told.

        Raises:
            RecordingError: the session folder cannot be read.
        """
        folder = read(self._processes.first.folder)
        self._ask(seconds)
        controlled: dict[int, list[Session]] = {}
        for session in self._processes.sessions:
            controlled.setdefault(session.pid, []).append(session)
        found = []
        # A number can come again: the newest process has the newest session.
        for entry in reversed(folder.processes):
            sessions = controlled.get(entry.pid)
            one = sessions.pop() if sessions else None
            found.append((_known(entry, one), one))
        ranks = {
            entry.rank: self._read_on(session)
            for entry, session in found
            if session is not None and session.live and entry.rank is not None
        }
        return [
            LiveProcess(entry, session, self._state(entry, session, ranks))
            for entry, session in reversed(found)
        ]

    def _ask(self, seconds: float) -> None:
        running = [each for each in self._processes.sessions if each.running and not each.deaf]
        for session in running:
            if session not in self._asked:
                self._asked[session] = session.locate()
        if seconds and running:
            wait([self._asked[session] for session in running], seconds)
        for session, asked in list(self._asked.items()):
            if asked.done():
                del self._asked[session]
                told = asked.result().data
                self._positions[session] = told if isinstance(told, Position) else Position()

    def _read_on(self, session: Session) -> Progress:
        """How far a process is in its process groups."""
        progress = self._progress.setdefault(session, Progress())
        with contextlib.suppress(RecordingError):
            if session.recording is not None:
                progress.read_on(session.recording)
        return progress

    def _state(self, entry: Process, session: Session | None, ranks: Mapping[int, Progress]) -> str:
        if session is None or not session.live:
            silent = entry.state == "running" and session is None
            return "runs, has not come to the compiler" if silent else end_text(entry)
        if session.stopped is not None:
            return standing_text(session, session.stopped)
        if session.hello is None:
            return "starts"
        if session.waits_for_input:
            return "runs, waits for input"
        position = self._positions.get(session, Position())
        found = waits(ranks.get(-1 if entry.rank is None else entry.rank, Progress()), ranks)
        if position.collective:
            return f"runs, in {position.collective}{found.missing}{_place(position)}"
        if compiler := self._compiler(session):
            return f"runs, {compiler}"
        if session.owes(_OWES):
            return "runs, does not say where"
        return f"runs{found.text}{found.missing}{_place(position)}"

    def _compiler(self, session: Session) -> str:
        """What its compiler does; empty: nothing is known."""
        try:
            recording = session.recording
            if recording is None:
                return ""
            recording.refresh()
        except RecordingError:
            return ""
        now = time.monotonic()
        moment, since = self._newest.get(session, (-1, now))
        if moment != recording.newest:
            moment, since = self._newest[session] = recording.newest, now
        if not moment or not recording.translations():
            return ""
        compiles = session.compiles_since
        return under_way(recording, now - since, None if compiles is None else now - compiles)


class Waits(NamedTuple):
    """A collective that is not over, in words; empty where nothing is known."""

    text: str = ""
    missing: str = ""
    """The ranks that have not begun it."""


def waits(process: Progress, ranks: Mapping[int, Progress]) -> Waits:
    """What a process waits in, as far as is known.

    Args:
        process: how far it is.
        ranks: how far all are, by their ranks.
    """
    for each in process.under_way():
        behind = [rank for rank in each.group.ranks if _is_behind(ranks.get(rank), each)]
        text = f", {each.name or 'collective'} {each.number:,} of {each.group.shown} is not over"
        return Waits(text, f", not begun by {ranks_text(behind)}" if behind else "")
    return Waits()


def _is_behind(other: Progress | None, each: UnderWay) -> bool:
    return other is not None and other.has_begun(each) is False


def process_title(session: Session) -> str:
    """What a process is called where it speaks: `process 4711, rank 1`."""
    if session.started is None:
        return "the program"
    rank = None if session.hello is None else session.hello.facts.rank
    if rank is None and session.recording_path:
        with contextlib.suppress(RecordingError):
            rank = None if session.recording is None else session.recording.facts.rank
    return f"process {session.pid}" + ("" if rank is None else f", rank {rank}")


def standing_text(session: Session, stopped: Stopped) -> str:
    """Why and where a process stands still."""
    found = next((b for b in session.breakpoints if b.id == stopped.breakpoint), None)
    reason = stopped.reason if found is None else f"breakpoint {found.id}: {found}"
    try:
        recording = session.recording
    except RecordingError:
        recording = None
    return f"stopped, {reason}{_moment_text(recording, stopped.moment)}"


def _moment_text(recording: Recording | None, moment: int) -> str:
    if recording is None:
        return ""
    recording.refresh()
    site = site_at(recording, moment)
    if site is None:
        return ""
    place = site.line.place
    return f", {os.path.basename(place.filename)}:{place.line} in {place.function}"


def place_of(position: Position) -> str:
    """Where a process runs: `FILE:12 in forward`; empty: that is not known."""
    if not position.function:
        return ""
    return f"{os.path.basename(position.filename)}:{position.line} in {position.function}"


def _place(position: Position) -> str:
    place = place_of(position)
    return f", {place}" if place else ""


def _known(entry: Process, session: Session | None) -> Process:
    """A process with its rank, also when only the process itself has told it so far."""
    import msgspec

    if entry.rank is not None or session is None or session.hello is None:
        return entry
    return msgspec.structs.replace(entry, rank=session.hello.facts.rank)


def live_lines(found: list[LiveProcess], here: Session) -> list[Line]:
    """The processes, those left out that compile nothing and have ended well."""
    lines = []
    silent = 0
    for each in found:
        if each.session is None and each.entry.state == "exited" and not each.entry.exit:
            silent += 1
            continue
        sign = "->" if each.session is here else "  "
        lines.append(Line(clip(f"{sign} {each.text}", _WIDTH)))
    if silent:
        lines.append(Line(f"   and {silent} that compiled nothing and ended", role="dim"))
    return lines
