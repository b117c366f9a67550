"""Reading a recording touches no other file, whatever lies beside it, and leaves its folder as it
was."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stepper.recording.errors import RecordingError
from stepper.recording.files import look
from stepper.recording.occupied import make_room, writer_of
from stepper.recording.output import OutputLog
from stepper.recording.reader import Recording
from stepper.recording.writer import Writer
from tests.beside import fingerprint, journal_naming
from tests.conftest import ROOT
from tests.recordings import FACTS, Tape, sample_recording


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file of the user's that has nothing to do with recordings."""
    path = tmp_path / "thesis.txt"
    path.write_text("years of work")
    return path


@pytest.fixture
def path(tmp_path: Path, sample: Tape) -> Path:
    """A copy of the story in a folder of its own."""
    directory = tmp_path / "sent"
    directory.mkdir()
    return Path(shutil.copy(sample.path, directory / "r.stepper"))


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def in_log_mode(path: Path) -> None:
    """Make a closed recording one that asks for a log, as one of a killed writer does."""
    content = bytearray(path.read_bytes())
    content[18:20] = b"\x02\x02"
    path.write_bytes(content)


WRITING = """
import sys
from tests.recordings import *
tape = Tape(sys.argv[1])
tape.begin(scaled, "0/0")
tape.start_attempt()
for i in range(10):
    tape.step(i % 3)
tape.writer.flush()
print("ready", flush=True)
for line in sys.stdin:
    tape.step(1)
    tape.writer.flush()
    print("ready", flush=True)
"""


class Writing:
    """Another process that writes a recording, and waits."""

    def __init__(self, path: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITING, str(path)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self._process.pid
        self._wait()

    def go_on(self) -> None:
        """Have it write one more moment."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self._wait()

    def _wait(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate(timeout=600)


@pytest.fixture
def writing(tmp_path: Path) -> Iterator[tuple[Path, Writing]]:
    directory = tmp_path / "grows"
    directory.mkdir()
    path = directory / "r.stepper"
    process = Writing(path)
    yield path, process
    process.kill()


def read(path: Path) -> int:
    """Open it, ask something, close it."""
    recording = Recording.open(str(path))
    newest = recording.newest
    for moment in recording.moments(recording.oldest, newest):
        recording.place_of(moment)
    recording.refresh()
    recording.close()
    return newest


BESIDE = {
    "journal": ("-journal",),
    "journal and empty log": ("-journal", "-wal"),
    "journal, junk log and junk index": ("-journal", "-wal", "-shm"),
}


@pytest.mark.parametrize("logging", [False, True], ids=["closed", "in log mode"])
@pytest.mark.parametrize("kind", BESIDE)
def test_a_journal_that_names_a_file_is_not_followed(
    path: Path, victim: Path, sample: Tape, kind: str, logging: bool
) -> None:
    if logging:
        in_log_mode(path)
    beside(path, "-journal").write_bytes(journal_naming(path, victim))
    for suffix in BESIDE[kind][1:]:
        beside(path, suffix).write_bytes(b"" if "empty" in kind else b"junk" * 20_000)
    before = fingerprint(path.parent)
    assert read(path) == sample.moment
    assert writer_of(str(path)) is None
    assert victim.read_text() == "years of work"
    assert fingerprint(path.parent) == before


def test_a_journal_is_not_followed_by_who_records_anew(path: Path, victim: Path) -> None:
    beside(path, "-journal").write_bytes(journal_naming(path, victim))
    make_room(str(path))
    writer = Writer(str(path), FACTS)
    writer.flush()
    writer.close()
    assert victim.exists()
    assert os.listdir(path.parent) == ["r.stepper"]


def test_a_journal_that_was_there_before_the_recording_is_not_followed(
    path: Path, victim: Path
) -> None:
    beside(path, "-journal").write_bytes(journal_naming(path, victim))
    path.unlink()
    Writer(str(path), FACTS).close()
    assert victim.exists()
    assert os.listdir(path.parent) == ["r.stepper"]


def test_a_journal_is_not_followed_by_who_writes_output(path: Path, victim: Path) -> None:
    beside(path, "-journal").write_bytes(journal_naming(path, victim))
    before = fingerprint(path.parent)
    with pytest.raises(RecordingError, match="-journal is there"):
        OutputLog(str(path))
    assert victim.exists()
    assert fingerprint(path.parent) == before


@pytest.mark.parametrize("suffix", ["-journal", "-wal", "-shm"])
def test_what_sqlite_did_not_make_is_not_deleted_for_a_new_recording(
    tmp_path: Path, suffix: str
) -> None:
    diary = tmp_path / f"notes{suffix}"
    diary.write_text("Dear diary, today I recorded my notes")
    with pytest.raises(RecordingError, match="Move it away, or choose another name"):
        Writer(str(tmp_path / "notes"), FACTS)
    assert [each.name for each in tmp_path.iterdir()] == [diary.name]
    diary.unlink()
    diary.symlink_to(tmp_path)
    with pytest.raises(RecordingError, match="Move it away"):
        Writer(str(tmp_path / "notes"), FACTS)


def test_leftovers_of_an_older_recording_are_not_taken_for_ours(
    writing: tuple[Path, Writing],
) -> None:
    path, process = writing
    process.kill()
    path.unlink()
    tape = sample_recording(str(path))
    assert read(path) == tape.moment
    assert os.listdir(path.parent) == ["r.stepper"]


def links(path: Path) -> None:
    for suffix in ("-journal", "-wal", "-shm"):
        beside(path, suffix).symlink_to("/etc/passwd")


def pipes(path: Path) -> None:
    for suffix in ("-journal", "-wal", "-shm"):
        os.mkfifo(beside(path, suffix))


def folders(path: Path) -> None:
    for suffix in ("-journal", "-wal", "-shm"):
        beside(path, suffix).mkdir()


@pytest.mark.parametrize("put", [links, pipes, folders])
@pytest.mark.parametrize("logging", [False, True], ids=["closed", "in log mode"])
def test_what_is_no_plain_file_beside_it_is_not_looked_at(
    path: Path, sample: Tape, logging: bool, put: Callable[[Path], None]
) -> None:
    if logging:
        in_log_mode(path)
    put(path)
    names = sorted(os.listdir(path.parent))
    assert read(path) == sample.moment
    assert sorted(os.listdir(path.parent)) == names


def test_a_pipe_and_a_device_are_no_recordings(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.stepper")
    for path in (tmp_path / "pipe.stepper", Path("/dev/null"), Path("/dev/zero")):
        with pytest.raises(RecordingError, match="not a plain file"):
            Recording.open(str(path))
    with pytest.raises(RecordingError, match="cannot be read"):
        Recording.open("r\0.stepper")


def test_a_virtual_table_is_refused(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE VIRTUAL TABLE pages USING dbstat")
    connection.commit()
    connection.close()
    with pytest.raises(RecordingError, match="virtual table named 'pages'"):
        Recording.open(str(path))


@pytest.mark.parametrize(
    "name", ["a b.stepper", "100%.stepper", "a?mode=rwc&x#y.stepper", "ä\udcff.stepper", "'\"\n"]
)
def test_odd_names(path: Path, sample: Tape, name: str) -> None:
    odd = path.rename(path.with_name(name))
    before = fingerprint(odd.parent)
    assert read(odd) == sample.moment
    assert read(Path(f"/{odd}")) == sample.moment
    assert Recording.open(f"/{odd}").newest == sample.moment  # two slashes
    assert fingerprint(odd.parent) == before


# Writers that live, and that were killed


def test_a_recording_is_followed_while_it_grows(writing: tuple[Path, Writing]) -> None:
    path, process = writing
    assert look(str(path)).holder == process.pid
    assert writer_of(str(path)) is None  # the number in the facts is of the test's own story
    before = fingerprint(path.parent)
    recording = Recording.open(str(path))
    assert recording.newest == 10
    assert read(path) == 10
    assert fingerprint(path.parent) == before
    process.go_on()
    assert recording.refresh()
    assert recording.newest == 11
    process.kill()
    assert not recording.refresh()
    assert recording.newest == read(path) == 11
    recording.close()


@pytest.mark.parametrize("keeps_index", [True, False])
def test_what_a_killed_writer_left_is_read_with_everything(
    writing: tuple[Path, Writing],
    tmp_path: Path,
    keeps_index: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, process = writing
    process.go_on()
    process.kill()
    if not keeps_index:
        beside(path, "-shm").unlink()
    room = tmp_path / "room"
    room.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(room))
    before = fingerprint(path.parent)
    assert look(str(path)).holder is None
    recording = Recording.open(str(path))
    assert os.listdir(room) == []  # nothing is left when the reader is killed
    assert "its writer was killed" in recording.aside
    assert recording.newest >= 11
    assert recording.state(recording.newest).moment.id == recording.newest
    recording.close()
    assert fingerprint(path.parent) == before


def test_a_log_that_is_reached_by_a_link_is_read(
    writing: tuple[Path, Writing], tmp_path: Path
) -> None:
    path, process = writing
    process.kill()
    link = tmp_path / "link.stepper"
    link.symlink_to(path)
    beside(link, "-wal").write_bytes(b"junk")
    assert read(link) >= 10


def test_no_room_for_a_copy_is_said(
    writing: tuple[Path, Writing], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, process = writing
    process.kill()
    os.truncate(path, 1 << 43)  # a hole
    with pytest.raises(RecordingError, match=r"No space left.*TMPDIR"):
        Recording.open(str(path))


def test_a_closed_recording_is_not_locked_by_its_readers(path: Path, sample: Tape) -> None:
    recordings = [Recording.open(str(path)) for _ in range(3)]
    other = sqlite3.connect(path, timeout=0)
    other.execute("DELETE FROM output")
    other.commit()
    other.close()
    assert {each.newest for each in recordings} == {sample.moment}


def test_reading_in_the_writers_own_process_leaves_its_locks(tmp_path: Path) -> None:
    tape = Tape(str(tmp_path / "r.stepper"))
    ask = f"from stepper.recording.files import look; print(look({tape.path!r}).holder)"

    def holder() -> str:
        return subprocess.check_output([sys.executable, "-c", ask], cwd=ROOT, text=True).strip()

    assert holder() == str(os.getpid())
    recording = Recording.open(tape.path)
    recording.close()
    with pytest.raises(RecordingError, match="a recording already"):
        Writer(tape.path, FACTS)
    assert holder() == str(os.getpid())
    tape.close()
    assert holder() == "None"


def test_a_reader_that_comes_before_its_writer_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its writer has given the file its name and not yet opened it."""
    monkeypatch.setattr("stepper.recording.database._SETTLING", 60.0)
    path = tmp_path / "r.stepper"
    born = Tape(str(tmp_path / "other.stepper"))
    born.close()
    shutil.copy(born.path, path)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE session SET ended = NULL")
    connection.commit()
    connection.close()
    opened: list[Recording] = []
    reader = threading.Thread(target=lambda: opened.append(Recording.open(str(path))))
    reader.start()
    log = OutputLog(str(path))
    log._database._pragmas("journal_mode=WAL")
    log.append(0, "hello\n")
    reader.join()
    log.append(0, "again\n")
    assert opened[0].refresh() or len(opened[0].output()) == 2
    opened[0].close()
    log.close()
