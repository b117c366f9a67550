"""The processes of one program under the debugger: itself, and those that it starts.

A process that the program has started connects when it comes to the compiler for the first time,
or, where it is a copy of one that has connected, at once. It connects to a Unix socket in the
session's folder, which is this user's alone (mode 0700, the socket 0600); the kernel says who has
connected, and a process of another user's is not let in. Each is a session of its own, like the
program's. What they share are the breakpoints: each process is told all of them, and knows by its
number and its rank which ones concern it. Where nobody listens any more, a process goes on by
itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable
from functools import partial

from stepper.client.channel import Channel
from stepper.client.events import SessionEvent
from stepper.client.session import Session
from stepper.model.local_socket import peer, short_address
from stepper.recording.session_folder import SOCKET
from stepper.support.debug_log import log

Heard = Callable[[Session, SessionEvent], None]

_WAITING = 512
"""Processes that may wait to be let in at once; as many as the kernel takes."""


class StartedProcess:
    """A process that has connected: who it is, and a way to send it signals that cannot reach
    another one with its number."""

    def __init__(self, pid: int) -> None:
        """
        Raises:
            OSError: it is gone.
        """
        self.pid = pid
        self._descriptor = os.pidfd_open(pid)

    def send_signal(self, number: int) -> None:
        """Send a signal to it; nothing when it has ended."""
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(self._descriptor, number)

    def close(self) -> None:
        """Let go of it."""
        os.close(self._descriptor)


class Listener:
    """The socket to which processes connect."""

    def __init__(self, folder: str) -> None:
        """
        Raises:
            OSError: none can be made in this folder.
        """
        self.path = os.path.join(folder, SOCKET)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with short_address(self.path) as address:
                self.socket.bind(address)
            os.chmod(self.path, 0o600)
            self.socket.listen(_WAITING)
        except OSError:
            self.socket.close()
            raise

    def close(self) -> None:
        """Let nobody in any more."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)  # ends an `accept` that is under way
        self.socket.close()
        with contextlib.suppress(OSError):
            os.unlink(self.path)


class Processes:
    """The sessions of a program and of the processes that it has started."""

    def __init__(self, first: Session, listener: Listener, *, stop_at_entry: bool) -> None:
        """
        Args:
            first: the program's session.
            listener: where the others come.
            stop_at_entry: whether one of them stops at its first translation: the program, or the
                first one that comes before it has.
        """
        self.first = first
        self._stop_at_entry = stop_at_entry
        self._listener = listener
        self._started: list[Session] = []
        self._closed = 0
        """How many of them have been closed."""
        self._subscribers: dict[Heard, list[Callable[[], None]]] = {}
        """Each with what ends its subscriptions."""
        self._lock = threading.RLock()
        first.processes = self
        threading.Thread(target=self._listen, name="stepper-listen", daemon=True).start()

    @property
    def sessions(self) -> list[Session]:
        """The program's, and then the others in the order in which they connected, those that are
        over included."""
        with self._lock:
            return [self.first, *self._started]

    @property
    def live(self) -> bool:
        """Whether any of them can be controlled."""
        return any(session.live for session in self.sessions)

    @property
    def standing(self) -> list[Session]:
        """Those that stand still."""
        return [session for session in self.sessions if session.stopped is not None]

    def subscribe(self, heard: Heard) -> Callable[[], None]:
        """Have `heard` called with each event of each process: see `Session.subscribe`. Returns
        what ends that."""
        with self._lock:
            self._subscribers[heard] = [
                session.subscribe(partial(heard, session)) for session in self.sessions
            ]

        def unsubscribe() -> None:
            with self._lock:
                for end in self._subscribers.pop(heard, ()):
                    end()

        return unsubscribe

    # -- what is done to all of them -----------------------------------------------------------

    def set_breakpoints(self, changed: Session) -> None:
        """Give all the others the breakpoints of one."""
        with self._lock:
            for session in self.sessions:
                if session is not changed:
                    session.breakpoints = list(changed.breakpoints)
                    if session.live:
                        session.send_breakpoints()

    def detach(self) -> None:
        """Let all of them run to their end undisturbed, and those that come."""
        self._listener.close()
        for session in self.sessions:
            if session.live:
                session.detach()

    def terminate(self) -> None:
        """End those that stand still by a KeyboardInterrupt, and the program."""
        for session in self.sessions:
            if session.live and (session is self.first or session.stopped is not None):
                session.terminate()

    def kill(self) -> None:
        """SIGKILL to all that the program has started and that are connected."""
        self._listener.close()
        for session in self._started:
            session.kill()

    def close(self) -> None:
        """Let go of all that the program has started: they go on by themselves."""
        self._listener.close()
        with self._lock:
            started, self._closed = list(self._started)[self._closed :], len(self._started)
        for session in started:
            session.close()
            if session.started is not None:
                session.started.close()

    # -- who comes -----------------------------------------------------------------------------

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listener.socket.accept()
            except OSError:
                return
            try:
                self._let_in(connection)
            except OSError as error:  # it is gone already, or another user's
                log(f"a process is not let in: {error}")
                connection.close()

    def _let_in(self, connection: socket.socket) -> None:
        who = peer(connection)
        if who.user != os.getuid():
            raise PermissionError(f"process {who.pid} is another user's")
        started = StartedProcess(who.pid)
        log(f"process {who.pid} connects")
        with self._lock:
            session = Session(
                channel=Channel(connection),
                breakpoints=self.first.breakpoints,
                folder=self.first.folder,
                started=started,
            )
            session.processes = self
            self._started.append(session)
            if self._stop_at_entry and not self.first.has_stopped:
                # One that only starts the others, as torchrun does, would never stop.
                session.pause("entry")
            self._stop_at_entry = False
            session.send_breakpoints()
            for heard, ends in self._subscribers.items():
                ends.append(session.subscribe(partial(heard, session)))
            session.start_reading()


def pause(session: Session) -> bool:
    """Ask for a stop at the next moment: of this process; of all, when it is the program itself,
    which may only start the others. False: nobody runs who could be asked."""
    asked = [session]
    if session.processes is not None and session.started is None:
        asked = session.processes.sessions
    running = [each for each in asked if each.running]
    for each in running:
        each.pause()
    return bool(running)
