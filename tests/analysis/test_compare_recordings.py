"""Two recordings side by side: what is the same, where they part, how frames are aligned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stepper.analysis.compare_recordings import (
    FrameDiff,
    Named,
    compare_frames,
    compare_runs,
    side_by_side,
)
from stepper.analysis.compare_times import time_diff_lines
from stepper.analysis.run_lines import entry_lines, run_lines
from stepper.analysis.walks import compilations
from stepper.recording.reader import Recording
from tests.analysis.conftest import Recorded
from tests.real.running import run
from tests.real.test_distributed import settled

DEMO = "demos/recompilation.py"

PROGRAM = """
import os
import torch

RANK = int(os.environ.get("RANK", "0"))

@torch.compile(backend="eager")
def first(x):
    return x * 2 + 1

@torch.compile(backend="eager")
def second(x, last):
    y = x.sin()
    if last:
        y = y.cos()
    return y + 1

@torch.compile(backend="eager")
def third(x):
    return x - 1

first(torch.ones(3))
second(torch.ones(3), RANK == 1)
third(torch.ones(3))
"""


def text(a: Recording, b: Recording) -> str:
    return "\n".join(line.text for line in run_lines(a, b, compare_runs(a, b)))


@pytest.mark.parametrize("program", [DEMO, "demos/graph_breaks.py", "tests/corpus/modules.py"])
def test_two_runs_of_one_program_are_the_same(program: str, recorded: Recorded) -> None:
    a, b = recorded(program), recorded(program, "--lookups", PYTHONHASHSEED="1")
    found = compare_runs(a, b)
    assert found.first is None
    assert len(found.pairs) == len(compilations(a))
    assert "no difference" in text(a, b)
    assert "different hash seeds" in text(a, b)


def test_ranks_are_aligned_and_the_first_difference_is_named(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    path = program(PROGRAM)
    a, b = recorded(path, RANK="0"), recorded(path, RANK="1")
    assert (a.facts.rank, b.facts.rank) == (0, 1)
    found = compare_runs(a, b)
    first = found.first
    assert isinstance(first, FrameDiff)
    assert first.a.name == first.b.name == "second"
    assert [each.a.name for each in found.different] == ["second"]
    # They part behind the branch: one goes on with `cos`.
    assert first.at_a is not None
    assert first.at_b is not None
    before = a.moment(first.at_a - 1)
    code = a.code(a.frame(before.frame).code)
    assert code.instructions[before.ip].opname.startswith("POP_JUMP")
    assert any(left is None and "cos" in (right or "") for left, right in first.nodes)
    shown = text(a, b)
    assert ", rank 0" in shown
    assert ", rank 1" in shown
    assert "3 frames in both, 1 of them different; 0 only in a, 0 only in b" in shown


BETWEEN = """
@torch.compile(backend="eager")
def between(x):
    return x / 2

# The lines below have moved.
first(torch.ones(3))
between(torch.ones(4))
"""
CHANGED = (
    PROGRAM.replace("\nfirst(torch.ones(3))\n", BETWEEN)
    .replace("x - 1", "x - 2")
    .replace("torch.ones(3), RANK == 1", "torch.ones(5), RANK == 1")
)


def test_checks_that_a_failed_compilation_did_not_come_to_build_are_no_difference(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    fails = """
import contextlib, os, torch

@torch.compile(backend="eager", fullgraph=True)
def f(x, last):
    y = x + 1
    if last:
        torch._dynamo.graph_break()
    return y

with contextlib.suppress(torch._dynamo.exc.Unsupported):
    f(torch.ones(3), os.environ["RANK"] == "1")
"""
    path = program(fails)
    a, b = (recorded(path, RANK=rank) for rank in "01")
    (differs,) = compare_runs(a, b).different
    assert ("outcome", "compiled", "failed") in differs.facts
    both = [guards for guards in differs.guards if None not in guards]
    assert both == []
    assert not [text for guards in differs.guards for text in guards if text and "L['x']" in text]


def test_an_edited_program(recorded: Recorded, program: Callable[[str], str]) -> None:
    a = recorded(program(PROGRAM), RANK="0")
    b = recorded(program(CHANGED), "--lookups", RANK="0")
    found = compare_runs(a, b)
    assert [item.name for item in found.only_b] == ["between"]
    assert not found.only_a
    assert [each.a.name for each in found.different] == ["second", "third"]
    second, third = found.different
    # Another size: the same instructions, other guards and values.
    assert not second.parted
    assert any(
        "shape[0] 3" in (row[0] or "") and "shape[0] 5" in (row[1] or "") for row in second.guards
    )
    assert third.parted
    assert third.nodes == (
        ("sub = operator.sub(l_x_, 1)  f32[3]", "sub = operator.sub(l_x_, 2)  f32[3]"),
    )
    assert not third.guards
    shown = text(a, b)
    assert "first difference: only b compiles 1/0 between" in shown
    assert "a is at moment" in shown


def test_a_script_may_have_another_name(recorded: Recorded, tmp_path: Path) -> None:
    before, after = tmp_path / "train.py", tmp_path / "train_mended.py"
    for path in (before, after):
        path.write_text(PROGRAM)
    a, b = recorded(str(before)), recorded(str(after))
    found = compare_runs(a, b)
    assert len(found.pairs) == 3
    assert (found.different, found.first) == ((), None)
    assert not [line.text for line in time_diff_lines(a, b) if "train" in line.text]


def test_two_entries_of_one_recording(recorded: Recorded) -> None:
    recording = recorded(DEMO)
    one, other = compilations(recording)[:2]
    found = compare_frames(recording, one, recording, other)
    assert not found.parted
    assert found.common == one.instructions
    assert (
        "mul = operator.mul(l_x_, 2)  f32[4]",
        "mul = operator.mul(l_x_, 2)  f32[s77]",
    ) in found.nodes
    lines = [line.text for line in entry_lines(recording, one, recording, other)]
    assert lines[0] == "0/0 by_tensor  |  0/1 by_tensor"
    assert [line.text for line in entry_lines(recording, one, recording, one)] == [
        "0/0 by_tensor", "  no difference",
    ]  # fmt: skip


def lines(*words: str) -> list[Named]:
    return [Named.of(word.partition("=")[0], word) for word in words]


@pytest.mark.parametrize(
    ("left", "right", "rows"),
    [
        ("a b c", "a b c", []),
        ("a b c", "a c", [("b", None)]),
        ("a c", "a b c", [(None, "b")]),
        ("a x=1 c", "a x=2 c", [("x=1", "x=2")]),
        ("a x=1 c", "x=2 c", [("a", None), ("x=1", "x=2")]),
        ("a", "b", [("a", None), (None, "b")]),
        ("a x=0x7f01 b", "a x=0x7f02 b", []),
    ],
)
def test_lines_side_by_side(left: str, right: str, rows: list[object]) -> None:
    assert list(side_by_side(lines(*left.split()), lines(*right.split()))) == rows


def test_very_long_graphs_that_differ_throughout_are_told_all_the_same() -> None:
    left = lines(*(f"a{n}" for n in range(5000)))
    right = lines(*(f"b{n}" for n in range(5000)))
    assert len(list(side_by_side(left, right))) == 10_000


GLOO = """
import os
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()

@torch.compile(backend="eager")
def encode(x):
    return x * 2 + 1

@torch.compile(backend="eager")
def head(x):
    return x.softmax(-1).sum()

encode(torch.ones(3))
head(torch.ones(3 + rank))
dist.barrier()
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_two_ranks_under_torchrun(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(GLOO)
    settled(
        lambda: run(
            [
                *("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"),
                *("-m", "stepper", "record", "-o", "run-{rank}.stepper", "train.py"),
            ],
            tmp_path,
        )
    )
    a, b = (Recording.open(str(tmp_path / f"run-{rank}.stepper")) for rank in range(2))
    assert (a.facts.rank, b.facts.rank) == (0, 1)
    found = compare_runs(a, b)
    assert isinstance(found.first, FrameDiff)
    assert found.first.a.name == "head"
    assert not found.first.parted
    ((mine, theirs),) = [row for row in found.first.guards if "TENSOR_MATCH" in str(row)]
    assert "shape[0] 3" in str(mine)
    assert "shape[0] 4" in str(theirs)
    a.close()
    b.close()
