"""Going from one process of a session folder to another."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from textual.widgets import OptionList

from stepper.recording.session_folder import read
from stepper.tui.processes_dialog import ProcessChooser
from tests.tui.screen import plain
from tests.tui.test_app import NARROW, opened


@pytest.fixture
def session(sample_path: Path, tmp_path: Path) -> Path:
    """A session of three processes, of which two have recorded."""
    for pid, rank in ((5, 0), (6, None), (7, 1)):
        entry = {"pid": pid, "rank": rank, "started": float(pid), "ended": 9.0, "exit": 0}
        (tmp_path / f"{pid}.json").write_text(
            json.dumps({**entry, "recording": f"{pid}.stepper", "command": ["python", "t.py"]})
        )
    shutil.copy(sample_path, tmp_path / "5.stepper")
    shutil.copy(sample_path, tmp_path / "7.stepper")
    return tmp_path


async def test_the_header_says_which_process_is_shown(session: Path, sample_path: Path) -> None:
    for path, header in (
        (session / "5.stepper", " process 5, rank 0 "),
        (session / "7.stepper", " process 7, rank 1 "),
        (sample_path, " train.py "),
    ):
        async with opened(path, NARROW) as (app, _):
            assert plain(app)[0].startswith(header)


async def test_another_process_is_chosen_from_a_list(session: Path) -> None:
    async with opened(session / "7.stepper", NARROW) as (app, pilot):
        await pilot.press("ctrl+o")
        await pilot.pause()
        shown = "\n".join(plain(app))
        assert "Look at which process?" in shown
        assert app.screen.query_one(OptionList).highlighted == 1
        assert "rank 0" in shown
        await pilot.press("up", "enter")
        await pilot.pause()
        assert app.other == str(session / "5.stepper")


async def test_staying_is_no_choice(session: Path) -> None:
    async with opened(session / "7.stepper", NARROW) as (app, pilot):
        await pilot.press("ctrl+o", "enter")
        await pilot.pause()
        assert app.other == ""
        assert "Look at which process?" not in "\n".join(plain(app))


async def test_a_recording_alone_has_no_other_process(sample_path: Path) -> None:
    async with opened(sample_path, NARROW) as (app, pilot):
        await pilot.press("ctrl+o")
        await pilot.pause()
        assert "not in a session folder" in "\n".join(plain(app))


async def test_the_choice_stands_alone_before_there_is_a_recording(session: Path) -> None:
    app = ProcessChooser(read(str(session)))
    async with app.run_test(size=(100, 24)) as pilot:
        await pilot.press("down", "enter")
    assert app.return_value == str(session / "7.stepper")
