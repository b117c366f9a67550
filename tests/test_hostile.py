"""Reading a recording that somebody has made to do harm does none: not to the terminal, and to
nothing behind it."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import pexpect
import pytest
from textual.containers import Vertical
from textual.markup import escape

from stepper.model.printing import printable
from stepper.tui.dialogs import ChoiceScreen
from tests.conftest import ROOT
from tests.hostile import PLANT, WORD, plant
from tests.recordings import sample_recording
from tests.tui.screen import plain
from tests.tui.test_app import WIDE, opened

ACTING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
NAME = b"a\x1b]0;NAMED\x07\xe2\x80\xae\xff.stepper"
"""Of a file; not all of it is UTF-8."""


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("sample") / "sample.stepper")
    sample_recording(path)
    return path


@pytest.fixture(scope="module")
def hostile(sample: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = shutil.copy(sample, tmp_path_factory.mktemp("hostile") / os.fsdecode(NAME))
    assert plant(str(path)) > 800
    return str(path)


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "TERM": "dumb", **more}


def on_a_terminal(*words: str, **more: str) -> tuple[int, str]:
    """The exit code of a Python, and what it has written to a terminal, to both streams."""
    ours, theirs = pty.openpty()
    command = [sys.executable, *words]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=environment(**more),
        cwd=ROOT,
    ) as child:
        os.close(theirs)
        written = bytearray()
        try:
            while piece := os.read(ours, 65536):
                written += piece
        except OSError:  # the other side is closed
            pass
        os.close(ours)
        return child.wait(120), written.decode()


def acting(text: str) -> set[str]:
    """The characters in it that a terminal acts on, but for the ends of lines."""
    found = {char for char in text if unicodedata.category(char) in ACTING}
    return {f"U+{ord(char):04X}" for char in found - {"\n", "\r"}}


@pytest.mark.real_terminal
def test_no_command_lets_a_recording_act_on_the_terminal(hostile: str) -> None:
    code, text = on_a_terminal("-m", "tests.hostile", hostile)
    assert code == 0, text[-2000:]
    assert text.count(WORD) > 1000, "it is shown"
    assert text.count("NAMED") > 3, "and the file's name"
    assert acting(text.replace("\r\n", "\n").replace("\r", "\x00")) == set()


@pytest.mark.real_terminal
@pytest.mark.slow
def test_no_pane_lets_a_recording_act_on_the_terminal(hostile: str, tmp_path: Path) -> None:
    path = str(shutil.copy(hostile, tmp_path / NAME.replace(b"\xff", b"").decode()))
    child = pexpect.spawn(
        sys.executable,
        ["-m", "stepper", "open", path, "--at", "9"],
        env=environment(TERM="xterm-256color", COLUMNS="150", LINES="50"),
        encoding="utf-8",
        timeout=600,
        dimensions=(50, 150),
    )
    drawn = io.StringIO()
    child.logfile_read = drawn
    child.expect(WORD)
    for key in [*"1234567890", "W", "v", "v", "x", "\x1b", "f", "V", "V", "B", "\x1b", "?", "\x1b"]:
        child.send(key)
        try:
            child.expect(pexpect.TIMEOUT, timeout=0.5)
        except pexpect.EOF:
            break
    child.send("q")
    child.expect(pexpect.EOF)
    text = drawn.getvalue().replace("\x1b]22;default\x07", "")  # Textual's, of the pointer
    assert text.count(WORD) > 20
    assert "\x1b]" not in text
    assert acting(text.replace("\x1b", "")) == set()


async def test_no_widget_lets_a_text_act_on_the_terminal(sample: str) -> None:
    async with opened(Path(sample), WIDE) as (app, pilot):
        app.push_screen(ChoiceScreen(f"a question {PLANT}", [("x", f"an answer {PLANT}")]))
        await pilot.pause()
        app.screen.query_one(Vertical).border_title = escape(f"a title {PLANT}")
        await pilot.pause()
        lines = plain(app)
    for word in ("a question", "an answer", "a title"):
        (line,) = [line for line in lines if word in line]
        assert "[red]$(id)" in line, "it is no markup"
        assert acting(line) == set()


def test_for_a_program_data_is_as_it_is(hostile: str) -> None:
    sql = "SELECT name FROM nodes WHERE name <> '' ORDER BY id LIMIT 3"

    def query(format: str, **more: str) -> bytes:
        return subprocess.run(
            [sys.executable, "-m", "stepper", "query", hostile, sql, "--format", format],
            env=environment(**more),
            capture_output=True,
            check=True,
            timeout=600,
        ).stdout

    for encoding in ("utf-8", "ascii"):
        written = query("csv", PYTHONIOENCODING=encoding).decode()
        rows = list(csv.reader(io.StringIO(written, newline="")))
        assert [name.endswith(PLANT) for (name,) in rows[1:]] == [True] * 3
        objects = json.loads(query("json", PYTHONIOENCODING=encoding))
        assert [[each["name"]] for each in objects] == rows[1:]


UNCAUGHT = """
import sys, threading
from stepper.model.printing import say_what_is_uncaught
say_what_is_uncaught()
class Ends:
    def __del__(self): raise ValueError(sys.argv[1])
def fail(): raise ValueError(sys.argv[1])
Ends()
thread = threading.Thread(target=fail)
thread.start(), thread.join()
fail()
"""


@pytest.mark.real_terminal
def test_what_is_uncaught_is_said_too() -> None:
    code, text = on_a_terminal("-c", UNCAUGHT, PLANT)
    assert code == 1
    assert text.count(f"ValueError: ␛]0;{WORD}␇") == 3
    assert acting(text) == set()


def test_every_character_that_acts_is_shown_as_a_sign() -> None:
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        shown = printable(char)
        if unicodedata.category(char) in ACTING:
            assert shown.isprintable(), hex(code)
            assert shown != char
        elif char.isprintable():
            assert shown == char, hex(code)
