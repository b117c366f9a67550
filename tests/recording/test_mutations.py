"""Spoilt recordings: each is answered about or refused, whatever is in it. The long run is
`nice python -m tests.recording.mutations`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import clean_environment
from tests.recording.mutations import COMMANDS, check, limited, spoil, trouble
from tests.recordings import sample_recording

FILES = 200


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is spoilt."""
    path = tmp_path_factory.mktemp("good") / "good.stepper"
    sample_recording(str(path))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_commands_answer_or_refuse_whatever_is_in_a_file(part: int, good: Path) -> None:
    with limited():
        found = [
            text
            for seed in range(100_000 + part, 100_000 + FILES, 4)
            for text in check(seed, good, commands=2)
        ]
    assert not found, "\n".join(found)


def test_a_good_recording_is_no_trouble(good: Path) -> None:
    for command in COMMANDS:
        assert trouble(command(str(good), str(good)), good.parent) == ""


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 14, 15])
def test_the_same_in_processes_of_their_own(seed: int, good: Path, tmp_path: Path) -> None:
    spoilt = tmp_path / "spoilt.stepper"
    spoilt.write_bytes(good.read_bytes())
    spoil(spoilt, seed)
    before = spoilt.read_bytes()
    for words in (["report", "--format", "json"], ["query", "SELECT count(*) FROM frames"]):
        done = subprocess.run(
            [sys.executable, "-m", "stepper", words[0], str(spoilt), *words[1:]],
            env=clean_environment(), capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        assert done.returncode in (0, 2)
        assert done.stderr.count("\n") == (done.returncode == 2), done.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["spoilt.stepper"]
    assert spoilt.read_bytes() == before
