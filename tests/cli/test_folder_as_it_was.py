"""Whatever asks a recording leaves its folder as it was, in whatever state the recording is."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pytest

from stepper.cli import main
from stepper.model.trace import EventKind
from stepper.recording.writer import Writer
from tests.beside import fingerprint, journal_naming
from tests.conftest import ROOT
from tests.recordings import sample_recording

COMMANDS = {
    "query": ("query", "R", "select count(*) from frames"),
    "query output": ("query", "R", "select * from events order by 1 desc", "--format", "csv"),
    "report": ("report", "R"),
    "report markdown": ("report", "R", "--format", "markdown"),
    "why-recompile": ("why-recompile", "R"),
    "why-break": ("why-break", "R"),
    "why-shape": ("why-shape", "R"),
    "why-failed": ("why-failed", "R"),
    "why-guard": ("why-guard", "R", "TENSOR_MATCH"),
    "is-guarded": ("is-guarded", "R", "x"),
    "idle-guards": ("idle-guards", "R"),
    "diff": ("diff", "R", "R"),
    "diff of moments": ("diff", "R@1", "@5"),
    "console": ("console", "-x", "where", "-x", "quit", "R"),
    "post-mortem": ("post-mortem", "R"),
    "record over it": ("record", "-o", "R", "no-such-script.py"),
}

HOLDING = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
"""


@contextlib.contextmanager
def ready(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Another process, which has said that it is ready and waits."""
    command = [sys.executable, "-c", code, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


@pytest.fixture(scope="module")
def unfolded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The story as its writer had it open: the three files, as a kill would leave them."""
    directory = tmp_path_factory.mktemp("story")
    path = directory / "open" / "r.stepper"
    path.parent.mkdir()
    close = Writer.close

    def copy_and_close(writer: Writer, ended: str = "exit") -> None:
        writer.event(1000, EventKind.NOTE, "the last word")
        writer.flush()
        shutil.copytree(path.parent, directory / "killed")
        close(writer, ended)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Writer, "close", copy_and_close)
        sample_recording(str(path))
    return directory


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    directory = tmp_path / "folder"
    directory.mkdir()
    yield directory
    directory.chmod(0o700)


def clean(unfolded: Path, folder: Path) -> Path:
    return Path(shutil.copy(unfolded / "open" / "r.stepper", folder))


def killed(unfolded: Path, folder: Path) -> Path:
    for path in (unfolded / "killed").iterdir():
        shutil.copy(path, folder)
    return folder / "r.stepper"


def cut(unfolded: Path, folder: Path) -> Path:
    path = clean(unfolded, folder)
    os.truncate(path, path.stat().st_size // 2)
    return path


def damaged(unfolded: Path, folder: Path) -> Path:
    path = killed(unfolded, folder)
    content = bytearray(path.read_bytes())
    content[2000:] = bytes(byte ^ 0x55 for byte in content[2000:])
    path.write_bytes(content)
    return path


def sent(unfolded: Path, folder: Path) -> Path:
    path = killed(unfolded, folder)
    victim = folder / "thesis.txt"
    victim.write_text("years of work")
    (folder / "r.stepper-journal").write_bytes(journal_naming(path, victim))
    return path


def read_only(unfolded: Path, folder: Path) -> Path:
    path = killed(unfolded, folder)
    for each in folder.iterdir():
        each.chmod(0o400)
    folder.chmod(0o500)
    return path


STATES: dict[str, Callable[[Path, Path], Path]] = {
    "clean": clean, "killed": killed, "cut": cut, "damaged": damaged, "sent": sent,
    "read only": read_only,
}  # fmt: skip


def ask(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ask a recording by each command; how each answered."""
    answers = []
    for name, arguments in COMMANDS.items():
        monkeypatch.setattr("sys.stdin", io.StringIO("where\nquit\n"))
        named = [f"{path}{each[1:]}" if each[0] == "R" else each for each in arguments]
        code = main(named)
        answers.append(f"{name}: {code}")
    return answers


@pytest.mark.parametrize("state", STATES)
def test_no_command_leaves_a_trace(
    unfolded: Path, folder: Path, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = STATES[state](unfolded, folder)
    before = fingerprint(folder)
    answers = ask(path, monkeypatch)
    assert fingerprint(folder) == before
    if state not in ("cut", "damaged"):
        assert answers == [f"{name}: {2 * (name == 'record over it')}" for name in COMMANDS]


@pytest.mark.parametrize("lock", ["BEGIN EXCLUSIVE", "BEGIN IMMEDIATE"])
@pytest.mark.parametrize("state", ["clean", "killed"])
def test_no_command_leaves_a_trace_beside_a_lock(
    unfolded: Path, folder: Path, state: str, lock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepper.recording.database._PATIENCE", 20)
    path = STATES[state](unfolded, folder)
    with ready(HOLDING, str(path), lock):
        before = fingerprint(folder)
        ask(path, monkeypatch)
        assert fingerprint(folder) == before


GROWING = """
import sys
from tests.recordings import *
tape = Tape(sys.argv[1])
tape.begin(scaled, "0/0")
tape.start_attempt()
for i in range(10):
    tape.step(i % 3)
tape.writer.flush()
print("ready", flush=True)
sys.stdin.readline()
"""


def test_no_command_leaves_a_trace_while_it_grows(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "r.stepper"
    with ready(GROWING, str(path)) as writer:
        before = fingerprint(folder)
        answers = ask(path, monkeypatch)
        assert fingerprint(folder) == before
        assert "query: 0" in answers
        assert writer.poll() is None


def test_the_log_of_a_killed_writer_is_read_and_it_is_said(
    unfolded: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = ("query", str(clean(unfolded, folder)), "select count(*) from events")
    assert main(whole) == 0
    expected, nothing = capsys.readouterr()
    assert nothing == ""
    path = killed(unfolded, folder)
    assert main(("query", str(path), whole[2])) == 0
    answer, said = capsys.readouterr()
    assert answer == expected
    assert "its writer was killed" in said
    assert main(("console", "-x", "where", str(path))) == 0
    assert "its writer was killed" in capsys.readouterr().out


@pytest.mark.parametrize("state", ["clean", "killed", "sent"])
def test_the_screen_leaves_no_trace(unfolded: Path, folder: Path, state: str) -> None:
    path = STATES[state](unfolded, folder)
    before = fingerprint(folder)
    child = pexpect.spawn(
        sys.executable, ["-m", "stepper", "open", str(path)], cwd=str(ROOT), timeout=600,
        dimensions=(40, 120), env={**os.environ, "TERM": "xterm-256color"},
    )  # fmt: skip
    child.expect(r"train\.py")
    child.send("q")
    child.expect(pexpect.EOF)
    child.wait()
    child.close()
    assert fingerprint(folder) == before
