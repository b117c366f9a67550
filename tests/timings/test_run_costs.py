"""What calls of compiled functions cost: what is planted is found where it is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from stepper.analysis.compile_times import CompileTimes
from stepper.analysis.run_costs import Served, served
from stepper.analysis.slow_lines import slow_lines
from stepper.model.lookup import BACKEND
from stepper.model.timing import RUNS
from stepper.model.trace import Outcome
from stepper.recording.reader import Recording
from stepper.report.gathering import gather
from stepper.report.page import page
from tests import ready
from tests.conftest import ROOT, clean_environment

SLEEP = 0.1
PROGRAM = f"""
import time, torch

def backend(module, inputs):
    def run(*args):
        time.sleep({SLEEP})  # only graphs take their time
        return module.forward(*args)
    return run

@torch.compile(backend=backend)
def broken(x):
    y = x + 1
    print("between")
    return y * 2

for _ in range(3):
    broken(torch.ones(2))
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "program.py").write_text(PROGRAM)
    run, program = str(folder / "run.stepper"), str(folder / "program.py")
    command = ready.stepper("record", "--lookups", "-o", run, program)
    environment = clean_environment()
    subprocess.run(command, env=environment, cwd=ROOT, check=True, capture_output=True)
    return Recording.open(str(folder / "run.stepper"))


GUARDED = """
import torch
from torch.nn import functional
import torch.nn.functional as again

class Settings:
    scale = 2.0

class Odd:
    def __init__(self):
        self.anything = 3

    def __getattribute__(self, name):
        return super().__getattribute__(name)

@torch.compile(backend="eager")
def plain(x, y, settings):
    return functional.relu(x * settings.scale + y) + again.relu(x)

@torch.compile(backend="eager")
def odd(x, of):
    return x + of.anything

def call():
    plain(torch.ones(2), torch.zeros(2), Settings())
    odd(torch.ones(2), ODD)

ODD = Odd()
for _ in range(3):
    call()
with torch.compiler.set_stance(skip_guard_eval_unsafe=True):
    call()
"""


def test_guards_are_timed_but_for_those_that_run_code_of_the_program(tmp_path: Path) -> None:
    """Attributes of a class, and of several names for one module, are no such code."""
    (tmp_path / "program.py").write_text(GUARDED)
    run, program = str(tmp_path / "run.stepper"), str(tmp_path / "program.py")
    command = ready.stepper("record", "--lookups", "-o", run, program)
    subprocess.run(command, env=clean_environment(), cwd=ROOT, check=True, capture_output=True)
    recording = Recording.open(run)
    found = {(each.name, each.calls): each for each in served(recording)}
    assert found.keys() == {("plain", 2), ("plain", 1), ("odd", 2), ("odd", 1)}
    assert found["plain", 2].guards
    assert found["plain", 1].asks < found["plain", 2].asks
    assert not found["odd", 2].guards
    assert found["odd", 2].least
    assert found["odd", 2].untimed >= 1
    for item in recording.translations():
        if item.name == "plain" and item.outcome is Outcome.HIT:
            (tried,) = recording.tried(item.id)
            kinds = [recording.guard_program(tried.code)[each.place].kind for each in tried.checks]
            assert kinds.count(BACKEND) == 1
            assert len(kinds) - 1 in {each.asks for each in found.values() if each.name == "plain"}
    lines = [line.text for line in slow_lines(recording, "odd")]
    assert any(": guards more than " in line for line in lines)
    recording.close()


@pytest.fixture
def of_calls(recording: Recording) -> list[Served]:
    return served(recording)


def test_graphs_have_the_time_that_they_take(of_calls: list[Served]) -> None:
    """A resume function runs in the midst of the other's transformed code, and is not its own."""
    assert [(each.entry, each.calls) for each in of_calls] == [("0/0", 2), ("1/0", 2)]
    for each in of_calls:
        assert len(each.graphs) == len(each.transformed) == each.calls
        assert min(each.graphs) >= SLEEP * 1e9
        assert sum(each.transformed) < sum(each.graphs)


def test_guards_are_timed_as_the_compiler_runs_them(of_calls: list[Served]) -> None:
    for each in of_calls:
        assert len(each.guards) == each.calls
        assert {"TENSOR_MATCH", "GLOBAL_STATE"} <= {guard.kind for guard in each.by_guard}


def test_runs_are_no_phases_of_compiling(recording: Recording) -> None:
    names = {each.name for each in recording.timings() or ()}
    assert names >= RUNS
    phases = {name for _, name, *_ in CompileTimes(recording).by_phase()}
    assert not phases & RUNS
    assert "dynamo" in phases


def test_they_are_told(recording: Recording) -> None:
    lines = [line.text for line in slow_lines(recording)]
    assert any(line.startswith("  broken  0/0, 2 calls of ") for line in lines)
    told = [line.text for line in slow_lines(recording, "no such function")]
    assert not any("calls of" in line for line in told)


def test_a_report_has_them(recording: Recording) -> None:
    report = gather(recording)
    assert report.times is not None
    assert [(each.entry, each.calls) for each in report.times.calls] == [("0/0", 2), ("1/0", 2)]
    assert all((each.graphs or 0) >= SLEEP * 1e9 for each in report.times.calls)
    assert all((each.guards or 0) > 0 for each in report.times.calls)
    assert "What calls of compiled functions cost" in page(report)
