"""Panes are arranged for what one does, and keep the rows that they need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.geometry import Region

from stepper.client.session import open_recording
from stepper.model.trace import Outcome, Phase
from stepper.recording.reader import Recording
from stepper.tui.app import StepperApp
from stepper.tui.presets import PRESETS, Preset
from tests.benchmarks.bench_questions import busy_recording
from tests.tape import Tape
from tests.tui.screen import plain, until
from tests.tui.test_app import NARROW, SIZES, WIDE, opened, status


@SIZES
@pytest.mark.parametrize("preset", PRESETS[1:], ids=lambda preset: preset.name)
async def test_each_preset_shows_what_it_is_for(
    sample_path: Path, preset: Preset, size: Any
) -> None:
    async with opened(sample_path, size) as (app, pilot):
        down = PRESETS.index(preset)
        await pilot.press("vertical_line", *["down"] * down, "enter")
        await pilot.pause()
        visible = {name for name, pane in app.desk.panes.items() if pane.visible_on_desk}
        assert app.snapshot is not None
        for group in (preset.above, preset.below):
            panes = (app.desk.panes[name] for name in group)
            # The first that has something to show: a recording has no cache.
            worth = next(pane for pane in panes if pane.has_something(app.snapshot))
            assert worth.NAME in visible
        assert status(app).strip().startswith(f"{preset.name}: ")
        assert app.desk.focused_pane() in [app.desk.panes[name] for name in visible]


async def test_the_choice_is_kept_for_the_next_session(sample_path: Path, tmp_path: Path) -> None:
    kept = tmp_path / "state" / "screen.json"
    for expected in ("step", "cache"):
        session = open_recording(str(sample_path))
        app = StepperApp(session, kept=kept)
        async with app.run_test(size=WIDE) as pilot:
            await pilot.pause()
            assert app.desk.preset.name == expected
            app.action_preset("cache")
            app.desk.reveal("cache")
            await pilot.press("plus")
        session.close()
    shares = app.desk.shares["cache"]
    assert shares["group cache"] == pytest.approx(1.2**2)


@pytest.mark.parametrize("kept", [b"", b"[]", b'{"preset": 3}', b'{"preset": "gone"}'])
async def test_what_was_kept_by_another_version_is_no_trouble(
    sample_path: Path, tmp_path: Path, kept: bytes
) -> None:
    path = tmp_path / "screen.json"
    path.write_bytes(kept)
    session = open_recording(str(sample_path))
    app = StepperApp(session, kept=path)
    async with app.run_test(size=NARROW) as pilot:
        await pilot.pause()
        assert app.desk.preset is PRESETS[0]
    session.close()


async def test_no_pane_has_rows_that_another_one_needs(sample_path: Path) -> None:
    async with opened(sample_path, WIDE, at=4) as (app, pilot):
        await pilot.pause()
        panes = [app.desk.panes[name] for name in ("source", "bytecode")]
        assert panes[0].size.height <= panes[0].wanted + 2
        assert any("│" in line for line in plain(app))


async def test_a_step_into_a_call_and_out_of_it_moves_no_pane(big_path: Path) -> None:
    async with opened(big_path, WIDE, at=960) as (app, pilot):
        stack = app.desk.panes["stack"]
        rows = stack.size.height
        assert rows > 9
        await pilot.press("s")
        assert stack.wanted < 3
        assert stack.size.height == rows
        await pilot.press(*"sssssssss")
        await until(pilot, lambda: stack.size.height < rows)  # others need what it does not


async def test_a_step_to_the_next_frame_moves_no_pane(tmp_path: Path) -> None:
    path = tmp_path / "busy.stepper"
    busy_recording(str(path), 2_000)
    recording = Recording.open(str(path))
    _, before, *_ = (each for t in recording.translations() for each in recording.attempts(t.id))
    recording.close()

    def places(app: StepperApp) -> list[Region]:
        return [pane.region for pane in app.desk.panes.values() if pane.visible_on_desk]

    assert before.last_moment is not None
    async with opened(path, (160, 45), at=before.last_moment) as (app, pilot):
        await until(pilot, lambda: app.desk.panes["timeline"].visible_on_desk)
        await pilot.pause(0.2)
        assert "graph 0" not in "\n".join(plain(app))
        there = places(app)
        await pilot.press("s")
        await pilot.pause()
        assert "graph 0" in "\n".join(plain(app))
        assert places(app) == there


async def test_the_keys_below_are_those_of_the_pane_and_the_moment(sample_path: Path) -> None:
    async with opened(sample_path, (200, 45), at=4) as (app, pilot):
        await pilot.press("7")
        assert "& filter" in status(app)
        assert "v view" not in status(app)
        await pilot.press("6")
        assert "v view" in status(app)
        assert "& filter" not in status(app)
        await pilot.press("4")
        assert "o origin" in status(app)
        app.action_goto()
        await pilot.press("9", "enter")
        await until(pilot, lambda: app.cursor.position == 9)
        assert "W why" in status(app)
        assert "Backspace back" in status(app)


@SIZES
async def test_help_and_leaving_have_room_at_each_width(sample_path: Path, size: Any) -> None:
    async with opened(sample_path, size, at=4) as (app, pilot):
        for name in app.desk.panes:
            app.desk.reveal(name)
            await pilot.pause()
            assert status(app).rstrip().endswith("? help q quit"), name


async def test_what_has_nothing_to_show_leaves_its_place_to_what_has(tmp_path: Path) -> None:
    """In a lookup nothing is installed and there is no graph: its checks are shown."""
    tape = Tape(str(tmp_path / "run.stepper"))
    for phase, outcome in ((Phase.LOOKUP, Outcome.MISS), (Phase.TRANSLATE, Outcome.COMPILED)):
        tape.begin(dummy, "0/0" if phase is Phase.TRANSLATE else "", phase=phase)
        tape.start_attempt()
        tape.step(0)
        tape.end_attempt()
        tape.end(outcome=outcome)
    tape.close()
    session = open_recording(str(tmp_path / "run.stepper"))
    app = StepperApp(session, at=1)
    async with app.run_test(size=NARROW) as pilot:

        def shown() -> set[str]:
            return {name for name, pane in app.desk.panes.items() if pane.visible_on_desk}

        app.action_preset("recompile")
        await pilot.pause()
        assert {"bytecode", "frames"} <= shown()
        assert app.desk.focused_pane() is app.desk.panes["bytecode"]
        await pilot.press("s")
        await pilot.pause()
        assert {"source", "guards"} <= shown()
        assert app.desk.focused_pane() is app.desk.panes["source"], "the keyboard goes along"
        await pilot.press("1", "S")  # who asks for a pane has it
        await pilot.pause()
        assert "source" in shown()
    app = StepperApp(session, at=1)
    async with app.run_test(size=(160, 45)) as pilot:
        app.action_preset("cache")
        await pilot.pause()
        source = app.desk.panes["source"]
        assert source.size.height >= source.wanted == 6, "its place is its own in any case"
    session.close()


def dummy() -> None:
    """What is called,

    and has some lines, which fit into the place
    that it has.
    """
