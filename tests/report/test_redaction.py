"""A redacted report tells what happened to what sizes, and holds no text of the program."""

from __future__ import annotations

import base64
import contextlib
import re
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stepper.model.failure import FailedStage
from stepper.model.shapes import ShapeStepKind, Stage, Why
from stepper.model.trace import EventKind, Outcome, Phase, SessionFacts
from stepper.recording.database import expected_columns
from stepper.recording.reader import Recording
from stepper.report.encoding import encoded
from stepper.report.gathering import gather
from stepper.report.markdown import markdown
from stepper.report.page import page
from stepper.report.telling import Teller
from tests import ready
from tests.conftest import clean_environment
from tests.recordings import sample_recording
from tests.stored import inflated
from tests.tape import Tape

PROGRAM = """
import enum
import torch
class Secret(enum.Enum):
    KEY = "canary-enum"
    def __repr__(self):
        return "canary-repr"

def helper(x):
    print("canary-print", 161803)  # canary-comment
    return x

canarymodule = torch.nn.ModuleDict({"canarykey": torch.nn.Linear(1, 1)})
canarydict = {"canaryitem": {"canaryinner": torch.ones(1)}}

@torch.compile(backend="eager")
def canaryfunction(x, mode, table, scale, secret=Secret.KEY):
    y = x * 31337.5
    if mode == "canary-mode":
        y = y + 1
    y = canarymodule["canarykey"](y[:, None])[:, 0] + canarydict["canaryitem"]["canaryinner"]
    y = helper(y) * table["canary-key"] + 271828
    if secret is Secret.KEY:
        y = y - 0.577215
    return torch.nn.functional.interpolate(y[None, None], scale_factor=scale, mode="nearest")

for size in (3, 4):
    for mode in ("canary-mode", "canary-other", Secret.KEY):
        canaryfunction(torch.ones(size), mode, {"canary-key": 123456}, 2.71875)
"""
CANARIES = (
    "canary", "161803", "31337", "271828", "577215", "123456", "2.71875", "/site-packages/",
    "interpolate(y", "import ", "for size",
)  # fmt: skip
FORMATS = {"html": page, "markdown": markdown, "json": encoded}


@pytest.fixture(scope="module")
def secretive(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """A recording that knows secrets of every kind."""
    folder = tmp_path_factory.mktemp("canary-folder")
    (folder / "train.py").write_text(PROGRAM)
    path = folder / "run.stepper"
    subprocess.run(
        ready.stepper("record", "--lookups", "--execute", "-o", path,
                      folder / "train.py", "--token", "canary-argument"),
        cwd=folder, env=clean_environment(), capture_output=True, timeout=600, check=True,
    )  # fmt: skip
    return Recording.open(str(path))


@pytest.mark.parametrize("format", FORMATS)
def test_a_redacted_report_keeps_secrets(format: str, secretive: Recording) -> None:
    text = FORMATS[format](gather(secretive, redact=True))
    # A time of so many nanoseconds may have the digits of a number within its own.
    found = (re.search(rf"(?<!\d){re.escape(canary)}(?!\d)", text) for canary in CANARIES)
    leaks = [text[max(0, at.start() - 60) : at.end() + 60] for at in found if at is not None]
    assert not leaks


@pytest.mark.parametrize("format", FORMATS)
def test_without_redaction_they_are_told(format: str, secretive: Recording) -> None:
    text = FORMATS[format](gather(secretive))
    assert "canary-mode" in text
    assert "canary-folder" in text


@pytest.mark.parametrize("format", FORMATS)
def test_a_redacted_report_still_says_what_happened(format: str, secretive: Recording) -> None:
    text = FORMATS[format](gather(secretive, redact=True))
    assert re.search(r"file\d+\.py", text)
    assert "compiled" in text
    assert "TENSOR_MATCH" in text
    assert "Failed to trace builtin operator" in text
    assert "float32" in text or "f32" in text


@pytest.mark.parametrize("show", [markdown, page])
def test_a_redacted_report_invents_no_reason_for_a_missing_end(
    show: Callable[[Any], str], tmp_path: Path
) -> None:
    path = Tape(str(tmp_path / "full.stepper")).close("the disk is full")
    with contextlib.closing(Recording.open(path)) as read:
        assert "has no end (the disk is full)" in show(gather(read))
        said = show(gather(read, redact=True))
    assert "has no end (the reason is redacted)" in said
    assert "killed" not in said


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("L['x'] == 'secret'", "L['x'] == …"),
        ("len(L['xs']) == 3", "len(L['xs']) == …"),
        ("L['d']['key'].weight", "L['d'][…].weight"),
        ("add(x, 3.14, alpha=-2)", "add(x, …, name1=…)"),
        ("salary(x, mode='a \\' b', salary)", "name1(x, mode=…, name1)"),
        ("f('never ends", "f(…"),
        ("open(/home/ann/x.txt)", "open(x.name1)"),
        ("[1, [2, 'a']]", "[…]"),
        ("torch_dynamo_resume_in_payroll_at_5(x)", "torch_dynamo_resume_in_name1_at_5(x)"),
        ("torch_dynamo_resume_in_1_at_5_payroll(x)", "name1(x)"),
        ("torch_dynamo_resume_in_x_at_5_at_6_payroll(x)", "name1(x)"),
        ("l_d_payroll_k_, add_1", "name1, add_1"),
        ("payroll(<Secret: 1>, True)", "name1(…, …)"),
        ("view_3, 1e-05, 0x1f", "view_3, …, …"),
    ],
)
def test_what_is_left_of_code(code: str, told: str) -> None:
    assert Teller("", redact=True).code(code) == told


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/home/ann/project/train.py", "file1.py"),
        ("C:\\Users\\ann\\train.py", "file1.py"),
        ("train.py", "file1.py"),
        ("/home/ann/site-packages/torch/nn/functional.py", "torch/nn/functional.py"),
        ("/home/ann/site-packages/torch/payroll.py", "file1.py"),
        ("/home/ann/site-packages/torch/../payroll.py", "file1.py"),
        ("<string>", "<string>"),
    ],
)
def test_what_is_left_of_a_path(path: str, told: str) -> None:
    assert Teller("/home/ann", redact=True).path(path) == told


def test_what_cannot_be_written_becomes_a_sign() -> None:
    told = Teller("").name("lone \ud800 \udcff, \u200f and \x1b[2J")
    assert told == "lone · ·, · and ␛[2J"
    told.encode()


def test_the_arguments_of_the_program_are_left_out(tmp_path: Path) -> None:
    path = str(tmp_path / "run.stepper")
    argv = ("/usr/bin/python3", "/home/ann/train.py", "--token", "hunter2")
    Tape(path, facts=SessionFacts(argv=argv, cwd="/home/ann")).close()
    recording = Recording.open(path)
    about = gather(recording, name="/tmp/x/run.stepper", redact=True).about
    assert (about.name, about.program, about.directory) == ("name1.py", "", "")
    assert about.recording == "recording.stepper"
    recording.close()


MARKER = "Zq7Marker"
_LISTS = (Phase, Outcome, EventKind, FailedStage, ShapeStepKind, Stage, Why)
_ENUMERATED = frozenset(str(each) for kind in _LISTS for each in kind)
PLANTINGS: dict[str, Callable[[str], str]] = {
    "instead": lambda text: MARKER,
    "behind": lambda text: f"{text} {MARKER}",
    "in every word": lambda text: re.sub(r"[^\W\d]\w+", lambda m: f"{m[0]}_{MARKER}", text),
    "as a key": lambda text: re.sub(r"'[^']*'", f"'{MARKER}'", text),
    "as an attribute": lambda text: f"{text}.{MARKER}",
    "as a path": lambda text: f"/home/{MARKER}/{text}",
}


def plant(data: Any, planting: Callable[[str], str]) -> Any:
    """What a column holds, with the marker in each text but those of fixed lists."""
    match data:
        case str():
            return data if data in _ENUMERATED else planting(data)
        case bytes():
            try:
                return msgspec.msgpack.encode(
                    plant(msgspec.msgpack.decode(inflated(data)), planting)
                )
            except msgspec.DecodeError:
                return data
        case dict():
            # A struct's fields have names; what maps a text to a text is the program's.
            fields = all(isinstance(key, str) and key.isidentifier() for key in data)
            return {
                key if fields else plant(key, planting): (
                    # Dotted names only: a recording with anything else there is refused.
                    value if key == "capabilities" else plant(value, planting)
                )
                for key, value in data.items()
            }
        case list():
            return [plant(each, planting) for each in data]
        case _:
            return data


@pytest.mark.parametrize("planting", PLANTINGS)
def test_no_place_of_a_recording_is_told(planting: str, tmp_path: Path) -> None:
    path = str(tmp_path / "planted.stepper")
    sample_recording(path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for table, columns in expected_columns().items():
            for row, *values in connection.execute(f"SELECT rowid, * FROM {table}").fetchall():
                names = [description[0] for description in connection.execute(
                    f"SELECT * FROM {table} LIMIT 0").description]  # fmt: skip
                assert set(names) == columns
                spoilt = [plant(value, PLANTINGS[planting]) for value in values]
                sets = ", ".join(f"{name} = ?" for name in names)
                connection.execute(f"UPDATE {table} SET {sets} WHERE rowid = ?", (*spoilt, row))
    recording = Recording.open(path)
    told = {
        name: write(gather(recording, name=f"/x/{MARKER}.stepper", redact=True))
        for name, write in FORMATS.items()
    }
    assert MARKER in encoded(gather(recording)), "the test plants nothing that is told"
    recording.close()
    for name, text in told.items():
        plain = re.sub(r"[\W_]", "", text.casefold())
        hidden = base64.b64encode(MARKER.encode()).decode().rstrip("=")[:-1]
        assert MARKER.casefold() not in plain, (name, _around(text, MARKER))
        assert hidden not in text
        assert "%5A%71%37" not in text.upper()


def _around(text: str, marker: str) -> str:
    at = text.casefold().find(marker.casefold())
    return text[max(0, at - 100) : at + 100]
