"""A moment's answer is about that moment, and not about another one of the same function."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stepper.analysis.here import Here, ending_at, event_at, why_here
from stepper.model.cache import Verdict
from stepper.model.failure import FailedStage
from stepper.model.lookup import Check, CheckedGuard, Difference
from stepper.model.program import PythonFrame
from stepper.model.trace import EventKind, Phase
from stepper.model.value import TensorMeta, Value
from stepper.recording.reader import Recording
from stepper.tui.questions import of_the_run
from tests.conftest import clean_environment
from tests.tape import Tape

DTYPE = "tensor 'x' dtype mismatch. expected Float, actual Double"


def begun(path: str) -> Tape:
    """A recording of a translation that stands before its second instruction."""
    tape = Tape(path)
    tape.begin(why_here, "0/0")
    tape.start_attempt()
    tape.step(0)
    return tape


def told_at_a_stop(tape: Tape, path: str, kind: EventKind) -> tuple[Here, int]:
    """What is told of the first event of a kind while the program goes on, and its moment."""
    tape.writer.flush()
    recording = Recording.open(path)
    event = recording.next_event(0, (kind,), 1)
    assert event is not None
    here = why_here(recording, event.moment)
    recording.close()
    tape.close()
    return here, event.moment


def test_each_recompilation_is_told_what_to_change_against_itself(tmp_path: Path) -> None:
    path = tmp_path / "again.stepper"
    tape = Tape(str(path))
    meta = TensorMeta("float32", ("4",), ("1",))
    reasons = (
        "",
        "0/0: tensor 'x' size mismatch at index 0. expected 4, actual 5",
        f"0/1: {DTYPE}",
        f"0/2: {DTYPE.replace('Double', 'Int')}",
    )
    for number, reason in enumerate(reasons):
        tape.begin(why_here, f"0/{number}", cache_size=number, recompile_reason=reason)
        tape.start_attempt()
        x = tape.describe(Value("TensorVariable", "Tensor", meta.brief, "L['x']", tensor=meta))
        tape.step(0, locals={"x": x})
        tape.guard("TENSOR_MATCH", "L['x']")
        tape.step(1)
        tape.end_attempt()
        tape.end()
    tape.close()
    recording = Recording.open(str(path))
    told = [
        why_here(recording, event.moment).remedy
        for event in recording.events(kinds=(EventKind.RECOMPILE,))
    ]
    recording.close()
    # The dtype changes more often, and the answer about the whole run begins with it.
    assert told[0] == ""
    assert told[1].startswith("A dtype is never a symbol")
    assert told[2] == told[1]


def test_an_exception_is_blamed_on_its_line_before_it_is_known_what_comes_of_it(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "stopped.stepper")
    tape = begun(path)
    tape.step(4)
    tape.failure(FailedStage.TRACING, "Failed to trace builtin operator", translation=1)
    here, moment = told_at_a_stop(tape, path, EventKind.EXCEPTION)
    assert here.headline == "exception: Failed to trace builtin operator"
    assert here.culprit is not None
    assert here.culprit.moment == moment


@pytest.mark.parametrize(
    ("computed", "cost"), [(False, "nothing is computed before it"), (True, "1 graph split")]
)
def test_at_a_stop_at_a_break_only_what_is_computed_counts_as_a_graph(
    tmp_path: Path, computed: bool, cost: str
) -> None:
    path = str(tmp_path / "stopped.stepper")
    tape = begun(path)
    tape.node("l_x_", "placeholder", "L_x_")
    if computed:
        tape.node("sin", "call_method", "sin")
    tape.step(4)
    tape.graph_break("Call to `torch._dynamo.graph_break()`", resumes=True)
    here, _ = told_at_a_stop(tape, path, EventKind.GRAPH_BREAK)
    assert here.leads[0].text == f"cost: {cost}"


def test_the_line_that_let_an_object_die_is_told_and_not_the_stack_of_the_compilation(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "died.stepper")
    tape = begun(path)
    tape.step(1)
    text = "entry 1 of f (0/0): class Scaler died, which its guards know as L['scaler']; at "
    tape.event(EventKind.INVALIDATE, f"{text}{__file__}:7 in drop", 1)
    tape.writer.entry_end(1, tape.moment, PythonFrame(__file__, 7, "drop"))
    tape.step(2)
    tape.event(EventKind.INVALIDATE, f"{text.removesuffix('at ')}in thread 4711", 1)
    tape.end_attempt()
    tape.end()
    tape.close()
    recording = Recording.open(path)
    moments = [each.moment for each in recording.events(kinds=(EventKind.INVALIDATE,))]
    told, silent = (why_here(recording, moment) for moment in moments)
    ending = ending_at(recording, moments[0])
    assert ending is not None
    where = recording.place_of_end(ending)
    recording.close()
    assert told.culprit is not None
    assert (told.culprit.place.line, told.culprit.place.function) == (7, "drop")
    assert silent.culprit is None
    assert silent.leads[0].text == "no line of the program is recorded that did it"
    assert where == told.culprit.place


def test_a_miss_is_told_before_it_is_known_what_it_leads_to(tmp_path: Path) -> None:
    path = tmp_path / "miss.stepper"
    tape = Tape(str(path))
    tape.begin(why_here, "", phase=Phase.LOOKUP)
    tape.start_attempt()
    before = tape.step(0)
    guards = tape.code(event_at)
    tape.enter(guards)
    failing = tape.step(0)
    wanted = Difference("size", 2, 3, 0)
    check = Check(0, Verdict.FAIL, failing, differences=(wanted,))
    tape.tried(before, "0/0", guards, [CheckedGuard("TENSOR_MATCH", "L['x']")], [check])
    tape.event(EventKind.GUARD_FAIL, "TENSOR_MATCH L['x'] of 0/0: shape[0] 2 ≠ 3")
    tape.leave()
    moment = tape.step(1)
    tape.event(EventKind.MISS, "f: 0/0: TENSOR_MATCH L['x']: shape[0] 2 ≠ 3")
    tape.writer.flush()
    recording = Recording.open(str(path))
    failed, missed = why_here(recording, failing).headline, why_here(recording, moment).headline
    questions = [of_the_run(recording, each)[0].title for each in (before, failing, moment)]
    recording.close()
    tape.close()
    assert failed == "a guard of 0/0 fails: x.shape[0]: expected 2, actual 3"
    assert missed.endswith("no entry fits: 0/0 wants x.shape[0]: expected 2, actual 3")
    assert questions == ["why it was compiled again", "why we are here", "why we are here"]


ENDING = """
import torch

class Scaler:
    by = 2.0

@torch.compile(backend="eager")
def run(x, scaler):
    return x * scaler.by

run(torch.ones(2), Scaler())
"""


def test_nothing_is_said_to_have_died_because_python_ends(tmp_path: Path) -> None:
    program, path = tmp_path / "program.py", tmp_path / "end.stepper"
    program.write_text(ENDING)
    # A Python of its own, which begins with stepper and ends as every other.
    command = [sys.executable, "-m", "stepper", "record", "-o", str(path), str(program)]
    subprocess.run(command, env=clean_environment(), check=True, timeout=300)
    recording = Recording.open(str(path))
    (event,) = recording.events(kinds=(EventKind.INVALIDATE,))
    told = why_here(recording, event.moment)
    recording.close()
    assert event.text.endswith("given up as Python ends, without the death of class Scaler")
    assert "died" not in "\n".join([told.headline, *(line.text for line in told.leads)])
