"""The writer loses nothing that it committed and never disturbs the program."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from stepper import console
from stepper.client.session import open_recording
from stepper.model.trace import EventKind
from stepper.recording.database import Database
from stepper.recording.errors import RecordingError
from stepper.recording.output import OutputLog
from stepper.recording.reader import Recording
from stepper.recording.writer import Writer
from stepper.tui.headline import ending
from stepper.tui.snapshot import Snapshot, Status
from tests.recordings import FACTS, Tape, sample_recording, scaled
from tests.waits import Waits


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def running(code: str, *arguments: object, **options: object) -> subprocess.Popen[str]:
    """A process that writes a recording."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,  # type: ignore[call-overload]  # any options of its own
    )


ENDLESS = """
import sys
from tests.recordings import *
tape = Tape(sys.argv[1], batch=64, keyframe_every=50)
tape.begin(scaled, "0/0")
tape.start_attempt()
while True:
    value = Value("ConstantVariable", text=str(tape.moment))
    tape.step(tape.moment % 3, stack=[tape.describe(value)])
    tape.guard("EQUALS_MATCH", str(tape.moment))
    if tape.moment % 1000 == 0:
        tape.writer.flush()
        print(tape.moment, flush=True)
"""


# Events


def test_what_is_told_late_stands_at_its_moment(tmp_path: Path) -> None:
    path = str(tmp_path / "r.stepper")
    writer = Writer(path, FACTS)
    for run in (0, 10):
        for moment in (1, 3, 3, 5):
            writer.event(run + moment, EventKind.NODE, f"node at {moment}", moment, 7)
        for moment in (0, 2, 3, 9):
            writer.event_late(run + moment, EventKind.GUARD, f"guard at {moment}", None, moment)
        writer.flush()
    writer.event_late(30, EventKind.GUARD, "alone")
    writer.close()
    with contextlib.closing(Recording.open(path)) as recording:
        events = recording.events()
        assert [event.text for event in events[:8]] == [
            "guard at 0", "node at 1", "guard at 2", "node at 3", "node at 3", "guard at 3",
            "node at 5", "guard at 9",
        ]  # fmt: skip
        assert [event.text for event in events[8:16]] == [event.text for event in events[:8]]
        assert [event.id for event in events] == list(range(1, 18))
        node, guard = events[3], events[5]
        assert (node.moment, node.kind, node.ref, node.frame) == (3, "node", 3, 7)
        assert (guard.moment, guard.kind, guard.ref, guard.frame) == (3, "guard", None, 3)


# Making a file


def test_clean_close_leaves_one_private_file(tmp_path: Path) -> None:
    path = tmp_path / "r.stepper"
    sample_recording(str(path))
    assert files(tmp_path) == ["r.stepper"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_nothing_is_ever_overwritten(tmp_path: Path) -> None:
    foreign = tmp_path / "thesis.txt"
    foreign.write_text("years of work")
    with pytest.raises(RecordingError, match="not a recording; nothing was overwritten"):
        Writer(str(foreign), FACTS)
    assert foreign.read_text() == "years of work"
    older = sample_recording(str(tmp_path / "older.stepper"))
    with pytest.raises(RecordingError, match="a recording already; nothing was overwritten"):
        Writer(older.path, FACTS)
    assert Recording.open(older.path).newest == older.moment
    with pytest.raises(RecordingError, match="a directory"):
        Writer(str(tmp_path), FACTS)
    assert files(tmp_path) == ["older.stepper", "thesis.txt"]


def test_empty_file_may_become_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "r.stepper"
    path.touch()
    assert sample_recording(str(path)).moment == Recording.open(str(path)).newest


def test_missing_directory_says_where(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"No such file.*-o FILE"):
        Writer(str(tmp_path / "nowhere" / "r.stepper"), FACTS)


@pytest.fixture
def public_directory() -> Iterator[Path]:
    """A directory that every user of the machine can reach."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        yield Path(directory)
        os.chmod(directory, 0o755)


def unprivileged(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run code as somebody for whom permissions count, also when the tests run as root."""
    drop = "import os\nif os.getuid() == 0: os.setgid(65534); os.setuid(65534)\n"
    imports = (
        "import sys\nfrom stepper.recording.writer import Writer\n"
        "from stepper.recording.reader import Recording\n"
        "from stepper.recording.errors import RecordingError\n"
        "from stepper.model.trace import SessionFacts\n"
        "import sqlite3, tempfile, shutil, ctypes, encodings.idna\n"
        # Python 3.13 imports for this when asked, which nobody may who cannot read root's Python.
        "import pathlib; pathlib.Path('/').as_uri()\n"
    )
    process = running(imports + drop + code, *arguments)
    out, err = process.communicate(timeout=600)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def test_read_only_directory_is_refused_with_advice(public_directory: Path) -> None:
    public_directory.chmod(0o555)
    code = (
        "try: Writer(sys.argv[1], SessionFacts())\nexcept RecordingError as error: print(error)\n"
    )
    done = unprivileged(code, public_directory / "r.stepper")
    assert "Permission denied" in done.stdout, done.stderr
    assert "-o FILE" in done.stdout
    assert files(public_directory) == []


# What is written can be read


def test_batches_are_committed_by_themselves(tmp_path: Path) -> None:
    tape = Tape(str(tmp_path / "r.stepper"), batch=10)
    tape.begin(scaled, "0/0")
    tape.start_attempt()
    for i in range(25):
        tape.step(i % 3)
    recording = Recording.open(tape.path)
    assert recording.newest == 20
    tape.writer.flush()
    assert recording.refresh()
    assert recording.newest == 25


def test_end_of_a_translation_is_committed(tmp_path: Path) -> None:
    tape = Tape(str(tmp_path / "r.stepper"))
    tape.begin(scaled, "0/0")
    tape.start_attempt()
    tape.step(0)
    tape.end_attempt()
    tape.end()
    assert Recording.open(tape.path).translations()[0].last_moment == 1


def test_event_after_a_quiet_second_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tape = Tape(str(tmp_path / "busy.stepper"))
    recording = Recording.open(tape.path)
    tape.event(EventKind.NOTE, "first")
    assert not recording.refresh()
    monkeypatch.setattr("stepper.recording.writer._QUIET", 0.0)  # any time is longer than that
    tape = Tape(str(tmp_path / "quiet.stepper"))
    recording = Recording.open(tape.path)
    tape.event(EventKind.NOTE, "first")
    assert recording.refresh()
    assert [event.text for event in recording.events()] == ["first"]


def test_text_that_is_no_unicode_is_kept_readable(tmp_path: Path) -> None:
    tape = Tape(str(tmp_path / "r.stepper"))
    tape.begin(scaled, "0/0", reason="caf\udce9")
    tape.event(EventKind.NOTE, "caf\udce9 \U0001f600")
    recording = Recording.open(tape.close("caf\udce9"))
    assert recording.translations()[0].reason == "caf\\udce9"
    assert recording.events()[-1].text == "caf\\udce9 \U0001f600"
    assert recording.ended == "caf\\udce9"


def test_output_and_recording_are_written_side_by_side(tmp_path: Path) -> None:
    tape = Tape(str(tmp_path / "r.stepper"), batch=5)
    log = OutputLog(tape.path)
    tape.begin(scaled, "0/0")
    tape.start_attempt()
    for i in range(100):
        tape.step(i % 3)
        log.append(tape.moment, f"{i}\n")
    tape.close()
    log.close()
    recording = Recording.open(tape.path)
    assert recording.newest == 100
    assert "".join(o.data for o in recording.output()) == "".join(f"{i}\n" for i in range(100))
    recording.close()
    assert files(tmp_path) == ["r.stepper"]


# Trouble


def test_another_process_that_holds_the_lock_delays_and_loses_nothing(tmp_path: Path) -> None:
    tape = Tape(str(tmp_path / "r.stepper"))
    tape.writer._database.execute("PRAGMA busy_timeout=0")  # type: ignore[union-attr]  # it is open
    other = Database.append(tape.path)
    other.execute("BEGIN IMMEDIATE")
    tape.event(EventKind.NOTE, "while locked")
    tape.writer.flush()
    assert tape.writer.failed == ""
    other.execute("COMMIT")
    other.close()
    tape.event(EventKind.NOTE, "afterwards")
    recording = Recording.open(tape.close())
    assert [event.text for event in recording.events()] == ["while locked", "afterwards"]


def test_a_lock_that_is_held_long_delays_only_once_and_loses_nothing(tmp_path: Path) -> None:
    tape = Tape(str(tmp_path / "r.stepper"))
    other = Database.append(tape.path)
    other.execute("BEGIN IMMEDIATE")
    begun = time.monotonic()
    for number in range(20):
        tape.event(EventKind.NOTE, str(number))
        tape.writer.flush()
    assert time.monotonic() - begun < 60
    assert tape.writer.failed == ""
    other.execute("COMMIT")
    other.close()
    recording = Recording.open(tape.close())
    assert [event.text for event in recording.events()] == [*map(str, range(20))]
    assert recording.ended == "exit"


def test_what_waits_for_a_lock_is_bounded_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepper.recording.writer._MOST_WAITING", 100_000)
    monkeypatch.setattr("stepper.recording.database._PATIENCE", 10)
    told: list[str] = []
    tape = Tape(str(tmp_path / "r.stepper"))
    tape.event(EventKind.NOTE, "before")
    tape.writer.flush()
    tape.writer.on_failure = told.append
    other = Database.append(tape.path)
    other.execute("BEGIN IMMEDIATE")
    for _ in range(200):
        tape.event(EventKind.NOTE, "x" * 1000)
        tape.writer.flush()
    assert len(told) == 1
    assert "too much to keep" in told[0]
    assert sum(batch.size() for batch in tape.writer._batches) < 100_000
    other.execute("COMMIT")
    other.close()
    recording = Recording.open(tape.close())
    assert [event.text for event in recording.events()] == ["before"]
    assert recording.ended == told[0]


@pytest.mark.parametrize("replaced", [False, True])
def test_a_recording_that_is_deleted_goes_on_in_a_new_one(tmp_path: Path, replaced: bool) -> None:
    told: list[str] = []
    tape = Tape(str(tmp_path / "r.stepper"))
    tape.writer.on_move = told.append
    (tmp_path / "r-2.stepper").write_text("somebody's")
    tape.event(EventKind.NOTE, "before")
    tape.writer.flush()
    for suffix in ("", "-wal", "-shm"):
        (tmp_path / f"r.stepper{suffix}").unlink()
    if replaced:
        other = Tape(tape.path)
        other.event(EventKind.NOTE, "another program's")
        other.writer.flush()
    tape.event(EventKind.NOTE, "afterwards")
    tape.writer.flush()
    path = str(tmp_path / "r-3.stepper")
    assert told == [
        f"{tape.path} was moved or deleted while it was written; the recording goes on in {path}"
    ]
    tape.event(EventKind.NOTE, "in the end")
    tape.close()
    recording = Recording.open(path)
    assert recording.ended == "exit"
    assert [event.text for event in recording.events()] == ["before", "afterwards", "in the end"]
    if replaced:
        found = Recording.open(other.close())
        assert [event.text for event in found.events()] == ["another program's"]
        assert files(tmp_path) == ["r-2.stepper", "r-3.stepper", "r.stepper"]


@pytest.mark.parametrize("moved", [False, True])
def test_who_follows_a_recording_that_is_taken_away_sees_where_it_goes_on(
    moved: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[str] = []
    facts = msgspec.structs.replace(FACTS, pid=os.getpid())
    tape = Tape(str(tmp_path / "r.stepper"), facts=facts)
    tape.writer.on_move = told.append
    tape.begin(scaled, "0/0")
    tape.start_attempt()
    tape.step(0)
    tape.writer.flush()
    with contextlib.closing(open_recording(tape.path)) as session:
        followed = session.recording
        assert followed is not None
        assert session.growing
        if moved:
            Path(tape.path).rename(tmp_path / "else.stepper")
        else:
            Path(tape.path).unlink()
        tape.event(EventKind.NOTE, "afterwards")
        tape.writer.flush()
        assert followed.refresh()
        assert [followed.ended] == told
        assert str(tmp_path / "r-2.stepper") in told[0]
        assert followed.newest == 1
        assert not session.growing
        assert console.run(session, ["info"]) == 0
        assert f"status     {told[0]}" in capsys.readouterr().out
        for ended in ("", "ended with exit code 0"):
            seen = Snapshot(followed, 1, status=Status.ENDED, newest=1, ended=ended)
            assert told[0] in ending(seen)
    tape.close()


def test_a_recording_that_is_deleted_with_its_folder_ends_and_that_is_said(tmp_path: Path) -> None:
    told: list[str] = []
    folder = tmp_path / "folder"
    folder.mkdir()
    tape = Tape(str(folder / "r.stepper"))
    tape.writer.on_failure = told.append
    shutil.rmtree(folder)
    tape.event(EventKind.NOTE, "lost")
    tape.writer.flush()
    tape.close()
    assert len(told) == 1
    assert "r.stepper was moved or deleted while it was written" in told[0]


def test_a_recording_that_is_deleted_at_the_end_stays_deleted(tmp_path: Path) -> None:
    tape = Tape(str(tmp_path / "r.stepper"))
    tape.event(EventKind.NOTE, "before")
    tape.writer.flush()
    Path(tape.path).unlink()
    tape.close()
    assert "r.stepper" not in files(tmp_path)
    assert "r-2.stepper" not in files(tmp_path)


FULL = """
import resource, sys
from tests.recordings import *
told = []
tape = Tape(sys.argv[1], batch=64)
tape.writer.on_failure = told.append
tape.begin(scaled, "0/0")
tape.start_attempt()
tape.step(0)
tape.writer.flush()
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
for i in range(20_000):
    tape.step(i % 3, stack=[tape.describe(Value("ConstantVariable", text="x" * 100 + str(i)))])
tape.close()
print("the program went on", len(told), tape.writer.failed, sep="|")
"""


def test_full_disk_stops_the_recording_and_not_the_program(tmp_path: Path) -> None:
    path = tmp_path / "r.stepper"
    out, err = running(FULL, path).communicate(timeout=600)
    went_on, told, failed = out.strip().split("|")
    assert (went_on, told) == ("the program went on", "1"), err
    assert "disk" in failed
    recording = Recording.open(str(path))
    assert recording.newest >= 1
    assert recording.state(recording.newest).moment.id == recording.newest
    assert recording.ended in (failed, None)


@pytest.mark.parametrize("after", [0.0, 0.05, 0.2])
def test_kill_in_mid_write_loses_nothing_that_was_committed(tmp_path: Path, after: float) -> None:
    path = tmp_path / "r.stepper"
    process = running(ENDLESS, path)
    assert process.stdout is not None
    acknowledged = int(process.stdout.readline())
    deadline = time.monotonic() + after
    while time.monotonic() < deadline:
        acknowledged = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=600)
    recording = Recording.open(str(path))
    assert recording.ended is None
    assert recording.newest >= acknowledged
    for moment in range(recording.newest, max(recording.newest - 100, 0), -7):
        top = recording.state(moment).values
        assert [value.text for value in top.values()] == [str(moment - 1)]
    assert len(recording.guards(acknowledged)) == acknowledged - 1
    recording.close()
    assert files(tmp_path) == ["r.stepper", "r.stepper-shm", "r.stepper-wal"]
    assert Recording.open(str(path)).newest == recording.newest


ROBBED = """
import os, sys
from stepper.model.trace import EventKind
from tests.recordings import Tape
tape = Tape(sys.argv[1])
tape.event(EventKind.NOTE, "before")
tape.writer.flush()
tape.writer.on_failure = print
if sys.argv[2] == "closed":
    os.closerange(3, 100)
mine = [open(f"{sys.argv[1]}.{number}", "w+b", buffering=0) for number in range(20)]
if sys.argv[2] == "replaced":
    for number in range(3, mine[0].fileno()):
        os.dup2(mine[0].fileno(), number)
tape.event(EventKind.NOTE, "after")
tape.writer.flush()
tape.event(EventKind.NOTE, "later")
tape.close()
del tape
print([os.fstat(each.fileno()).st_size for each in mine] == [0] * 20)
"""


@pytest.mark.parametrize("how", ["closed", "replaced"])
def test_a_program_that_closes_what_it_finds_open_keeps_its_own_files(
    tmp_path: Path, how: str
) -> None:
    path = tmp_path / "r.stepper"
    waits = Waits(tmp_path)
    process = running(ROBBED, path, how, env={**os.environ, **waits.env})
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    told, kept = out.splitlines()
    assert "has closed all files that it found open, as daemons do" in told
    assert kept == "True"
    assert waits.take() == []
    recording = Recording.open(str(path))
    assert [event.text for event in recording.events()] == ["before"]
    recording.close()


def test_second_process_follows_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "r.stepper"
    process = running(ENDLESS, path)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        recording = Recording.open(str(path))
        seen = [recording.newest]
        while len(seen) < 10:
            process.stdout.readline()
            if recording.refresh():
                seen.append(recording.newest)
                assert recording.state(recording.newest).moment.id == recording.newest
                assert len(recording.guards(recording.newest)) >= recording.newest - 1
        assert seen == sorted(seen)
    finally:
        process.kill()
        process.communicate(timeout=600)


def test_forked_child_lets_go_and_the_parent_writes_on(tmp_path: Path) -> None:
    code = """
import os, sys
from tests.recordings import *
tape = Tape(sys.argv[1])
os.register_at_fork(after_in_child=tape.writer.abandon)
tape.begin(scaled, "0/0")
tape.start_attempt()
tape.step(0)
for _ in range(3):
    child = os.fork()
    if child == 0:
        tape.step(1)
        tape.writer.flush()
        tape.close()
        sys.exit(0)  # with all that the interpreter does at its end
    assert os.waitpid(child, 0)[1] == 0
    tape.step(2)
    tape.writer.flush()
tape.close()
"""
    process = running(code, tmp_path / "r.stepper")
    _, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    recording = Recording.open(str(tmp_path / "r.stepper"))
    assert [recording.moment(m).ip for m in range(1, recording.newest + 1)] == [0, 2, 2, 2]
    assert recording.ended == "exit"


def test_killed_recording_in_a_read_only_directory_can_be_read(public_directory: Path) -> None:
    path = public_directory / "r.stepper"
    process = running(ENDLESS, path)
    assert process.stdout is not None
    acknowledged = int(process.stdout.readline())
    process.kill()
    process.communicate(timeout=600)
    show = (
        "r = Recording.open(sys.argv[1])\nprint(r.newest, r.state(r.newest).moment.id)\nr.close()"
    )
    for name in files(public_directory):
        (public_directory / name).chmod(0o444)
    public_directory.chmod(0o555)
    done = unprivileged(show, path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) >= acknowledged
    public_directory.chmod(0o755)
    (public_directory / "r.stepper-shm").unlink()
    public_directory.chmod(0o555)
    done = unprivileged(show, path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) >= acknowledged


def test_closed_recording_in_a_read_only_directory_can_be_read(public_directory: Path) -> None:
    tape = sample_recording(str(public_directory / "r.stepper"))
    (public_directory / "r.stepper").chmod(0o444)
    public_directory.chmod(0o555)
    done = unprivileged("print(Recording.open(sys.argv[1]).newest)", tape.path)
    assert done.stdout.strip() == str(tape.moment), done.stderr
