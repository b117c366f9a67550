"""Ranks of a real process group that do not do the same, and what the others wait in."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepper.analysis.collectives import begun, groups
from stepper.recording.reader import Recording
from stepper.recording.session_folder import read
from tests.real.ranks import line, record

pytestmark = pytest.mark.slow

RANKS = 8


def told(folder: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "stepper", "ranks", folder],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert not done.stderr
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def skipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The session of eight ranks, one of which skips a step with its collective."""
    folder = tmp_path_factory.mktemp("ranks")
    recording = record(folder, "skip", RANKS)
    said, _ = recording.communicate(timeout=600)
    assert recording.returncode == 0, said
    return folder / "skip"


def test_a_step_that_one_of_eight_ranks_skips(skipped: Path) -> None:
    code, text = told(skipped)
    assert code == 1
    assert text.startswith(f"{RANKS} recordings in 2 classes that did the same")
    assert "  1  ranks 0, 2-7: 2 compilations" in text
    assert "  2  rank 1: 1 compilation" in text
    assert "first divergence: only rank 0 compiles 0/1 work.<locals>.step" in text
    _, _, collectives = text.partition("collective 3 of default_pg (8 ranks) is not the same\n")
    usual, odd, *_ = collectives.splitlines()
    assert usual.startswith("  ranks 0, 2-7: all_reduce f32[2] at ")
    assert f"/program.py:{line('the usual one')} in work" in usual
    assert odd == "  rank 1: has begun no such one"


def test_all_collectives_are_known_with_where_they_were_begun(skipped: Path) -> None:
    usual = next(each for each in read(str(skipped)).processes if each.rank == 0)
    with contextlib.closing(Recording.open(usual.recording)) as recording:
        found = list(begun(recording))
        (group,) = groups(recording)
    assert (group.shown, group.ranks, group.enqueued) == ("default_pg", tuple(range(RANKS)), 3)
    assert [(each.collective.number, each.collective.name) for each in found] == [
        (1, "all_reduce"), (2, "all_reduce"), (3, "all_reduce"),
    ]  # fmt: skip
    assert {each.stack[-1].line for each in found} == {line("the usual one")}
    assert [each.collective.over for each in found[:2]] == [True, True]
    began = [each.collective.began for each in found]
    assert began == sorted(began)
    assert usual.started < began[0] / 1e9


def test_they_are_asked_as_a_view(skipped: Path) -> None:
    sql = "SELECT rank, count(*), max(number) FROM collectives GROUP BY rank ORDER BY rank"
    done = subprocess.run(
        [sys.executable, "-m", "stepper", "query", skipped, sql, "--format", "csv"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    expected = [f"{rank},{2 if rank == 1 else 3},{2 if rank == 1 else 3}" for rank in range(RANKS)]
    assert done.stdout.splitlines()[1:] == expected


def test_recordings_of_other_machines_say_it_too(skipped: Path, tmp_path: Path) -> None:
    for each in read(str(skipped)).processes:
        if each.rank in (1, 2, 5):
            shutil.copy(each.recording, tmp_path / f"host{each.rank}.stepper")
    _, text = told(tmp_path)
    assert "  ranks 2, 5: all_reduce f32[2] at" in text
    assert "  rank 1: has begun no such one" in text


@contextlib.contextmanager
def hanging(folder: Path, ranks: int) -> Iterator[Path]:
    recording = record(folder, "hang", ranks)
    try:
        yield folder / "hang"
    finally:
        for each in read(str(folder / "hang")).processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each.pid, signal.SIGKILL)
        recording.communicate()


def until_told(folder: Path, text: str) -> str:
    while True:
        with contextlib.suppress(AssertionError):
            _, said = told(folder)
            if text in said:
                return said
        time.sleep(0.2)


@pytest.mark.timeout(600)
def test_a_rank_for_which_the_others_wait_is_named_while_they_wait_and_afterwards(
    tmp_path: Path,
) -> None:
    stands = "ranks 0, 2-3 stand in collective 3 of default_pg (4 ranks): all_reduce f32[2] at"
    missing = "    rank 1 has not begun it: the last is 2"
    with hanging(tmp_path, 4) as session:
        waiting = until_told(session, stands)
        assert missing in waiting.splitlines()
    code, text = told(session)
    assert code == 1
    assert stands in text
    assert missing in text.splitlines()
