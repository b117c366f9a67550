"""The application on a recording: what a person sees and what keys do, narrow and wide."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual import events
from textual.binding import Binding
from textual.pilot import Pilot

from stepper.client.session import open_recording
from stepper.model.breakpoint import BreakpointKind
from stepper.model.trace import EventKind
from stepper.recording.reader import Recording
from stepper.tui.app import StepperApp
from stepper.tui.desk import PANE_KEYS
from stepper.tui.keys import IN_LISTS, KEYS
from stepper.tui.lines import Lines
from stepper.tui.pane import Pane
from stepper.tui.panes.timeline import TimelineView
from tests.recordings import FACTS, Tape, big_recording
from tests.tui.screen import plain, until

NARROW, WIDE = (80, 24), (120, 40)
SIZES = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "120x40"])


@asynccontextmanager
async def opened(
    path: Path, size: tuple[int, int] = NARROW, *, at: int | None = None, why: str = ""
) -> AsyncIterator[tuple[StepperApp, Pilot[Any]]]:
    """The application on a recording."""
    session = open_recording(str(path))
    app = StepperApp(session, at=at, why=why)
    try:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            yield app, pilot
    finally:
        session.close()


def header(app: StepperApp) -> str:
    return plain(app)[0]


def status(app: StepperApp) -> str:
    return plain(app)[-1]


@SIZES
async def test_the_first_screen_shows_code_and_place(sample_path: Path, size: Any) -> None:
    async with opened(sample_path, size) as (app, _):
        assert "train.py" in header(app)
        assert " 0/0 " in header(app)
        assert "Net.forward" in header(app)
        assert "attempt 1" in header(app)
        assert "moment 1/" in header(app)
        assert "ENDED" in header(app)
        screen = "\n".join(plain(app))
        assert "def forward(self, x)" in screen
        assert "▶" in screen
        assert "s step" in status(app)


@SIZES
async def test_step_goes_on_and_shift_goes_back(sample_path: Path, size: Any) -> None:
    async with opened(sample_path, size) as (app, pilot):
        await pilot.press("s", "s", "s")
        assert "moment 4/" in header(app)
        await pilot.press("S")
        assert "moment 3/" in header(app)
        await pilot.press("enter", "enter")
        assert "moment 1/" in header(app)
        await pilot.press("S")
        assert "at the first moment" in status(app)


@pytest.mark.parametrize("pane", list(PANE_KEYS))
async def test_execution_keys_work_in_every_pane(sample_path: Path, pane: str) -> None:
    async with opened(sample_path) as (app, pilot):
        app.action_reveal(pane)
        await pilot.pause()
        if not isinstance(app.focused, Lines):
            await pilot.press("escape")
        await pilot.press("s")
        assert app.cursor.position == 2


async def test_a_change_is_marked_by_a_sign_and_the_old_value_is_shown(sample_path: Path) -> None:
    async with opened(sample_path, WIDE) as (app, pilot):
        recording = app.session.recording
        assert recording is not None
        app.action_reveal("stack")
        seen = ""
        while app.cursor.position < min(30, recording.newest):
            await pilot.press("s")
            seen += "\n".join(plain(app))
        assert "+ TOS" in seen
        assert "- [" in seen
        assert "~ " in seen
        assert "(was " in seen


async def test_a_value_unfolds_to_all_that_is_known_of_it(sample_path: Path) -> None:
    async with opened(sample_path, WIDE, at=4) as (app, pilot):
        app.action_reveal("locals")
        await pilot.press("z", "down")
        await pilot.press("enter")
        await pilot.pause()
        screen = "\n".join(plain(app))
        for fact in ("TensorVariable", "float32", "(2, 3)", "stride", "requires_grad", "L['x']"):
            assert fact in screen
        assert "TENSOR_MATCH" in screen


async def test_origin_goes_to_where_a_value_was_made_and_backspace_returns(
    sample_path: Path,
) -> None:
    async with opened(sample_path, WIDE) as (app, pilot):
        recording = app.session.recording
        assert recording is not None
        attempt = recording.attempts(1)[1]
        last = attempt.last_moment
        assert last is not None
        app._goto(str(last))
        app.action_reveal("stack")
        await pilot.press("o")
        assert app.cursor.position < last
        await pilot.press("backspace")
        assert app.cursor.position == last


async def test_selecting_a_caller_shows_its_code(sample_path: Path) -> None:
    async with opened(sample_path, WIDE) as (app, pilot):
        await pilot.press("full_stop")
        await pilot.pause()
        app._event_kind = EventKind.INLINE
        await pilot.press("escape", "full_stop", "s")
        await until(pilot, lambda: "source block" in "\n".join(plain(app)))
        await pilot.press("5", "down", "enter")
        await until(pilot, lambda: "source Net.forward" in "\n".join(plain(app)))
        assert "▷" in "\n".join(plain(app))


async def test_b_sets_a_breakpoint_and_continue_stops_there_both_ways(sample_path: Path) -> None:
    async with opened(sample_path, WIDE) as (app, pilot):
        await pilot.press("2", "down", "down", "down", "b")
        assert "breakpoint set: offset:" in status(app)
        assert any("●" in line for line in plain(app))
        (breakpoint,) = app.session.breakpoints
        assert breakpoint.kind is BreakpointKind.OFFSET
        await pilot.press("c")
        first = app.cursor.position
        assert first > 1
        assert "breakpoint 1" in status(app)
        await pilot.press("c")
        assert app.cursor.position > first
        await pilot.press("C")
        assert app.cursor.position == first
        await pilot.press("b")
        assert app.session.breakpoints == []


async def test_a_click_in_the_gutter_toggles_a_breakpoint(sample_path: Path) -> None:
    async with opened(sample_path, WIDE) as (app, pilot):
        await pilot.click("#pane-source Lines", offset=(1, 1))
        await until(pilot, lambda: len(app.session.breakpoints) == 1)
        assert app.session.breakpoints[0].kind is BreakpointKind.LINE


@pytest.mark.parametrize(
    ("text", "position"), [("7", 7), ("+4", 5), ("1,0", 10), ("0%", 1), (" 12 ", 12)]
)
async def test_goto(sample_path: Path, text: str, position: int) -> None:
    async with opened(sample_path) as (app, pilot):
        await pilot.press("g")
        app.screen.query_one("Prompt Input").value = text  # type: ignore[attr-defined]  # set as programs set it
        await pilot.press("enter")
        await until(pilot, lambda: app.cursor.position == position)


async def test_goto_refuses_nonsense_in_words(sample_path: Path) -> None:
    async with opened(sample_path) as (app, pilot):
        await pilot.press("g", *"soon", "enter")
        await until(pilot, lambda: "'soon' is no moment" in status(app))
        await pilot.press("g", *"99999999", "enter")
        await until(pilot, lambda: "moments go from 1 to" in status(app))


async def test_search_in_a_pane_and_n_goes_on(sample_path: Path) -> None:
    async with opened(sample_path) as (app, pilot):
        await pilot.press("2", "slash", *"load_", "enter")
        await until(pilot, lambda: "n next" in status(app))
        lines = app.focused
        assert isinstance(lines, Lines)
        first = lines.cursor
        await pilot.press("n")
        await until(pilot, lambda: lines.cursor != first)
        assert app.cursor.position == 1
        await pilot.press("escape", "n")
        await until(pilot, lambda: app.cursor.position == 2)


async def test_the_picker_counts_events_and_full_stop_goes_on(sample_path: Path) -> None:
    async with opened(sample_path) as (app, pilot):
        await pilot.press("full_stop")
        await until(pilot, lambda: "graph-break" in "\n".join(plain(app)))
        app.screen.dismiss(EventKind.GRAPH_BREAK)
        await until(pilot, lambda: app.cursor.position > 1)
        assert "graph-break" in status(app)
        await pilot.press("full_stop")
        await until(pilot, lambda: "no graph-break after this moment" in status(app))


async def test_zoom_gives_a_pane_the_whole_screen(sample_path: Path) -> None:
    async with opened(sample_path, WIDE) as (app, pilot):
        await pilot.press("3", "z")
        await pilot.pause()
        assert app.desk.panes["stack"].size.width == WIDE[0]
        assert not app.desk.panes["source"].display
        await pilot.press("z")
        await pilot.pause()
        assert app.desk.panes["source"].display


async def test_resizing_the_terminal_turns_panes_into_tabs(sample_path: Path) -> None:
    async with opened(sample_path, WIDE) as (app, pilot):
        assert app.desk.panes["locals"].display
        await pilot.resize_terminal(*NARROW)
        await pilot.pause()
        assert not app.desk.panes["locals"].display
        await pilot.press("4")
        await until(pilot, lambda: app.desk.panes["locals"].display)


async def test_a_larger_pane_by_key(sample_path: Path) -> None:
    async with opened(sample_path, WIDE) as (app, pilot):
        before = app.desk.panes["source"].size
        await pilot.press("plus")
        await pilot.pause()
        assert app.desk.panes["source"].size.height > before.height
        await pilot.press("right_square_bracket")
        await pilot.pause()
        assert app.desk.panes["source"].size.width > before.width


async def test_every_key_is_an_action_and_in_the_palette(sample_path: Path) -> None:
    async with opened(sample_path) as (app, _):
        titles = {command.title for command in app.get_system_commands(app.screen)}
        for key in KEYS:
            name = key.action.partition("(")[0]
            assert hasattr(app, f"action_{name}"), key
            assert key.title in titles or name == "command_palette"
        assert {f"Pane: {name}" for name in app.desk.panes} <= titles


async def test_the_palette_has_what_the_focused_pane_can_do(sample_path: Path) -> None:
    async with opened(sample_path, at=12) as (app, pilot):
        await pilot.press("6")
        found = {c.title: c for c in app.get_system_commands(app.screen)}
        for title in ("Search in this pane", "Copy the row or the selection", "Filter this list"):
            assert title in found
        found["Next view of this pane"].callback()
        await until(pilot, lambda: "[code]" in "\n".join(plain(app)))


async def test_the_help_names_every_key_that_lists_take(sample_path: Path) -> None:
    signs = {"up": "↑", "down": "↓", "left": "←", "right": "→", "pageup": "PgUp"}
    signs |= {"pagedown": "PgDn", "slash": "/", "ampersand": "&", "plus": "+", "minus": "-"}
    async with opened(sample_path) as (app, _):
        words = set(re.split(r"[\s,;]+", " ".join(f"{key} {text}" for key, text in IN_LISTS)))
        for widget in app.query(Lines), app.query(Pane), app.query(TimelineView):
            for node in widget:
                for binding in type(node).BINDINGS:
                    assert isinstance(binding, Binding)
                    keys = [key.rpartition("+")[2] for key in binding.key.split(",")]
                    shown = {signs.get(key, key.capitalize() if key[1:] else key) for key in keys}
                    shown |= {f"Shift-{key}" for key in shown}
                    assert shown & words, binding


async def test_only_visible_panes_draw(sample_path: Path) -> None:
    async with opened(sample_path) as (app, pilot):
        drawn: list[str] = []
        for pane in app.desk.panes.values():
            original = pane.show

            def show(snapshot: Any, name: str = pane.NAME, original: Any = original) -> None:
                drawn.append(name)
                original(snapshot)

            pane.show = show  # type: ignore[method-assign]  # replaced
        await pilot.press("s")
        visible = {name for name, pane in app.desk.panes.items() if pane.display}
        assert set(drawn) <= visible
        assert len(visible) < len(app.desk.panes)


async def test_a_finished_recording_says_nothing_to_interrupt(sample_path: Path) -> None:
    async with opened(sample_path) as (app, pilot):
        await pilot.press("ctrl+c")
        assert "nothing to interrupt" in status(app)
        assert app.is_running


async def test_a_post_mortem_session_has_no_timer_and_quits_at_once(sample_path: Path) -> None:
    async with opened(sample_path) as (app, pilot):
        assert app._timer is None
        await pilot.press("q")
        await pilot.pause()
        assert app.return_code == 0
        assert not app.is_running


async def test_keys_typed_ahead_go_to_the_line_that_the_first_one_opened(
    sample_path: Path,
) -> None:
    async with opened(sample_path) as (app, pilot):
        for key in ("g", "2", "3", "enter", "s", "s"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: app.cursor.position == 25)


async def test_keys_typed_ahead_go_to_the_dialog_that_the_first_one_opened(
    sample_path: Path,
) -> None:
    async with opened(sample_path) as (app, pilot):
        keys = ["B", *"skip", "enter", "a", *"restart", "enter", "escape", "s"]
        for key in keys:
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: app.cursor.position == 2)
        kinds = [breakpoint.kind for breakpoint in app.session.breakpoints]
        assert kinds == [BreakpointKind.SKIP, BreakpointKind.RESTART]


async def test_a_recording_that_another_process_writes_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "growing.stepper"
    tape = Tape(str(path), facts=msgspec.structs.replace(FACTS, pid=os.getpid()))
    tape.begin(big_recording, "0/0")
    tape.start_attempt()
    tape.step(0, stack=(), locals={})
    tape.writer.flush()
    async with opened(path) as (app, pilot):
        assert "RECORDING" in header(app)
        assert "moment 1/1" in header(app)
        tape.step(1, stack=(), locals={})
        tape.writer.flush()
        await until(pilot, lambda: "moment 1/2" in header(app))
        await pilot.press("G")
        assert "follows the recording" in status(app)
        tape.step(2, stack=(), locals={})
        tape.writer.flush()
        await until(pilot, lambda: "moment 3/3" in header(app))
        await pilot.press("S")
        tape.step(3, stack=(), locals={})
        tape.writer.flush()
        await until(pilot, lambda: "moment 2/4" in header(app))
        tape.end_attempt()
        tape.end()
        tape.close()
        await until(pilot, lambda: "ENDED" in header(app))
        assert app._timer is None


async def test_what_stands_at_a_graph_break_is_explained(sample_path: Path) -> None:
    with contextlib.closing(Recording.open(str(sample_path))) as recording:
        moment = recording.graph_breaks()[0].moment
    async with opened(sample_path, at=moment) as (app, pilot):
        await pilot.press("8")
        await until(pilot, lambda: "graph break at this instruction" in "\n".join(plain(app)))
        assert "hint: Move the print out" in "\n".join(plain(app))


async def test_the_reason_for_looking_is_said_first(sample_path: Path) -> None:
    async with opened(sample_path, at=3, why="test_it failed: assert 1 == 2") as (app, pilot):
        assert "test_it failed: assert 1 == 2" in status(app)
        await pilot.press("n")
        assert "test_it" not in status(app)


async def test_nothing_is_missing_only_yet_where_the_recording_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "empty.stepper"
    Tape(str(path)).close()
    claims = (
        r"\b(yet|still|waits|nothing (was|has been) (?!recorded)\w+|(was|has|were) (not|never))\b"
    )
    async with opened(path, WIDE) as (app, pilot):
        for key in PANE_KEYS.values():
            await pilot.press(key)
            await pilot.pause()
            screen = "\n".join(plain(app))
            assert not re.search(claims, screen), key
        assert "no translation has been recorded" in screen
