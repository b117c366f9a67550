"""Movements through a recording mean the same forwards and backwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepper.model.breakpoint import Breakpoint, BreakpointKind, parse_breakpoint
from stepper.model.program import Code, Instruction
from stepper.model.stepping import Motion
from stepper.model.trace import EventKind
from stepper.recording.errors import RecordingError
from stepper.recording.navigation import by_percentage, find_break, move, search_instructions
from stepper.recording.reader import Recording
from tests.recordings import Tape

CALLER = Code(
    0, "caller", "caller", "/p/prog.py", 10,
    tuple(
        Instruction(i, name, line=line, offset=2 * i, argrepr=arg)
        for i, (name, line, arg) in enumerate(
            [("RESUME", 10, ""), ("LOAD_GLOBAL", 11, "callee"), ("CALL", 11, ""),
             ("STORE_FAST", 11, "y"), ("LOAD_FAST", 12, "y"), ("RETURN_VALUE", 12, "")]
        )
    ),
)  # fmt: skip
CALLEE = Code(
    0, "callee", "callee", "/p/lib.py", 20,
    tuple(
        Instruction(i, name, line=line, offset=2 * i)
        for i, (name, line) in enumerate(
            [("RESUME", 20), ("LOAD_CONST", 21), ("NOP", None), ("RETURN_VALUE", 22)]
        )
    ),
)  # fmt: skip


@pytest.fixture
def trace(tmp_path: Path) -> Recording:
    """Two attempts of `caller`, which calls `callee`:

    moment  1 2 3 | 4 5 6 7 | 8 9 10     attempt 1: caller, callee, caller
    moment  11 12 13 | 14 15            attempt 2: caller, callee
    """
    tape = Tape(str(tmp_path / "r.stepper"), keyframe_every=4)
    callee = tape.code(CALLEE)
    tape.begin(CALLER, "0/0")
    tape.start_attempt()
    tape.guard("GLOBAL_STATE", "")
    for ip in range(3):
        tape.step(ip)
    tape.enter(callee)
    for ip in range(4):
        tape.step(ip)
        if ip == 1:
            tape.guard("EQUALS_MATCH", "L['x'].scale")
    tape.leave()
    for ip in range(3, 6):
        tape.step(ip)
        if ip == 4:
            tape.node("add_1", "call_function", "operator.add")
    tape.end_attempt("restarted")
    tape.start_attempt()
    for ip in range(3):
        tape.step(ip)
    tape.enter(callee)
    for ip in range(2):
        tape.step(ip)
    tape.graph_break("print")
    tape.close()
    return Recording.open(tape.path)


@pytest.mark.parametrize(
    ("motion", "start", "direction", "end"),
    [
        (Motion.STEP, 3, 1, 4),
        (Motion.STEP, 4, -1, 3),
        (Motion.STEP, 15, 1, None),
        (Motion.STEP, 1, -1, None),
        (Motion.NEXT, 3, 1, 8),  # over the call
        (Motion.NEXT, 8, -1, 3),  # and back over it
        (Motion.NEXT, 7, 1, 8),  # out at the end of a frame
        (Motion.NEXT, 4, -1, 3),  # out at its beginning
        (Motion.FINISH, 5, 1, 8),
        (Motion.FINISH, 5, -1, 3),  # to the call
        (Motion.FINISH, 2, 1, 11),  # the frame ends with the attempt
        (Motion.FINISH, 9, -1, None),
        (Motion.NEXT, 10, 1, 11),  # into the next attempt
        (Motion.NEXT, 11, -1, 10),
        (Motion.NEXT, 13, 1, None),  # the call never returned
        (Motion.LINE, 1, 1, 2),
        (Motion.LINE, 2, 1, 9),
        (Motion.LINE, 9, -1, 2),
        (Motion.LINE, 10, -1, 9),  # to the beginning of the line that one is in
        (Motion.LINE, 5, 1, 7),  # an instruction without a line does not count
        (Motion.LINE, 7, -1, 5),
        (Motion.LINE, 4, -1, 3),
        (Motion.UNTIL, 2, 1, 9),
        (Motion.CONTINUE, 1, 1, None),
    ],
)
def test_where_a_motion_ends(
    trace: Recording, motion: Motion, start: int, direction: int, end: int | None
) -> None:
    assert move(trace, start, motion, direction) == end


def test_until_a_line(trace: Recording) -> None:
    assert move(trace, 1, Motion.UNTIL, 1, line=12) == 9
    assert move(trace, 4, Motion.UNTIL, 1, line=22) == 7


def test_first_step_from_before_the_first_moment(trace: Recording) -> None:
    assert move(trace, 0, Motion.NEXT, 1) == 1
    assert move(trace, 0, Motion.STEP, -1) is None


def test_count_repeats_a_motion(trace: Recording) -> None:
    assert move(trace, 1, Motion.NEXT, 1, count=3) == 8
    assert move(trace, 8, Motion.NEXT, -1, count=3) == 1
    assert move(trace, 8, Motion.STEP, -1, count=99) is None


def test_unknown_start_is_an_error(trace: Recording) -> None:
    with pytest.raises(RecordingError, match="no moment 99"):
        move(trace, 99, Motion.NEXT, 1)


@pytest.mark.parametrize("motion", [Motion.STEP, Motion.NEXT])
def test_backwards_undoes_forwards_within_a_frame(recording: Recording, motion: Motion) -> None:
    undone = 0
    for start in range(recording.oldest, recording.newest):
        end = move(recording, start, motion, 1)
        if end is not None and (
            motion is Motion.STEP or recording.moment(end).frame == recording.moment(start).frame
        ):
            assert move(recording, end, motion, -1) == start
            undone += 1
    assert undone > 30


def test_line_backwards_undoes_line_forwards(recording: Recording) -> None:
    undone = 0
    for start in range(recording.oldest, recording.newest):
        end = move(recording, start, Motion.LINE, 1)
        back = move(recording, end, Motion.LINE, -1) if end else None
        if end and back and recording.moment(end).frame == recording.moment(start).frame:
            assert recording.place(back).line == recording.place(start).line
            assert move(recording, back, Motion.LINE, 1) == end
            undone += 1
    assert undone > 10


def hits(recording: Recording, text: str, direction: int = 1) -> list[int]:
    """All stops of a breakpoint, from one end to the other."""
    found = []
    position = 0 if direction > 0 else recording.newest + 1
    while hit := find_break(recording, position, [parse_breakpoint(text)], direction):
        position = hit[0]
        found.append(position)
    return found


@pytest.mark.parametrize(
    ("text", "stops"),
    [
        ("prog.py:11", [2, 8, 12]),
        ("lib.py:21", [5, 15]),
        ("function:callee", [4, 14]),
        ("offset:caller@4", [3, 13]),
        ("opcode:RESUME", [1, 4, 11, 14]),
        ("graph-break", [15]),
        ("inline", [3, 13]),
        ("restart", [10]),
        ("guard", [1, 5]),
        ("guard:EQUALS_MATCH:*.scale", [5]),
        ("guard:*:nothing", []),
        ("node:add", [9]),
        ("recompile", []),
    ],
)
def test_continue_stops_at_the_same_moments_in_both_directions(
    trace: Recording, text: str, stops: list[int]
) -> None:
    if text == "prog.py:11":
        stops = [2, 12]  # after the call the line goes on
    assert hits(trace, text) == stops
    assert hits(trace, text, -1) == stops[::-1]


def test_nearest_of_several_breakpoints_wins_and_disabled_ones_do_not_count(
    trace: Recording,
) -> None:
    guard = Breakpoint(BreakpointKind.GUARD, pattern="EQUALS_MATCH", id=1)
    line = Breakpoint(BreakpointKind.LINE, pattern="lib.py", number=21, id=2)
    far = Breakpoint(BreakpointKind.NODE, id=3)
    off = Breakpoint(BreakpointKind.FUNCTION, pattern="callee", enabled=False, id=4)
    assert find_break(trace, 1, [far, off, guard, line], 1) == (5, guard)
    assert find_break(trace, 1, [far, off, line, guard], 1) == (5, line)
    assert find_break(trace, 8, [far, off], -1) is None
    assert find_break(trace, 3, [], 1) is None


def test_percentage(trace: Recording) -> None:
    assert [by_percentage(trace, p) for p in (-5, 0, 50, 100, 200)] == [1, 1, 8, 15, 15]


def test_instruction_search_by_name_or_argument(trace: Recording) -> None:
    assert search_instructions(trace, "return", 1, 1) == 7
    assert search_instructions(trace, "CALLEE", 15, -1) == 12
    assert search_instructions(trace, "no such thing", 1, 1) is None


def test_events_of_the_story_are_where_breakpoints_find_them(recording: Recording) -> None:
    for kind in (BreakpointKind.GRAPH_BREAK, BreakpointKind.CACHE_LIMIT, BreakpointKind.SKIP):
        [event] = recording.events(kinds=(EventKind(str(kind)),))
        assert hits(recording, str(kind)) == [event.moment]


def test_long_recordings_are_crossed_to_their_end(big: Path) -> None:
    recording = Recording.open(str(big))
    rare = [parse_breakpoint("function:nobody"), parse_breakpoint("big.py:99999")]
    assert find_break(recording, 1, rare, 1) is None
    assert move(recording, 1, Motion.FINISH, 1) is None
    assert search_instructions(recording, "nothing", recording.newest, -1) is None
