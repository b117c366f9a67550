"""The screen that says why: two lists over the whole recording, whose rows lead to moments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from stepper.model.trace import EventKind
from stepper.recording.reader import Recording
from stepper.tui.app import StepperApp
from stepper.tui.why_screen import WhyScreen
from tests.tui.screen import plain, press_until, until
from tests.tui.test_app import NARROW, SIZES, WIDE, opened


def text(app: StepperApp) -> str:
    return " ".join(" ".join(line.strip(" │▌▐") for line in plain(app)).split())


def says(app: StepperApp, words: str) -> Callable[[], bool]:
    return lambda: words in text(app)


@SIZES
async def test_both_lists_are_shown(sample_path: Path, size: Any) -> None:
    async with opened(sample_path, size) as (app, pilot):
        await pilot.press("W")
        assert "why it was compiled again" in text(app)
        assert "1 function compiled again, 1 recompilation" in text(app)
        assert "x.shape[0]: expected 2, actual 5" in text(app)
        await press_until(pilot, "v", says(app, "why graphs broke"))
        assert "1. Attempted to call function marked as skipped" in text(app)
        assert "Move the print out of the compiled function." in text(app)
        await pilot.press("escape")
        await pilot.pause()
        assert "source" in text(app)


async def test_enter_goes_to_the_moment_of_a_row(sample_path: Path) -> None:
    async with opened(sample_path, NARROW) as (app, pilot):
        found = app.session.recording.graph_breaks()[0]  # type: ignore[union-attr]  # it is not None
        await pilot.press("W")
        await press_until(pilot, "v", says(app, "why graphs broke"))
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: not isinstance(app.screen, WhyScreen))
        assert app.cursor.position == found.moment
        await pilot.press("backspace")
        assert app.cursor.position == 1


async def test_in_the_guards_it_says_first_why_the_selected_one_is_there(
    sample_path: Path,
) -> None:
    recording = Recording.open(str(sample_path))
    (entry,) = [each for each in recording.translations() if each.compile_id == "0/1"]
    guard = recording.guards(None, attempt=recording.attempts(entry.id)[-1].id)[0]
    recording.close()
    async with opened(sample_path, WIDE, at=entry.last_moment) as (app, pilot):
        await pilot.press("7", "home", "W")
        assert "why this guard is there" in text(app)
        assert f"{guard.kind} {guard.source} of 0/1" in text(app)
        assert "protects against" in text(app)
        await press_until(pilot, "v", says(app, "why it was compiled again"))


async def test_it_begins_with_what_the_moment_is_about(sample_path: Path) -> None:
    recording = Recording.open(str(sample_path))
    found = recording.graph_breaks()[-1]
    recording.close()
    async with opened(sample_path, NARROW, at=found.moment) as (app, pilot):
        await pilot.press("W")
        assert "why graphs broke" in text(app)
        await pilot.press("s", "enter")
        assert app.cursor.position == found.moment, "the cursor stands at what is about it"


async def test_a_stop_at_a_recompilation_is_about_that_one(sample_path: Path) -> None:
    """Its event has the number of the moment before: the first of its own is where it stops."""
    recording = Recording.open(str(sample_path))
    [again] = recording.events(kinds=[EventKind.RECOMPILE])
    assert again.ref is not None
    first = recording.translation(again.ref).first_moment
    recording.close()
    for moment in (again.moment, first):
        async with opened(sample_path, NARROW, at=moment) as (app, pilot):
            await until(pilot, says(app, "compiled again: 0/0 wants x.shape[0]"))
            await pilot.press("W")
            assert "why we are here" in text(app)
            assert "compiled again: 0/0 wants x.shape[0]" in text(app)
            await press_until(pilot, "v", says(app, "why it was compiled again"))


async def test_a_row_that_leads_nowhere_stays(sample_path: Path) -> None:
    async with opened(sample_path, NARROW) as (app, pilot):
        await pilot.press("W", "enter")
        assert isinstance(app.screen, WhyScreen)


async def test_it_is_in_the_palette(sample_path: Path) -> None:
    async with opened(sample_path, NARROW) as (app, _):
        titles = [command.title for command in app.get_system_commands(app.screen)]
        assert "Why" in titles


async def test_it_compares_with_the_entry_and_the_moment_before(sample_path: Path) -> None:
    recording = Recording.open(str(sample_path))
    (entry,) = [each for each in recording.translations() if each.compile_id == "0/1"]
    recording.close()
    assert entry.last_moment is not None
    async with opened(sample_path, WIDE, at=entry.first_moment) as (app, pilot):
        app._goto(str(entry.last_moment))
        await pilot.press("W")
        before = says(app, f"what differs from moment {entry.first_moment}")
        await press_until(pilot, "v", before)
        assert f"b is at moment {entry.last_moment}: " in text(app)
        await press_until(pilot, "v", says(app, "what differs from 0/0"))
        assert "0/0 Net.forward | 0/1 Net.forward" in text(app)


async def test_it_compares_with_the_attempt_before(sample_path: Path) -> None:
    recording = Recording.open(str(sample_path))
    (second,) = [each for each in recording.attempts() if each.number == 2]
    recording.close()
    async with opened(sample_path, WIDE, at=second.first_moment) as (app, pilot):
        await pilot.press("W")
        await press_until(pilot, "v", says(app, "what differs from attempt 1"))
        assert "thrown away since: graph break in block" in text(app)
