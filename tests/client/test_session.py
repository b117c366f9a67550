"""The control channel as a front end sees it, with the other end played by the test."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from stepper.client.cursor import Cursor
from stepper.client.launch import LaunchError, attach
from stepper.client.session import number_breakpoints
from stepper.model.breakpoint import parse_breakpoint
from stepper.model.control import (
    BreakpointChanged,
    DebuggeeMessage,
    Hello,
    Notice,
    Request,
    Response,
    Resume,
    Running,
    Stopped,
)
from stepper.model.stepping import Motion
from stepper.model.trace import SessionFacts
from tests.client.watching import SECONDS, Watch
from tests.recordings import Tape


class Program:
    """A debuggee made of a socket."""

    def __init__(self) -> None:
        self.socket, theirs = socket.socketpair()
        self.socket.settimeout(SECONDS)
        self.watch = Watch(attach(theirs.detach()))
        self.session = self.watch.session

    def send(self, *messages: DebuggeeMessage) -> None:
        """Send messages in one piece."""
        bodies = [msgspec.msgpack.encode(message) for message in messages]
        self.socket.sendall(b"".join(struct.pack(">I", len(body)) + body for body in bodies))

    def receive(self) -> Request:
        """Take one request."""
        (length,) = struct.unpack(">I", self._exactly(4))
        request: Request = msgspec.msgpack.decode(self._exactly(length), type=Request)
        return request

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            assert piece
            data += piece
        return data

    def stop_at(self, moment: int, reason: str = "step") -> None:
        """Stand still, and wait until the session knows."""
        self.send(Stopped(moment, reason))
        self.watch.until(lambda event: isinstance(event, Stopped))


@pytest.fixture
def program() -> Iterator[Program]:
    made = Program()
    yield made
    made.socket.close()
    made.session.close()


@pytest.fixture
def recorded(program: Program, tmp_path: Path) -> Iterator[tuple[Program, Tape]]:
    """A program that has said Hello and stands at moment 3."""
    tape = Tape(str(tmp_path / "live.stepper"))
    tape.begin(function, "0/0")
    tape.start_attempt()
    for ip in range(3):
        tape.step(ip)
    tape.writer.flush()
    program.send(Hello(SessionFacts(), tape.path))
    program.stop_at(3)
    yield program, tape
    tape.close()


def function(x: int) -> int:
    return x + 1


def test_messages_change_what_the_session_is(program: Program) -> None:
    session = program.session
    assert session.live
    assert session.attached
    assert session.recording is None
    program.stop_at(7, "pause")
    assert session.stopped == Stopped(7, "pause")
    program.send(Running(), Notice("the disk is full"))
    program.watch.until(lambda event: event == Notice("the disk is full"))
    assert session.running


def test_answers_find_their_requests_in_any_order(program: Program) -> None:
    first, second = program.session.evaluate("a"), program.session.evaluate("b", 3)
    requests = [program.receive(), program.receive()]
    for request in reversed(requests):
        program.send(Response(request.seq, text=f"value of {request.expression}"))  # type: ignore[union-attr]  # it is not None
    assert first.result(SECONDS).text == "value of a"
    assert second.result(SECONDS).text == "value of b"


def test_death_answers_what_waits_and_what_comes_later(program: Program) -> None:
    waiting = program.session.pause()
    program.receive()
    program.socket.close()
    assert program.watch.until_ended().status.code is None
    assert not waiting.result(SECONDS).ok
    assert not program.session.live
    assert not program.session.resume().result(SECONDS).ok


def test_a_message_cut_in_pieces_is_put_together(program: Program) -> None:
    body = msgspec.msgpack.encode(Stopped(5, "step"))
    wire = struct.pack(">I", len(body)) + body
    for byte in wire[:-1]:
        program.socket.send(bytes([byte]))
    assert program.session.stopped is None
    program.socket.send(wire[-1:])
    program.watch.until(lambda event: isinstance(event, Stopped))


@pytest.mark.parametrize("body", [b"", b"abc", b"\x80", b"\x81\xa4type\xa4nope"])
def test_a_message_that_is_not_understood_costs_only_itself(program: Program, body: bytes) -> None:
    program.socket.sendall(struct.pack(">I", len(body)) + body)
    event = program.watch.until(lambda event: isinstance(event, Notice))
    assert isinstance(event, Notice)
    assert "not understood" in event.text
    program.stop_at(2)


def test_breakpoints_are_numbered_once_and_go_when_used_up(program: Program) -> None:
    program.session.set_breakpoints([parse_breakpoint("restart"), parse_breakpoint("skip, once")])
    sent = program.receive()
    assert [b.id for b in sent.breakpoints] == [1, 2]  # type: ignore[union-attr]  # it is not None
    program.send(BreakpointChanged(2, removed=True))
    program.watch.until(lambda event: isinstance(event, BreakpointChanged))
    assert [str(b) for b in program.session.breakpoints] == ["restart"]
    again = number_breakpoints([*program.session.breakpoints, parse_breakpoint("inline")])
    assert [b.id for b in again] == [1, 2]


def test_late_subscribers_hear_what_came_before(program: Program) -> None:
    program.stop_at(1)
    program.send(Notice("later"))
    program.watch.until(lambda event: event == Notice("later"))
    assert [type(event) for event in program.watch.seen] == [Stopped, Notice]


def test_moving_past_the_newest_moment_runs_the_program(recorded: tuple[Program, Tape]) -> None:
    program, tape = recorded
    cursor = Cursor(program.session)
    assert cursor.arrived().moment == 3
    assert cursor.move(Motion.NEXT, 1).kind == "running"
    assert program.receive() == Resume(1, Motion.NEXT)
    program.send(Response(1), Running())
    program.watch.until(lambda event: isinstance(event, Running))
    refused = cursor.move(Motion.STEP, 1)
    assert (refused.kind, refused.text) == ("refused", "the program is running: pause it first")
    tape.step(3)
    tape.writer.flush()
    program.stop_at(4)
    assert cursor.arrived().moment == 4


def test_a_motion_begun_in_the_past_goes_to_where_the_program_stands(
    recorded: tuple[Program, Tape],
) -> None:
    program, _ = recorded
    cursor = Cursor(program.session)
    cursor.arrived()
    cursor.move(Motion.STEP, -1, count=2)
    move = cursor.move(Motion.FINISH, 1)
    assert (move.kind, move.moment) == ("moved", 3)
    assert "the program stands here" in move.text
    assert cursor.move(Motion.FINISH, 1).kind == "running"
    assert program.receive() == Resume(1, Motion.FINISH)


def test_continue_from_the_past_runs_on_when_the_past_has_no_breakpoint(
    recorded: tuple[Program, Tape],
) -> None:
    program, _ = recorded
    cursor = Cursor(program.session, 1)
    assert cursor.move(Motion.CONTINUE, 1).kind == "running"
    assert program.receive() == Resume(1, Motion.CONTINUE)


def test_steps_that_need_more_than_is_recorded_take_the_rest_live(
    recorded: tuple[Program, Tape],
) -> None:
    program, _ = recorded
    cursor = Cursor(program.session, 1)
    assert cursor.move(Motion.STEP, 1, count=10).kind == "running"
    assert program.receive() == Resume(1, Motion.STEP, count=8)


def test_a_descriptor_that_is_no_socket_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as file, pytest.raises(LaunchError, match="no control"):
        attach(file.fileno())
