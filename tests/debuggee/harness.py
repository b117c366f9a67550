"""A front end of a few lines: starts a program as the client does and speaks with its debuggee."""

from __future__ import annotations

import os
import select
import socket
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

import stepper.debuggee
from stepper.model.breakpoint import parse_breakpoint
from stepper.model.control import (
    DebuggeeEvent,
    DebuggeeMessage,
    Request,
    Response,
    Resume,
    Stopped,
)
from stepper.model.launch import SESSION_VARIABLE, DebuggeeConfig, encode_config
from tests import ready

STARTUP = os.path.join(os.path.dirname(stepper.debuggee.__file__), "startup")
SECONDS = 600.0

M = TypeVar("M")
_decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(DebuggeeMessage)


class FrontEnd:
    """Our end of a control channel."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.events: list[DebuggeeEvent] = []
        self.responses: dict[int, Response] = {}
        self._buffer = b""
        self._seq = 0

    def send_bytes(self, body: bytes) -> None:
        self.socket.sendall(struct.pack(">I", len(body)) + body)

    def send(self, make: Callable[[int], Request]) -> int:
        self._seq += 1
        self.send_bytes(msgspec.msgpack.encode(make(self._seq)))
        return self._seq

    def ask(self, make: Callable[[int], Request]) -> Response:
        return self.response(self.send(make))

    def response(self, seq: int) -> Response:
        while seq not in self.responses:
            assert self.read(), f"the channel ended before response {seq}; {self.events}"
        return self.responses[seq]

    def wait(self, kind: type[M]) -> M:
        """The next event of a kind; those before it are dropped."""
        while True:
            while self.events:
                event = self.events.pop(0)
                if isinstance(event, kind):
                    return event
            assert self.read(), f"the channel ended before {kind.__name__}"

    def resume(self, **how: Any) -> None:
        assert self.ask(lambda seq: Resume(seq, **how)).ok

    def drain(self) -> list[DebuggeeEvent]:
        """All events up to the channel's end."""
        while self.read():
            pass
        return self.events

    def read(self) -> bool:
        """Take in some messages; False at the end of the channel."""
        ready, _, _ = select.select([self.socket], [], [], SECONDS)
        assert ready, "the debuggee says nothing"
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            data = b""
        self._buffer += data
        while len(self._buffer) >= 4:
            (length,) = struct.unpack_from(">I", self._buffer)
            if len(self._buffer) < 4 + length:
                break
            message = _decoder.decode(self._buffer[4 : 4 + length])
            self._buffer = self._buffer[4 + length :]
            if isinstance(message, Response):
                self.responses[message.seq] = message
            else:
                self.events.append(message)
        return bool(data)


class Program(FrontEnd):
    """A program under the debugger."""

    def __init__(
        self,
        source: str,
        directory: Path,
        *,
        breakpoints: tuple[str, ...] = (),
        options: tuple[str, ...] = (),
        env: dict[str, str] | None = None,
        args: tuple[str, ...] = (),
        recording: str | None = None,
        channel: bool = True,
        forked: bool = True,
        **config: Any,
    ) -> None:
        ours, theirs = socket.socketpair()
        super().__init__(ours)
        self.script = directory / "program.py"
        self.script.write_text(source)
        self.recording = recording or str(directory / "session.stepper")
        told = DebuggeeConfig(
            recording=self.recording,
            channel=theirs.fileno() if channel else None,
            path_entry=STARTUP,
            breakpoints=tuple(
                msgspec.structs.replace(parse_breakpoint(text), id=number)
                for number, text in enumerate(breakpoints, 1)
            ),
            **config,
        )
        environment = {**os.environ, **(env or {}), SESSION_VARIABLE: encode_config(told)}
        given = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [STARTUP, given]))
        self.process = subprocess.Popen(
            ready.python(*options, self.script, *args, forked=forked),
            env=ready.carrying(environment) if forked else environment,
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()

    def finish(self) -> tuple[int, str, str]:
        """Exit status, stdout and stderr of the program, when it has ended."""
        out, err = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, out, err

    def stopped(self) -> Stopped:
        return self.wait(Stopped)

    def close(self) -> None:
        self.socket.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def run_plainly(
    source: str,
    directory: Path,
    *args: str,
    env: dict[str, str] | None = None,
    forked: bool = True,
) -> tuple[int, str, str]:
    """The same program without the debugger: exit status, stdout, stderr."""
    script = directory / "program.py"
    script.write_text(source)
    environment = {**os.environ, **(env or {})}
    done = subprocess.run(
        ready.python(script, *args, forked=forked),
        env=ready.carrying(environment) if forked else environment,
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        stdin=subprocess.DEVNULL,
    )
    return done.returncode, done.stdout, done.stderr


def until(condition: Callable[[], bool]) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        select.select([], [], [], 0.01)
