"""Lookups and executions as walks: what was told is what a reader rebuilds, however walks lie."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

from stepper.debuggee import walks
from stepper.debuggee.controller import Controller
from stepper.debuggee.described import Described
from stepper.debuggee.engine import Engine
from stepper.debuggee.recorder import Recorder
from stepper.debuggee.walks import Walk, WalkFrame
from stepper.engines.dynamo.describe import DynamoDescriber
from stepper.model.program import Code
from stepper.model.stepping import Motion
from stepper.model.trace import Block, EventKind, FrameState, Outcome, Phase, State
from stepper.model.value import Value
from stepper.recording.navigation import move
from stepper.recording.reader import Recording
from stepper.recording.writer import Writer
from tests.tape import FACTS, code_of
from tests.tracing import trace_instructions


class NoCompiler(Engine):
    """An engine of which only walks are told."""

    make_describer = DynamoDescriber

    def report_graph(self) -> None:
        """There is none."""

    def uninstall(self) -> None:
        """There is nothing to leave."""


class Session:
    """A recorder without a compiler, and its recording."""

    def __init__(self, path: Path, detail: str = "all") -> None:
        self.path = str(path)
        self.writer = Writer(self.path, FACTS)
        self.recorder = Recorder(self.writer, Controller(None), NoCompiler(), detail=detail)
        self.codes: dict[str, Code] = {}

    def code(self, name: str = "program") -> Code:
        if name not in self.codes:
            self.codes[name] = code_of(PROGRAMS[name], len(self.codes) + 1)
            self.recorder.store_code(self.codes[name])
        return self.codes[name]

    def begin(self, name: str = "program", phase: Phase = Phase.EXECUTE) -> Walk:
        return self.recorder.begin_walk(phase, self.code(name), compile_id="0/0")

    def read(self) -> Recording:
        self.writer.close()
        return Recording.open(self.path)


def program(x: int) -> int:
    y = x + 1
    z = y * 2
    return z - x


def resumed(x: int) -> int:
    return x + 1


PROGRAMS = {"program": program, "resumed": resumed}


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    made = Session(tmp_path / "walks.stepper")
    yield made
    made.writer.close()


def number(key: int, text: str = "") -> Described:
    return Described(key, Value(cls="int", text=text or str(key)))


Tree = tuple[str, tuple[object, ...]]


def read(state: State, id: int) -> Tree:
    value = state.values[id]
    return value.text, tuple((item.label, read(state, item.value)) for item in value.items)


class Model:
    """What a frame was told to be, naively."""

    def __init__(self) -> None:
        self.ip = 0
        self.stack: list[Described] = []
        self.locals: dict[str, Described] = {}
        self.blocks: tuple[Block, ...] = ()

    def picture(self, newest: dict[object, Described]) -> Picture:
        """Everything in it, each object as it was told last, in whichever frame."""

        def tree(key: object) -> Tree:
            known = newest[key]
            children = tuple((label, tree(child.key)) for label, child in known.children)
            return known.value.text, children

        slots = [*self.stack, *(self.locals[name] for name in sorted(self.locals))]
        return Picture(
            self.ip,
            [tree(each.key) for each in self.stack],
            {name: tree(each.key) for name, each in self.locals.items()},
            self.blocks,
            [[other.key == each.key for other in slots] for each in slots],
        )


class Picture(NamedTuple):
    """A frame at a moment, with no numbers in it."""

    ip: int
    stack: list[Tree]
    locals: dict[str, Tree]
    blocks: tuple[Block, ...]
    same: list[list[bool]]


def picture(state: State, frame: FrameState) -> Picture:
    slots = [*frame.stack, *(frame.locals[name] for name in sorted(frame.locals))]
    return Picture(
        frame.ip,
        [read(state, id) for id in frame.stack],
        {name: read(state, id) for name, id in frame.locals.items()},
        frame.blocks,
        [[other == each for other in slots] for each in slots],
    )


def remember(newest: dict[object, Described], described: Iterable[Described]) -> None:
    for each in described:
        newest[each.key] = each
        remember(newest, (child for _, child in each.children))


@pytest.mark.parametrize("seed", range(12))
def test_every_state_is_rebuilt_however_walks_nest_and_interleave(
    session: Session, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walks, "KEYFRAME_EVERY", 7)
    chance = random.Random(seed)
    code = session.code()
    objects: dict[int, tuple[str, tuple[int, ...]]] = {}
    under_way: list[tuple[Walk, list[tuple[WalkFrame, Model]], dict[object, Described]]] = []
    expected: dict[int, list[Picture]] = {}

    def describe(key: int) -> Described:
        text, inside = objects[key]
        children = tuple((f"[{at}]", describe(child)) for at, child in enumerate(inside))
        return Described(key, Value(cls="object", text=text), children)

    for key in range(12):  # an object holds only later ones: no cycles
        objects[key] = (f"object {key}", ())
    for step in range(400):
        if not under_way or chance.random() < 0.03:
            walk = session.begin()
            under_way.append((walk, [(walk.enter(code), Model())], {}))
        walk, frames, newest = chance.choice(under_way)
        what = chance.random()
        if what < 0.06 and len(frames) < 4:
            frames.append((walk.enter(code, frames[-1][0]), Model()))
            continue
        if what < 0.1 and len(frames) > 1:
            walk.leave(frames.pop()[0])
            continue
        if what < 0.12:
            for frame, _ in reversed(frames):
                walk.leave(frame)
            walk.end(Outcome.RETURNED)
            under_way.remove((walk, frames, newest))
            continue
        if what < 0.4:
            key = chance.randrange(12)
            later = [each for each in range(key + 1, 12) if chance.random() < 0.2]
            objects[key] = (f"object {key} since {step}", tuple(later))
        frame, model = frames[-1]
        model.ip = chance.randrange(len(code.instructions))
        del model.stack[chance.randrange(len(model.stack) + 1) :]
        model.stack = [describe(each.key) for each in model.stack]  # type: ignore[arg-type]  # a number
        model.stack += [describe(chance.randrange(12)) for _ in range(chance.randrange(3))]
        model.locals = {
            name: describe(each.key)  # type: ignore[arg-type]  # a number
            for name, each in model.locals.items()
            if chance.random() < 0.9
        }
        if chance.random() < 0.5:
            model.locals[chance.choice("abc")] = describe(chance.randrange(12))
        if chance.random() < 0.1:
            model.blocks = (Block(1, chance.randrange(5), 0),) * chance.randrange(3)
        walk.moment(frame, model.ip, model.stack, model.locals, model.blocks)
        remember(newest, [*model.stack, *model.locals.values()])
        expected[session.recorder.moment] = [each.picture(newest) for _, each in frames]

    recording = session.read()
    assert recording.newest == len(expected) > 200
    order = list(expected)
    chance.shuffle(order)
    for moment in order:
        state = recording.state(moment)
        assert [picture(state, frame) for frame in state.frames] == expected[moment]


def test_a_value_that_stays_in_view_keeps_its_number_and_is_told_anew_when_it_changes(
    session: Session,
) -> None:
    walk = session.begin()
    frame = walk.enter(session.code())
    walk.moment(frame, 0, [number(7, "before")], {"x": number(7, "before")})
    walk.moment(frame, 1, [], {"x": number(7, "after")})
    walk.moment(frame, 2, [], {})
    walk.moment(frame, 3, [number(7, "another")], {})
    walk.end(Outcome.RETURNED)
    recording = session.read()
    first, second, last = (recording.state(moment).top for moment in (1, 2, 4))
    assert first.stack[0] == first.locals["x"] == second.locals["x"]
    assert recording.state(2).values[second.locals["x"]].text == "after"
    assert recording.state(1).values[first.locals["x"]].text == "before"
    assert last.stack[0] != first.stack[0]


def test_a_walk_is_a_row_of_the_catalogue_with_its_phase_and_its_end(session: Session) -> None:
    walk = session.begin(phase=Phase.LOOKUP)
    frame = walk.enter(session.code())
    walk.moment(frame, 0)
    walk.moment(frame, 1)
    walk.leave(frame)
    walk.end(Outcome.MISS, "no entry matched")
    recording = session.read()
    (row,) = recording.translations()
    assert (row.phase, row.outcome, row.reason) == (Phase.LOOKUP, "miss", "no entry matched")
    assert (row.first_moment, row.last_moment, row.instructions) == (1, 2, 2)
    assert [event.kind for event in recording.events()] == [EventKind.LOOKUP, EventKind.END]


def test_next_passes_over_the_walks_inside_a_call_and_step_goes_into_them(session: Session) -> None:
    outer = session.begin()
    frame = outer.enter(session.code())
    outer.moment(frame, 0)
    inner = session.begin("resumed")
    inside = inner.enter(session.code("resumed"))
    inner.moment(inside, 0)
    inner.moment(inside, 1)
    inner.leave(inside)
    inner.end(Outcome.RETURNED)
    outer.moment(frame, 1)
    outer.leave(frame)
    outer.end(Outcome.RETURNED)
    after = session.begin("resumed")
    after.moment(after.enter(session.code("resumed")), 0)
    recording = session.read()
    assert [row.level for row in recording.translations()] == [0, 1, 0]
    assert move(recording, 1, Motion.STEP, +1) == 2
    assert move(recording, 1, Motion.NEXT, +1) == 4
    assert move(recording, 2, Motion.FINISH, +1) == 4
    assert move(recording, 3, Motion.NEXT, +1) == 4
    assert move(recording, 4, Motion.NEXT, +1) == 5
    assert move(recording, 4, Motion.NEXT, -1) == 1


def test_next_stays_in_its_thread(session: Session) -> None:
    ours = session.begin()
    frame = ours.enter(session.code())
    ours.moment(frame, 0)

    def elsewhere() -> None:
        walk = session.begin("resumed")
        walk.moment(walk.enter(session.code("resumed")), 0)
        walk.end(Outcome.RETURNED)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    ours.moment(frame, 1)
    ours.end(Outcome.RETURNED)
    recording = session.read()
    assert [row.level for row in recording.translations()] == [0, 0]
    assert move(recording, 1, Motion.NEXT, +1) == 3
    assert move(recording, 1, Motion.STEP, +1) == 2


def test_walks_of_many_threads_leave_no_hole(session: Session) -> None:
    code = session.code()

    def work() -> None:
        for _ in range(20):
            walk = session.begin()
            frame = walk.enter(code)
            for ip in range(5):
                walk.moment(frame, ip, [number(ip)], {"x": number(ip)})
            walk.leave(frame)
            walk.end(Outcome.RETURNED)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recording = session.read()
    assert recording.newest == 6 * 20 * 5
    assert len(recording.translations()) == 6 * 20
    for moment in recording.moments(1, recording.newest):
        assert recording.state(moment.id).top.ip == moment.ip
    assert {row.level for row in recording.translations()} == {0}


def test_with_detail_stops_nothing_is_written_before_a_stop(tmp_path: Path) -> None:
    session = Session(tmp_path / "stops.stepper", detail="stops")
    walk = session.begin()
    assert walk.idle
    walk.moment(walk.enter(session.code()), 0)
    walk.end(Outcome.RETURNED)
    recording = session.read()
    assert recording.newest == 0
    assert recording.translations() == []


def test_what_an_exception_left_is_over_though_what_was_around_it_was_found_to_be(
    tmp_path: Path,
) -> None:
    session = Session(tmp_path / "r.stepper")
    lost = session.begin()
    mark = session.recorder.mark()
    lost.end(Outcome.RAISED, "found to be missing from the stack")
    session.begin()
    session.recorder.unwind(mark, "an exception left it")
    assert session.recorder.walks.here == ()
    outcomes = [walk.outcome for walk in session.read().translations()]
    assert outcomes == [Outcome.RAISED] * 2


class Interrupted(Exception):
    """What comes from outside."""


def test_a_walk_that_is_interrupted_while_it_begins_is_over(tmp_path: Path) -> None:
    session = Session(tmp_path / "r.stepper")
    session.code()
    recorder, left, interrupts = session.recorder, 0, 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left
        frame.f_trace_opcodes = frame.f_code.co_filename == walks.__file__
        if event == "opcode":
            left -= 1
            if left < 0:
                sys.settrace(None)
                raise Interrupted
        return trace

    while interrupts == 0 or left < 0:
        left, mark = interrupts, recorder.mark()
        interrupts += 1
        trace_instructions(trace)
        try:
            session.begin()
        except Interrupted:
            pass
        finally:
            sys.settrace(None)
        recorder.unwind(mark, "an exception left it")
        assert recorder.walks.here == ()
    assert interrupts > 100
    assert len(session.read().translations()) > 1
