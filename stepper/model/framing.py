"""How messages follow each other on a control channel: each after its length, in four bytes."""

from __future__ import annotations

import struct

from stepper.model.control import MAX_MESSAGE, ProtocolError

_LENGTH = struct.Struct(">I")


def with_length(body: bytes) -> bytes:
    """A message's body as it goes over the wire."""
    return _LENGTH.pack(len(body)) + body


class Framer:
    """Cuts a stream of bytes into message bodies, without ever holding an oversize one."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._skip = 0

    def feed(self, data: bytes) -> list[bytes | ProtocolError]:
        """The bodies that are complete now; a ProtocolError stands for each oversize message."""
        found: list[bytes | ProtocolError] = []
        buffer = self._buffer
        buffer += data
        while True:
            if self._skip:
                gone = min(self._skip, len(buffer))
                del buffer[:gone]
                self._skip -= gone
                if self._skip:
                    return found
            if len(buffer) < _LENGTH.size:
                return found
            (length,) = _LENGTH.unpack_from(buffer)
            if length > MAX_MESSAGE:
                refusal = f"a message of {length} bytes is refused: {MAX_MESSAGE} is the most"
                found.append(ProtocolError(refusal))
                del buffer[: _LENGTH.size]
                self._skip = length
                continue
            if len(buffer) < _LENGTH.size + length:
                return found
            found.append(bytes(buffer[_LENGTH.size : _LENGTH.size + length]))
            del buffer[: _LENGTH.size + length]
