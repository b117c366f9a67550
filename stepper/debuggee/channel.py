"""The debuggee's end of the control channel.

One thread reads. It is made with `_thread`, so the program does not see it in
`threading.enumerate`, it takes no signals, and it is gone during a fork (since Python 3.12 a fork
warns a program that has threads): `pause_reading` and `start_reading` are called by the at-fork
hooks and by the controller.

Sending happens on any thread. A front end that has died or stopped reading must not hold the
program up: sending gives up after a few seconds and the channel is dead from then on. What dies
is always the channel, never the program.
"""

from __future__ import annotations

import _thread
import os
import select
import signal
import socket
from collections.abc import Callable

import msgspec

from stepper import _C
from stepper.model.control import (
    MAX_MESSAGE,
    DebuggeeMessage,
    ProtocolError,
    Request,
    Response,
)
from stepper.model.framing import Framer, with_length
from stepper.model.local_socket import peer, short_address
from stepper.recording.at_once import at_once
from stepper.support.debug_log import log
from stepper.support.descriptors import Kept

_SEND_SECONDS = 5.0
_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)


class _Numbered(msgspec.Struct):
    """Any message, read only for its number, to be able to refuse it."""

    seq: int = 0


_numbered = msgspec.msgpack.Decoder(_Numbered)


def frame_message(message: DebuggeeMessage) -> bytes:
    """A message as it goes over the wire."""
    return with_length(_encoder.encode(message))


def decode_request(body: bytes) -> Request:
    """Read a request.

    Raises:
        ProtocolError: it is none; `seq_of` may still tell its number.
    """
    try:
        return _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"not a request: {error}") from None


def seq_of(body: bytes) -> int:
    """The number of a message that could not be understood; 0 when not even that can be read."""
    try:
        return _numbered.decode(body).seq
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return 0


class Channel:
    """A connected channel. `receive` is called on the reading thread with each request, and once
    with None when the front end is gone."""

    def __init__(self, connection: socket.socket) -> None:
        connection.set_inheritable(False)
        connection.setblocking(False)
        self._socket = connection
        self._kept = Kept([connection.fileno()])
        self._framer = Framer()
        self._sending = _C.ReentrantLock()
        self._going: tuple[list[int], int] = [], 0
        """What has been sent of the message that is being sent, and its length; in bytes."""
        self._reading = _thread.allocate_lock()
        self._wake: tuple[int, int] | None = None
        self.alive = True
        self.receive: Callable[[Request | None], None] = lambda request: None

    @classmethod
    def inherited(cls, descriptor: int) -> Channel:
        """The channel behind an inherited file descriptor.

        Raises:
            OSError: the descriptor is no connected socket.
        """
        os.set_inheritable(descriptor, False)
        return cls(socket.socket(fileno=descriptor))

    @classmethod
    def connect(cls, path: str) -> Channel:
        """Connect to a front end that listens on a Unix socket of ours, which nobody else may use.

        Raises:
            OSError: nobody listens there.
            PermissionError: the socket belongs to someone else or is open to others.
        """
        facts = os.stat(path)
        if facts.st_uid != os.getuid() or facts.st_mode & 0o077:
            raise PermissionError(f"{path} is not a socket that only this user can use (mode 0600)")
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with short_address(path) as address:
                connection.connect(address)
            if peer(connection).user != os.getuid():
                raise PermissionError(f"another user listens at {path}")
        except OSError:
            connection.close()
            raise
        return cls(connection)

    # -- sending ---------------------------------------------------------------------------------

    def send(self, message: DebuggeeMessage) -> bool:
        """Send a message; False when the channel is dead, or died now."""
        if not self.alive:
            return False
        if self._stolen():
            self.receive(None)
            return False
        data = memoryview(frame_message(message))
        if len(data) > MAX_MESSAGE:
            raise ProtocolError(f"a message of {len(data)} bytes is too long to send")
        self._sending.during(self._send_whole, data)
        log(f"sent {type(message).__name__}" if self.alive else "the front end is gone")
        return self.alive

    def _send_whole(self, data: memoryview) -> None:
        # A signal handler may come in the midst, and send or raise. Nothing can follow half a
        # message.
        self._see_whole()
        outer, self._going = self._going, ([], len(data))
        try:
            if self.alive:
                self._send_all(data, self._going[0])
        finally:
            self._see_whole()
            self._going = outer

    def _see_whole(self) -> None:
        sent, size = self._going
        if 0 < sum(sent) < size:
            self.alive = False

    def _send_all(self, data: memoryview, sent: list[int]) -> None:
        while data:
            count = len(sent)
            try:
                # `extend` notes what went out before any signal handler can run. And no SIGPIPE:
                # the program may have set it to its deadly default.
                sent.extend(map(self._socket.send, (data,), (socket.MSG_NOSIGNAL,)))
            except BlockingIOError:
                poll = select.poll()
                poll.register(self._socket, select.POLLOUT)
                if not poll.poll(_SEND_SECONDS * 1000):
                    self.alive = False
                    return
            except OSError:
                self.alive = False
                return
            data = data[sum(sent[count:]) :]

    # -- reading ---------------------------------------------------------------------------------

    @property
    def reads(self) -> bool:
        """Whether the reading thread exists."""
        return self._wake is not None

    def start_reading(self) -> None:
        """Start the reading thread; without effect when it exists or the channel is dead."""
        if self._wake is not None or not self.alive:
            return
        self._wake = os.pipe()
        self._kept = Kept([self._socket.fileno(), *self._wake])
        self._reading.acquire()
        # The thread inherits the mask: signals are for the program's own threads.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            _thread.start_new_thread(self._read, (self._wake[0],))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def take_in(self, seconds: float) -> None:
        """Wait for what the front end says first, and take it in on this thread; before anybody
        reads. One that says nothing in so many seconds is not waited for."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        if poll.poll(seconds * 1000):
            self._receive()

    def pause_reading(self) -> None:
        """End the reading thread and wait for its end; unread messages wait in the socket."""
        wake = self._wake
        if wake is None or self._stolen():
            return
        os.write(wake[1], b".")
        reading = self._reading
        alone = Kept([self._socket.fileno()])
        without = (setattr, self, "_wake", None), (setattr, self, "_kept", alone)
        gone = ((os.close, each) for each in wake)
        at_once((reading.acquire,), *without, *gone, (reading.release,))

    def close(self) -> None:
        """Say good-bye: close the connection. Not to be called on the reading thread."""
        if self._stolen():
            return
        self.pause_reading()
        self.alive = False
        self._socket.close()

    def abandon(self) -> None:
        """In a forked child: let go of the descriptors; the parent's connection is not touched."""
        if not self._stolen():
            self.alive = False
            self._wake = None
            self._socket.close()

    def _stolen(self) -> bool:
        """Whether the program has closed all descriptors it did not know, as daemons do, and ours
        with them. Their numbers may be the program's files by now: hands off."""
        if not self._kept.lost():
            return False
        self.alive = False
        self._wake = None
        self._socket.detach()
        return True

    def _read(self, wake: int) -> None:
        try:
            self._read_until(wake)
        except Exception:
            # Whatever it is: the program must not see a traceback of ours. The front end sees
            # the channel end, and the program goes on.
            self.alive = False
            self.receive(None)
        finally:
            self._reading.release()

    def _read_until(self, wake: int) -> None:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        poll.register(wake, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if wake in ready or not self.alive:
                return
            if self._stolen():
                self.receive(None)
                return
            self._receive()

    def _receive(self) -> None:
        """Take in what has arrived."""
        try:
            data = self._socket.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.alive = False
            self.receive(None)
        for item in self._framer.feed(data):
            self._deliver(item)

    def _deliver(self, item: bytes | ProtocolError) -> None:
        seq = 0
        try:
            if isinstance(item, ProtocolError):
                raise item
            seq = seq_of(item)
            request = decode_request(item)
        except ProtocolError as error:
            self.send(Response(seq=seq, ok=False, text=str(error)))
        else:
            log(f"received {type(request).__name__} {seq}")
            self.receive(request)
