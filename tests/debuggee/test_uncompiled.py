"""Dynamo has nothing to do with stepper's own code, from wherever a compiled program calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pexpect
import pytest

from stepper.recording.reader import Recording
from tests import ready

ROOT = Path(__file__).resolve().parents[2]

# Compiles `f`, in which one line calls stepper or, for comparison, something that Dynamo was told
# to leave alone, and says what Dynamo had to do with it.
SEEN = """
import json, os, sys, warnings
import torch
from torch._dynamo import convert_frame
from torch._dynamo.utils import clear_compilation_metrics, counters, get_compilation_metrics

warnings.simplefilter("error")
TORCH = torch.__file__.removesuffix("__init__.py")

def once(x):
    return x + 1

@torch._dynamo.disable
def nothing(*args):
    return None

class Nothing:
    __enter__ = __exit__ = nothing

in_nothing = Nothing()

@torch._dynamo.disable
def within_nothing():
    return in_nothing

LINE = '''
def f(x):
    y = x + 1
    {}
    return y * 2
'''
BLOCK = '''
def f(x):
    y = x + 1
    with {}:
        y = y - 1
        torch._dynamo.graph_break()
        y = once(y)
    return y * 2
'''
RESUMED = LINE.replace("    {}\\n", "    torch._dynamo.graph_break()\\n    {}\\n")
BACKWARD = '''
weight = torch.ones(1, requires_grad=True)

def hook(gradient):
    {}
    return gradient * 2

weight.register_hook(hook)

def f(x):
    loss = (x * weight).sin().sum()
    loss.backward()
    return x
'''
EMPTY = BLOCK.replace("once(y)", "y + 3")

asked = []
usual = convert_frame.CatchErrorsWrapper.__call__

def spying(self, frame, *args, **named):
    # What is not marked is asked about, and skipped with its file; then all that it calls is taken.
    if "stepper" in frame.f_globals.get("__name__", ""):
        asked.append(frame.f_code.co_qualname)
    return usual(self, frame, *args, **named)

convert_frame.CatchErrorsWrapper.__call__ = spying

def define(source):
    exec(compile(source, "program", "exec"), globals())

def measure(template, line):
    asked.clear()
    torch._dynamo.reset()
    counters.clear()
    clear_compilation_metrics()
    define(template.format(line))
    compiled = torch.compile(f, backend="eager")
    with torch._dynamo.config.patch(compiled_autograd=template is BACKWARD):
        results = [compiled(torch.ones(size)).sum().item() for size in (3, 3, 4)]
    codes = [reference() for reference in convert_frame.input_codes.seen]
    metrics = get_compilation_metrics()
    return {
        "results": results,
        "seen": sorted(
            f"{os.path.dirname(code.co_filename)}:{code.co_qualname}"
            for code in codes
            if code is not None and not code.co_filename.startswith(TORCH)
        ),
        "asked": list(asked),
        "compiled": [each.co_name for each in metrics],
        "nodes": [each.graph_node_count for each in metrics],
        "breaks": sum(counters["graph_break"].values()),
        "unimplemented": sum(counters["unimplemented"].values()),
        **{kind: dict(counters[kind]) for kind in ("frames", "stats", "resumes")},
    }

def compare(ways, template, other):
    if template is BACKWARD:
        measure(template, other)  # torch 2.11 asks typing there for what is made only once
    usual = measure(template, other)
    for line in ways:
        found = measure(template, line)
        different = {key: (found[key], usual[key]) for key in found if found[key] != usual[key]}
        print(json.dumps([f"{NAMES[template]} {line}", different]))

NAMES = {LINE: "", BLOCK: "", EMPTY: "", RESUMED: "resumed", BACKWARD: "backward"}
"""

PREPARED = """
import stepper, stepper.cache, stepper.native
captured = stepper.native.optimize("eager")(once)
module = stepper.native.optimize("eager")(torch.nn.Linear(3, 3))
entry = stepper.cache.Entry(10**6)
three = torch.ones(3)
"""
PLAIN = """
LINES = [
    "stepper.cache.list(once)",
    "stepper.cache.list()",
    "stepper.cache.Entry(3)",
    "repr(entry)",
    "stepper.native.reset()",
    "stepper.native.export_guards(once)",
    "stepper.native.graph_break()",
    "stepper.native.allow_in_graph(once)",
    "stepper.compile(once, backend='eager')",
]
TENSORS = ["captured(three)", "module(three)"]
compare(LINES, LINE, "nothing()")
compare(TENSORS, LINE, "nothing(three)")
compare(["stepper.native.optimize('eager')", "stepper.native.run()"], EMPTY, "within_nothing()")
"""
NESTED = """
for template in (RESUMED, BACKWARD):
    compare(LINES, template, "nothing()")
    compare(TENSORS, template, "nothing(three)")
"""
RECORDING = """
compare(["stepper.record('a.stepper')", "stepper.record('b.stepper')"], BLOCK, "within_nothing()")
WITH = "with {}: gradient = gradient + 1"
ours = ["stepper.record('c.stepper')", "stepper.record('d.stepper')"]
compare(map(WITH.format, ours), BACKWARD, WITH.format("within_nothing()"))
"""
EXCEPTHOOK = """
for template in (LINE, RESUMED, BACKWARD):
    compare(["stepper.set_excepthook()"], template, "nothing()")
"""
IN_SESSION = """
for template in (LINE, RESUMED, BACKWARD):
    compare(["stepper.breakpoint()"], template, "pass")
    compare(["stepper.debug(once)"], template, "nothing()")
"""
BUILTIN = """
sys.breakpointhook = {}
compare(["breakpoint()"], LINE, "print('', end='')")
"""


OURS = f"""
def ours():
    codes = [reference() for reference in convert_frame.input_codes.seen]
    files = [code.co_filename for code in codes if code is not None]
    assert files
    return [file for file in files if file.startswith({str(ROOT / "stepper")!r})]
"""
AUTOGRAD = """
import torch
from torch._dynamo import convert_frame

torch._dynamo.config.compiled_autograd = True
layer = torch.nn.Linear(3, 3)

@torch.compile(backend="eager")
def step(x):
    loss = layer(x).sin().sum()
    loss.backward()
    return loss

for size in (2, 2, 3):
    step(torch.ones(size, 3))
print(ours())
"""
TESTED = """
import stepper, sys, torch
from torch._dynamo import convert_frame

def block(x, stepper_limits):
    x = x + 1
    with stepper_limits(graphs=5):
        return x * 2

def died(x):
    try:
        1 / 0
    except ZeroDivisionError:
        sys.excepthook(*sys.exc_info())
    return x + 1

def test_it(stepper_limits):
    stepper.set_excepthook()
    for size in (2, 2, 3):
        torch.compile(block, backend="eager")(torch.ones(size), stepper_limits)
        torch.compile(died, backend="eager")(torch.ones(size))
    assert ours() == []
"""
STOPS = """
import torch
from torch._dynamo import convert_frame
from torch._dynamo.utils import counters

@torch.compile(backend="eager")
def f(x):
    x = x + 1
    breakpoint()
    return x * 2

f(torch.ones(2))
print(ours(), dict(counters["stats"]), len(counters["resumes"]))
"""


def run(
    tmp_path: Path, source: str, *command: str, **variables: str
) -> dict[str, dict[str, list[Any]]]:
    (tmp_path / "program.py").write_text(source)
    done = subprocess.run(
        [*(command or (sys.executable,)), "program.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(tmp_path), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(map(json.loads, done.stdout.splitlines()))


def nothing_of_ours(path: Path) -> None:
    """Neither among the recorded frames, nor in the text of an event that is not about the call."""
    recording = Recording.open(str(path))
    ours = str(ROOT / "stepper")
    try:
        walks = recording.translations()
        assert {walk.name.removeprefix("torch_dynamo_resume_in_") for walk in walks}
        for walk in walks:
            code = recording.code(walk.code)
            assert not code.filename.startswith(ours), code.filename
            assert all(not frame.filename.startswith(ours) for frame in walk.python_stack)
        for event in recording.events():
            assert ours not in event.text or "marked as skipped" in event.text, event.text
    finally:
        recording.close()


def same(found: dict[str, dict[str, list[Any]]], count: int) -> None:
    assert len(found) == count
    assert {line: different for line, different in found.items() if different} == {}


@pytest.mark.parametrize("first", ["stepper", "torch"])
def test_a_call_is_a_graph_break_and_nothing_more(tmp_path: Path, first: str) -> None:
    # What keeps Dynamo out comes with whichever of the two is imported last.
    same(run(tmp_path, f"import {first}\n{SEEN}{PREPARED}{PLAIN}"), 13)


def test_a_session_that_compiled_code_begins_records_the_program_alone(tmp_path: Path) -> None:
    same(run(tmp_path, SEEN + PREPARED + RECORDING + EXCEPTHOOK, *ready.python()), 7)
    nothing_of_ours(tmp_path / "a.stepper")


def test_nothing_is_seen_in_a_session_either(tmp_path: Path) -> None:
    command = ready.stepper("record", "--lookups", "--execute", "-o", "all.stepper")
    source = SEEN + PREPARED + PLAIN + NESTED + IN_SESSION + BUILTIN.format("stepper.breakpoint")
    same(run(tmp_path, source, *command), 42)
    nothing_of_ours(tmp_path / "all.stepper")


def test_backward_passes_that_are_compiled_have_nothing_of_our_hooks(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(OURS + AUTOGRAD)
    options = ("--lookups", "--execute", "-o", "all.stepper")
    command = ready.stepper("record", *options, "program.py")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
    nothing_of_ours(tmp_path / "all.stepper")


def test_fixtures_and_hooks_that_compiled_tests_call(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(OURS + TESTED)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_one.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_first_breakpoint_of_a_program_that_does_not_import_stepper(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(OURS + STOPS)
    child = pexpect.spawn(
        sys.executable,
        ["program.py"],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTHONBREAKPOINT": "stepper.breakpoint",
            "XDG_STATE_HOME": str(tmp_path),
            "TERM": "dumb",
        },
        cwd=str(tmp_path),
        encoding="utf-8",
        timeout=600,
    )
    child.expect(r"\(stepper\)")
    child.sendline("detach")
    child.expect_exact("[] {'calls_captured': 2, 'unique_graphs': 2} 1")
    child.expect(pexpect.EOF)
    child.wait()
    child.close()
    assert child.exitstatus == 0
