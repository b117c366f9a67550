"""Ranks that did the same, and where the others part: each kind of divergence, planted.

The ranks of a scenario are recorded one after the other in one process, each with its `RANK`; that
they are so under torchrun is seen once, in tests/real.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from stepper.analysis import rank_lines, ranks
from stepper.recording.session_folder import read
from tests.conftest import clean_environment

PROGRAM = """
import os, sys, torch, stepper
import torch.distributed as dist

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)

def scenario(kind, rank):
    def helper(x):
        return x.sin() + 1

    @torch.compile(backend="eager")
    def step(x, scale=2, odd=False):
        y = helper(x) * scale
        if odd:
            y = y - 1  # only on one rank
        if os.environ.get("FAST") == "1":
            y = y.relu()
        if kind == "break" and odd:
            torch._dynamo.graph_break()
        if kind == "collective":
            dist.all_reduce(y)
            dist.all_gather_into_tensor(y, y) if odd else dist.all_reduce(y)
        return y + x

    odd = rank == 1
    if kind == "cache" and odd:
        step(torch.ones(7), 3)  # before all others
    for size in (4, 4, 5):
        if kind == "skip" and odd and size == 5:
            continue
        step(torch.ones(8 if kind == "shape" and odd else size), odd=odd and kind in ODD)

ODD = ("branch", "break", "collective")
for kind in sys.argv[1:]:
    for rank in range(4):
        os.makedirs(kind, exist_ok=True)
        os.environ["RANK"] = str(rank)
        os.environ["FAST"] = str(int(kind == "environment" and rank == 1))
        torch._dynamo.reset()
        with stepper.record(f"{kind}/rank{rank}.stepper"):
            scenario(kind, rank)
"""
KINDS = ("same", "shape", "branch", "environment", "break", "cache", "skip", "collective")


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "program.py").write_text(PROGRAM)
    command = [sys.executable, "program.py", *KINDS]
    subprocess.run(command, cwd=folder, env=clean_environment(), check=True, timeout=600)
    return folder


def told(folder: Path, *, everything: bool = False) -> str:
    found = ranks.classes(ranks.compared(read(str(folder)).processes))
    lines = rank_lines.rank_lines(found, everything=everything)
    return "\n".join(line.text for line in lines)


def line(part: str) -> int:
    """Number of a line of the program."""
    (found,) = [at for at, text in enumerate(PROGRAM.splitlines(), 1) if part in text]
    return found


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


def test_another_shape_is_told_by_the_guard_and_the_input(sessions: Path) -> None:
    text = told(sessions / "shape")
    assert "TENSOR_MATCH L['x']" in text
    assert "size[0] 4" in text
    assert "size[0] 8" in text
    assert "# L['x'] f32[8]" in text


def test_another_way_is_told_by_what_decided_it(sessions: Path) -> None:
    text = told(sessions / "branch")
    odd = f"line {line('if odd:')}: if odd:"
    assert f"rank 0  decides by L['odd'], which is False, {odd}" in text
    assert f"rank 1  decides by L['odd'], which is True, {odd}" in text
    assert f"rank 1  goes to scenario.<locals>.step, line {line('y - 1')}: y = y - 1" in text


def test_another_environment_is_told_by_the_line_that_asked(sessions: Path) -> None:
    asked = line('os.environ.get("FAST")')
    assert f"rank 1  decides by True, line {asked}: if os.environ.get" in told(
        sessions / "environment"
    )


def test_a_break_on_one_rank_is_told_with_its_reason(sessions: Path) -> None:
    text = told(sessions / "break")
    assert f"rank 1 breaks the graph at {sessions}/program.py:{line('graph_break()')}" in text


def test_another_state_of_the_cache_is_told_by_the_calls(sessions: Path) -> None:
    text = told(sessions / "cache")
    assert f"rank 1  was called at {sessions}/program.py:{line('before all others')}" in text
    assert "L['scale'] == 3" in text


def test_a_skipped_step_is_told_as_far_as_it_is_known(sessions: Path) -> None:
    text = told(sessions / "skip")
    assert "first divergence: only rank 0 compiles 0/1 scenario.<locals>.step" in text
    assert "expected 4, actual 5" in text
    assert "rank 1 compiled nothing there: whether it made the call" in text
    assert "(--lookups records it)" in text


def test_recordings_of_other_machines_can_be_put_together(sessions: Path, tmp_path: Path) -> None:
    for rank in (0, 1):
        shutil.copy(sessions / "branch" / f"rank{rank}.stepper", tmp_path / f"host{rank}.stepper")
    shutil.copy(sessions / "branch" / "rank2.stepper", tmp_path / "cut.stepper")
    os.truncate(tmp_path / "cut.stepper", 5000)
    text = told(tmp_path)
    assert text.startswith("2 recordings in 2 classes")
    assert "class 2, rank 1: against rank 0 of class 1" in text


def test_there_may_be_many_classes(
    sessions: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(rank_lines, "MOST", 1)
    for kind in ("shape", "skip", "same"):
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
    found = [each.strip() for each in told(sessions / "collective").splitlines()]
    at = found.index("collective 2 of the graphs: who runs it waits there for the other")
    assert found[at + 1].startswith("rank 0  all_reduce in 0/0 ")
    assert found[at + 2].startswith("rank 1  all_gather_into_tensor in 0/0 ")
    assert "of the graphs" not in told(sessions / "branch")
