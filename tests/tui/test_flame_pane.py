"""Time on the screen: a flame graph that one can walk, and the heat of a frame's lines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from stepper.analysis.compile_times import CompileTimes
from stepper.analysis.flame import flames
from stepper.analysis.line_heat import line_heat
from stepper.client.session import open_recording
from stepper.recording.reader import Recording
from stepper.tui.app import StepperApp
from stepper.tui.flame_layout import box_text, boxes, way_to
from stepper.tui.panes.flame import FlamePane
from tests.tui.screen import plain, until
from tests.tui.story import write_story, write_timed_story

MS = 1_000_000


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("timed") / "timed.stepper"
    write_timed_story(str(path))
    return path


@asynccontextmanager
async def walked(path: Path, *, at: int = 5) -> AsyncIterator[tuple[StepperApp, Pilot[Any]]]:
    """The screen with its keyboard in the flame graph, when that is there."""
    session = open_recording(str(path))
    app = StepperApp(session, at=at)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("vertical_line", *["down"] * 5, "enter", "T")
        await until(pilot, lambda: any("flame 0.10 s" in line for line in plain(app)))
        yield app, pilot
    session.close()


def told(app: StepperApp) -> str:
    """The line about the selected box."""
    pane = app.desk.panes["flame"]
    assert isinstance(pane, FlamePane)
    return plain(app)[pane.region.y][pane.region.x :]


def test_a_line_has_the_time_of_its_instructions_and_of_what_they_inline(timed: Path) -> None:
    recording = Recording.open(str(timed))
    heat = {
        line: (own // MS, total // MS) for line, (own, total) in line_heat(recording, 1).items()
    }
    assert heat == {10: (1, 1), 11: (2, 2), 12: (4, 48), 13: (9, 9)}
    # The two calls of `layer` are two frames.
    for frame in (2, 3):
        heat = {
            line: (own // MS, all_ // MS)
            for line, (own, all_) in line_heat(recording, frame).items()
        }
        assert heat == {20: (2, 2), 21: (20, 20)}
    recording.close()


def test_boxes_fill_the_width_and_what_leads_on_shares_a_box(timed: Path) -> None:
    recording = Recording.open(str(timed))
    roots = flames(CompileTimes(recording))
    found = sorted((box.row, box.first, box.last, box_text(box, 60)) for box in boxes(roots, 100))
    assert found == [
        (0, 0, 100, "entire_frame_compile"),
        (1, 0, 60, "bytecode_tracing"),
        (1, 60, 85, "backend_compile"),
        (2, 0, 60, "forward"),
        (3, 0, 48, "net.py:12  x = layer(x, w)"),
        (3, 48, 57, "net.py:13  return x.relu()"),
        (3, 57, 59, "net.py:11  for w in ws:"),
        (3, 59, 60, "net.py:10  def forward(x, ws):"),
        (4, 0, 44, "layer"),
        (5, 0, 40, "net.py:21  return gelu(x @ w)"),
        (5, 40, 44, "net.py:20  def layer(x, w):"),
    ]
    here = way_to(
        roots, [("/home/ann/project/net.py", 10, 12), ("/home/ann/project/net.py", 20, 21)]
    )
    assert [flame.name for flame in here] == [
        "entire_frame_compile", "bytecode_tracing", "forward", "forward", "layer", "layer",
    ]  # fmt: skip
    function = roots[0].by_time[0].by_time[0]
    for line in [*function.children]:
        if line[3] != 12:
            function.total -= function.children.pop(line).total
    assert box_text(boxes([function], 30)[0], 60) == "forward:12  x = layer(x, w)"
    recording.close()


async def test_one_walks_from_box_to_box_and_goes_to_the_moment(timed: Path) -> None:
    async with walked(timed) as (app, pilot):
        # It begins where the moment shown is.
        assert "net.py:21 in layer  return gelu(x @ w)" in told(app)
        assert told(app).startswith("40 ms 40 %  own 40 ms")
        await pilot.press("up", "up")
        assert "net.py:12 in forward" in told(app)
        assert told(app).startswith("48 ms 48 %  own 4.0 ms")
        await pilot.press("right")
        assert "net.py:13 in forward" in told(app)
        await pilot.press("enter")
        await until(pilot, lambda: app.cursor.position == 10)
        await pilot.press("backspace")
        await until(pilot, lambda: app.cursor.position == 5)


async def test_a_box_is_made_as_wide_as_the_pane_and_back(timed: Path) -> None:
    async with walked(timed) as (app, pilot):
        await pilot.press("home", "down")
        assert "bytecode_tracing" in told(app)
        assert any("backend_compile" in line for line in plain(app))
        await pilot.press("i")
        assert "bytecode_tracing" in told(app)
        assert not any("backend_compile" in line for line in plain(app))
        await pilot.press("o")
        assert "bytecode_tracing" in told(app)
        assert any("backend_compile" in line for line in plain(app))


async def test_the_gutter_of_the_source_has_each_lines_part_of_the_frames_time(timed: Path) -> None:
    session = open_recording(str(timed))
    app = StepperApp(session, at=2)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: any("12▉" in line for line in plain(app)))
        lines = plain(app)
        assert any("11▏" in line for line in lines)
        assert any("13▎" in line for line in lines)
        await pilot.press("1", "v")
        await until(pilot, lambda: any("48 ms" in line for line in plain(app)))
        assert any("60 ms: total" in line for line in plain(app))
    session.close()


async def test_a_recording_without_times_says_so(tmp_path: Path) -> None:
    path = tmp_path / "story.stepper"
    write_story(str(path))
    session = open_recording(str(path))
    app = StepperApp(session, at=3)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("T")
        await until(
            pilot, lambda: any("no compilation has been recorded" in line for line in plain(app))
        )
    session.close()
