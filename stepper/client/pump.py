"""The one thread that reads what comes from a program: its control channel and its terminal.

One thread for both keeps their order: what the program had written before it stopped is taken from
the terminal before the stop is announced. Output goes into the recording as well, in transactions
of a tenth of a second, so that a chatty program does not contend with the debuggee for the file.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import threading
import time
from typing import TYPE_CHECKING

from stepper.client.channel import Channel
from stepper.client.events import OutputArrived
from stepper.client.process import Process
from stepper.client.status import ExitStatus
from stepper.client.terminal import PseudoTerminal
from stepper.model.control import Hello, Moved, ProtocolError, Stopped
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording

if TYPE_CHECKING:
    from stepper.client.session import Session
    from stepper.recording.output import OutputLog

BATCH_SECONDS = 0.1
# How long a terminal may stay silent, after the program's end, before it counts as drained:
# a child that the program left behind can keep the terminal open for ever.
_DRAIN_SECONDS = 0.2


class Pump:
    """Moves data from a program to its session until the program has ended."""

    def __init__(
        self,
        session: Session,
        channel: Channel,
        process: Process | None,
        terminal: PseudoTerminal | None,
    ) -> None:
        self._session = session
        self._channel = channel
        self._process = process
        self._terminal = terminal
        self._channel_open = True
        self._terminal_open = terminal is not None
        self._exited = threading.Event()
        self._stopping = False
        self._wake_reader, self._wake_writer = os.pipe()
        os.set_blocking(self._wake_writer, False)
        self._output = _OutputBatch(session)
        self._thread = threading.Thread(target=self._run, name="stepper-read", daemon=True)

    def start(self) -> None:
        """Begin."""
        if self._process is not None:
            self._process.watch(self._on_exit)
        self._thread.start()

    def wake(self) -> None:
        """Make the thread look again at what it waits for; from any thread."""
        with contextlib.suppress(OSError):
            os.write(self._wake_writer, b"!")

    def stop(self) -> None:
        """End the thread and close what it read from; from any other thread."""
        self._stopping = True
        self.wake()
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._channel.close()
        if self._terminal is not None:
            self._terminal.close()
        os.close(self._wake_reader)
        os.close(self._wake_writer)

    def let_go(self) -> None:
        """After `stop`, and when the session reads the recording no more: let go of it, too, which
        leaves one file when the program could not."""
        self._output.let_go()

    def _on_exit(self) -> None:
        self._exited.set()
        self.wake()

    def _run(self) -> None:
        try:
            self._loop()
            if not self._stopping:
                self._drain()
        finally:
            status = self._process.wait_status if self._process is not None else None
            # A program that was killed, or left by `os._exit`, could not write it itself.
            self._output.finish("" if status is None else ExitStatus.from_wait(status).text)
        if self._process is None:
            self._session.ended(None)
        elif self._process.wait_status is not None:
            self._session.ended(self._process.wait_status)

    def _loop(self) -> None:
        """Read until the program is over or `stop` was called."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake_reader, selectors.EVENT_READ)
            selector.register(self._channel, selectors.EVENT_READ)
            if self._terminal is not None:
                selector.register(self._terminal.master, selectors.EVENT_READ)
            watching_channel, watching_terminal = True, self._terminal_open
            while not self._stopping and not self._exited.is_set():
                if not self._channel_open and watching_channel:
                    selector.unregister(self._channel)
                    watching_channel = False
                    if self._process is None:
                        return
                if self._terminal is not None and watching_terminal:
                    if not self._terminal_open:
                        selector.unregister(self._terminal.master)
                        watching_terminal = False
                    else:
                        wanted = selectors.EVENT_READ
                        if self._terminal.pending:
                            wanted |= selectors.EVENT_WRITE
                        selector.modify(self._terminal.master, wanted)
                ready = {key.fd: mask for key, mask in selector.select(self._output.due_in())}
                if self._wake_reader in ready:
                    os.read(self._wake_reader, 4096)
                if self._terminal is not None and self._terminal_open:
                    if ready.get(self._terminal.master, 0) & selectors.EVENT_WRITE:
                        self._terminal.write_pending()
                    # Also when only the channel is ready: output first, then the stop after it.
                    self._read_terminal()
                if self._channel.fileno() in ready and self._channel_open:
                    self._read_channel()
                self._output.flush_if_due()

    def _drain(self) -> None:
        """After the end: what is still on its way."""
        quiet_since = time.monotonic()
        while self._terminal_open and time.monotonic() - quiet_since < _DRAIN_SECONDS:
            if self._read_terminal():
                quiet_since = time.monotonic()
            else:
                self._exited_pause()
        while self._channel_open and self._readable(self._channel):
            self._read_channel()

    def _exited_pause(self) -> None:
        assert self._terminal is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._terminal.master, selectors.EVENT_READ)
            selector.select(_DRAIN_SECONDS)

    @staticmethod
    def _readable(channel: Channel) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(channel, selectors.EVENT_READ)
            return bool(selector.select(0))

    def _read_terminal(self) -> bool:
        """Take what the terminal has; False when that was nothing."""
        assert self._terminal is not None
        try:
            text = self._terminal.read()
        except EOFError:
            self._terminal_open = False
            return False
        if text:
            self._output.add(text)
            self._session.announce(OutputArrived(text))
        return bool(text)

    def _read_channel(self) -> None:
        try:
            messages = self._channel.receive()
        except EOFError:
            self._channel_open = False
            self._session.channel_closed()
            return
        for message in messages:
            if isinstance(message, ProtocolError):
                self._session.notice(f"from the program's side of the debugger: {message}")
                continue
            if isinstance(message, Hello):
                self._output.begin(message.recording)
            elif isinstance(message, Moved):
                self._output.move(message.recording)
            elif isinstance(message, Stopped):
                self._output.flush()
            self._session.received(message)


class _OutputBatch:
    """Output on its way into the recording."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._log: OutputLog | None = None
        self._recording: Recording | None = None
        self._texts: list[str] = []
        self._since = 0.0
        self._off = False

    def begin(self, path: str) -> None:
        """The recording exists now."""
        if not path:
            self._off = True
            return
        # It takes the C part: whoever only reads recordings does without.
        from stepper.recording.output import OutputLog

        try:
            with contextlib.closing(Recording.open(path)) as recording:
                secrets = recording.facts.secrets
            # Before those that read on: in one process all share the first one's shared memory.
            self._log = OutputLog(path, secrets=secrets)
            # A reader of our own: the front end's belongs to the front end's thread.
            self._recording = Recording.open(path)
        except RecordingError as error:
            self._give_up(str(error))

    def move(self, path: str) -> None:
        """The recording goes on in another file, which holds what was written into this one."""
        if self._off:
            return
        if self._recording is not None:
            self._recording.close()
        self.let_go()
        self._log = self._recording = None
        self.begin(path)

    def add(self, text: str) -> None:
        """Keep a piece of output for the next transaction."""
        if self._off:
            return
        if not self._texts:
            self._since = time.monotonic()
        self._texts.append(text)

    def due_in(self) -> float | None:
        """Seconds until the next transaction; None when nothing waits for one."""
        if not self._texts or self._log is None:
            return None
        return max(0.0, self._since + BATCH_SECONDS - time.monotonic())

    def flush_if_due(self) -> None:
        """Write when the oldest piece has waited long enough."""
        if self.due_in() == 0.0:
            self.flush()

    def flush(self) -> None:
        """Write what there is."""
        if not self._texts or self._log is None or self._recording is None:
            return
        text, self._texts = "".join(self._texts), []
        try:
            self._recording.refresh()
        except RecordingError as error:
            self._give_up(str(error))
            return
        self._log.append(self._recording.newest, text)
        if self._log.failed:
            self._give_up(self._log.failed)

    def _give_up(self, error: str) -> None:
        self._off = True
        self._texts = []
        self._session.notice(f"the program's output is no longer recorded: {error}")

    def finish(self, ended: str) -> None:
        """Write the rest, and how the program ended when that is known."""
        self.flush()
        if self._log is not None:
            self._log.finish()
            if self._log.failed and not self._off:
                self._give_up(self._log.failed)
            if ended:
                self._log.note_end(ended)
        if self._recording is not None:
            self._recording.close()

    def let_go(self) -> None:
        """Let go of the file."""
        if self._log is not None:
            self._log.close()
