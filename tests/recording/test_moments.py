"""Moments are found whatever runs they were stored in, and a run that lies is found out."""

from __future__ import annotations

import contextlib
import random
import resource
import sqlite3
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from stepper.model.program import Code, Instruction
from stepper.model.stepping import Motion
from stepper.model.trace import Moment
from stepper.recording.errors import RecordingError
from stepper.recording.navigation import move
from stepper.recording.packing import pack
from stepper.recording.reader import Recording
from stepper.recording.schema import Moments
from tests.recordings import Tape
from tests.stored import inflated

CODE = Code(0, "f", "f", "f.py", 1, tuple(Instruction(i, "NOP", line=i) for i in range(10)))


def recorded(path: Path, flushed_after: Sequence[int], steps: int = 60) -> Recording:
    """Steps in two frames, the inner one at moments 21 to 40, committed after some of them."""
    return Recording.open(taped(path, flushed_after, steps).close())


def taped(path: Path, flushed_after: Sequence[int], steps: int = 60) -> Tape:
    """The same, still open."""
    tape = Tape(str(path), keyframe_every=1000)
    code = tape.code(CODE)
    tape.begin(CODE, "0/0")
    tape.start_attempt()
    for moment in range(1, steps + 1):
        if moment == 21:
            tape.enter(code)
        if moment == 41:
            tape.leave()
        tape.step(moment % 10)
        if moment in flushed_after:
            tape.writer.flush()
    tape.end_attempt()
    tape.end()
    return tape


def spoil(recording: Recording, sql: str, *params: object) -> Recording:
    """Close it, change the file, open it again."""
    recording.close()
    connection = sqlite3.connect(recording.path)
    connection.execute(sql, params)
    connection.commit()
    connection.close()
    return Recording.open(recording.path)


RUNS = [
    pytest.param((), id="one run"),
    pytest.param(range(1, 61), id="a run for each moment"),
    pytest.param((1, 2, 19, 20, 21, 39, 40, 41, 59), id="runs that end where frames do"),
    pytest.param((7, 33, 34), id="runs that end anywhere"),
]


@pytest.mark.parametrize("flushed_after", RUNS)
def test_every_moment_is_found(tmp_path: Path, flushed_after: Sequence[int]) -> None:
    recording = recorded(tmp_path / "r.stepper", flushed_after)
    expected = [Moment(i, 2 if 21 <= i <= 40 else 1, i % 10) for i in range(1, 61)]
    assert (recording.oldest, recording.newest) == (1, 60)
    order = list(range(60))
    random.Random(0).shuffle(order)
    assert [recording.moment(i + 1) for i in order] == [expected[i] for i in order]
    for first, last in ((1, 60), (20, 21), (7, 8), (34, 34), (5, 4), (-3, 2), (58, 99)):
        assert recording.moments(first, last) == [m for m in expected if first <= m.id <= last]
    for beyond in (0, 61, -1, 2**70):
        with pytest.raises(RecordingError, match=f"no moment {beyond}: its moments are 1 to 60"):
            recording.moment(beyond)


@pytest.mark.parametrize("flushed_after", RUNS)
def test_walks_pass_over_runs_as_if_there_were_none(
    tmp_path: Path, flushed_after: Sequence[int]
) -> None:
    recording = recorded(tmp_path / "r.stepper", flushed_after)
    outer, inner = recording.frame(1), recording.frame(2)
    outside = [*range(1, 21), *range(41, 61)]
    inside = list(range(21, 41))
    for start in (0, 1, 7, 20, 21, 33, 34, 40, 41, 60):
        for direction in (1, -1):

            def beyond(moments: Sequence[int], start: int = start, d: int = direction) -> list[int]:
                return [m for m in sorted(moments, key=lambda m: m * d) if (m - start) * d > 0]

            def ids(start: int = start, d: int = direction, **how: object) -> list[int]:
                return [m.id for m in recording.walk(start, d, **how)]  # type: ignore[arg-type]  # any options of its own

            assert ids() == beyond(range(1, 61))
            assert ids(over_calls_of=outer) == beyond(outside)
            assert ids(over_calls_of=inner) == beyond(range(1, 61))
            assert ids(out_of=inner) == beyond(outside)
            assert ids(out_of=outer) == []
            assert ids(codes=[1]) == beyond([*outside, *inside])
            assert ids(codes=[7]) == []


@pytest.mark.parametrize("flushed_after", RUNS)
def test_executed_is_counted_over_runs(tmp_path: Path, flushed_after: Sequence[int]) -> None:
    recording = recorded(tmp_path / "r.stepper", flushed_after)
    for upto in (1, 30, 60, 12, 99, 45, 21):
        counts: dict[int, int] = {}
        for moment in range(1, min(upto, 61)):
            if not 21 <= moment <= 40:
                counts[moment % 10] = counts.get(moment % 10, 0) + 1
        assert recording.executed(1, upto) == counts


def test_follower_sees_each_run_when_it_is_committed(tmp_path: Path) -> None:
    tape = Tape(str(tmp_path / "r.stepper"))
    tape.begin(CODE, "0/0")
    tape.start_attempt()
    recording = Recording.open(tape.path)
    assert (recording.oldest, recording.newest) == (0, 0)
    for length in (1, 1, 30, 2, 500, 1):
        for _ in range(length):
            tape.step(tape.moment % 10)
        tape.writer.flush()
        assert not list(recording.walk(recording.newest, 1))
        assert recording.refresh()
        assert recording.newest == tape.moment
        assert [m.id for m in recording.walk(0, 1)] == [*range(1, tape.moment + 1)]
        assert recording.state(tape.moment).top.ip == (tape.moment - 1) % 10


# Runs that lie


def test_hole_is_an_error_for_those_who_cross_it_and_for_nobody_else(tmp_path: Path) -> None:
    recording = recorded(tmp_path / "r.stepper", (10, 20))
    recording = spoil(recording, "DELETE FROM moments WHERE first = 11")
    assert len(recording.moments(1, 10)) == 10
    assert len(recording.moments(21, 60)) == 40
    assert recording.state(10).top.ip == 0
    assert move(recording, 25, Motion.STEP, -1) == 24
    missing = r"damaged \(its moments 11 to 20 are missing"
    for crossing in (
        lambda: recording.moments(1, 60),
        lambda: recording.state(60),
        lambda: recording.executed(1, 60),
        lambda: move(recording, 10, Motion.STEP, 1),
        lambda: move(recording, 21, Motion.STEP, -1),
        lambda: move(recording, 21, Motion.FINISH, -1),
    ):
        with pytest.raises(RecordingError, match=missing):
            crossing()
    with pytest.raises(RecordingError, match="no moment 15"):
        recording.moment(15)


def test_huge_moment_number_costs_nothing(tmp_path: Path) -> None:
    recording = recorded(tmp_path / "r.stepper", (10, 50))
    far = 2**63 - 11
    begun = time.monotonic()
    recording = spoil(recording, "UPDATE moments SET first = ? WHERE first = 51", far)
    assert recording.newest == 2**63 - 2
    assert recording.moment(far).ip == 1
    with pytest.raises(RecordingError, match=f"moments 51 to {far - 1} are missing"):
        recording.state(far)
    assert [m.id for m in recording.moments(far + 8, 2**80)] == [2**63 - 3, 2**63 - 2]
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize(
    "body",
    [
        Moments([1] * 9, [0] * 10, [None] * 10),
        Moments([1] * 10, [0] * 11, [None] * 10),
        Moments([], [], []),
        {"frames": [1]},
        [[1] * 10, [0] * 10],
        [["x"] * 10, [0] * 10, [None] * 10],
        [[1] * 10, [0.5] * 10, [None] * 10],
    ],
)
def test_run_that_is_not_what_it_says_is_refused_where_it_is_read(
    tmp_path: Path, body: object
) -> None:
    recording = recorded(tmp_path / "r.stepper", (10, 20, 30))
    stored = pack(body)
    sql = "UPDATE moments SET body = ? WHERE first = 11"
    if len(stored) < 30:
        with pytest.raises(RecordingError, match="damaged"):
            spoil(recording, sql, stored)
        return
    recording = spoil(recording, sql, stored)
    assert recording.state(10).moment.id == 10
    assert move(recording, 25, Motion.STEP, -1) == 24
    for reading in (
        lambda: recording.moment(11),
        lambda: recording.state(25),
        lambda: move(recording, 10, Motion.STEP, 1),
    ):
        with pytest.raises(RecordingError, match="damaged"):
            reading()


@pytest.mark.parametrize(
    "body",
    [
        Moments([1] * 10, [0] * 10, [None] * 9),
        Moments([1] * 10, [0] * 10, [None] * 60_000),
        [[1] * 10, [0] * 10, ["text"] * 10],
    ],
)
def test_run_whose_changes_are_not_what_it_says_is_refused_where_states_are_asked_for(
    tmp_path: Path, body: object
) -> None:
    recording = recorded(tmp_path / "r.stepper", (10, 20, 30))
    recording = spoil(recording, "UPDATE moments SET body = ? WHERE first = 11", pack(body))
    assert recording.state(10).moment.id == 10
    assert recording.moment(11).id == 11
    assert move(recording, 10, Motion.STEP, 1) == 11
    for moment in (11, 25):
        with pytest.raises(RecordingError, match="damaged"):
            recording.state(moment)


def test_runs_that_overlap_are_refused(tmp_path: Path) -> None:
    recording = recorded(tmp_path / "r.stepper", (10, 20))
    with pytest.raises(RecordingError, match=r"damaged \(40 moments cannot begin at 20"):
        spoil(recording, "UPDATE moments SET first = 20 WHERE first = 21")


def test_run_that_changes_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    tape = taped(tmp_path / "r.stepper", (10, 20))
    recording = Recording.open(tape.path)
    connection = sqlite3.connect(recording.path)
    connection.execute("DELETE FROM moments WHERE first = 11")
    connection.commit()
    connection.close()
    with pytest.raises(RecordingError, match="damaged"):
        recording.moment(11)


def test_stepping_over_a_big_call_does_not_look_at_each_step(tmp_path: Path) -> None:
    tape = Tape(str(tmp_path / "r.stepper"))
    code = tape.code(CODE)
    tape.begin(CODE, "0/0")
    tape.start_attempt()
    tape.step(0)
    tape.enter(code)
    for i in range(10_000):
        tape.step(i % 10)
    tape.leave()
    tape.step(1)
    tape.end_attempt()
    tape.end()
    tape.close()

    def taken(call: Callable[[Recording], object]) -> float:
        recording = Recording.open(tape.path)
        begun = time.process_time()
        call(recording)
        return time.process_time() - begun

    def over(start: int, direction: int) -> Callable[[Recording], object]:
        def call(recording: Recording) -> None:
            assert move(recording, start, Motion.NEXT, direction) == 10_003 - start

        return call

    each_step = min(taken(lambda it: list(it.moments(1, 10_002))) for _ in range(3))
    for start, direction in ((1, 1), (10_002, -1)):
        assert min(taken(over(start, direction)) for _ in range(3)) < each_step


def test_a_compressed_run_stands_for_no_more_than_a_run_can_be(tmp_path: Path) -> None:
    """A file of unknown author can claim anything: a megabyte stands for a gigabyte."""
    recording = recorded(tmp_path / "r.stepper", (10, 20, 30))
    compressing = zlib.compressobj(9)
    bomb = b"".join(compressing.compress(bytes(1 << 20)) for _ in range(300)) + compressing.flush()
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for body in (bomb, zlib.compress(pack([]))[:-2], b"\x78\x01" + b"\xff" * 40):
        recording = spoil(recording, "UPDATE moments SET body = ? WHERE first = 11", body)
        assert recording.moment(10).id == 10
        with pytest.raises(RecordingError, match="damaged"):
            recording.moment(11)
    recording.close()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held < 200_000


def test_runs_that_are_not_compressed_are_read_too(tmp_path: Path) -> None:
    """As all of older files."""
    recording = recorded(tmp_path / "r.stepper", (), 2_000)
    told = [*recording.moments(1, 2_000)]
    recording.close()
    with contextlib.closing(sqlite3.connect(recording.path)) as connection, connection:
        compressed = 0
        for table in ("moments", "descriptions", "events"):
            for first, body in connection.execute(f"SELECT first, body FROM {table}").fetchall():
                compressed += inflated(body) != body
                sql = f"UPDATE {table} SET body = ? WHERE first = ?"
                connection.execute(sql, (inflated(body), first))
        connection.execute("PRAGMA user_version=10")
    assert compressed > 1
    older = Recording.open(recording.path)
    assert [*older.moments(1, 2_000)] == told
    assert older.state(1_999).moment == told[1_998]
    older.close()
