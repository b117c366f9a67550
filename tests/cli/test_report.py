"""`stepper report`, from the command line."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.recordings import sample_recording

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run_stepper(run_python: Run) -> Run:
    """Runs the command with arguments."""
    return lambda *arguments: run_python("-m", "stepper", *arguments)


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "run.stepper"
    sample_recording(str(path))
    return path


@pytest.mark.parametrize(
    ("name", "begins"),
    [("r.html", "<!DOCTYPE html>"), ("r.md", "# stepper report"), ("r.json", '{"format":2')],
)
def test_the_name_decides_the_format(
    name: str, begins: str, sample: Path, run_stepper: Run
) -> None:
    done = run_stepper("report", sample, "-o", sample.with_name(name))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sample.with_name(name).read_text(encoding="utf-8").startswith(begins)


def test_without_a_name_it_goes_to_stdout(sample: Path, run_stepper: Run) -> None:
    done = run_stepper("report", sample, "--format", "json", "--redact")
    assert done.returncode == 0
    report = json.loads(done.stdout)
    assert report["about"]["redacted"] is True
    assert report["about"]["recording"] == "recording.stepper"


def test_a_recording_is_not_overwritten(sample: Path, run_stepper: Run) -> None:
    before = sample.read_bytes()
    (sample.parent / "link.html").symlink_to(sample)
    for name in ("run.stepper", "link.html"):
        done = run_stepper("report", sample, "-o", sample.with_name(name))
        assert done.returncode == 2
        assert "is the recording itself" in done.stderr
    assert sample.read_bytes() == before


def test_what_cannot_be_written_or_read_is_told(sample: Path, run_stepper: Run) -> None:
    done = run_stepper("report", sample, "-o", "/dev/full", "--format", "html")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("stepper report: /dev/full cannot be written: No space left on device\n")
    done = run_stepper("report", sample.with_name("none.stepper"), "-o", sample.with_name("r.md"))
    assert done.returncode == 2
    assert not sample.with_name("r.md").exists()


def test_a_recording_whose_name_is_no_text_is_reported(sample: Path, run_stepper: Run) -> None:
    strange = sample.with_name(os.fsdecode(b"run \xff\xe2\x80\xae<b>.stepper"))
    sample.rename(strange)
    for format in ("html", "markdown", "json"):
        done = run_stepper("report", strange, "--format", format)
        assert done.returncode == 0, done.stderr
        assert "run ··" in done.stdout
