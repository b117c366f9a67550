"""What changed between two moments, and between two attempts."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepper.model.value import Value
from stepper.recording.diff import LocalChange, StackChange, compare_attempts, diff
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from tests.recordings import Tape, block, scaled


@pytest.fixture
def tape(tmp_path: Path) -> Tape:
    """A tape in its first attempt."""
    tape = Tape(str(tmp_path / "r.stepper"))
    tape.begin(block, "0/0")
    tape.start_attempt()
    return tape


def test_stack_and_locals(tape: Tape) -> None:
    a, b, c = (tape.describe(Value("ConstantVariable", text=t)) for t in "abc")
    tape.step(0, stack=[a, b], locals={"x": a, "gone": b})
    tape.step(1, stack=[a, c, b], locals={"x": c, "new": b})
    found = diff(Recording.open(tape.close()), 1, 2)
    [frame] = found.frames
    assert frame.stack == (StackChange(1, b, c), StackChange(2, None, b))
    assert frame.locals == (
        LocalChange("x", a, c), LocalChange("gone", b, None), LocalChange("new", None, b),
    )  # fmt: skip
    assert not frame.entered
    assert {value.text for value in found.old_values.values()} == {"a", "b"}


def test_mutated_value_has_its_old_and_its_new_description(tape: Tape) -> None:
    items = tape.describe(Value("ListVariable", text="[]"))
    tape.step(0, stack=[items])
    tape.describe(Value("ListVariable", text="[1]"), items)
    tape.step(1)
    recording = Recording.open(tape.close())
    [change] = diff(recording, 1, 2).values
    assert (change.id, change.old.text, change.new.text) == (items, "[]", "[1]")
    [change] = diff(recording, 2, 1).values
    assert (change.old.text, change.new.text) == ("[1]", "[]")


def test_guards_nodes_and_side_effects_are_added_and_taken_away(tape: Tape) -> None:
    tape.step(0)
    tape.guard("TENSOR_MATCH", "L['x']")
    erased = tape.node("a", "call_function", "operator.add")
    tape.step(1)
    tape.side_effect("attribute", 1, "L['self'].n", " = 1")
    tape.writer.node_erased(erased, 2)
    tape.step(2)
    recording = Recording.open(tape.close())
    found = diff(recording, 1, 2)
    assert [g.source for g in found.guards_added] == ["L['x']"]
    assert [n.name for n in found.nodes_added] == ["a"]
    found = diff(recording, 2, 3)
    assert [n.name for n in found.nodes_removed] == ["a"]
    assert [s.text for s in found.side_effects_added] == ["L['self'].n = 1"]
    back = diff(recording, 3, 1)
    assert [g.source for g in back.guards_removed] == ["L['x']"]
    assert back.guards_added == ()


def test_after_a_call_the_caller_is_compared_with_itself(tape: Tape) -> None:
    a = tape.describe(Value("ConstantVariable", text="argument"))
    tape.step(0, stack=[a])
    tape.enter(tape.code(scaled))
    tape.step(0, stack=[], locals={"x": a})
    tape.leave()
    result = tape.describe(Value("TensorVariable", text="result"))
    tape.step(1, stack=[result])
    recording = Recording.open(tape.close())
    entered = diff(recording, 1, 2)
    assert [frame.entered for frame in entered.frames] == [False, True]
    assert not entered.frames[0]
    assert entered.frames[1].locals == (LocalChange("x", None, a),)
    [frame] = diff(recording, 2, 3).frames
    assert frame.stack == (StackChange(0, a, result),)


def test_resumed_generator_is_compared_with_its_own_previous_moment(tape: Tape) -> None:
    a, b = (tape.describe(Value("ConstantVariable", text=t)) for t in "ab")
    tape.step(0)
    generator = tape.enter(tape.code(scaled))
    tape.step(0, stack=[a])
    suspended = tape.frames.pop()
    tape.step(1)
    tape.frames.append(suspended)
    tape.step(1, stack=[a, b])
    found = diff(Recording.open(tape.close()), 3, 4).frame(generator.id)
    assert found is not None
    assert found.stack == (StackChange(1, None, b),)
    assert not found.entered


def test_moments_of_two_attempts_share_nothing(recording: Recording) -> None:
    first = recording.attempt(2).first_moment
    found = diff(recording, first - 1, first)
    assert all(frame.entered for frame in found.frames)
    assert found.guards_removed == ()
    assert found.guards_added == tuple(recording.guards(first))


def test_attempts_are_compared_up_to_where_they_part(tape: Tape) -> None:
    for attempt in range(2):
        if attempt:
            tape.end_attempt("again")
            tape.start_attempt()
        tape.step(0)
        tape.guard("TENSOR_MATCH", "L['x']")
        tape.step(1)
        tape.guard("EQUALS_MATCH", f"L['only_{attempt}']")
        tape.node(f"only_{attempt}", "call_function", "operator.add")
        tape.step(2 + attempt)
    tape.end_attempt()
    found = compare_attempts(Recording.open(tape.close()), 1, 2)
    assert (found.common, found.diverges_a, found.diverges_b) == (2, 3, 6)
    assert [g.source for g in found.guards_only_a] == ["L['only_0']"]
    assert [g.source for g in found.guards_only_b] == ["L['only_1']"]
    assert [n.name for n in found.nodes_only_a] == ["only_0"]
    assert [n.name for n in found.nodes_only_b] == ["only_1"]


def test_names_that_dynamo_numbers_anew_are_no_difference(tape: Tape) -> None:
    for attempt in range(2):
        if attempt:
            tape.end_attempt("again")
            tape.start_attempt()
        tape.step(0)
        tape.guard("BUILTIN_MATCH", f"G['__builtins_dict___{attempt}']['print']")
        tape.step(1)
    tape.end_attempt()
    found = compare_attempts(Recording.open(tape.close()), 1, 2)
    assert (found.guards_only_a, found.guards_only_b) == ((), ())


def test_attempt_that_ended_earlier_parts_there(recording: Recording) -> None:
    found = compare_attempts(recording, 1, 2)
    second = recording.attempt(2)
    assert second.last_moment is not None
    assert found.common == second.last_moment - second.first_moment + 1
    assert found.diverges_b is None
    assert found.diverges_a == recording.attempt(1).first_moment + found.common
    same = compare_attempts(recording, 1, 1)
    assert (same.diverges_a, same.diverges_b) == (None, None)
    with pytest.raises(RecordingError, match="no attempt 99"):
        compare_attempts(recording, 1, 99)
