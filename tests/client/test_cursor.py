"""Movement within a recording, by the same calls in both directions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stepper.client.cursor import Cursor
from stepper.client.session import open_recording
from stepper.model.breakpoint import parse_breakpoint
from stepper.model.stepping import Motion
from stepper.model.trace import EventKind, SessionFacts
from stepper.recording.errors import RecordingError
from tests.recordings import Tape, sample_recording


@pytest.fixture
def cursor(tmp_path: Path) -> Iterator[Cursor]:
    path = str(tmp_path / "sample.stepper")
    sample_recording(path)
    session = open_recording(path)
    yield Cursor(session, 1)
    session.close()


def break_moment(cursor: Cursor) -> int:
    assert cursor.recording is not None
    return cursor.recording.graph_breaks()[0].moment


def test_steps_go_one_moment_each_way(cursor: Cursor) -> None:
    assert cursor.move(Motion.STEP, 1).moment == 2
    assert cursor.move(Motion.STEP, 1, count=7).moment == 9
    assert cursor.move(Motion.STEP, -1, count=3).moment == 6


def test_the_ends_refuse_and_say_which_end_it_is(cursor: Cursor) -> None:
    back = cursor.move(Motion.STEP, -1)
    assert (back.kind, back.moment, back.text) == ("refused", 1, "at the first moment")
    last = cursor.newest
    cursor.to_newest()
    ahead = cursor.move(Motion.NEXT, 1)
    assert (ahead.kind, ahead.moment) == ("refused", last)
    assert f"last moment ({last})" in ahead.text


def test_running_off_the_end_goes_to_the_end_first(cursor: Cursor) -> None:
    move = cursor.move(Motion.STEP, 1, count=10_000)
    assert (move.kind, move.moment) == ("moved", cursor.newest)
    move = cursor.move(Motion.STEP, -1, count=10_000)
    assert (move.kind, move.moment, move.text) == ("moved", 1, "at the first moment")


def test_next_passes_over_an_inlined_call_and_finish_leaves_it(cursor: Cursor) -> None:
    # In the translation that goes through, the call of block returns.
    assert cursor.recording is not None
    resumed = cursor.recording.translations()[2]
    cursor.goto(resumed.first_moment)
    entered = cursor.to_event([EventKind.INLINE], 1)
    before = entered.moment
    cursor.goto(before)
    after = cursor.move(Motion.NEXT, 1)
    assert after.moment > before + 10
    assert cursor.frame is not None
    assert cursor.frame.depth == 0
    assert cursor.move(Motion.NEXT, -1).moment == before
    cursor.goto(before + 1)
    assert cursor.frame.depth == 1
    assert cursor.move(Motion.FINISH, 1).moment == after.moment


def test_continue_stops_at_breakpoints_both_ways(cursor: Cursor) -> None:
    session = cursor.session
    session.set_breakpoints([parse_breakpoint("graph-break"), parse_breakpoint("opcode:BINARY_OP")])
    at_break = break_moment(cursor)
    cursor.goto(at_break - 1)
    move = cursor.move(Motion.CONTINUE, 1)
    assert move.moment == at_break
    assert move.breakpoint is not None
    assert str(move.breakpoint) == "graph-break"
    back = cursor.move(Motion.CONTINUE, -1)
    assert back.moment < at_break
    assert cursor.instruction is not None
    assert cursor.instruction.opname == "BINARY_OP"


def test_a_disabled_breakpoint_does_not_stop(cursor: Cursor) -> None:
    import msgspec

    spec = msgspec.structs.replace(parse_breakpoint("graph-break"), enabled=False)
    cursor.session.set_breakpoints([spec])
    move = cursor.move(Motion.CONTINUE, 1)
    assert move.moment == cursor.newest
    assert "no further breakpoint" in move.text


def test_jumps_to_what_made_something(cursor: Cursor) -> None:
    cursor.goto(break_moment(cursor))
    assert cursor.recording is not None
    state = cursor.state
    assert state is not None
    node = cursor.recording.node(state.attempt, "mul")
    guard = cursor.recording.guards(None, attempt=state.attempt)[-1]
    assert node is not None
    assert cursor.to_node("mul").moment == node.moment
    assert cursor.to_guard(guard.id).moment == guard.moment
    assert cursor.to_node("nothing").kind == "refused"
    assert cursor.to_guard(999).kind == "refused"


def test_a_guard_from_before_the_first_instruction_is_shown_at_the_first(cursor: Cursor) -> None:
    assert cursor.recording is not None
    first = cursor.recording.guards(None, attempt=1)[0]
    assert first.moment == 0
    cursor.goto(5)
    assert cursor.to_guard(first.id).moment == 1


def test_back_and_forward_go_through_the_places_of_jumps(cursor: Cursor) -> None:
    cursor.goto(20)
    cursor.move(Motion.STEP, 1)
    cursor.goto(60)
    assert cursor.back().moment == 21
    assert cursor.back().moment == 1
    assert cursor.back().kind == "refused"
    assert cursor.forward().moment == 21
    assert cursor.forward().moment == 60
    assert cursor.forward().kind == "refused"


def test_percentages_and_numbers(cursor: Cursor) -> None:
    assert cursor.goto_percent(0).moment == 1
    assert cursor.goto_percent(100).moment == cursor.newest
    refused = cursor.goto(cursor.newest + 1)
    assert refused.kind == "refused"
    assert str(cursor.newest) in refused.text


def test_control_is_refused_with_the_reason(cursor: Cursor) -> None:
    response = cursor.session.pause().result(timeout=600)
    assert not response.ok
    assert "no program to control" in response.text


def test_a_recording_that_grows_is_followed(tmp_path: Path) -> None:
    import os

    path = str(tmp_path / "growing.stepper")
    tape = Tape(path, facts=SessionFacts(pid=os.getpid()))
    session = open_recording(path)
    cursor = Cursor(session)
    assert session.growing
    assert not session.live
    assert cursor.goto(1).kind == "refused"
    tape.begin(grown, "0/0")
    tape.start_attempt()
    for ip in range(3):
        tape.step(ip)
    tape.writer.flush()
    assert cursor.to_newest().moment == 3
    assert "still being written" in cursor.move(Motion.STEP, 1).text
    tape.step(3)
    tape.writer.flush()
    assert cursor.move(Motion.STEP, 1).moment == 4
    tape.close()
    cursor.refresh()
    assert not session.growing
    session.close()


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    foreign = tmp_path / "notes.txt"
    foreign.write_text("mine")
    for path in (foreign, tmp_path / "missing.stepper"):
        with pytest.raises(RecordingError, match=path.name):
            open_recording(str(path))


def grown(x: int) -> int:
    return x + 1
