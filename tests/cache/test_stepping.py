"""An entry's code stepped by hand at a stop, and back again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stepper.model.breakpoint import parse_breakpoint
from stepper.model.cache import CacheListing, EntryView
from stepper.model.control import (
    CloneEntry,
    Detach,
    EditEntry,
    Evaluate,
    ListCache,
    Response,
    SetBreakpoints,
    StepEntry,
    Stopped,
    Terminate,
)
from stepper.model.stepping import Motion
from stepper.model.trace import Outcome, Phase, Translation
from stepper.recording.reader import Recording
from tests.conftest import ROOT
from tests.debuggee.harness import Program

PROGRAM = """
import torch

@torch.compile(backend="eager", dynamic=False)
def fill(x, seen):
    seen.append(1)
    y = torch.rand(2) + x.add_(1)
    print("in fill")
    return y * len(seen)

@torch.compile(backend="eager")
def other(x):
    return x + 1

seen, x = [], torch.ones(2)
fill(x, seen)
torch.manual_seed(7)
other(x)
torch.compile(lambda x: x - 1, backend="eager")(other(x))
print(x.tolist(), seen, torch.rand(1).item())
"""
RESULT = "[2.0, 2.0] [1] 0.5349"


class Stepped(Program):
    """The program, with the cache as the tests need it."""

    def entry(self, name: str) -> int:
        data = self.ask(ListCache).data
        assert isinstance(data, CacheListing)
        return next(code.entries[0].id for code in data.codes if code.name == name)

    def hits(self) -> list[Any]:
        data = self.ask(ListCache).data
        assert isinstance(data, CacheListing)
        return [
            (code.name, [(entry.id, entry.state, entry.hits) for entry in code.entries])
            for code in data.codes
        ]

    def step_entry(self, entry: int, arguments: str = "") -> Response:
        return self.ask(lambda seq: StepEntry(seq, entry, arguments))

    def walks(self) -> list[Translation]:
        """The executions of the functions themselves: not of what they resume in."""
        return [
            each for each in self.all_walks() if each.phase is Phase.EXECUTE and not each.resume_of
        ]

    def all_walks(self) -> list[Translation]:
        recording = Recording.open(self.recording)
        found = [each for each in recording.translations() if each.phase is not Phase.TRANSLATE]
        recording.close()
        return found


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    programs: list[Stepped] = []

    def begin(*breakpoints: str, **config: Any) -> Stepped:
        programs.append(Stepped(PROGRAM, tmp_path, breakpoints=breakpoints, **config))
        return programs[-1]

    yield begin
    for program in programs:
        program.close()


def to_the_end(program: Program, motion: Motion = Motion.STEP) -> tuple[int, Stopped]:
    """How many stops there are until the program is back, and the stop that it is back at."""
    count = 0
    while (stopped := program.stopped()).reason != "back":
        count += 1
        program.resume(motion=motion)
    return count, stopped


def test_code_is_stepped_at_the_stop_and_the_program_stands_there_again(start: Any) -> None:
    program = start("entry:other", forked=False)
    there = program.stopped()
    before = program.hits()
    assert program.step_entry(program.entry("fill"), "x, seen").ok
    first = program.stopped()
    assert first.moment == there.moment + 1
    seen = program.ask(lambda seq: Evaluate(seq, "locals['x'].tolist(), locals['seen']"))
    assert seen.text == "([2.0, 2.0], [1])"
    program.resume(motion=Motion.STEP)
    count, back = to_the_end(program)
    assert count > 20, back.text
    assert back.moment == there.moment
    assert "returned Tensor f32[2]" in back.text
    (walk,) = program.walks()
    assert (walk.name, walk.by_hand) == ("fill", True)
    assert walk.python_stack[0].function == "<module>"
    ours = str(ROOT / "stepper")
    assert not [frame for frame in walk.python_stack if frame.filename.startswith(ours)]
    assert walk.outcome is Outcome.RETURNED
    assert sum(each.instructions for each in program.all_walks()) == count + 1
    # Nothing has changed: the cache, the arguments, the random numbers.
    assert program.hits() == before
    program.resume()
    status, out, _ = program.finish()
    assert status == 0
    assert out.splitlines()[-1].startswith(RESULT)
    assert out.count("in fill") == 2
    assert len(program.walks()) == 1  # executions are not recorded otherwise


@pytest.mark.parametrize("stop", ["lookup:other", "execute:other", "recompile", "entry:other"])
def test_it_is_possible_at_every_kind_of_stop(start: Any, stop: str) -> None:
    program = start(stop if stop != "recompile" else "function:other")
    there, before = program.stopped(), program.hits()
    assert program.step_entry(program.entry("fill"), "torch.zeros(2), []").ok
    count, back = to_the_end(program)
    assert count > 20, back.text
    assert back.moment == there.moment
    assert program.hits() == before
    program.resume(motion=Motion.STEP)
    assert program.stopped().moment > there.moment + count
    program.ask(lambda seq: SetBreakpoints(seq, ()))
    program.resume()
    status, out, _ = program.finish()
    assert (status, out.splitlines()[-1][: len(RESULT)]) == (0, RESULT)


def test_the_rest_runs_without_a_stop(start: Any) -> None:
    program = start("entry:other")
    program.stopped()
    assert program.step_entry(program.entry("fill"), "x, seen").ok
    count, _ = to_the_end(program, Motion.CONTINUE)
    assert count == 1
    program.resume()
    assert program.finish()[0] == 0


def test_a_breakpoint_stops_inside(start: Any) -> None:
    program = start("entry:other")
    program.stopped()
    assert program.step_entry(program.entry("fill"), "x, seen").ok
    program.stopped()
    wanted = (parse_breakpoint("opcode:RETURN_VALUE"),)
    assert program.ask(lambda seq: SetBreakpoints(seq, wanted)).ok
    for reason in ("breakpoint", "breakpoint", "back"):  # in the resume function, then outside
        program.resume()
        assert program.stopped().reason == reason


def test_an_exception_ends_it(start: Any) -> None:
    program = start("entry:other")
    program.stopped()
    entry = program.entry("fill")
    assert program.step_entry(entry, "x, None").ok
    _, back = to_the_end(program)
    assert back.text.startswith(f"entry {entry} raised TypeError: 'NoneType'")
    assert program.walks()[0].outcome is Outcome.RAISED


def test_an_edited_copy_is_stepped(start: Any) -> None:
    program = start("entry:other")
    program.stopped()
    entry = program.entry("fill")
    view = program.ask(lambda seq: CloneEntry(seq, entry)).data
    assert isinstance(view, EntryView)
    text = "LOAD_CONST 5\nRETURN_VALUE\n"
    text = view.bytecode[: view.bytecode.index("LOAD_")] + text
    edited = program.ask(lambda seq: EditEntry(seq, view.entry.id, text))
    assert edited.ok, edited.text
    assert program.step_entry(view.entry.id, "x, seen").ok
    count, back = to_the_end(program)
    assert count == 2
    assert back.text.endswith("returned 5")


def test_one_within_another(start: Any) -> None:
    program = start("entry:other")
    there = program.stopped()
    entry = program.entry("fill")
    assert program.step_entry(entry, "x, seen").ok
    outer = program.stopped()
    assert program.ask(lambda seq: Evaluate(seq, "mine = 3")).ok
    assert program.step_entry(entry, "x, seen").ok
    _, back = to_the_end(program)
    assert back.moment == outer.moment
    assert program.ask(lambda seq: Evaluate(seq, "mine, locals['seen']")).text == "(3, [1])"
    program.resume(motion=Motion.STEP)
    _, back = to_the_end(program)
    assert back.moment == there.moment
    assert [walk.level for walk in program.walks()] == [0, 1]
    program.resume()
    assert program.finish()[1].splitlines()[-1].startswith(RESULT)


@pytest.mark.parametrize("how", [Terminate, Detach])
def test_the_session_can_end_in_the_midst_of_it(start: Any, how: Any) -> None:
    program = start("execute:other")
    program.stopped()
    assert program.step_entry(program.entry("fill"), "x, seen").ok
    program.stopped()
    assert program.ask(how).ok
    status, out, err = program.finish()
    if how is Detach:
        assert status == 0
        assert out.splitlines()[-1].startswith(RESULT)
    else:
        assert "KeyboardInterrupt" in err
    assert Recording.open(program.recording).ended


def test_what_cannot_be_stepped_is_refused(start: Any) -> None:
    program = start("entry:other")
    program.stopped()
    entry = program.entry("fill")
    assert "no cache entry 99" in program.step_entry(99).text
    assert "does not stand at a call" in program.step_entry(entry).text
    assert "NameError" in program.step_entry(entry, "nowhere").text
    program.ask(lambda seq: Evaluate(seq, "__import__('sys').setprofile(lambda *all: None)"))
    assert program.step_entry(entry, "x, seen").ok
    assert "cannot be followed here" in program.stopped().text
    program.ask(lambda seq: Evaluate(seq, "__import__('sys').setprofile(None)"))
    program.resume()
    assert program.finish()[0] == 0
