"""Output, input and console, on a session whose program is played by the test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from stepper.client.events import OutputArrived
from stepper.client.session import Session
from stepper.model.control import Response, Running, Stopped
from stepper.recording.reader import Recording
from stepper.tui.app import StepperApp
from stepper.tui.pane import Pane
from stepper.tui.panes.console import ConsoleInput
from tests.tui.screen import plain, until
from tests.tui.test_app import NARROW, opened, status


class PlayedSession(Session):
    """A program that stands still at a moment, answers, and takes input."""

    def __init__(self, path: Path, moment: int) -> None:
        super().__init__(recording_path=str(path), recording=Recording.open(str(path)))
        self.stopped = Stopped(moment, "step")
        self.asked: list[tuple[str, int | None]] = []
        self.typed: list[str] = []
        self.sizes: list[tuple[int, int]] = []
        self.unanswered: list[Future[Response]] = []
        self.alive = True

    @property
    def live(self) -> bool:
        return self.alive

    @property
    def has_terminal(self) -> bool:
        return True

    def evaluate(self, expression: str, frame: int | None = None) -> Future[Response]:
        self.asked.append((expression, frame))
        future: Future[Response] = Future()
        if expression == "slow":
            self.unanswered.append(future)
        elif expression == "boom":
            future.set_result(Response(1, ok=False, text="NameError: name 'boom' is not defined"))
        else:
            future.set_result(Response(1, text="[1,\n 2]", printed="said aside\n"))
        return future

    def write_input(self, data: str) -> None:
        self.typed.append(data)

    def resize(self, rows: int, cols: int) -> None:
        self.sizes.append((rows, cols))


@asynccontextmanager
async def played(
    path: Path, moment: int = 20
) -> AsyncIterator[tuple[StepperApp, PlayedSession, Pilot[Any]]]:
    session = PlayedSession(path, moment)
    app = StepperApp(session)
    async with app.run_test(size=NARROW) as pilot:
        await pilot.pause()
        yield app, session, pilot
        session.alive = False


def text(app: StepperApp) -> str:
    return "\n".join(line.rstrip() for line in plain(app))


async def test_an_expression_is_evaluated_in_the_frame_that_is_looked_at(sample_path: Path) -> None:
    async with played(sample_path) as (app, session, pilot):
        await pilot.press("e", *"stack", "enter")
        await until(pilot, lambda: " 2]" in text(app))
        assert ">>> stack" in text(app)
        assert "said aside" in text(app)
        assert "[1," in text(app)
        assert session.asked == [("stack", None)], "the innermost frame need not be there still"
        await pilot.press(*"boom", "enter")
        await until(pilot, lambda: "NameError: name 'boom' is not defined" in text(app))
        app.post_message(Pane.SelectFrame(0))
        await until(pilot, lambda: app.snapshot is not None and not app.snapshot.innermost)
        assert app.snapshot is not None
        assert app.snapshot.state is not None
        await pilot.press(*"tx", "enter")
        await until(pilot, lambda: len(session.asked) == 3)
        assert session.asked[-1] == ("tx", app.snapshot.state.frames[0].frame)


async def test_u_and_d_look_at_other_frames_as_in_the_console(sample_path: Path) -> None:
    async with played(sample_path) as (app, _, pilot):
        assert app.snapshot is not None
        assert app.snapshot.innermost
        deepest = app.snapshot.frame_index
        await pilot.press("1", "u")
        await until(pilot, lambda: app.snapshot is not None and not app.snapshot.innermost)
        assert app.snapshot.frame_index == deepest - 1
        await pilot.press("d")
        await until(pilot, lambda: app.snapshot is not None and app.snapshot.innermost)
        await pilot.press("d")
        await until(pilot, lambda: "this is the innermost symbolic frame" in text(app))


async def test_an_answer_stands_under_its_question(sample_path: Path) -> None:
    async with played(sample_path) as (app, session, pilot):
        await pilot.press("e", *"slow", "enter", *"boom", "enter")
        await until(pilot, lambda: "NameError" in text(app))
        session.unanswered[0].set_result(Response(1, text="at last"))
        await until(pilot, lambda: "at last" in text(app))
        shown = text(app)
        places = [shown.index(part) for part in (">>> slow", "at last", ">>> boom", "NameError")]
        assert places == sorted(places)


async def test_earlier_expressions_come_back(sample_path: Path) -> None:
    async with played(sample_path) as (app, _, pilot):
        await pilot.press("e", *"one", "enter", *"two", "enter", *"thr", "up", "up")
        field = app.query_one(ConsoleInput)
        assert field.value == "one"
        await pilot.press("down")
        assert field.value == "two"
        await pilot.press("down")
        assert field.value == "thr"


async def test_away_from_the_stop_the_console_says_where_it_evaluates(sample_path: Path) -> None:
    async with played(sample_path) as (app, session, pilot):
        await pilot.press("S", "S", "e", *"x", "enter")
        await until(pilot, lambda: "you look at moment 18" in text(app))
        assert "at moment 20" in text(app)
        assert session.asked == [("x", None)]


async def test_without_a_live_stop_the_console_says_why(sample_path: Path) -> None:
    async with opened(sample_path, NARROW, at=20) as (app, pilot):
        await pilot.press("e")
        assert "no live stop" in text(app)
        await pilot.press("x", "enter")
        assert text(app).count("no live stop") >= 1
        assert ">>> x" in text(app)


async def test_output_arrives_in_colour_and_input_goes_to_the_program(sample_path: Path) -> None:
    async with played(sample_path) as (app, session, pilot):
        await pilot.press("O")
        app.post_message(
            StepperApp.FromSession(app.session, OutputArrived("10%\r50%\r\x1b[31mred"))
        )
        app.post_message(
            StepperApp.FromSession(app.session, OutputArrived(" end\x1b[0m\r\nname? "))
        )
        await until(pilot, lambda: "red end" in text(app))
        assert "10%" not in text(app)
        assert "name?" in text(app)
        await pilot.press(*"ann", "enter", "ctrl+d")
        await pilot.pause()
        assert session.typed == ["ann\n", "\x04"]
        assert session.sizes, "the program's terminal has the size of the pane"
        assert session.sizes[-1][1] <= 80


async def test_a_recordings_output_is_shown_and_takes_no_input(sample_path: Path) -> None:
    async with opened(sample_path, NARROW, at=20) as (app, pilot):
        await pilot.press("O")
        assert "epoch 1" in text(app)
        assert "done" in text(app)
        assert "takes no more input" in text(app)


async def test_what_a_running_program_does_is_said_until_something_else_is(
    sample_path: Path,
) -> None:
    async with played(sample_path) as (app, session, pilot):
        session.stopped = None
        app.say()
        app.post_message(StepperApp.FromSession(app.session, Running()))
        await until(pilot, lambda: "runs; Ctrl-C stops it" in status(app))
        assert "frames, 1 break" in status(app)
        await pilot.press("ctrl+c")
        assert "stops at its next moment" in status(app)
        session.stopped = Stopped(21, "pause")
        app.post_message(StepperApp.FromSession(app.session, session.stopped))
        await until(pilot, lambda: "stopped where you asked" in status(app))
