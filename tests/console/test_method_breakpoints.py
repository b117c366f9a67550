"""Breakpoints on the methods of modules by the names that are shown: a module's place in the model
and its class, live with both engines and in what was recorded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stepper.client.placing import placed_text
from stepper.client.text import plural
from stepper.model.breakpoint import BreakpointError, parse_breakpoint
from stepper.recording.navigation import find_break
from stepper.recording.reader import Recording
from tests.console.test_programs import commands, console

TUPLED = """
import functools
import torch

def tupled(method):
    @functools.wraps(method)
    def wrapper(self, *args):
        return method(self, *args)
    wrapper.__qualname__ = "tupled.<locals>.wrapper"
    return wrapper
"""
"""What wraps methods as libraries do, which then have its name."""

PROGRAM = (
    TUPLED
    + """
class Attention(torch.nn.Module):
    @tupled
    def forward(self, x):
        return self.half(x) + 1

    def half(self, x):
        return x / 2

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = Attention()
        self.same = torch.nn.Identity()

    def forward(self, x):
        held = lambda: self
        return self.same(held().attn(x))

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.h = torch.nn.ModuleList([Block(), Block()])

    @tupled
    def forward(self, x):
        for block in self.h:
            x = block(x)
        return x

torch.compile(Model(), backend="eager")(torch.ones(2))
"""
)

PATTERNS = {
    "h[1].attn": 1,
    "Attention": 2,
    "h[?].attn": 2,
    "h[0].attn Attention": 1,
    "h[0].attn Attention, wrapper of tupled": 1,
    "h[0].attn Attention.half": 1,
    "h[0]": 1,  # its self is in a cell
    "h[1].same": 1,  # never speaks of its self
    "Model": 1,  # not looked at yet when it begins
}
"""What is written, and how many modules it fits."""


@pytest.mark.parametrize("engine", ["dynamo", "native"])
def test_a_module_is_stopped_at_where_it_is_entered(tmp_path: Path, engine: str) -> None:
    (tmp_path / "model.py").write_text(PROGRAM)
    walk = [f"b function:{pattern}" for pattern in PATTERNS] + ["c"] * (sum(PATTERNS.values()) + 1)
    text = console(tmp_path, *commands(*walk), "--engine", engine, "-o", "run.stepper", "model.py")
    stops = re.findall(r"^stopped: breakpoint (\d+).*\n(?:  .*\n)*moment (\d+)/", text, re.M)
    assert "the program ended with exit code 0" in text
    entry = text.partition("(stepper)")[0]
    assert "  Model, wrapper of tupled  " in entry, "before the compiler has looked at its self"
    recording = Recording.open(str(tmp_path / "run.stepper"))
    met = []
    for number, (pattern, times) in enumerate(PATTERNS.items(), 1):
        breakpoint = parse_breakpoint(f"function:{pattern}")
        assert placed_text(breakpoint, recording, live=False) == f"fits {plural(times, 'place')}"
        at, found = 0, []
        while hit := find_break(recording, at, [breakpoint], 1):
            at = hit[0]
            found.append(at)
        assert len(found) == times, pattern
        met += found
        assert find_break(recording, recording.newest, [breakpoint], -1) == (at, breakpoint)
        # Where several stop at once, the first is named.
        assert {int(moment) for by, moment in stops if int(by) == number} <= set(found)
    assert sorted({int(moment) for _, moment in stops}) == sorted(set(met) - {1})
    with pytest.raises(BreakpointError, match=r"did you mean h\[1\]\.attn\?"):
        placed_text(parse_breakpoint("function:model.h[1].attn"), recording, live=False)
    recording.close()


CALLS = (
    TUPLED
    + """
class Net(torch.nn.Module):
    @tupled
    def forward(self, x):
        return x + 1

class Broken(torch.nn.Module):
    one = 1

    def forward(self, x):
        y = x * 2
        torch._dynamo.graph_break()
        return y + self.one

net, broken = (torch.compile(kind(), backend="eager") for kind in (Net, Broken))
for size in (2, 3, 4):
    net(torch.ones(size)), broken(torch.ones(size))
"""
)

CALL_PATTERNS = {
    "lookup:Broken.forward": 3,
    "lookup:Broken.forward, resumed*": 3,
    "miss:Net": 1,
    "hit:Net, wrapper of tupled": 1,
    "entry:Net": 2,
    "execute:Broken": 6,  # and of its rest
}
"""What is written, and how often it happens."""


LOGGED = """
import functools
import torch

def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper

class Net(torch.nn.Module):
    @logged
    def forward(self, x):
        return x + 1

@logged
def loss(x):
    return x.sum()

net, step = torch.compile(Net(), backend="eager"), torch.compile(loss, backend="eager")
for _ in range(2):
    step(net(torch.ones(3)))
"""
"""One code for all that it is put around."""

LOGGED_PATTERNS = {
    "lookup:loss": 2,
    "miss:loss, wrapper of logged": 1,
    "hit:loss, wrapper of logged": 1,
    "entry:Net.forward*": 1,
    "execute:loss": 2,
}


@pytest.mark.parametrize("engine", ["dynamo", "native"])
@pytest.mark.parametrize(
    ("program", "patterns", "near"),
    [(CALLS, CALL_PATTERNS, "Net"), (LOGGED, LOGGED_PATTERNS, "Net.forward")],
    ids=["modules", "decorated"],
)
def test_a_call_is_stopped_at_by_the_names_that_are_shown(
    tmp_path: Path, engine: str, program: str, patterns: dict[str, int], near: str
) -> None:
    (tmp_path / "calls.py").write_text(program)
    given = [part for pattern in patterns for part in ("-b", pattern)]
    walk = ["c"] * (sum(patterns.values()) + 1)
    arguments = ("--engine", engine, "-o", "run.stepper", *given, "calls.py")
    text = console(tmp_path, *commands(*walk), *arguments)
    stops = re.findall(r"^stopped: breakpoint (\d+).*\n(?:  .*\n)*moment (\d+)/", text, re.M)
    assert "the program ended with exit code 0" in text
    recording = Recording.open(str(tmp_path / "run.stepper"))
    for number, (pattern, times) in enumerate(patterns.items(), 1):
        breakpoint = parse_breakpoint(pattern)
        assert placed_text(breakpoint, recording, live=False) == f"happened {plural(times, 'time')}"
        at, found = 0, []
        while hit := find_break(recording, at, [breakpoint], 1):
            at = hit[0]
            found.append(at)
        assert [int(moment) for by, moment in stops if int(by) == number] == found, pattern
    with pytest.raises(BreakpointError, match=f"did you mean {near}"):
        placed_text(parse_breakpoint(f"hit:{near}t"), recording, live=False)
    recording.close()


@pytest.mark.parametrize("engine", ["dynamo", "native"])
def test_a_decorated_function_begins_where_it_is_inlined(tmp_path: Path, engine: str) -> None:
    """And not where what is around it does, which has a name of its own."""
    (tmp_path / "calls.py").write_text(LOGGED)
    arguments = ("--engine", engine, "-o", "run.stepper", "-b", "function:loss", "calls.py")
    text = console(tmp_path, *commands("c", "c"), *arguments)
    assert len(re.findall(r"^stopped: .*\nmoment .*  depth 1  loss  ", text, re.M)) == 1
    assert text.count("stopped: ") == 1
    recording = Recording.open(str(tmp_path / "run.stepper"))
    for pattern in ("function:loss", "function:loss, wrapper of logged"):
        assert placed_text(parse_breakpoint(pattern), recording, live=False) == "fits 1 place"
    recording.close()
