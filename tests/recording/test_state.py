"""The state at any moment is what it was, whatever the session did."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stepper.model.program import Code, Instruction
from stepper.model.trace import Block, State
from stepper.model.value import Item, Value
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from stepper.recording.schema import Delta
from tests.recordings import Tape

CODE = Code(0, "f", "f", "f.py", 1, tuple(Instruction(i, "NOP", line=i) for i in range(10)))


class Session:
    """Turns random choices into a session that an engine could have had."""

    def __init__(self, path: str, keyframe_every: int) -> None:
        self.tape = Tape(path, keyframe_every=keyframe_every, remember=True, batch=7)
        self.code = self.tape.code(CODE)
        self.trackers: list[int] = []
        self.begun = False

    def begin(self) -> None:
        if self.begun:
            self.tape.end_attempt("again")
        else:
            self.tape.begin(CODE, "0/0")
            self.begun = True
        self.tape.start_attempt()
        self.trackers = []

    def step(self, ip: int, pops: int, pushes: int, name: str, speculation: str | None) -> None:
        top = self.tape.frames[-1]
        stack = [*top.stack[: max(len(top.stack) - pops, 0)], *self.trackers[-pushes:][:pushes]]
        names = dict(top.locals)
        if name in names and pops % 2:
            del names[name]
        elif self.trackers:
            names[name] = self.trackers[(ip + pops) % len(self.trackers)]
        blocks = [Block(ip, 9, len(stack), "ctx")] * (pops % 3) if pushes else None
        self.tape.step(ip, stack=stack, locals=names, blocks=blocks, speculation=speculation)

    def describe(self, text: str, again: int, children: int) -> None:
        items = tuple(Item(f"[{i}]", id) for i, id in enumerate(self.trackers[:children]))
        tracker = self.trackers[again % len(self.trackers)] if again and self.trackers else None
        id = self.tape.describe(Value("ListVariable", "list", text, items=items), tracker)
        if tracker is None:
            self.trackers.append(id)


ACTIONS = st.one_of(
    st.tuples(
        st.just("step"), st.integers(0, 9), st.integers(0, 4), st.integers(0, 3),
        st.sampled_from("abc"), st.sampled_from([None, "s1", "s2"]),
    ),
    st.tuples(st.just("describe"), st.text(max_size=3), st.integers(0, 5), st.integers(0, 3)),
    st.just(("enter",)), st.just(("leave",)), st.just(("restart",)),
)  # fmt: skip


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    actions=st.lists(ACTIONS, max_size=120),
    keyframe_every=st.sampled_from([1, 3, 10, 1000]),
    order=st.randoms(use_true_random=False),
)
def test_every_moment_is_as_the_naive_model_has_it(actions, keyframe_every, order) -> None:
    with tempfile.TemporaryDirectory() as directory:
        session = Session(str(Path(directory) / "r.stepper"), keyframe_every)
        session.begin()
        session.step(0, 0, 0, "a", None)
        for what, *arguments in actions:
            if what == "step":
                session.step(*arguments)
            elif what == "describe":
                session.describe(*arguments)
            elif what == "enter":
                session.tape.enter(session.code)
                session.step(0, 0, 2, "a", None)
            elif what == "leave" and len(session.tape.frames) > 1:
                session.tape.leave()
            elif what == "restart":
                session.begin()
                session.step(0, 0, 0, "a", None)
        session.tape.close()
        recording = Recording.open(session.tape.path)
        moments = list(session.tape.states)
        order.shuffle(moments)
        for moment in moments:
            assert recording.state(moment) == session.tape.states[moment]
        recording.close()


def test_the_story_in_both_directions(sample: Tape, recording: Recording) -> None:
    for order in (sample.states, reversed(sample.states)):
        for moment in order:
            assert recording.state(moment) == sample.states[moment]


def test_value_is_shown_as_it_was_before_it_was_mutated(tmp_path: Path) -> None:
    session = Session(str(tmp_path / "r.stepper"), keyframe_every=2)
    session.begin()
    session.describe("[]", 0, 0)
    session.step(0, 0, 1, "a", None)
    session.step(1, 0, 0, "b", None)
    [id] = session.trackers
    session.tape.describe(Value("ListVariable", "list", "[1]"), id)
    session.step(2, 0, 0, "c", None)
    recording = Recording.open(session.tape.close())
    assert [recording.state(m).values[id].text for m in (1, 2, 3)] == ["[]", "[]", "[1]"]


def test_generator_that_was_suspended_over_a_keyframe_keeps_its_stack(tmp_path: Path) -> None:
    tape = Tape(str(tmp_path / "r.stepper"), keyframe_every=4)
    code = tape.code(CODE)
    tape.begin(CODE, "0/0")
    tape.start_attempt()
    held = tape.describe(Value("TensorVariable", text="held only by the generator"))
    tape.step(0, stack=[])
    tape.enter(code)
    tape.step(0, stack=[held], locals={"a": held})
    generator = tape.frames.pop()
    for ip in range(1, 6):
        tape.step(ip)
    tape.frames.append(generator)
    tape.step(1)
    recording = Recording.open(tape.close())
    state = recording.state(8)
    assert state.top.stack == (held,)
    assert state.top.locals == {"a": held}
    assert state.values[held].text == "held only by the generator"


def test_compilation_inside_a_compilation_does_not_disturb_the_outer_one(tmp_path: Path) -> None:
    tape = Tape(str(tmp_path / "r.stepper"), keyframe_every=3, remember=True)
    outer = tape.begin(CODE, "0/0")
    tape.start_attempt()
    x = tape.describe(Value("TensorVariable", text="x"))
    tape.step(0, stack=[x], locals={"x": x})
    saved = (tape.translation, tape.attempt, tape.frames, tape._described)
    tape.frames = []
    tape.begin(CODE, "1/0")
    tape.start_attempt()
    for ip in range(5):
        tape.step(ip, stack=[tape.describe(Value("ConstantVariable", text=str(ip)))])
    tape.end_attempt()
    tape.end()
    tape.translation, tape.attempt, tape.frames, tape._described = saved
    tape.step(1)
    tape.step(2, stack=[])
    recording = Recording.open(tape.close())
    for moment, state in tape.states.items():
        assert recording.state(moment) == state
    found = recording.translation_at(7)
    assert found is not None
    assert found.id == outer.id


def test_state_of_a_growing_recording_is_there_after_a_refresh(tmp_path: Path) -> None:
    session = Session(str(tmp_path / "r.stepper"), keyframe_every=5)
    session.begin()
    session.step(0, 0, 0, "a", None)
    session.tape.writer.flush()
    recording = Recording.open(session.tape.path)
    assert recording.newest == 1
    for i in range(30):
        session.describe(str(i), 0, 1)
        session.step(i % 10, 1, 2, "b", None)
        session.tape.writer.flush()
        assert recording.refresh()
        assert recording.state(recording.newest) == session.tape.states[recording.newest]
    assert not recording.refresh()


@pytest.mark.parametrize(
    "body",
    [
        b"\xc1",
        b"",
        msgspec.msgpack.encode({"no": "delta"}),
        msgspec.msgpack.encode(["text", [], None, [], None, None]),
        msgspec.msgpack.encode(Delta(keep=99)),
        msgspec.msgpack.encode(Delta(keep=-1)),
        msgspec.msgpack.encode(Delta(values=((1, 12345),), push=(1,))),
        msgspec.msgpack.encode(Delta(blocks=7)),
        b"\x91" * 100_000,
    ],
)
def test_damaged_delta_is_a_clear_error(tmp_path: Path, body: bytes) -> None:
    tape = Tape(str(tmp_path / "r.stepper"))
    tape.begin(CODE, "0/0")
    tape.start_attempt()
    tape.step(0)
    tape.runs.add(2, [1], [1], [body])
    recording = Recording.open(tape.close())
    assert isinstance(recording.state(1), State)
    with pytest.raises(RecordingError, match="damaged"):
        recording.state(2)
