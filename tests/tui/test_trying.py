"""Answers of the screen that says why for which the recorded program runs again."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

import stepper.tui.moving
import stepper.tui.why_screen
from stepper.analysis.line import Line
from stepper.client.launch import LaunchSpec
from stepper.client.plan import Plan
from stepper.client.replay import Progress
from stepper.recording.reader import Recording
from stepper.tui.app import StepperApp
from stepper.tui.questions import Question
from tests import ready
from tests.conftest import clean_environment
from tests.tui.screen import press_until, until
from tests.tui.test_app import NARROW, WIDE, opened
from tests.tui.test_why_screen import says, text

PROGRAM = """
import os, time, torch

@torch.compile(backend="eager", dynamic=False)
def by_size(x):
    return x * x.shape[0]

by_size(torch.ones(2)), by_size(torch.ones(3))
if os.path.exists("slowly"):
    open("pid", "w").write(str(os.getpid()))
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _ready() -> Iterator[None]:
    """Programs that are run again start quickly."""
    with ready.forking():
        yield


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of a program that lies beside it."""
    folder = tmp_path_factory.mktemp("again")
    (folder / "program.py").write_text(PROGRAM)
    command = ready.stepper("record", "-o", "r.stepper", "program.py")
    subprocess.run(
        command, cwd=folder, env=clean_environment(), capture_output=True, check=True, timeout=600
    )
    return folder / "r.stepper"


async def begin(app: StepperApp, pilot: Pilot[Any]) -> None:
    """Ask for the program to be run again, and say yes."""
    await pilot.press("x")
    assert "Run this again on this machine, with all that it does?" in text(app)
    assert f"command {sys.executable} program.py folder" in text(app)
    await pilot.press("r")
    assert "running the program again" in text(app)


@pytest.mark.slow
async def test_a_guard_is_put_to_the_test(recorded: Path) -> None:
    recording = Recording.open(str(recorded))
    (entry,) = [each for each in recording.translations() if each.compile_id == "0/0"]
    guards = recording.guards(None, attempt=recording.attempts(entry.id)[-1].id)
    kinds = [guard.kind for guard in guards]
    recording.close()
    async with opened(recorded, WIDE, at=entry.last_moment) as (app, pilot):
        await pilot.press("7", "home", *["down"] * kinds.index("TENSOR_MATCH"), "W")
        assert "TENSOR_MATCH L['x'] of 0/0" in text(app)
        assert "x: try it" in text(app)
        await begin(app, pilot)
        await until(pilot, says(app, "by experiment:"))
        assert "protects against" in text(app), "what was known stands above it"
        assert "is needed" in text(app)
        assert "running" not in text(app)


@pytest.mark.slow
async def test_it_is_given_up(recorded: Path) -> None:
    flag, pid = recorded.parent / "slowly", recorded.parent / "pid"
    flag.touch()
    try:
        async with opened(recorded, NARROW) as (app, pilot):
            await pilot.press("W")
            answer = text(app)
            await begin(app, pilot)
            await until(pilot, lambda: pid.exists() and pid.read_text() != "")
            await until(pilot, says(app, "as it is: "))  # with which change it runs
            # The screen is alive meanwhile.
            await press_until(pilot, "v", says(app, "why graphs broke"))
            await press_until(pilot, "v", says(app, "why it was compiled again"))
            await pilot.press("x")
            await until(pilot, says(app, "given up: the program was killed"))
            assert not Path("/proc", pid.read_text()).exists()
            assert "x.shape[0]: expected 2, actual 3" in answer
            assert "x.shape[0]: expected 2, actual 3" in text(app)
    finally:
        flag.unlink()


async def test_what_is_tried_belongs_to_no_screen(
    sample_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, gave_up = threading.Event(), threading.Event()

    def trial(_: Recording, __: Plan, progress: Progress) -> Iterator[Line]:
        while not go_on.wait(0.01):
            if progress.given_up:
                gave_up.set()
                return
        yield Line("what came of it")

    question = Question("a question", lambda _, __: iter([Line("what is known")]), trial)
    other = Question("another", lambda _, __: iter([Line("something else")]), trial)
    monkeypatch.setattr(stepper.tui.moving, "of_the_run", lambda _, __: [question, other])
    plan = Plan(LaunchSpec(kind="code", target="pass"), "/", "", ("x.py",), 0.0, "")
    monkeypatch.setattr(stepper.tui.why_screen, "plan_of", lambda _, **__: plan)
    async with opened(sample_path, NARROW) as (app, pilot):
        await pilot.press("W", "x", "r", "escape", "W")
        assert "what is known" in text(app)
        assert "running the program again" in text(app)
        await pilot.press("escape")
        go_on.set()
        await until(pilot, says(app, "a question: it has been tried, W shows what came of it"))
        await pilot.press("W")
        assert "what came of it" in text(app)
        assert "x: try it" in text(app), "it can be tried again"
        await pilot.press("v")
        assert "something else" in text(app)
        go_on.clear()
        await pilot.press("x", "r", "escape")
    assert gave_up.wait(600), "the end of the application ends it"


@pytest.mark.slow
async def test_it_goes_on_when_the_screen_is_left(recorded: Path) -> None:
    async with opened(recorded, NARROW) as (app, pilot):
        await pilot.press("W")
        await begin(app, pilot)
        await pilot.press("escape")
        await until(pilot, says(app, "it has been tried, W shows what came of it"))
        await pilot.press("W")
        assert "2 compilations → 1; it prints nothing that could be compared" in text(app)
        assert "x: try it" in text(app), "it can be tried again"


@pytest.mark.slow
async def test_it_is_shown_to_be_running_when_the_screen_is_opened_again(recorded: Path) -> None:
    flag, pid = recorded.parent / "slowly", recorded.parent / "pid"
    pid.unlink(missing_ok=True)
    flag.touch()
    try:
        async with opened(recorded, NARROW) as (app, pilot):
            await pilot.press("W")
            await begin(app, pilot)
            await until(pilot, lambda: pid.exists() and pid.read_text() != "")
            await pilot.press("escape", "W")
            assert "running the program again as it is: " in text(app)
            assert Path("/proc", pid.read_text()).exists()
    finally:
        flag.unlink()
    for thread in threading.enumerate():
        if thread.name == "stepper-trying":
            thread.join(30)
    assert not Path("/proc", pid.read_text()).exists(), "the end of the application ends it"


async def test_what_cannot_be_run_again_says_why(sample_path: Path) -> None:
    async with opened(sample_path, NARROW) as (app, pilot):
        await pilot.press("W", "x")
        assert "the program cannot be run again: " in text(app)
        await pilot.press("v", "x")
        assert "the program cannot be run again: " in text(app)


async def test_what_no_run_can_answer_is_not_offered_to_be_tried(sample_path: Path) -> None:
    async with opened(sample_path, NARROW, at=2) as (app, pilot):
        await pilot.press("g", *"1", "enter", "W")
        await press_until(pilot, "v", says(app, "what differs from"))
        assert "x: try it" not in text(app)
        await pilot.press("x")
        assert "would say no more about this" in text(app)
