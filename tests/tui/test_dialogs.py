"""The breakpoints dialog and the help screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.widgets import Input

from stepper.model.breakpoint import parse_breakpoint
from stepper.tui.app import StepperApp
from stepper.tui.keys import KEYS
from tests.tui.screen import plain, until
from tests.tui.test_app import NARROW, SIZES, WIDE, opened


def text(app: StepperApp) -> str:
    return "\n".join(line.rstrip() for line in plain(app))


def written(app: StepperApp) -> list[str]:
    return [str(breakpoint) for breakpoint in app.session.breakpoints]


@SIZES
async def test_breakpoints_are_added_by_their_written_form(sample_path: Path, size: Any) -> None:
    async with opened(sample_path, size) as (app, pilot):
        await pilot.press("B", *"nonsense", "enter")
        assert "'nonsense' is no breakpoint. Write FILE:LINE or one of:" in text(app)
        for _ in "nonsense":
            await pilot.press("backspace")
        await pilot.press(*"graph-break", "enter", "a", *"train.py:3", "enter")
        assert "nothing of train.py is recorded" in text(app)
        for _ in "train.py:3":
            await pilot.press("backspace")
        await pilot.press(*"function:block, once", "enter")
        assert "● on  graph-break" in text(app)
        assert "● on  function:block, once" in text(app)
        assert "fits 1 place" in text(app)
        await pilot.press("escape")
        await pilot.pause()
        assert written(app) == ["graph-break", "function:block, once"]
        assert [b.id for b in app.session.breakpoints] == [1, 2]


async def test_in_a_long_recording_a_key_does_not_wait_for_what_a_breakpoint_fits(
    big_path: Path,
) -> None:
    async with opened(big_path, WIDE, at=50_000) as (app, pilot):
        await pilot.press("B")
        field = app.screen.query_one(Input)
        field.value = "function:no_such_function"
        await pilot.press("enter")
        await until(pilot, lambda: "no function 'no_such_function' is recorded" in text(app))
        assert "● on  function:no_such_function" not in text(app), "refused"
        assert field.value == "function:no_such_function", "to be changed"
        field.value = "opcode:LOAD_FAST"
        await pilot.press("enter", "escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert written(app)[-1] == "opcode:LOAD_FAST", "leaving waits for it"


async def test_breakpoints_are_changed_switched_and_removed(sample_path: Path) -> None:
    async with opened(sample_path, NARROW) as (app, pilot):
        app.session.set_breakpoints(map(parse_breakpoint, ("skip", "restart", "opcode:CALL")))
        await pilot.press("B", "home", "space", "down", "d", "o", "i", "4", "enter")
        assert "○ off skip" in text(app)
        assert "● on  restart" not in text(app)
        assert "opcode:CALL, ignore 4, once" in text(app)
        await pilot.press("home", "enter", *", if x", "enter", "escape")
        await pilot.pause()
        assert written(app) == ["skip, if x", "opcode:CALL, ignore 4, once"]
        assert [b.enabled for b in app.session.breakpoints] == [False, True]


async def test_breakpoints_say_how_often_they_were_met(sample_path: Path) -> None:
    async with opened(sample_path, NARROW) as (app, pilot):
        app.session.set_breakpoints(map(parse_breakpoint, ("skip", "restart")))
        app.session.hits = {1: 2, 2: 1}
        await pilot.press("B")
        assert "skip  met 2 times" in text(app)
        assert "restart  met 1 time" in text(app)


async def test_a_condition_that_is_no_expression_is_refused(sample_path: Path) -> None:
    async with opened(sample_path, NARROW) as (app, pilot):
        await pilot.press("B", *"skip, if x =", "enter")
        assert "is not an expression" in text(app)
        await pilot.press("escape", "escape")
        await pilot.pause()
        assert written(app) == []


@SIZES
async def test_the_help_screen_shows_every_key(sample_path: Path, size: Any) -> None:
    async with opened(sample_path, size) as (app, pilot):
        await pilot.press("question_mark")
        seen = ""
        for _ in range(12):
            seen += " ".join(line.strip(" │▌") for line in plain(app))
            await pilot.press("pagedown")
        seen = " ".join(seen.split())
        for key in KEYS:
            assert key.shown in seen
            assert key.help.split(",")[0][:30] in seen
        await pilot.press("escape")
        await pilot.pause()
        assert "source" in text(app)
