"""The front end's end of the control channel: length-prefixed msgpack over a stream socket."""

from __future__ import annotations

import socket
import struct
import threading

import msgspec

from stepper.model.control import MAX_MESSAGE, DebuggeeMessage, ProtocolError, Request

_LENGTH = struct.Struct(">I")


class Channel:
    """Sends requests and takes the debuggee's messages apart.

    `send` may be called from any thread; `receive` belongs to the one thread that waits for input.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._buffer = bytearray()
        self._sending = threading.Lock()
        self._encoder = msgspec.msgpack.Encoder()
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
            self._socket.sendall(_LENGTH.pack(len(body)) + body)

    def receive(self) -> list[DebuggeeMessage]:
        """Read what is there, once, and return the messages that are complete.

        Raises:
            EOFError: the debuggee closed its end, or died.
            ProtocolError: what came is no message of this protocol.
        """
        try:
            data = self._socket.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            raise EOFError
        self._buffer += data
        messages: list[DebuggeeMessage] = []
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if length > MAX_MESSAGE:
                raise ProtocolError(f"the program's side sent a message of {length:,} bytes")
            end = _LENGTH.size + length
            if len(self._buffer) < end:
                break
            body = bytes(self._buffer[_LENGTH.size : end])
            del self._buffer[:end]
            try:
                messages.append(self._decoder.decode(body))
            except msgspec.DecodeError as error:
                raise ProtocolError(
                    f"the program's side sent a message that is not understood: {error}"
                ) from None
        return messages

    def close(self) -> None:
        """Close this end; the debuggee takes it for a detach."""
        self._socket.close()
