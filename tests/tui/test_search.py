"""One search over the whole recording leads to moments and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stepper.analysis.search import Found, moment_of, search
from stepper.recording.reader import Recording
from stepper.tui.app import StepperApp
from stepper.tui.search_screen import SearchScreen
from tests.tui.screen import plain, until
from tests.tui.test_app import SIZES, WIDE, opened


def found(path: Path, text: str) -> dict[str, Found]:
    with_it = Recording.open(str(path))
    try:
        return {each.sort: each for each in search(with_it, text)}
    finally:
        with_it.close()


def test_every_sort_of_thing_is_found(sample_path: Path) -> None:
    assert {"source", "values"} <= set(found(sample_path, "scale"))
    assert "instructions" in found(sample_path, "BINARY_OP")
    assert "nodes" in found(sample_path, "call_function")
    assert "guards" in found(sample_path, "match")
    assert "what happened, and reasons" in found(sample_path, "print")


@pytest.mark.parametrize("text", ["", "   ", "nowhere to be found", "%", "_\x00", "\udce4"])
def test_what_stands_nowhere_is_not_found(sample_path: Path, text: str) -> None:
    assert found(sample_path, text) == {}


def test_each_hit_leads_to_a_moment_where_it_is(sample_path: Path) -> None:
    recording = Recording.open(str(sample_path))
    for each in search(recording, "binary_op")[0].hits:
        moment = moment_of(recording, each)
        if moment is not None:
            there = recording.moment(moment)
            code = recording.code(recording.frame(there.frame).code)
            assert code.instructions[there.ip].opname == "BINARY_OP"
    recording.close()


def there(app: StepperApp, heading: str) -> Callable[[], bool]:
    return lambda: any(heading in line for line in plain(app))


@SIZES
async def test_a_hit_is_gone_to_and_come_back_from(sample_path: Path, size: Any) -> None:
    async with opened(sample_path, size, at=2) as (app, pilot):
        await pilot.press("ctrl+f", *"print")
        await until(pilot, there(app, "reasons: "))
        await pilot.press("down", "enter")
        await until(pilot, lambda: not isinstance(app.screen, SearchScreen))
        assert app.cursor.position != 2
        await pilot.press("backspace")
        assert app.cursor.position == 2
        await pilot.press("ctrl+f")
        await until(pilot, there(app, "reasons: "))
        await pilot.press("escape")
        assert app.cursor.position == 2


async def test_what_is_nowhere_is_said(sample_path: Path) -> None:
    async with opened(sample_path) as (app, pilot):
        await pilot.press("ctrl+f", *"zebra")
        await until(pilot, there(app, "'zebra' stands nowhere"))
        await pilot.press("enter", "enter", "escape")
        assert not isinstance(app.screen, SearchScreen)


@pytest.mark.parametrize(
    ("typed", "leads"),
    [
        ("next graphbreak", lambda app: app.snapshot.recording.graph_break_at(app.cursor.position)),
        ("break on guard", lambda app: app.session.breakpoints),
        ("break on node", lambda app: app.session.breakpoints),
        ("break in forward, resumed", lambda app: app.session.breakpoints),
        ("layout cache", lambda app: app.desk.preset.name == "cache"),
        ("origin of x", lambda app: app.cursor.position != 4),
    ],
)
async def test_the_palette_knows_verbs_of_this_recording(
    sample_path: Path, typed: str, leads: Callable[[StepperApp], object]
) -> None:
    async with opened(sample_path, WIDE, at=4) as (app, pilot):
        await pilot.press("ctrl+p", *typed)
        first = typed.split()[0]
        await until(pilot, lambda: any(f"{first} " in line for line in plain(app)[3:]))
        await pilot.press("down", "enter")
        await until(pilot, lambda: bool(leads(app)))
