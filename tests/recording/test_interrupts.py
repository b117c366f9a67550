"""An exception that comes from outside while a commit is at work leaves a whole recording.

A story is told to a writer; at some instant of it (each line and each instruction of the writer's
own code, and instants of a timer) something raises: a trace function, a profile function, a signal
handler. The storyteller goes on, as a program does that catches its Ctrl-C, and what is recorded in
the end is what was handed in: nothing twice, nothing lost, and each commit whole.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import math
import os
import signal
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from stepper.model.trace import EventKind
from stepper.recording import at_once, database, packing, waiting, writer
from stepper.recording.reader import Recording
from stepper.recording.writer import Writer
from tests.csrc.test_recording_parts import new_steps
from tests.recordings import FACTS
from tests.tracing import trace_instructions

OURS = {module.__file__ for module in (writer, database, waiting, packing, at_once)}


def is_ours(frame: FrameType) -> bool:
    """Whether it is one of the writer's. What is raised in a finalizer reaches nobody."""
    return frame.f_code.co_filename in OURS and frame.f_code.co_name != "__del__"


class Interrupted(Exception):
    """What comes from outside."""


class Story:
    """Hands rows of many kinds to a writer, with numbers that tell them apart; what the writer
    took without an exception must be there, and what it did not may be."""

    def __init__(self, path: Path) -> None:
        # No event may commit because the machine was busy for a second: stories are told alike.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(writer, "_QUIET", math.inf)
            self.writer = Writer(str(path), FACTS)
        self.steps = new_steps()
        self.writer.moments = self.steps.take
        self.writer.frames = self.steps.take_frames
        self.surely: set[tuple[str, int]] = set()
        self.maybe: set[tuple[str, int]] = set()
        self.interrupts = 0

    def try_to(self, key: tuple[str, int], call: Callable[..., object], *args: object) -> None:
        """Hand something in, and go on when that is interrupted."""
        self.maybe.add(key)
        try:
            call(*args)
        except Interrupted:
            self.interrupts += 1
        else:
            self.surely.add(key)

    def tell(self, chapters: int) -> None:
        for number in range(1, chapters + 1):
            tell, write = self.try_to, self.writer
            tell(("keyframe", number), write.keyframe, number, b"state")
            tell(("frame", number), write.frame, number, 1, None, 0, 1, number, None)
            tell(
                ("guards", number), write.guards, number, 1, (number,), ("KIND",), ("x",), ("",),
                ("f.py:1",),
            )  # fmt: skip
            tell(("event", number), write.event, number, EventKind.NOTE, f"event {number}")
            tell(("guard_withdrawn", number), write.guard_withdrawn, number, number)
            tell(("moment", number), self.steps.add, 1, number, None)
            if number % 3 == 0:
                tell(("flush", number), write.flush)
            tell(("frame_end", number), write.frame_end, number, number)

    def close(self) -> None:
        """End the session, as often as that is interrupted."""
        while True:
            try:
                self.writer.close()
            except Interrupted:
                self.interrupts += 1
            else:
                return


def check(story: Story, path: Path) -> None:
    """Compare what is recorded with what was handed in."""
    assert story.writer.failed == ""
    with contextlib.closing(Recording.open(str(path))) as recording:
        assert recording.ended == "exit"
        there: Counter[tuple[str, int]] = Counter()
        there.update(("moment", moment.ip) for moment in recording._moments.steps(1, 10**9))
        there.update(("event", int(event.text.split()[1])) for event in recording.events())
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for key, column in (("keyframe", "moment"), ("guard_withdrawn", "guard")):
            there.update((key, id) for (id,) in connection.execute(f"SELECT {column} FROM {key}"))
        frames = dict(connection.execute("SELECT id, last_moment FROM frame").fetchall())
        there.update(("frame", id) for id in frames)
        for first, count in connection.execute("SELECT first, count FROM guards"):
            there.update(("guards", id) for id in range(first, first + count))
    for row, times in there.items():
        assert times == 1, f"{row} is there {times} times"
        assert row in story.maybe
    for row in story.surely:
        if row[0] == "frame_end":
            assert frames.get(row[1], row[1]) == row[1], f"the end of frame {row[1]} is lost"
        elif row[0] != "flush":
            assert row in there, f"{row} is lost"


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """The callbacks and finalizers of other tests' garbage must not be what is interrupted."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def told(path: Path, chapters: int, around: contextlib.AbstractContextManager[object]) -> Story:
    """Tell a story whole, and check what is recorded."""
    story = Story(path)
    with around:
        story.tell(chapters)
        story.close()
    check(story, path)
    return story


# Aimed: the trace function, the profile function or the monitor raises at the n-th instant


@contextlib.contextmanager
def traced(at: int, *, opcodes: bool, counted: list[int]) -> Iterator[None]:
    """Raise at the `at`-th line, or instruction, of the writer's code; count them."""

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        if not is_ours(frame):
            return None
        frame.f_trace_opcodes = opcodes
        if event == ("opcode" if opcodes else "line"):
            counted[0] += 1
            if counted[0] == at:
                sys.settrace(None)
                raise Interrupted
        return trace

    trace_instructions(trace)
    try:
        yield
    finally:
        sys.settrace(None)


@contextlib.contextmanager
def profiled(at: int, *, counted: list[int]) -> Iterator[None]:
    """Raise at the `at`-th call or return in the writer's code, of C functions, too."""

    def profile(frame: FrameType, event: str, arg: object) -> None:
        if is_ours(frame):
            counted[0] += 1
            if counted[0] == at:
                sys.setprofile(None)
                raise Interrupted

    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)


def watched(kind: str, at: int, counted: list[int]) -> contextlib.AbstractContextManager[None]:
    if kind == "profile":
        return profiled(at, counted=counted)
    return traced(at, opcodes=kind == "instruction", counted=counted)


EVERY = {"line": 4, "profile": 5, "instruction": 59}
"""Which of the instants are tried in a test run; `python -m tests.recording.test_interrupts` tries
each one, in half an hour."""


@pytest.mark.parametrize("kind", EVERY)
def test_an_exception_at_any_instant_loses_and_doubles_nothing(tmp_path: Path, kind: str) -> None:
    with uncollected():
        try_instants(tmp_path, kind, EVERY[kind])


def try_instants(directory: Path, kind: str, every: int) -> int:
    """Interrupt a story at some of its instants; how many these are."""
    path = directory / "r.stepper"
    counted = [0]
    # From here, as those that follow: the writer looks at each frame below its own.
    told(path, 4, watched(kind, 0, counted))
    chosen = range(1, counted[0] + 1, every)
    assert len(chosen) > 60
    interrupted = 0
    for at in chosen:
        path.unlink()
        counted = [0]
        interrupted += told(path, 4, watched(kind, at, counted)).interrupts
        assert counted[0] == at, "this story is not like the first one"
    assert interrupted > 0.95 * len(chosen)  # the last instants are in a finalizer
    return len(chosen)


# Signals


def callers(frame: FrameType | None) -> Iterator[FrameType]:
    """The frame and those that it was called from."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def is_finalizer(frame: FrameType) -> bool:
    """Whether it is one's, or that of a hook to which a finalizer's exception is told."""
    return frame.f_code.co_name in ("__del__", "unraisable_hook")


@contextlib.contextmanager
def alarmed(seconds: float) -> Iterator[None]:
    """Have a signal handler raise again and again, when the writer is at work."""

    def handler(number: int, frame: FrameType | None) -> None:
        # What is raised in a finalizer, or while one's exception is being reported, reaches nobody.
        frames = list(callers(frame))
        if any(is_ours(each) for each in frames) and not any(map(is_finalizer, frames)):
            raise Interrupted

    with uncollected():
        previous = signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)


def test_signals_at_random_instants_lose_and_double_nothing(tmp_path: Path) -> None:
    interrupts = 0
    for seed in itertools.count():
        path = tmp_path / f"{seed}.stepper"
        story = Story(path)
        with alarmed(0.0002 + seed % 20 * 0.00003):
            story.tell(150)
        story.close()
        check(story, path)
        interrupts += story.interrupts
        if seed >= 19 and interrupts >= 60:
            break


def test_ctrl_c_in_a_commit_reaches_the_program(tmp_path: Path) -> None:
    story = Story(tmp_path / "r.stepper")

    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    story.writer.before_commit = interrupt
    story.writer.event(1, EventKind.NOTE, "event 1")
    with pytest.raises(KeyboardInterrupt):
        story.writer.flush()
    story.writer.before_commit = lambda: None
    story.surely.add(("event", 1))
    story.maybe.add(("event", 1))
    story.close()
    check(story, tmp_path / "r.stepper")


class Dying:
    """Has a finalizer that hands something in, and commits, in the midst of a commit."""

    def __init__(self, story: Story, number: int) -> None:
        self._story, self._number = story, number

    def __del__(self) -> None:
        self._story.writer.event(self._number, EventKind.NOTE, f"event {self._number}")
        self._story.writer.frame_end(1, self._number)
        self._story.writer.flush()


def test_what_a_finalizer_hands_in_during_a_commit_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "r.stepper"
    story = Story(path)

    def late(*rows: list[object]) -> None:
        Dying(story, 2)

    story.writer.frame(1, 1, None, 0, 1, 1, None)
    story.writer.event(1, EventKind.NOTE, "event 1")
    story.writer.frames = late
    story.writer.flush()
    story.writer.frames = story.steps.take_frames
    story.writer.flush()
    story.writer.close()
    with contextlib.closing(Recording.open(str(path))) as recording:
        assert [event.text for event in recording.events()] == ["event 1", "event 2"]


def main() -> None:
    """Try every instant."""
    for kind in EVERY:
        with tempfile.TemporaryDirectory() as directory, uncollected():
            print(kind, try_instants(Path(directory), kind, 1), flush=True)


if __name__ == "__main__":
    main()
