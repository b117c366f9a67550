"""The front end's end of the control channel: length-prefixed msgpack over a stream socket.

The stream is cut into messages by the same `Framer` as at the debuggee's end, so that one message
that is not understood costs that message and not the connection.
"""

from __future__ import annotations

import socket
import threading

import msgspec

from stepper.model.control import DebuggeeMessage, ProtocolError, Request
from stepper.model.framing import Framer, with_length


class Channel:
    """Sends requests and takes the debuggee's messages apart.

    `send` may be called from any thread; `receive` belongs to the one thread that waits for input.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._framer = Framer()
        self._sending = threading.Lock()
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder: msgspec.msgpack.Decoder[DebuggeeMessage]
        self._decoder = msgspec.msgpack.Decoder(DebuggeeMessage)

    def fileno(self) -> int:
        """The descriptor to wait on."""
        return self._socket.fileno()

    def send(self, request: Request) -> None:
        """Send one request.

        Raises:
            OSError: the debuggee is gone.
        """
        body = self._encoder.encode(request)
        with self._sending:
            self._socket.sendall(with_length(body))

    def receive(self) -> list[DebuggeeMessage | ProtocolError]:
        """Read what is there, once, and return the messages that are complete; an error stands for
        each that is not understood.

        Raises:
            EOFError: the debuggee closed its end, or died.
        """
        try:
            data = self._socket.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            raise EOFError
        return [self._decode(body) for body in self._framer.feed(data)]

    def _decode(self, body: bytes | ProtocolError) -> DebuggeeMessage | ProtocolError:
        if isinstance(body, ProtocolError):
            return body
        try:
            return self._decoder.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return ProtocolError(f"a message is not understood: {error}")

    def close(self) -> None:
        """Close this end; the debuggee takes it for a detach."""
        self._socket.close()
