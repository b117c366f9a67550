"""What is said where the lines to blame are a library's, which nobody edits, and where there are
many of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from stepper.analysis.break_lines import break_lines
from stepper.analysis.conditions import Left, decided_by, only_left
from stepper.analysis.failed_lines import failed_lines
from stepper.analysis.guard_lines import guarded_lines
from stepper.analysis.guard_uses import entries
from stepper.analysis.recompile_lines import recompile_lines
from stepper.analysis.shape_lines import shape_lines
from stepper.analysis.shapes import sizes
from stepper.recording.reader import Recording

Recorded = Callable[..., Recording]

LIBRARY = """
import torch

class Named(torch.nn.Module):
    def forward(self, x):
        name = f"{x.shape[0]}"
        return x * len(name)

def written(x):
    return f"{x.shape[0]}"

def first(x): return x.shape
def second(x): return x.shape
def third(x): return x.shape
def fourth(x): return x.shape

def outermost(call): return outer(call)
def outer(call): return middle(call)
def middle(call): return inner(call)
def inner(call): return call()

class Counter:
    def __init__(self):
        self.updates = 0
    def update(self, x):
        self.updates += 1
        return x * self.updates
"""

PROGRAM = """
import os, sys
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "site-packages"))
import library
import torch

named = torch.compile(library.Named(), backend="eager", dynamic=True)
for size in (5, 6):
    named(torch.ones(size))

@torch.compile(backend="eager", dynamic=True)
def own(x):
    return x * len(library.written(x))

for size in (5, 6):
    own(torch.ones(size))

for function in (library.first, library.second, library.third, library.fourth):
    torch.compile(function, backend="eager")(torch.ones(2))

counter = library.Counter()

@torch.compile(backend="eager")
def counted(x):
    return counter.update(x)

for _ in range(3):
    counted(torch.ones(2))

@torch.compile(backend="eager", fullgraph=True)
def fails(x):
    torch._dynamo.graph_break()
    return x

try:
    library.outermost(lambda: fails(torch.ones(2)))
except torch._dynamo.exc.Unsupported:
    pass
"""


@pytest.fixture
def recording(recorded: Recorded, program: Callable[[str], str]) -> Recording:
    path = program(PROGRAM)
    installed = Path(path).with_name("site-packages")
    installed.mkdir()
    (installed / "library.py").write_text(LIBRARY)
    return recorded(path)


def test_nobody_is_told_to_change_a_librarys_line(recording: Recording) -> None:
    lines = [line.text.strip() for line in recompile_lines(recording)]
    advice = [line for line in lines if line.startswith("advice:")]
    named, own, counted = (
        next(line for line in advice if at in line)
        for at in ("library.py:7 ", "program.py:13 ", "program.py:25 ")
    )
    assert len(advice) == 3
    assert "until library.py:7 in forward needs its value" in named
    assert named.endswith("hand over few values of it, since that line is a library's, and so is "
                          "the compiled function.")  # fmt: skip
    assert "program.py:13 in own needs its value" in own
    assert "take it out of the compiled function" in own
    assert "A library changes it, in what the compiled function calls at" in counted
    assert counted.endswith("program.py:25 in counted: make that call outside of it.")


def test_what_is_said_of_several_entries_alike_is_said_once(recording: Recording) -> None:
    first, *others = guarded_lines(recording, "library.written", "own")
    assert re.match(r"\d/0, \d/1 own: only the code of library.written is guarded", first.text)
    assert not any(re.match(r"\d/\d", line.text) for line in others)


def test_a_length_of_a_container_is_no_condition_on_sizes(recording: Recording) -> None:
    """It is written like one, and torch has fixed other numbers in the same entry."""
    own = next(item for item in entries(recording) if item.name == "own")
    known = [*sizes(recording, own)]
    assert known[0].value == "5"
    assert not decided_by(known, "len(L['x'].names) != 1")


def test_functions_that_were_skipped_alike_are_told_together(recording: Recording) -> None:
    lines = [line.text for line in break_lines(recording)]
    (alike,) = (at for at, line in enumerate(lines) if "functions of libraries" in line)
    assert lines[alike].startswith("  4 functions of libraries: Dynamo decided to skip the frame")
    assert lines[alike + 1].startswith("    first, second, third and 1 more, each by its name")
    (fourth,) = (line for line in break_lines(recording, "fourth") if "library.py" in line.text)
    assert fourth.text.startswith("  fourth  library.py:15: Dynamo decided to skip the frame")


def test_a_long_way_through_a_library_is_told_in_short(recording: Recording) -> None:
    called = [line.text.strip() for line in failed_lines(recording) if "   called by" in line.text]
    assert called[1:4] == [
        "called by library.py:20 in inner",
        "called by … 2 more calls in libraries",
        "called by library.py:17 in outermost",
    ]


NORMS = """
import torch

norms = torch.nn.Sequential(*(torch.nn.LayerNorm(2) for _ in range(3)))
compiled = torch.compile(norms, backend="eager", dynamic=True)
for gradients in (True, False):
    with torch.set_grad_enabled(gradients):
        compiled(torch.ones(3, 2))
"""


def test_numbers_of_layers_that_are_fixed_alike_are_told_together(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    lines = [line.text for line in shape_lines(recorded(program(NORMS)))]
    (fixed,) = (line for line in lines if "eps is 1e-05" in line)
    assert fixed.startswith("0/0, 0/1 Sequential")
    (alike,) = (line for line in lines if line.startswith("  likewise"))
    assert alike == "  likewise self[1].eps, self[2].eps, by the same line for the same operator"


def test_what_one_condition_leaves_is_seen_among_others() -> None:
    size = "L['x'].size()[1]"
    within = f"33 <= {size} and {size} <= 257"
    equal = f"(((-1) + {size}) / 16) == 2.0"
    follows = f"((-1) + {size}) == (16*(((-1) + {size}) // 16))"
    left = only_left([within, equal, follows, f"{size} != L['y'].size()[0]"], size)
    assert left == Left(33, (within, equal))
