"""Steps: what is told is what there was, whatever fails on the way, and nothing of it is kept."""

from __future__ import annotations

import gc
import itertools
import weakref
from typing import Any, cast

import pytest

from stepper import _C
from tests.csrc.compiler import Named, Program, Session
from tests.csrc.records import unpacked

SEEDS = range(6)
TURNS = 150


class Replay:
    """What a reader makes of moments."""

    def __init__(self) -> None:
        self.moments = 0
        self.stacks: dict[int, list[int]] = {}
        self.locals: dict[int, dict[str, int]] = {}
        self.said: dict[int, int] = {}

    def read(self, run: tuple[int, int, bytes] | None) -> None:
        """Take in a run of moments."""
        if run is None:
            return
        assert run[0] == self.moments + 1
        self.moments += run[1]
        for frame, _, delta, passed in zip(*unpacked(run[2]), strict=True):
            assert passed >= 0
            stack = self.stacks.setdefault(frame, [])
            if delta is None:
                continue
            told: list[Any] = [*unpacked(delta), None, None, None, None]
            keep, pushed, stored, said, *_ = told
            stack[keep:] = pushed
            locals_ = self.locals.setdefault(frame, {})
            for name, number in (stored or {}).items():
                locals_[name] = number
                if not number:
                    del locals_[name]
            self.said.update(dict(said or ()))


def check(session: Session, program: Program, replay: Replay) -> None:
    """Compare what was told of the frames with what they are."""
    steps = session.steps
    steps.flush()
    replay.read(steps.take())
    for tx, frame in program.frames:
        if frame.stores is None:  # it has not made a step yet
            continue
        assert replay.stacks[frame.id] == [*map(steps.number, tx.stack)]
        there = {name: steps.number(value) for name, value in tx.symbolic_locals.items()}
        assert replay.locals.get(frame.id, {}) == there
        assert {*replay.stacks[frame.id], *there.values()} <= replay.said.keys()


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_told_is_what_there_was(seed: int) -> None:
    session = Session()
    program, replay = Program(session, seed), Replay()
    for turn in range(3 * TURNS):
        program.turn()
        if turn % 37 == 0:
            check(session, program, replay)
    check(session, program, replay)
    assert session.errors == []
    assert replay.moments == session.steps.moment == 3 * TURNS
    assert session.keyframes[0][0] == 1
    assert unpacked(session.keyframes[0][1])[0][0][0] == 1


@pytest.mark.parametrize("error", [LookupError, MemoryError, RecursionError])
def test_an_answer_that_fails_is_told_or_tried_again_and_the_rest_goes_on(
    error: type[Exception],
) -> None:
    for fails_at in range(1, 400, 13):
        session = Session()
        session.engine.fails_at, session.engine.error = fails_at, error
        program = Program(session, fails_at)
        replay = Replay()
        for _ in range(TURNS):
            try:
                program.turn()
            except error:
                assert session.engine.answers >= fails_at  # in `touched`, which says so itself
        try:
            check(session, program, replay)
        except error:
            check(session, program, replay)
        assert len(session.errors) <= (error is LookupError)


def test_trackers_die_when_they_are_forgotten() -> None:
    session = Session()
    program = Program(session, 1)
    for _ in range(TURNS):
        program.turn()
    session.steps.flush()
    living = [weakref.ref(each) for each in program.made]
    program.made.clear()
    program.frames.clear()
    session.steps.top = None
    session.steps.clear()
    gc.collect()
    assert [each() for each in living if each() is not None] == []
    assert session.steps.take() is not None
    assert session.engine.facts.lazies == {}


def test_clear_makes_moments_of_what_was_not_told() -> None:
    session = Session()
    program = Program(session, 2)
    for _ in range(10):
        program.turn()
    session.steps.clear()
    run = session.steps.take()
    assert run is not None
    assert run[:2] == (1, 10)


def test_who_wants_to_see_each_step_sees_it_told() -> None:
    session = Session()
    program = Program(session, 3)
    session.judge.alert = True
    for turn in itertools.count(1):
        program.turn()
        assert len(session.alerts) == turn
        if turn == 20:
            break
    run = session.steps.take()
    assert run is not None
    assert run[1] == 20


def test_of_a_glance_only_the_stack_is_kept() -> None:
    session = Session()
    program = Program(session, 4)
    (tx, frame) = program.frames[0]
    for _ in range(5):
        tx.stack.append(program.tracker())
        session.steps.note_position(tx)
        assert frame.stack == tx.stack
        assert session.steps.current is frame
    assert session.steps.take() is None
    tx.stack = 5  # type: ignore[assignment]  # refused
    session.steps.note_position(tx)
    assert session.errors == ["TypeError"]


def test_the_whole_state_can_be_told_of_frames_of_which_nothing_was() -> None:
    session = Session()
    program = Program(session, 5)
    tx, outer = program.frames[0]
    tx.stack = [program.tracker() for _ in range(4)]
    inner_tx, inner = session.frame(2, outer)
    inner_tx.symbolic_locals = {"x": program.tracker(), "y": program.tracker()}
    inner_tx.block_stack, inner_tx.current_speculation = [object()], object()
    for each in (tx, inner_tx):
        session.steps.top = outer if each is tx else inner
        session.steps.note_position(each)
    session.steps.record_whole(inner)
    session.steps.moment += 1
    frames, values = unpacked(session.keyframes[-1][1])
    assert [frame[0] for frame in frames] == [1, 2]
    assert len(frames[0][2]) == 4
    assert sorted(frames[1][3]) == ["x", "y"]
    assert frames[1][4:] == [[None], "speculates"]
    assert {*frames[0][2], *frames[1][3].values()} <= values.keys()
    with pytest.raises(TypeError):
        session.steps.record_whole("no frame")


@pytest.mark.parametrize(
    "change",
    [{"stack": 5}, {"symbolic_locals": []}, {"block_stack": ()}, {"instruction_pointer": "x"}],
)
def test_a_translator_of_another_make_is_an_error(change: dict[str, Any]) -> None:
    session = Session()
    tx, _ = session.frame(1)
    vars(tx).update(change)
    session.steps.step(tx)
    assert session.errors == ["TypeError"]
    session.steps.step(object())  # none that is followed
    assert session.steps.moment == 0


def test_moments_that_are_no_steps_stand_between_them() -> None:
    session = Session()
    program = Program(session, 6)
    program.turn()
    assert session.steps.add(7, 3, b"\x91\x05") == 2
    program.turn()
    session.steps.flush()
    run = session.steps.take()
    assert run is not None
    frames, ips, deltas, _ = unpacked(run[2])
    assert (frames[1], ips[1], deltas[1]) == (7, 3, b"\x91\x05")
    assert session.steps.moment == 3


def test_the_clock_leaves_out_what_is_not_the_compilers() -> None:
    session = Session()
    before = session.steps.clock()
    assert session.steps.clock() >= before
    long = before // 8  # the clock may have begun as late as the machine
    session.steps.away += long
    assert session.steps.clock() < before
    program = Program(session, 7)
    session.judge.alert = True  # whoever is asked at each step takes long

    class Patient(list[int]):
        def append(self, frame: int) -> None:
            session.steps.away += long
            super().append(frame)

    session.alerts = Patient()
    for _ in range(3):
        program.turn()
    assert len(session.alerts) == 3
    session.steps.flush()
    run = session.steps.take()
    assert run is not None
    *_, clock = unpacked(run[2])
    first, *passed = clock
    assert 0 < first < before
    assert all(0 <= each < long for each in passed)


def test_steps_and_mirrors_are_made_once() -> None:
    session = Session()
    arguments: list[Any] = [session.judge, session.engine, frozenset(), *[print] * 8]
    with pytest.raises(TypeError, match="once"):
        session.steps.__init__(*arguments)
    _, frame = session.frame(1)
    with pytest.raises(TypeError, match="once"):
        frame.__init__(2, "key", print, None, "attempt", None)
    with pytest.raises(TypeError, match="parent"):
        _C.Mirror(2, "key", print, cast(Any, "no mirror"), "attempt", None)
    assert frame.code == "code"


def test_ctrl_c_while_a_source_says_its_name_reaches_the_program() -> None:
    class Slow:
        @property
        def name(self) -> str:
            raise KeyboardInterrupt

    session = Session()
    tx, _ = session.frame(1)
    tx.stack.append(Named(source=Slow()))
    session.judge.alert = True
    with pytest.raises(KeyboardInterrupt):
        session.steps.step(tx)
    assert session.errors == []
