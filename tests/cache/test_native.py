"""The native engine's cache, through the session: listed, asked, changed, and its entries' ends."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import stepper.cache
import stepper.native
from stepper.model.cache import CacheCheck, CacheListing, EntryState, EntryView, RunResult, Verdict
from stepper.model.control import (
    CheckCache,
    CloneEntry,
    Evaluate,
    FetchCode,
    InspectEntry,
    ListCache,
    RemoveEntry,
    RunEntry,
)
from stepper.model.trace import EventKind
from stepper.recording.reader import Recording
from tests.debuggee.harness import Program

pytestmark = pytest.mark.evaluator_out

LIFETIME = """
import gc
import torch
import stepper.native

def halved(x):
    return x / 2

def through(x, how):
    return how(x) + 1



def other(x, scale=2):
    return x * scale

once = stepper.native.compile(through, backend="eager")
once(torch.ones(2, 3), halved)
print(stepper.native.compile(other, backend="eager")(torch.ones(2)).tolist())
del halved
gc.collect()
stepper.native.reset()
print("end")
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    programs: list[Program] = []

    def begin(*breakpoints: str, source: str = LIFETIME) -> Program:
        programs.append(Program(source, tmp_path, breakpoints=breakpoints, engine="native"))
        return programs[-1]

    yield begin
    for program in programs:
        program.close()


def listed(program: Program) -> dict[str, Any]:
    data = program.ask(lambda seq: ListCache(seq)).data
    assert isinstance(data, CacheListing)
    return {code.qualname: code for code in data.codes}


def events(program: Program) -> list[tuple[EventKind, str]]:
    recording = Recording.open(program.recording)
    kinds = (EventKind.ENTRY, EventKind.INVALIDATE, EventKind.EVICT)
    found = [(event.kind, event.text) for event in recording.events(kinds=kinds)]
    recording.close()
    return found


def test_an_entry_is_seen_to_die_with_what_its_guards_know(start: Any) -> None:
    program = start("entry:other", "invalidate")
    program.stopped()
    (entry,) = listed(program)["through"].entries
    assert entry.state is EntryState.VALID
    assert entry.position == 0
    assert "L['how']" in {line.source for line in entry.lifelines if line.alive}
    program.resume()
    stop = program.stopped()
    assert "halved" in stop.text
    assert "died" in stop.text
    # Python 3.13 lets go of the function when its name is deleted, 3.11 when it collects.
    line = 20 if sys.version_info >= (3, 13) else 21
    assert f"program.py:{line} in <module>" in stop.text
    (entry,) = listed(program)["through"].entries
    assert entry.state is EntryState.INVALID
    assert "died" in entry.reason
    assert entry.position is None
    program.resume()
    assert program.finish() == (0, "[2.0, 2.0]\nend\n", "")
    told = [kind for kind, _ in events(program)]
    assert told == [EventKind.ENTRY, EventKind.ENTRY, EventKind.INVALIDATE, EventKind.EVICT]


def test_deleting_the_function_in_the_console_ends_the_entry_at_once(start: Any) -> None:
    program = start("entry:other")
    program.stopped()
    assert program.ask(lambda seq: Evaluate(seq, "del halved; gc.collect()")).ok
    (entry,) = listed(program)["through"].entries
    assert entry.state is EntryState.INVALID
    assert "in the console" in entry.reason


def test_asking_changes_nothing_and_says_which_guard_fails(start: Any) -> None:
    program = start("invalidate")
    program.stopped()
    code = listed(program)["other"]
    (entry,) = code.entries

    def check(arguments: str, **how: Any) -> CacheCheck:
        found = program.ask(lambda seq: CheckCache(seq, code.id, arguments, **how))
        assert isinstance(found.data, CacheCheck), found.text
        return found.data

    fits = check("torch.ones(2)", compare=True)
    assert fits.winner == entry.id
    assert fits.comparison is not None
    assert fits.comparison.same
    assert {each.verdict for each in fits.entries[0].checks} == {Verdict.PASS}
    misses = check("torch.ones(3), 5")
    assert misses.winner is None
    rows = misses.guards[entry.id]
    failed = {
        rows[each.guard].source: each
        for each in misses.entries[0].checks
        if each.verdict is Verdict.FAIL
    }
    assert failed["L['x']"].difference == "Tensor f32[3] ≠ Tensor f32[2]"
    assert failed["L['scale']"].actual == "5"
    assert "L['" in misses.entries[0].reason
    assert listed(program)["other"].entries[0].hits == entry.hits


def test_an_entry_can_be_looked_into_run_and_removed(start: Any) -> None:
    program = start("invalidate")
    program.stopped()
    (entry,) = listed(program)["other"].entries
    view = program.ask(lambda seq: InspectEntry(seq, entry.id)).data
    assert isinstance(view, EntryView)
    assert "TENSOR_MATCH" in {row.kind for row in view.guards}
    assert "x * 2" in view.graph
    assert view.code is not None
    assert view.entry.graph_nodes == 3
    assert "RETURN_VALUE" in view.bytecode
    ran = program.ask(lambda seq: RunEntry(seq, entry.id, "torch.ones(2)", compare=True)).data
    assert isinstance(ran, RunResult)
    assert ran.comparison is not None
    assert ran.comparison.same
    assert program.ask(lambda seq: FetchCode(seq, entry.id)).ok
    copied = program.ask(lambda seq: CloneEntry(seq, entry.id)).data
    assert isinstance(copied, EntryView)
    assert copied.entry.state is EntryState.DRAFT
    assert "thrown away" in program.ask(lambda seq: RemoveEntry(seq, copied.entry.id)).text
    assert "out of the cache" in program.ask(lambda seq: RemoveEntry(seq, entry.id)).text
    (entry,) = listed(program)["other"].entries
    assert entry.state is EntryState.EVICTED
    again = program.ask(lambda seq: RemoveEntry(seq, entry.id))
    assert not again.ok


def test_the_call_at_which_it_stands_needs_no_arguments(start: Any) -> None:
    twice = LIFETIME.replace("del ", "stepper.native.compile(other)(torch.ones(5))\ndel ")
    twice = twice.replace("other)(", 'other, backend="eager")(')
    program = start("recompile", source=twice)
    program.stopped()
    code = listed(program)["other"]
    found = program.ask(lambda seq: CheckCache(seq, code.id)).data
    assert isinstance(found, CacheCheck)
    assert dict(found.arguments)["x"] == "Tensor f32[5]"
    assert found.winner is None


def test_the_cache_is_at_hand_in_code() -> None:
    def scale(x: torch.Tensor, by: int = 2) -> torch.Tensor:
        return x * by

    compiled = stepper.native.compile(scale, backend="eager", dynamic=False)
    compiled(torch.ones(2))
    compiled(torch.ones(3))
    newest, first = stepper.cache.list(compiled)
    assert (newest.facts.backend, newest.facts.state) == ("eager", EntryState.VALID)
    assert first in stepper.cache.list()
    assert stepper.cache.check(scale, torch.ones(2)).winner == first.id
    assert stepper.cache.check(scale, torch.ones(4)).winner is None
    assert stepper.cache.run(first, torch.ones(5)).tolist() == [2.0] * 5
    assert stepper.cache.compare(first, torch.ones(2)).same
    stepper.cache.remove(first)
    assert stepper.cache.list(scale) == [newest]
    compiled(torch.ones(2))
    assert len(stepper.cache.list(scale)) == 2


def test_a_guard_is_not_asked_about_a_value_of_another_type() -> None:
    class Kind:
        factor = 2

    class Loud:
        @property
        def factor(self) -> int:
            raise AssertionError("a property of the program was asked")

    def scale(x: torch.Tensor, kind: object) -> torch.Tensor:
        return x * kind.factor  # type: ignore[attr-defined]  # set as programs set it

    stepper.native.compile(scale, backend="eager")(torch.ones(2), Kind())
    found = stepper.cache.check(scale, torch.ones(2), Loud())
    (entry,) = found.entries
    verdicts = {found.guards[entry.entry][each.guard].kind: each for each in entry.checks}
    assert verdicts["TYPE_MATCH"].difference == "Loud ≠ Kind"
    assert Verdict.UNREACHED in {each.verdict for each in entry.checks}


def test_a_capture_keeps_nothing_of_the_program() -> None:
    class Scale(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.by = torch.nn.Parameter(torch.ones(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.by

    def capture() -> weakref.ref[Any]:
        module = Scale()
        with stepper.native.optimize("eager"):
            module(torch.ones(2))
        return weakref.ref(module)

    capture()  # torch imports more of itself, and that may keep exceptions
    gc.collect()
    gc.disable()
    try:
        assert capture()() is None
    finally:
        gc.enable()
