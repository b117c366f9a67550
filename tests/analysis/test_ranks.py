"""Ranks that did the same, and where the others part: each kind of divergence, planted.

The ranks of a scenario are recorded one after the other in one process, each with its `RANK`; that
they are so under torchrun is seen once, in tests/real.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from stepper.analysis import rank_lines, ranks
from tests.conftest import ROOT, clean_environment
from tests.ready import python
from tests.real.ranks import PLANTED, PROGRAM, missing, told

KINDS = ("same", *PLANTED, "graph")


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    command = python(PROGRAM, "alone", *KINDS)
    subprocess.run(
        command,
        cwd=folder,
        env=clean_environment() | {"PYTHONPATH": str(ROOT)},
        check=True,
        timeout=600,
    )
    return folder


def test_ranks_that_did_the_same_are_one_class(sessions: Path) -> None:
    text = told(sessions / "same")
    assert text.startswith("all 4 recordings did the same: 2 compilations, ")
    assert "ranks 0-3" in text


@pytest.mark.parametrize("kind", KINDS[1:])
def test_the_rank_that_deviates_is_a_class_of_its_own(sessions: Path, kind: str) -> None:
    text = told(sessions / kind)
    assert text.startswith("4 recordings in 2 classes")
    assert "  1  ranks 0, 2-3: " in text
    assert "  2  rank 1: " in text
    assert "class 2, rank 1: against rank 0 of class 1" in text
    assert "calls that compiled nothing" in text


@pytest.mark.parametrize("kind", PLANTED)
def test_what_was_planted_is_told_with_its_cause_on_both_sides(sessions: Path, kind: str) -> None:
    text = told(sessions / kind)
    assert not missing(text, kind, 1), text


def test_recordings_of_other_machines_can_be_put_together(sessions: Path, tmp_path: Path) -> None:
    for rank in (0, 1):
        shutil.copy(sessions / "branch" / f"rank{rank}.stepper", tmp_path / f"host{rank}.stepper")
    shutil.copy(sessions / "branch" / "rank2.stepper", tmp_path / "cut.stepper")
    os.truncate(tmp_path / "cut.stepper", 5000)
    text = told(tmp_path)
    assert text.startswith("2 recordings in 2 classes")
    assert "class 2, rank 1: against rank 0 of class 1" in text


def test_many_recordings_are_read_by_several_processes(
    sessions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(ranks._WORTH_WORKERS):
        shutil.copy(
            sessions / "branch" / f"rank{number % 4}.stepper", tmp_path / f"{number}.stepper"
        )
    os.truncate(tmp_path / "5.stepper", 5000)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    expected = told(tmp_path)
    assert expected.startswith("31 recordings in 2 classes")
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert told(tmp_path) == expected


def test_there_may_be_many_classes(
    sessions: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(rank_lines, "MOST", 1)
    for kind in ("shape", "skip", "branch"):
        for rank in (0, 1) if kind == "shape" else (1,):
            name = f"{kind}{rank}.stepper"
            shutil.copy(sessions / kind / f"rank{rank}.stepper", tmp_path / name)
    assert "and 2 more classes: --all compares them" in told(tmp_path)
    assert "class 4" in told(tmp_path, everything=True)


def test_the_command_tells_by_its_exit_code(
    sessions: Path, run_python: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    same = run_python("-m", "stepper", "ranks", sessions / "same")
    assert (same.returncode, same.stderr) == (0, "")
    assert run_python("-m", "stepper", "ranks", sessions / "shape").returncode == 1
    nothing = run_python("-m", "stepper", "ranks", sessions)
    assert nothing.returncode == 2
    assert "no session folder" in nothing.stderr


def test_the_collective_in_which_one_waits_for_the_other(sessions: Path) -> None:
    found = [each.strip() for each in told(sessions / "graph").splitlines()]
    at = found.index("collective 2 of the graphs: who runs it waits there for the other")
    assert found[at + 1].startswith("rank 0  all_reduce in 0/0 ")
    assert found[at + 2].startswith("rank 1  all_gather_into_tensor in 0/0 ")
    assert "of the graphs" not in told(sessions / "branch")
