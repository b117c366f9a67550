"""Two moments of two recordings: what is the same, and in what they differ."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stepper.analysis.moments import MomentsDiff, compare_moments
from stepper.analysis.run_lines import moment_lines
from stepper.analysis.walks import compilations
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from tests.analysis.conftest import Recorded

DEMO = "demos/recompilation.py"


def last_of(recording: Recording, compile_id: str) -> int:
    """The last moment of a compilation."""
    (found,) = [item for item in compilations(recording) if item.compile_id == compile_id]
    assert found.last_moment is not None
    return found.last_moment


def rows(found: MomentsDiff) -> list[tuple[str | None, str | None]]:
    return [row for frame in found.frames for row in frame.rows]


def test_a_moment_of_two_runs_is_the_same(recorded: Recorded) -> None:
    a, b = recorded(DEMO), recorded(DEMO, "--lookups", PYTHONHASHSEED="1")
    for compile_id in ("0/0", "0/1", "2/1"):
        assert not compare_moments(a, last_of(a, compile_id), b, last_of(b, compile_id))


def test_values_guards_and_nodes_are_told_apart(recorded: Recorded) -> None:
    a, b = recorded(DEMO), recorded(DEMO, "--lookups", PYTHONHASHSEED="1")
    found = compare_moments(a, last_of(a, "0/0"), b, last_of(b, "0/1"))
    (x,) = [row for row in rows(found) if row[0] is not None and row[0].startswith("x = ")]
    assert "f32[4]" in str(x[0])
    assert "f32[s" in str(x[1])
    assert any(str(left).startswith("mul = ") and right for left, right in found.nodes)
    assert any(right and "SHAPE_ENV" in right for _, right in found.guards)


def test_elements_are_told_by_how_one_reaches_them(recorded: Recorded) -> None:
    recording = recorded(DEMO)
    one, other = last_of(recording, "2/0"), last_of(recording, "2/1")
    found = compare_moments(recording, one, recording, other)
    told = [left or right for left, right in rows(found)]
    assert any(str(text).startswith("xs = ") for text in told)


def test_a_frame_that_only_one_has_is_named(recorded: Recorded) -> None:
    a = recorded("tests/corpus/break_inlined.py")
    (deep, *_) = [m.id for m in a.moments(1, a.newest) if a.frame(m.frame).depth == 2]
    outer = a.frame(a.moment(deep).frame).parent
    assert outer is not None
    found = compare_moments(a, a.oldest, a, deep)
    assert [bool(frame.a) for frame in found.frames][-2:] == [False, False]
    text = [line.text for line in moment_lines(a, a.oldest, a, deep)]
    assert any(line.endswith("(only b has it)") for line in text)


def test_a_moment_that_is_not_there_is_an_error(recorded: Recorded) -> None:
    recording = recorded(DEMO)
    with pytest.raises(RecordingError, match="has no moment"):
        compare_moments(recording, 1, recording, recording.newest + 1)


CLOSURE = """
import torch

def make(by, a_rather_long_name):
    @torch.compile(backend="eager")
    def scaled(x):
        return x * by + len(a_rather_long_name)
    return scaled

make(torch.ones(2), "abc")(torch.ones(2))
"""


def test_cells_are_told_by_what_they_hold(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    recording = recorded(program(CLOSURE))
    first, last = recording.oldest, recording.newest
    lines = [line.text for line in moment_lines(recording, first, recording, last)]
    # The first instruction, which makes the cells, has no line of the source.
    assert lines[0] == "a is at moment 1: COPY_FREE_VARS 2 in make.<locals>.scaled"
    assert any(line.startswith("  < by.cell_contents = Tensor") for line in lines)
    assert any(line.startswith("  > by.cell_contents = f32[2]") for line in lines)
    # What only one side has has its sign in front where it is longer than a column.
    assert any(line.startswith("  > CONSTANT_MATCH L['a_rather_long_name'];") for line in lines)
