"""What is said where the lines to blame are a library's, which nobody edits, and where there are
many of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stepper.analysis.break_lines import break_lines
from stepper.analysis.failed_lines import failed_lines
from stepper.analysis.recompile_lines import recompile_lines
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
    named, own = (line for line in lines if line.startswith("advice:"))
    assert "until library.py:7 in forward needs its value" in named
    assert named.endswith("hand over few values of it, since that line is a library's, and so is "
                          "the compiled function.")  # fmt: skip
    assert "program.py:13 in own needs its value" in own
    assert "take it out of the compiled function" in own


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
