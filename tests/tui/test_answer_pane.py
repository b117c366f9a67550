"""The pane that says why we are here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stepper.tui.panes.answer
from stepper.analysis.here import Here
from stepper.model.trace import EventKind, MomentId
from stepper.recording.reader import Recording
from stepper.tui.app import StepperApp
from stepper.tui.panes.answer import AnswerPane
from tests.tui.screen import plain, until
from tests.tui.test_app import NARROW, SIZES, WIDE, opened


def answer(app: StepperApp) -> AnswerPane:
    pane = app.desk.panes["answer"]
    assert isinstance(pane, AnswerPane)
    return pane


def settled(app: StepperApp) -> Callable[[], bool]:
    return lambda: answer(app).settled


def first(path: Path, kind: EventKind) -> MomentId:
    """The moment of the first event of a kind."""
    recording = Recording.open(str(path))
    found = recording.next_event(0, (kind,), 1)
    recording.close()
    assert found is not None
    return found.moment


@SIZES
async def test_a_break_is_told_with_its_line_where_one_looks_first(
    sample_path: Path, size: Any
) -> None:
    moment = first(sample_path, EventKind.GRAPH_BREAK)
    async with opened(sample_path, size, at=moment) as (app, pilot):
        await until(pilot, settled(app))
        await pilot.pause()
        rows = plain(app)[1:]
        assert "graph break: " in rows[0]
        assert "recordings.py:" in rows[1]
        assert rows[1].rstrip(" ▐").endswith(")"), "the line itself"
        assert any("cost: " in row for row in rows[:7])


@SIZES
async def test_a_plain_step_takes_one_row(sample_path: Path, size: Any) -> None:
    async with opened(sample_path, size, at=2) as (app, pilot):
        await until(pilot, settled(app))
        await pilot.pause()
        assert answer(app).size.height == 1
        assert "recordings.py:" in plain(app)[1]


async def test_it_is_the_same_however_one_came(sample_path: Path) -> None:
    moment = first(sample_path, EventKind.GRAPH_BREAK)
    async with opened(sample_path, WIDE, at=moment) as (app, pilot):
        await until(pilot, settled(app))
        await pilot.pause()
        height = answer(app).size.height
        there = plain(app)[1 : 1 + height]
        await pilot.press("g", *"1", "enter")
        await until(pilot, settled(app))
        await pilot.press("g", *str(moment), "enter")
        await until(pilot, settled(app))
        await pilot.pause()
        assert plain(app)[1 : 1 + height] == there


async def test_a_row_leads_to_where_it_comes_from_and_back(sample_path: Path) -> None:
    moment = first(sample_path, EventKind.GRAPH_BREAK)
    async with opened(sample_path, NARROW, at=moment) as (app, pilot):
        await until(pilot, settled(app))
        await pilot.press("!")
        rows = answer(app)._rows
        at = next(i for i, (_, lead) in enumerate(rows) if lead not in (None, moment))
        await pilot.press(*["down"] * at, "enter")
        assert app.cursor.position == rows[at][1]
        await pilot.press("backspace")
        assert app.cursor.position == moment


async def test_with_the_keyboard_it_has_more_rows(sample_path: Path) -> None:
    moment = first(sample_path, EventKind.RECOMPILE)
    async with opened(sample_path, NARROW, at=moment) as (app, pilot):
        await until(pilot, settled(app))
        await pilot.pause()
        before = answer(app).size.height
        await pilot.press("!")
        await pilot.pause()
        assert answer(app).size.height >= before
        await pilot.press("1")
        await pilot.pause()
        assert answer(app).size.height == before


async def test_nothing_is_found_out_of_what_nobody_sees(
    sample_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def found(_: Recording, moment: MomentId) -> Here:
        asked.append(moment)
        return Here("why")

    monkeypatch.setattr(stepper.tui.panes.answer, "why_here", found)
    async with opened(sample_path, NARROW, at=2) as (app, pilot):
        await until(pilot, settled(app))
        await pilot.press("1", "z")
        asked.clear()
        await pilot.press("s", "s")
        await pilot.pause(0.3)
        assert not asked
        assert app.cursor.position == 4
        await pilot.press("z")
        await until(pilot, settled(app))
        assert asked == [4], "only where one stays"


async def test_what_is_found_at_once_has_the_width_that_there_is(
    sample_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stepper.tui.panes.answer, "_REST", 1000.0)
    moment = first(sample_path, EventKind.GRAPH_BREAK)
    async with opened(sample_path, WIDE, at=moment) as (app, pilot):
        await pilot.pause()
        assert not answer(app).settled
        headline = plain(app)[1].rstrip()
        assert headline.startswith("▌ graph break: ")
        assert len(headline) > 40
        assert "recordings.py:" in plain(app)[2]
