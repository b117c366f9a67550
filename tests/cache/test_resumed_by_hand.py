"""Resume functions that are called while an entry's code is stepped by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stepper.model.cache import CacheListing
from stepper.model.control import ListCache, Response, StepEntry
from stepper.model.stepping import Motion
from stepper.model.trace import Outcome, Phase, Translation
from stepper.recording.reader import Recording
from tests.debuggee.harness import Program

PROGRAM = """
import torch
from {package} import compile

def counting():
    calls = 0

    @compile(backend="eager", dynamic=False)
    def count(x):
        nonlocal calls
        y = x + 1
        print("counting")
        calls += 1
        return y * calls

    return count

@compile(backend="eager", dynamic=False)
def twice(x, factor):
    y = x + 1
    print("once")
    y = y * factor
    print("twice")
    return y - 1

@compile(backend="eager")
def other(x):
    return x + 1

count = counting()
count(torch.ones(2))
twice(torch.ones(2), 2)
twice(torch.ones(2), 3)
other(torch.ones(2))
print(count(torch.ones(2)).tolist(), twice(torch.ones(2), 2).tolist())
"""


class Engine(NamedTuple):
    """What differs between the engines."""

    package: str
    level: int
    """How much deeper than its caller a resume function is told."""
    done: str
    """What is not done by hand."""


ENGINES = {
    "dynamo": Engine("torch", 1, "compiled"),
    "native": Engine("stepper", 0, "captured"),
}
RESUMED = "torch_dynamo_resume_in_twice"
"""What the names of resume functions begin with."""


class Stepped(Program):
    engine: Engine

    def listing(self) -> CacheListing:
        data = self.ask(ListCache).data
        assert isinstance(data, CacheListing)
        return data

    def entry(self, name: str) -> int:
        return next(each.entries[-1].id for each in self.listing().codes if each.name == name)

    def hits(self) -> list[Any]:
        return [
            [(each.id, each.state, each.hits, each.position) for each in code.entries]
            for code in self.listing().codes
        ]

    def step_entry(self, name: str, arguments: str) -> Response:
        entry = self.entry(name)
        return self.ask(lambda seq: StepEntry(seq, entry, arguments))

    def to_the_end(self, motion: Motion) -> str:
        while (stopped := self.stopped()).reason != "back":
            self.resume(motion=motion)
        return stopped.text

    def walks(self) -> list[Translation]:
        recording = Recording.open(self.recording)
        found = [each for each in recording.translations() if each.by_hand]
        recording.close()
        return found


@pytest.fixture(params=ENGINES)
def start(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    programs: list[Stepped] = []
    engine = ENGINES[request.param]

    def begin(*breakpoints: str, **config: Any) -> Stepped:
        source = PROGRAM.replace("{package}", engine.package)
        config |= {"breakpoints": breakpoints, "engine": request.param}
        programs.append(Stepped(source, tmp_path, **config))
        programs[-1].engine = engine
        programs[-1].stopped()
        return programs[-1]

    yield begin
    for program in programs:
        program.close()


def told(walks: list[Translation]) -> list[tuple[str, str, str, int]]:
    return [
        (str(each.phase), each.name.partition("_at_")[0], str(each.outcome),
         each.level - walks[0].level)
        for each in walks
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("stop", "motion"),
    [
        ("entry:other", Motion.STEP),
        ("lookup:other", Motion.CONTINUE),
        ("execute:other", Motion.STEP),
    ],
)
def test_each_goes_on_into_its_own_lookup_and_the_winners_code(
    start: Any, stop: str, motion: Motion
) -> None:
    program = start(stop)
    before = program.hits()
    assert program.step_entry("twice", "torch.ones(2), 2").ok
    text = program.to_the_end(motion)
    assert text.endswith("returned Tensor f32[2]"), text
    assert program.hits() == before
    level = program.engine.level
    assert told(program.walks()) == [
        ("execute", "twice", "returned", 0),
        ("lookup", RESUMED, "hit", level),
        ("execute", RESUMED, "returned", level),
        ("lookup", RESUMED, "hit", 2 * level),
        ("execute", RESUMED, "returned", 2 * level),
    ]
    program.resume()
    status, out, _ = program.finish()
    assert status == 0
    assert out.splitlines()[-1] == "[4.0, 4.0] [3.0, 3.0]"


def test_the_lookup_goes_guard_by_guard_through_the_entries(start: Any) -> None:
    program = start("entry:other")
    assert program.step_entry("twice", "torch.ones(2), 2").ok
    program.to_the_end(Motion.STEP)
    recording = Recording.open(program.recording)
    lookup = next(each for each in recording.translations() if each.phase is Phase.LOOKUP)
    assert lookup.outcome is Outcome.HIT
    moments = range(lookup.first_moment, (lookup.last_moment or 0) + 1)
    locals = [recording.state(each).frames[-1].locals for each in moments]
    assert any("differs" in names for names in locals)
    assert any("L['factor']" in names for names in locals)
    recording.close()
    program.resume()
    assert program.finish()[0] == 0


def test_where_no_entry_matches_it_runs_uncompiled_and_that_is_said(start: Any) -> None:
    program = start("entry:other")
    before = program.hits()
    assert program.step_entry("twice", "torch.ones(2), 5").ok
    text = program.to_the_end(Motion.STEP)
    assert f"returned Tensor f32[2]; {RESUMED}_at_" in text
    assert f"ran un{program.engine.done}: no entry of its own matches" in text
    lookup = program.walks()[1]
    assert (lookup.phase, lookup.outcome) == (Phase.LOOKUP, Outcome.SKIPPED)
    assert f"nothing is {program.engine.done}" in lookup.reason
    assert "L['factor']" in lookup.reason  # which guard, of which entry
    assert len(program.walks()) == 2
    assert program.hits() == before
    program.resume()
    assert program.finish()[0] == 0


def test_a_closure_keeps_its_variables(start: Any) -> None:
    program = start("entry:other")
    assert program.step_entry("count", "torch.ones(2)").ok
    text = program.to_the_end(Motion.STEP)
    assert "Tensor f32[2]" in text
    assert [each.phase for each in program.walks()][:2] == [Phase.EXECUTE, Phase.LOOKUP]
    program.resume()
    status, out, _ = program.finish()
    assert status == 0
    assert out.splitlines()[-1] == "[4.0, 4.0] [3.0, 3.0]"


def test_lookups_of_the_program_are_told_apart(start: Any) -> None:
    program = start("entry:other", lookups=True)
    assert program.step_entry("twice", "torch.ones(2), 2").ok
    program.to_the_end(Motion.CONTINUE)
    program.resume()
    assert program.finish()[0] == 0
    recording = Recording.open(program.recording)
    found = [each for each in recording.translations() if each.phase is Phase.LOOKUP]
    assert sum(each.by_hand for each in found) == 2
    resumed = [each for each in found if each.name.startswith(RESUMED)]
    assert len(resumed) == 8  # those by hand among them
    recording.close()
