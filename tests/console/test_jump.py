"""pdb's `jump`: what is compiled leaves lines out, with both engines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stepper.analysis.overview import overview_lines
from stepper.model.trace import EventKind, Outcome
from stepper.recording.reader import Recording
from tests.console.test_programs import commands, console

PROGRAM = """\
import torch

def helper(v):
    w = v * 3
    w = w + 1
    return w

def f(x):
    y = x + 1
    print("one")
    z = y * 2
    for i in range(3):
        z = z + i
        z = z * 1
    with torch.no_grad():
        z = z - 1
        z = helper(z)
    try:
        z = z / 2
    except ValueError:
        z = z / 3
    print("two")
    return z.sum()

compiled = torch.compile(f, backend="eager")
for _ in range(2):
    print("gives", compiled(torch.ones(3)).item())
"""


class Run:
    """What each command of a session printed, and its recording."""

    def __init__(self, folder: Path, engine: str, *typed: str, program: str = PROGRAM) -> None:
        (folder / "toy.py").write_text(program)
        path = folder / "toy.stepper"
        options = ("--engine", engine, "-o", path, *commands(*typed))
        self.text = console(folder, *options, "toy.py")
        self.answers = re.split(r"^\(stepper\) .*\n", self.text, flags=re.M)[1:]
        self.recording = Recording.open(str(path))
        self.told = [each.text for each in self.recording.events(kinds={EventKind.INTERVENTION})]

    @property
    def graphs(self) -> int:
        """How many came of the whole program."""
        made = self.recording.translations()
        return sum(each.outcome is Outcome.COMPILED and each.nodes > 1 for each in made)


@pytest.mark.parametrize("engine", ["dynamo", "native"])
def test_over_breaks_there_is_one_graph(tmp_path: Path, engine: str) -> None:
    plain = Run(tmp_path, engine, "c")
    run = Run(tmp_path, engine, "b toy.py:10", "b toy.py:22", "c", "jump 11", "c", "jump 23", "c")
    assert plain.graphs == 3
    assert run.graphs == 1
    assert "| one" not in run.text
    assert run.text.count("| gives 28.5") == 2
    assert "jump from line 10 to line 11 in f" in run.answers[3]
    assert "leaves out what lies between, for every call that it serves" in run.answers[3]
    assert "stopped: jump" in run.answers[3]
    assert "  f  toy.py:11" in run.answers[3]
    assert len(run.told) == 2
    assert not run.recording.graph_breaks()
    home = [line.text for line in overview_lines(run.recording)]
    assert home[0] == "changed by the user, at stops  2"
    assert "jump from line 10 to line 11 in f" in home[1]


@pytest.mark.parametrize("engine", ["dynamo", "native"])
def test_where_the_compiler_begins_anew_it_jumps_again(tmp_path: Path, engine: str) -> None:
    """Also back, in a loop, and in a function that is inlined."""
    run = Run(
        tmp_path, engine, "b toy.py:10", "b toy.py:14", "b toy.py:5", "c", "jump 11", "cl 1", "c",
        "jump 13", "cl 2", "c", "jump 6", "cl 3", "c", "why-break",
    )  # fmt: skip
    # ((2 * 2 + 0 + 0 + 1 + 2) - 1) * 3 / 2 each
    assert run.text.count("| gives 27.0") == 2
    assert "| one" not in run.text
    assert run.text.count("| two") == 2
    (broken,) = run.recording.graph_breaks()
    assert broken.user_stack[-1].line == 22
    assert "jump from line 10 to line 11 in f" in run.answers[-1]


def test_in_the_attempt_that_was_to_break_the_graph_there_it_is_not_broken(tmp_path: Path) -> None:
    run = Run(
        tmp_path, "dynamo",
        "b toy.py:10", "c", "c", "jump 11", "b toy.py:22", "c", "c", "cl 2", "c",
    )  # fmt: skip
    assert "attempt 2  f  toy.py:10" in run.answers[2]
    assert "stopped: jump" in run.answers[3]
    assert "attempt 3  f  toy.py:22" in run.answers[6], (
        "another break: it jumps over the first again"
    )
    assert "| one" not in run.text
    assert run.text.count("| two") == 2
    assert run.text.count("| gives 28.5") == 2


@pytest.mark.parametrize("engine", ["dynamo", "native"])
def test_refusals_say_what_can_be_done(tmp_path: Path, engine: str) -> None:
    run = Run(
        tmp_path, engine, "b toy.py:10", "b toy.py:5", "b toy.py:16", "jump 9", "c",
        "jump 13", "jump 16", "jump 19", "jump 21", "jump 23", "jump 24", "jump x", "jump",
        "goto 3", "jump 9", "goto newest", "jump 11", "c", "jump 18", "jump 15", "b node:add", "c",
        "up", "jump 9", "down", "jump 9", "c", "jump 9", "c",
    )  # fmt: skip
    answers = run.answers
    assert "has not begun with its first line yet: step on to it" in answers[3]
    assert "line 13 is within a `for` loop that line 10 is not in" in answers[5]
    assert "line 16 is within a `with` block that line 10 is not in" in answers[6]
    assert "line 19 is within a `try` block that line 10 is not in" in answers[7]
    assert "line 21 is within an `except` block that line 10 is not in" in answers[8]
    assert "from line 23 on z is read, which has no value yet" in answers[9]
    assert "line 24 has no code in f here" in answers[10]
    assert "the nearest that has: 23" in answers[10]
    assert "'x' is not a line" in answers[11]
    assert "give a number" in answers[12]
    assert "what is recorded has happened" in answers[14]
    assert "stopped: jump" in answers[16]
    assert "line 18 is out of a `with` block, whose exit would be left out" in answers[18]
    assert "only the newest frame can jump" in answers[23]
    assert "line 9 has no code in helper here, which goes from line 4 to 6" in answers[25]
    assert "in the midst of an instruction" in answers[27]
