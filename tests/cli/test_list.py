"""`stepper list`, and `stepper open` without a file."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

import stepper.cli
from stepper.client import paths
from stepper.client.kept import recordings_in, size_text
from stepper.client.paths import prunable
from stepper.recording.reader import Recording
from stepper.tui.choosing import ChoosingApp
from stepper.tui.dialogs import QuitScreen
from tests.recordings import sample_recording
from tests.tui.screen import plain, until
from tests.tui.test_session_panes import played


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where recordings go when nobody says, with two and a half of them."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = tmp_path / "stepper" / "recordings"
    folder.mkdir(parents=True)
    for age, name in enumerate(("new", "older")):
        path = folder / f"{name}.stepper"
        sample_recording(str(path))
        os.utime(path, (2e9 - age, 2e9 - age))
    (folder / "damaged.stepper").write_bytes(b"no recording")
    os.utime(folder / "damaged.stepper", (1e9, 1e9))
    return folder


def test_the_newest_comes_first_with_what_is_in_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert stepper.cli.main(["list"]) == 0
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading == f"{folder}:"
    assert [line.strip() for line in lines[1::2]] == [
        "new.stepper", "older.stepper", "damaged.stepper",
    ]  # fmt: skip
    assert "train.py" in lines[0]
    new = Recording.open(str(folder / "new.stepper"))
    assert f" {new.newest} moments" in lines[0]  # as many as the Python has instructions
    new.close()
    assert "graph break" in lines[0]
    assert "damaged" in lines[4] or "not a recording" in lines[4] or "no recording" in lines[4]


def test_none_is_said_to_be_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert stepper.cli.main(["list", str(tmp_path / "nowhere")]) == 0
    assert "no recording in" in capsys.readouterr().out


def test_open_without_a_file_and_a_terminal_says_where_they_are(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert stepper.cli.main(["open"]) == 2
    assert "stepper list" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (1234, "1.2 KB"), (55_377_920, "55.4 MB")]
)
def test_a_size_is_one_a_person_reads(size: int, text: str) -> None:
    assert size_text(size) == text


async def test_the_one_that_is_chosen_is_opened(folder: Path) -> None:
    found = recordings_in(folder)
    app = ChoosingApp(found)
    async with app.run_test(size=(100, 24)) as pilot:
        await pilot.pause()
        assert "train.py" in plain(app)[1]
        await pilot.press("down", "enter")
        await until(pilot, lambda: not app.is_running)
    assert app.return_value == found[1]


async def test_none_may_be_chosen(folder: Path) -> None:
    app = ChoosingApp(recordings_in(folder))
    async with app.run_test(size=(100, 24)) as pilot:
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running)
    assert app.return_value is None


async def test_enter_on_the_question_how_to_leave_kills_nothing(folder: Path) -> None:
    async with played(folder / "new.stepper", 6) as (app, _, pilot):
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, QuitScreen))
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(app.screen, QuitScreen))
        assert app.leaving is None
        assert app.is_running


def test_what_is_old_is_named_and_deleted_when_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.utime(folder / "older.stepper", (1e9, 1e9))
    assert stepper.cli.main(["list", "--older", "90"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told == [str(folder / "older.stepper"), "--delete deletes them"]
    assert stepper.cli.main(["list", "--older", "90", "--delete"]) == 0
    assert {path.name for path in folder.iterdir()} == {"new.stepper", "damaged.stepper"}
    assert stepper.cli.main(["list", "--delete"]) == 2


def test_what_is_no_recording_or_open_or_a_link_is_never_deleted(folder: Path) -> None:
    for name in ("new", "older", "damaged"):
        os.utime(folder / f"{name}.stepper", (1e9, 1e9))
    (folder / "link.stepper").symlink_to(folder / "new.stepper")
    foreign = folder / "mine.session"
    foreign.mkdir()
    (foreign / "notes.stepper").write_text("a novel")
    (folder / f"run-{os.getpid()}.stepper").write_bytes((folder / "new.stepper").read_bytes())
    with sqlite3.connect(folder / "accounts.stepper") as other:
        other.execute("CREATE TABLE t (a)")
    other.close()
    before = {path.name for path in folder.iterdir()}
    recording = Recording.open(str(folder / "older.stepper"))
    assert [path.name for path in prunable(folder, keep=0)] == ["new.stepper"]
    recording.close()
    assert {path.name for path in folder.iterdir()} == before


def test_a_new_recording_makes_room_and_says_so_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paths, "KEEP", 2)
    paths.default_recording("train.py")
    assert "the newest 2 are kept" in capsys.readouterr().err
    assert {path.name for path in folder.iterdir()} == {"new.stepper", "damaged.stepper"}
    sample_recording(str(folder / "another.stepper"))
    paths.default_recording("train.py")
    assert capsys.readouterr().err == ""
    assert not (folder / "another.stepper").exists()
