"""The index of a session folder: written by its processes, and read as what it is, untrusted."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from stepper.recording import process_entry, session_folder
from stepper.recording.errors import RecordingError
from stepper.recording.session_folder import Process, read
from tests.recordings import sample_recording


def entry(folder: Path, pid: int, **fields: object) -> None:
    text = json.dumps({"pid": pid, "started": float(pid), **fields})
    (folder / f"{pid}.json").write_text(text)


def ended(folder: Path, pid: int, status: int, at: float) -> None:
    text = json.dumps({"pid": pid, "status": status, "at": at})
    (folder / f"{pid}.{int(at * 1e9)}.exit.json").write_text(text)


def only(folder: Path) -> Process:
    (found,) = read(str(folder)).processes
    return found


def test_a_process_says_of_itself_what_can_be_read_again(tmp_path: Path) -> None:
    mine = process_entry.Entry(str(tmp_path), "first")
    mine.update(name='a "name" \\ with\nlines \udcff', rank=3)
    found = only(tmp_path)
    assert (found.pid, found.parent, found.rank) == (os.getpid(), os.getppid(), 3)
    assert found.name == 'a "name" \\ with\nlines ?'
    assert (found.state, found.exit, found.recording) == ("running", None, "")
    mine.update(ended=1.5, exit=4)
    assert (only(tmp_path).state, only(tmp_path).exit) == ("exited", 4)
    assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o600]


def test_a_number_that_comes_again_takes_no_ones_files(tmp_path: Path) -> None:
    entry(tmp_path, os.getpid(), born=1)
    process_entry.Entry(str(tmp_path), "start")
    assert len(read(str(tmp_path)).processes) == 2
    assert (tmp_path / f"{os.getpid()}-2.json").exists()


def test_how_a_process_ended_is_told_by_who_waited_for_it(tmp_path: Path) -> None:
    entry(tmp_path, 5, started=10.0)
    process_entry.write_exit(str(tmp_path), 5, signal.SIGKILL)
    process_entry.write_exit(str(tmp_path), 6, 0)  # nobody of the session
    found = only(tmp_path)
    assert (found.state, found.exit) == ("killed", signal.SIGKILL)


def test_an_exit_belongs_to_the_process_that_had_the_number_then(tmp_path: Path) -> None:
    entry(tmp_path, 5, started=10.0)
    (tmp_path / "5-2.json").write_text(json.dumps({"pid": 5, "started": 20.0}))
    ended(tmp_path, 5, 3 << 8, at=15.0)
    first, second = read(str(tmp_path)).processes
    assert (first.state, first.exit) == ("exited", 3)
    assert second.state == "gone"


def test_a_process_on_another_machine_does_not_run_here(tmp_path: Path) -> None:
    born = process_entry.born_at(os.getpid())
    entry(tmp_path, os.getpid(), born=born, boot="of another machine")
    assert only(tmp_path).state == "gone"


def test_a_process_that_became_another_program_was_replaced(tmp_path: Path) -> None:
    entry(tmp_path, 5, started=10.0, born=7)
    (tmp_path / "5-2.json").write_text(json.dumps({"pid": 5, "started": 20.0, "born": 7}))
    assert [each.state for each in read(str(tmp_path)).processes] == ["replaced", "gone"]


def test_an_entry_leads_to_no_file_outside_of_its_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside.stepper"
    sample_recording(str(outside))
    folder = tmp_path / "folder"
    folder.mkdir()
    for pid, name in enumerate(("../outside.stepper", str(outside), "5.json", ""), 5):
        entry(folder, pid, recording=name)
    assert [each.recording for each in read(str(folder)).processes] == [""] * 4
    os.symlink(tmp_path / "elsewhere.json", folder / "99.json")
    (tmp_path / "elsewhere.json").write_text('{"pid": 99}')
    found = read(str(folder))
    assert len(found.processes) == 4
    assert [text.partition(":")[0] for text in found.unreadable] == ["99.json"]


@pytest.mark.parametrize(
    "body",
    ["{", '{"pid": "1"}', '{"pid": 1, "command": 5}', "[" * 5000, " " * 70_000, '"\udcff"', "[]"],
    ids=["cut off", "a text", "no list", "deep", "long", "no utf-8", "another"],
)
def test_what_is_no_entry_is_told_and_the_others_are_read(tmp_path: Path, body: str) -> None:
    entry(tmp_path, 5)
    (tmp_path / "6.json").write_bytes(body.encode(errors="surrogateescape"))
    found = read(str(tmp_path))
    assert [each.pid for each in found.processes] == [5]
    assert [text.partition(":")[0] for text in found.unreadable] == ["6.json"]


def test_recordings_without_an_index_are_a_session_too(tmp_path: Path) -> None:
    sample_recording(str(tmp_path / "rank0.stepper"))
    shutil.copy(tmp_path / "rank0.stepper", tmp_path / "rank1.stepper")
    (tmp_path / "broken.stepper").write_bytes(b"no recording")
    found = read(str(tmp_path))
    assert [Path(each.recording).name for each in found.recorded] == [
        "rank0.stepper",
        "rank1.stepper",
    ]
    assert len(found.unreadable) == 1


def test_a_folder_of_something_else_is_no_session(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    assert not session_folder.is_session(str(tmp_path))
    with pytest.raises(RecordingError, match="no session folder"):
        read(str(tmp_path))


def test_only_what_is_ours_is_deleted(tmp_path: Path) -> None:
    folder = Path(session_folder.make(str(tmp_path / "s")))
    assert folder.stat().st_mode & 0o777 == 0o700
    entry(folder, 5)
    (folder / "mine.txt").write_text("")
    with pytest.raises(FileExistsError):
        session_folder.make(str(folder))
    session_folder.delete(str(folder))
    assert (folder / "5.json").exists()
    (folder / "mine.txt").unlink()
    session_folder.delete(str(folder))
    assert not folder.exists()
