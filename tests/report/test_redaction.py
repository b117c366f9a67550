"""A redacted report names functions and sizes, and shows no source text, constant or directory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stepper.model.trace import SessionFacts
from stepper.recording.reader import Recording
from stepper.report.encoding import encoded
from stepper.report.gathering import gather
from stepper.report.markdown import markdown
from stepper.report.page import page
from stepper.report.telling import Teller
from tests.conftest import clean_environment
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

@torch.compile(backend="eager")
def compiled(x, mode, table, scale, secret=Secret.KEY):
    y = x * 31337.5
    if mode == "canary-mode":
        y = y + 1
    y = helper(y) * table["canary-key"] + 271828
    if secret is Secret.KEY:
        y = y - 0.577215
    return torch.nn.functional.interpolate(y[None, None], scale_factor=scale, mode="nearest")

for size in (3, 4):
    for mode in ("canary-mode", "canary-other", Secret.KEY):
        compiled(torch.ones(size), mode, {"canary-key": 123456}, 2.71875)
"""
CANARIES = (
    "canary", "161803", "31337", "271828", "577215", "123456", "71875", "/site-packages/",
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
        [sys.executable, "-m", "stepper", "record", "--lookups", "--execute", "-o", path,
         folder / "train.py", "--token", "canary-argument"],
        cwd=folder, env=clean_environment(), capture_output=True, timeout=170, check=True,
    )  # fmt: skip
    return Recording.open(str(path))


@pytest.mark.parametrize("format", FORMATS)
def test_a_redacted_report_keeps_secrets(format: str, secretive: Recording) -> None:
    text = FORMATS[format](gather(secretive, redact=True))
    leaks = [
        text[max(0, at - 60) : at + 60] for canary in CANARIES if (at := text.find(canary)) >= 0
    ]
    assert not leaks


@pytest.mark.parametrize("format", FORMATS)
def test_without_redaction_they_are_told(format: str, secretive: Recording) -> None:
    text = FORMATS[format](gather(secretive))
    assert "canary-mode" in text
    assert "canary-folder" in text


@pytest.mark.parametrize("format", FORMATS)
def test_a_redacted_report_still_says_what_happened(format: str, secretive: Recording) -> None:
    text = FORMATS[format](gather(secretive, redact=True))
    assert "train.py:" in text or '"train.py"' in text
    assert "compiled" in text
    assert "TENSOR_MATCH" in text
    assert "Failed to trace builtin operator" in text
    assert "float32" in text or "f32" in text


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("L['x'] == 'secret'", "L['x'] == …"),
        ("len(L['xs']) == 3", "len(L['xs']) == …"),
        ("L['d']['key'].weight", "L['d'][…].weight"),
        ("add(x, 3.14, alpha=-2)", "add(x, …, alpha=…)"),
        ("f(x, mode='a \\' b', y1)", "f(x, mode=…, y1)"),
        ("f('never ends", "f(…"),
        ("open(/home/ann/x.txt)", "open(x.txt)"),
        ("[1, [2, 'a']]", "[…]"),
        ("pick(<Secret: 1>, True)", "pick(…, …)"),
        ("view_3, 1e-05, 0x1f", "view_3, …, …"),
    ],
)
def test_what_is_left_of_code(code: str, told: str) -> None:
    assert Teller("", redact=True).code(code) == told


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/home/ann/project/train.py", "train.py"),
        ("C:\\Users\\ann\\train.py", "train.py"),
        ("train.py", "train.py"),
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
    assert (about.name, about.program, about.directory) == ("train.py", "", "")
    assert about.recording == "run.stepper"
    recording.close()
