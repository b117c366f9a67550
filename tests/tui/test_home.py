"""The home of a recording."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from stepper.analysis.breaks import causes
from stepper.client.session import open_recording
from stepper.recording.reader import Recording
from stepper.tui.app import StepperApp
from stepper.tui.home import HomeScreen
from stepper.tui.why_screen import WhyScreen
from tests.tui.screen import plain, until
from tests.tui.test_app import SIZES, WIDE, header
from tests.tui.test_session_panes import PlayedSession


def settled(app: StepperApp) -> Callable[[], bool]:
    return lambda: isinstance(app.screen, HomeScreen) and app.screen.settled


@asynccontextmanager
async def at_home(path: Path, size: Any) -> AsyncIterator[tuple[StepperApp, Pilot[Any]]]:
    session = open_recording(str(path))
    try:
        app = StepperApp(session, home=True)
        async with app.run_test(size=size) as pilot:
            await until(pilot, settled(app))
            await pilot.pause()
            yield app, pilot
    finally:
        session.close()


@SIZES
async def test_a_recording_opens_with_what_it_is_about(sample_path: Path, size: Any) -> None:
    async with at_home(sample_path, size) as (app, _):
        screen = "\n".join(plain(app))
        assert "train.py" in screen
        assert "causes of graph breaks" in screen
        assert "functions compiled again" in screen
        recording = Recording.open(str(sample_path))
        first = causes(recording)[0]
        recording.close()
        assert first.kind[:30] in screen


@SIZES
async def test_a_row_leads_to_its_moment_and_home_again(sample_path: Path, size: Any) -> None:
    async with at_home(sample_path, size) as (app, pilot):
        home = app.screen
        assert isinstance(home, HomeScreen)
        line = home._shown[home._lines.cursor]
        assert line.moment is not None, "the cursor begins where Enter leads somewhere"
        await pilot.press("enter")
        await pilot.pause()
        assert app.cursor.position == line.moment
        assert f"moment {line.moment}/" in header(app)
        await pilot.press("~")
        await until(pilot, settled(app))
        again = app.screen
        assert isinstance(again, HomeScreen)
        assert again._shown[again._lines.cursor] == line, "where it was left"
        await pilot.press("escape")
        assert app.cursor.position == line.moment


async def test_its_questions_are_a_key_away(sample_path: Path) -> None:
    async with at_home(sample_path, WIDE) as (app, pilot):
        await pilot.press("W")
        await until(pilot, lambda: isinstance(app.screen, WhyScreen))


async def test_a_key_of_the_moments_leads_there(sample_path: Path) -> None:
    async with at_home(sample_path, WIDE) as (app, pilot):
        await pilot.press("s")
        await until(pilot, lambda: not isinstance(app.screen, HomeScreen))
        await until(pilot, lambda: app.cursor.position == 2)
        await pilot.press("~")
        await until(pilot, settled(app))
        await pilot.press("!")
        await until(pilot, lambda: app.desk.focused_pane() is app.desk.panes["answer"])


async def test_q_leaves_at_once(sample_path: Path) -> None:
    async with at_home(sample_path, WIDE) as (app, pilot):
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running)


async def test_a_program_that_ends_shows_what_its_run_was_about(sample_path: Path) -> None:
    session = PlayedSession(sample_path, 6)
    app = StepperApp(session, home=True)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.pause()
        assert not isinstance(app.screen, HomeScreen), "it still lives"
        session.alive, session.stopped = False, None
        session.ended(0)
        await until(pilot, settled(app), 60)
        assert any("causes of graph breaks" in line for line in plain(app))
    session.close()


@SIZES
async def test_long_rows_are_wrapped(sample_path: Path, size: Any) -> None:
    async with at_home(sample_path, size) as (app, pilot):
        home = app.screen
        assert isinstance(home, HomeScreen)
        assert not any("›" in line for line in plain(app))
        whole = " ".join(" ".join(line.text for line in home._shown).split())
        for line in home._kept.lines:
            assert " ".join(line.text.split()) in whole
        await pilot.press("down", "enter")
        assert app.cursor.position
