"""A session: a recording to look at and, while its program lives, a channel to control it.

A front end draws the recording and nothing else; what arrives here only tells it that there is
more to draw, or that the program stands still. One background thread (`pump`) reads everything
that comes from the program and calls the subscribers; all other methods are for the front end's
own thread, which is also the one thread that may touch `recording`.
"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import TYPE_CHECKING

import msgspec

from stepper.client.channel import Channel
from stepper.client.events import Ended, OutputArrived, SessionEvent
from stepper.client.process import Process
from stepper.client.pump import Pump
from stepper.client.status import ExitStatus
from stepper.client.terminal import PseudoTerminal
from stepper.client.waiting import reads_terminal, waits_for_input
from stepper.model.breakpoint import Breakpoint
from stepper.model.control import (
    BreakpointChanged,
    Compiling,
    DebuggeeMessage,
    Detach,
    Evaluate,
    Exiting,
    Hello,
    Locate,
    Moved,
    Notice,
    Pause,
    Refused,
    Request,
    Response,
    Resume,
    Running,
    SetBreakpoints,
    Stopped,
    Terminate,
)
from stepper.model.stepping import Motion
from stepper.recording.occupied import process_exists
from stepper.recording.process_entry import write_exit
from stepper.recording.reader import Recording
from stepper.support.debug_log import log

if TYPE_CHECKING:
    from stepper.client.processes import Processes, StartedProcess

__all__ = ["Ended", "OutputArrived", "Session", "SessionEvent", "open_recording"]

_LEFT = (
    "it did not say so to stepper: it left at once (os._exit), became another program, or had "
    "closed all files that it found open, as daemons do. What it did last may not be recorded"
)


class Session:
    """A program under the debugger, or a recording without one.

    Made by `stepper.client.launch.launch`, `attach` and `open_recording`.
    """

    def __init__(
        self,
        *,
        recording_path: str = "",
        recording: Recording | None = None,
        channel: Channel | None = None,
        process: Process | None = None,
        terminal: PseudoTerminal | None = None,
        breakpoints: Iterable[Breakpoint] = (),
        folder: str = "",
        started: StartedProcess | None = None,
    ) -> None:
        self.folder = folder
        """The session folder, where the program's children are recorded, too; else empty."""
        self.started = started
        """The process, when it is one that the program has started, and not the program itself."""
        self.processes: Processes | None = None
        """All processes of the program that can be controlled; None: its children cannot."""
        self.recording_path = recording_path
        """Where the recording is; empty until the program has said Hello."""
        self.hello: Hello | None = None
        """The program's first message; None until it came."""
        self.stopped: Stopped | None = None
        """Where the program stands still; None while it runs and when it is over."""
        self.has_stopped = False
        """Whether it has ever stood still."""
        self.hits: dict[int, int] = {}
        """How often each breakpoint was met, as of the newest stop."""
        self.compiles_since: float | None = None
        """When the backend began that is at work; None: none is."""
        self.breakpoints: list[Breakpoint] = number_breakpoints(breakpoints)
        self.exit_status: ExitStatus | None = None
        """How the program ended; None before that, and for a recording that was opened."""
        self._recording = recording
        self._moved = False
        """Whether the recording goes on in another file than the one that was opened."""
        self._left: list[Recording] = []
        self._channel = channel
        self._process = process
        self._terminal = terminal
        self._seq = 0
        self._waiting: dict[int, Future[Response]] = {}
        self._asked_at: dict[int, float] = {}
        self._lock = threading.RLock()
        self._subscribers: list[Callable[[SessionEvent], None]] = []
        self._early: list[SessionEvent] = []
        self._refusal = ""
        self._detached = False
        self._exiting = False
        self._deaf = False
        self._over = threading.Event()
        self._pump: Pump | None = None
        if channel is None:
            self._over.set()
        else:
            self._pump = Pump(self, channel, process, terminal)

    # -- what there is to look at ------------------------------------------------------------

    @property
    def recording(self) -> Recording | None:
        """The recording, opened at the first look after it exists; None until then.

        Raises:
            RecordingError: it exists and cannot be read.
        """
        if self._recording is not None and self._moved:
            # It may be looked at this moment, so it is closed in the end only.
            self._left.append(self._recording)
            self._recording, self._moved = None, False
        if self._recording is None and self.recording_path:
            self._recording = Recording.open(self.recording_path)
        return self._recording

    @property
    def live(self) -> bool:
        """Whether there is a program to control."""
        return not self._over.is_set()

    @property
    def running(self) -> bool:
        """Whether the program runs, and does not stand still."""
        return self.live and self.stopped is None

    @property
    def deaf(self) -> bool:
        """Whether the program lives but hears nothing more from here: its end of the channel is
        closed, as at its end shortly before it is known how it ended.
        """
        return self.live and self._deaf

    @property
    def attached(self) -> bool:
        """Whether the program opened this session itself: it is not our child, and it has the
        terminal when it does not stand still."""
        return self._channel is not None and self._process is None and self.started is None

    @property
    def pid(self) -> int:
        """The process's number; 0: not known."""
        for known in (self._process, self.started):
            if known is not None:
                return known.pid
        return 0 if self.hello is None else self.hello.facts.pid

    @property
    def waits_for_input(self) -> bool:
        """Whether the program is known to wait for its standard input."""
        return self.hello is not None and waits_for_input(self.hello.facts.pid)

    @property
    def growing(self) -> bool:
        """Whether somebody, this session or another process, still writes the recording."""
        if self.live:
            return not self._detached
        recording = self.recording
        if self._channel is not None or recording is None or recording.ended is not None:
            return False
        return process_exists(recording.facts.pid)

    # -- control -----------------------------------------------------------------------------

    def request(self, make: Callable[[int], Request]) -> Future[Response]:
        """Send the request that `make` makes of a number; the future holds its answer.

        It never holds an exception: a program that is gone answers `ok=False` and says so.
        """
        future: Future[Response] = Future()
        with self._lock:
            self._seq += 1
            seq = self._seq
            self._waiting[seq] = future
            self._asked_at[seq] = time.monotonic()
        if self._channel is None or not self.live:
            self._answer(Response(seq, ok=False, text=self._why_not_live()))
            return future
        try:
            request = make(seq)
            log(f"asks {type(request).__name__} {seq}")
            self._channel.send(request)
        except OSError:
            self._answer(Response(seq, ok=False, text="the program closed its control channel"))
        return future

    def owes(self, seconds: float) -> bool:
        """Whether the program has left a request unanswered for so long."""
        with self._lock:
            return time.monotonic() - min(self._asked_at.values(), default=math.inf) > seconds

    def resume(
        self, motion: Motion = Motion.CONTINUE, line: int | None = None, count: int = 1
    ) -> Future[Response]:
        """Let the stopped program run on, until the motion is done."""
        return self.request(lambda seq: Resume(seq, motion=motion, line=line, count=count))

    def pause(self, reason: str = "pause") -> Future[Response]:
        """Stop the running program at its next moment, for a reason of `Stopped`."""
        return self.request(lambda seq: Pause(seq, reason))

    def set_breakpoints(self, breakpoints: Iterable[Breakpoint]) -> Future[Response]:
        """Replace all breakpoints; those without an id get one. Works without a program too:
        then they are for moving within the recording."""
        self.breakpoints = number_breakpoints(breakpoints)
        if self.processes is not None:
            self.processes.set_breakpoints(self)
        if not self.live:
            done: Future[Response] = Future()
            done.set_result(Response(0))
            return done
        return self.send_breakpoints()

    def send_breakpoints(self) -> Future[Response]:
        """Tell the program which breakpoints there are."""
        breakpoints = tuple(self.breakpoints)
        return self.request(lambda seq: SetBreakpoints(seq, breakpoints))

    @property
    def breakpoints_here(self) -> list[Breakpoint]:
        """The breakpoints at which the process stops whose recording is looked at."""
        recording = self.recording
        if recording is None:
            return self.breakpoints
        pid, rank = recording.facts.pid, recording.facts.rank
        return [each for each in self.breakpoints if each.concerns(pid, rank)]

    def evaluate(self, expression: str, frame: int | None = None) -> Future[Response]:
        """Evaluate at the live stop, in a symbolic frame (None: the innermost)."""
        return self.request(lambda seq: Evaluate(seq, expression, frame))

    def terminate(self) -> Future[Response]:
        """End the program by a KeyboardInterrupt at its stop; a running one gets Ctrl-C."""
        if self.running:
            self.send_signal(signal.SIGINT)
            done: Future[Response] = Future()
            done.set_result(Response(0))
            return done
        return self.request(Terminate)

    def detach(self) -> Future[Response]:
        """Let the program run to its end undisturbed; its output still arrives."""
        self._detached = True
        return self.request(Detach)

    def locate(self) -> Future[Response]:
        """Ask where the running program is: a `Position`."""
        return self.request(Locate)

    def kill(self) -> None:
        """SIGKILL, to the program, its children in the same process group, and those that are
        controlled; to a process that the program has started, to that alone."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL, group=True)
            if self.processes is not None:
                self.processes.kill()
        self.send_signal(signal.SIGKILL)

    # -- the program's terminal --------------------------------------------------------------

    @property
    def has_terminal(self) -> bool:
        """Whether the program runs under a pseudo-terminal of this session."""
        return self._terminal is not None

    @property
    def takes_input(self) -> bool:
        """Whether the next line that is typed is the program's: it waits for what is typed, and has
        read all that came before. Where the kernel does not say for what it waits, whatever is
        typed is for it."""
        if self._terminal is None or not self.running or self._terminal.unread:
            return False
        return reads_terminal(self.pid, self._terminal.name) is not False

    def write_input(self, data: str) -> None:
        """Type text into the program's terminal; `\\x04` at the start of a line is end of file."""
        if self._terminal is not None and self.live:
            self._terminal.write(data)
            if self._terminal.pending and self._pump is not None:
                self._pump.wake()

    def interrupt(self) -> None:
        """Ctrl-C to the program."""
        if self._terminal is not None and self.live and self._terminal.signals_on_interrupt:
            self.write_input("\x03")
        else:
            self.send_signal(signal.SIGINT)

    def send_signal(self, number: int) -> None:
        """Send a signal to the program."""
        if self._process is not None:
            self._process.send_signal(number)
        elif self.started is not None and not self._deaf:
            self.started.send_signal(number)

    def resize(self, rows: int, cols: int) -> None:
        """Change the size of the program's terminal."""
        if self._terminal is not None and self.live:
            self._terminal.resize(rows, cols)

    # -- what happens ------------------------------------------------------------------------

    def subscribe(self, callback: Callable[[SessionEvent], None]) -> Callable[[], None]:
        """Have `callback` called with each event, on the reading thread; it must not block.

        What happened before the first subscription is delivered to it first. Returns what ends
        the subscription.
        """
        with self._lock:
            early, self._early = self._early, []
            # Under the lock, so that nothing newer overtakes what is older.
            for event in early:
                callback(event)
            self._subscribers.append(callback)

        def unsubscribe() -> None:
            with self._lock:
                if callback in self._subscribers:
                    self._subscribers.remove(callback)

        return unsubscribe

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the program's end; False when the time was over first."""
        return self._over.wait(timeout)

    def close(self, grace: float = 2.0) -> None:
        """End everything: a program that still runs under this session is hung up on, and killed
        when it does not end within `grace` seconds; then the recording is closed. Processes that it
        has started go on by themselves."""
        if self._process is not None and self.processes is not None:
            self.processes.close()
        if self.live and self._process is not None:
            for number in (signal.SIGHUP, signal.SIGCONT):
                self._process.send_signal(number, group=True)
            if not self.wait(grace):
                self.kill()
                self.wait(grace)
        if self._pump is not None:
            self._pump.stop()
        while self._left:
            self._left.pop().close()
        if self._recording is not None:
            self._recording.close()
            self._recording = None
            self.recording_path = ""
        if self._pump is not None:
            self._pump.let_go()

    # -- called by the pump, on its thread -----------------------------------------------------

    def start_reading(self) -> None:
        """Begin to read what the program says; called once, by those who make sessions."""
        assert self._pump is not None
        self._pump.start()

    def received(self, message: DebuggeeMessage) -> None:
        """Take in one message of the debuggee."""
        log(f"received {type(message).__name__}")
        match message:
            case Response():
                self._answer(message)
                return
            case Hello():
                self.recording_path = message.recording
                self.hello = message
            case Moved():
                self.recording_path = message.recording
                self._moved = True
            case Refused(text=reason):
                self._refusal = reason
            case Stopped():
                self.stopped = message
                self.has_stopped = True
                self.hits = message.hits
            case Running():
                self.stopped = None
            case Exiting():
                self._exiting = True
            case Compiling(done=done):
                self.compiles_since = None if done else time.monotonic()
                return
            case BreakpointChanged(id=number, removed=True):
                self.breakpoints = [b for b in self.breakpoints if b.id != number]
                if self.processes is not None:
                    self.processes.set_breakpoints(self)
            case _:
                pass
        self.announce(message)

    def announce(self, event: SessionEvent) -> None:
        """Tell the subscribers; keep it for the first one when there is none yet."""
        with self._lock:
            if not self._subscribers:
                self._early.append(event)
                return
            subscribers = list(self._subscribers)
        for callback in subscribers:
            callback(event)

    def notice(self, text: str) -> None:
        """Tell the subscribers something that this side noticed."""
        self.announce(Notice(text))

    def channel_closed(self) -> None:
        """Nobody answers any more: settle what waits."""
        self._deaf = True
        self.stopped = None
        with self._lock:
            waiting = list(self._waiting)
        for seq in waiting:
            self._answer(Response(seq, ok=False, text="the program ended before it answered"))

    def ended(self, wait_status: int | None) -> None:
        """The program is over; None when it was not ours to reap."""
        explanation = ""
        if self.hello is None and self.started is None:
            explanation = self._refusal or (
                "it never reported to the debugger, so nothing was recorded. "
                "python's options -I, -E and -S, and a program that replaces itself (exec) keep "
                "it out"
            )
        if self.started is not None:
            # Its parent waits for it, and says in the session folder how it ended.
            unknown = "" if self._exiting or self._detached else "it was killed, or left at once"
            self.exit_status = ExitStatus(orderly=self._exiting, explanation=unknown)
        elif wait_status is None:
            self.exit_status = ExitStatus(explanation=explanation)
        else:
            told = self._exiting or self._detached or not self.recording_path
            if os.WIFEXITED(wait_status) and not (explanation or told):
                explanation = _LEFT
            self.exit_status = ExitStatus.from_wait(wait_status, explanation)
            if self.folder and self._process is not None:
                write_exit(self.folder, self._process.pid, wait_status)
        log(f"the program {self.exit_status.sentence}")
        self.channel_closed()
        self._over.set()
        self.announce(Ended(self.exit_status))

    def _answer(self, response: Response) -> None:
        with self._lock:
            future = self._waiting.pop(response.seq, None)
            self._asked_at.pop(response.seq, None)
        if future is not None:
            future.set_result(response)

    def _why_not_live(self) -> str:
        if self._channel is None:
            return "this is a recording: there is no program to control"
        status = self.exit_status.sentence if self.exit_status else "is gone"
        return f"the program {status}"


def number_breakpoints(breakpoints: Iterable[Breakpoint]) -> list[Breakpoint]:
    """Keep each breakpoint once, and give an id to those that have none."""
    every: dict[Breakpoint, Breakpoint] = {}
    for breakpoint in breakpoints:
        every.setdefault(msgspec.structs.replace(breakpoint, id=0, enabled=True), breakpoint)
    given = list(every.values())
    last = max((b.id for b in given), default=0)
    numbered = []
    for breakpoint in given:
        if not breakpoint.id:
            last += 1
            breakpoint = msgspec.structs.replace(breakpoint, id=last)
        numbered.append(breakpoint)
    return numbered


def open_recording(path: str) -> Session:
    """A session over a recording: finished, cut short, or still being written by somebody else.

    Raises:
        RecordingError: it is missing, foreign, corrupt, of a newer version or not readable.
    """
    session = Session(recording_path=path, recording=Recording.open(path))
    if session.recording is not None and session.recording.ended is None and not session.growing:
        session.recording.nobody_writes()
    return session
