"""A program that dies in its compiler leaves its user where that failed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from tests import ready
from tests.cli.test_command_line import environment

BACKEND = """
import torch
def failing(module, inputs):
    raise RuntimeError("no such kernel")
@torch.compile(backend=failing)
def f(x):
    return x + 1
"""
UNSUPPORTED = """
import torch
@torch.compile(backend="eager", fullgraph=True)
def f(x):
    print("in between")
    return x + 1
"""
INTERNAL = """
import torch
from torch._dynamo.output_graph import OutputGraph
def wrong(*args, **kwargs):
    raise AttributeError("a bug")
OutputGraph.compile_subgraph = wrong
@torch.compile(backend="eager")
def f(x):
    return x + 1
"""
EXPORT = """
import torch
class Asks(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return x + 1
torch.export.export(Asks(), (torch.ones(2),))
"""
CALL = "f(torch.ones(2))\n"
HANDLED = "try:\n    f(torch.ones(2))\nexcept Exception:\n    pass\nraise KeyError('another')\n"
RAISED_FROM = """
try:
    f(torch.ones(2))
except Exception as error:
    raise KeyError("mine") from error
"""


def stepper(tmp_path: Path, *words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ready.python(*words),
        cwd=tmp_path,
        env=environment(tmp_path),
        input=typed,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.mark.parametrize(
    ("source", "error", "reason", "place"),
    [
        (BACKEND, "BackendCompilerFailed", "backend='failing' raised: RuntimeError: no", "x + 1"),
        (UNSUPPORTED, "Unsupported", "Failed to trace builtin operator\n", 'print("in between")'),
        (INTERNAL, "InternalTorchDynamoError", "a bug", "x + 1"),
        (BACKEND + RAISED_FROM, "KeyError: 'mine'", "backend='failing' raised", "x + 1"),
    ],
    ids=["backend", "fullgraph", "internal", "raised from it"],
)
def test_run_opens_where_the_compilation_failed(
    tmp_path: Path, source: str, error: str, reason: str, place: str
) -> None:
    (tmp_path / "dying.py").write_text(source + CALL)
    words = ("-m", "stepper", "run", "--post-mortem", "-o", "a.stepper", "dying.py")
    done = stepper(tmp_path, *words, typed="info\n")
    assert done.returncode == 1
    assert error in done.stderr
    assert re.search(f"0/0 f failed [a-z ]+: [A-Za-z]+: {re.escape(reason)}", done.stdout)
    assert place in done.stdout
    assert "(stepper) info" in done.stdout
    assert "a.stepper" in done.stderr


@pytest.mark.parametrize(
    "source", [BACKEND + HANDLED, "raise KeyError('another')\n"], ids=["handled", "none"]
)
def test_other_ends_open_nothing(tmp_path: Path, source: str) -> None:
    (tmp_path / "dying.py").write_text(source)
    words = ("-m", "stepper", "run", "--post-mortem", "-o", "a.stepper", "dying.py")
    done = stepper(tmp_path, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert "KeyError: 'another'" in done.stderr


def test_an_export_that_runs_the_program_is_told_where_it_failed(tmp_path: Path) -> None:
    (tmp_path / "dying.py").write_text(EXPORT)
    words = ("-m", "stepper", "run", "--post-mortem", "-o", "a.stepper", "dying.py")
    done = stepper(tmp_path, *words)
    assert done.returncode == 1
    first = "1. Asks: GuardOnDataDependentSymNode in torch.export  dying.py:5 in Asks.forward"
    assert first in done.stdout
    assert "     if x.sum() > 0:" in done.stdout.splitlines()


def test_it_does_not_stop_the_program(tmp_path: Path) -> None:
    done = stepper(tmp_path, "-m", "stepper", "run", "--post-mortem", "-b", "recompile", "x.py")
    assert done.returncode == 2
    assert "leave --break out" in done.stderr


def test_the_excepthook_calls_the_one_before_it(tmp_path: Path) -> None:
    (tmp_path / "dying.py").write_text(
        "import sys, stepper\n"
        "sys.excepthook = lambda kind, error, traceback: print('mine', kind.__name__)\n"
        "stepper.set_excepthook(), stepper.set_excepthook()\n" + BACKEND + CALL
    )
    done = stepper(tmp_path, "dying.py")
    assert done.returncode == 1
    assert done.stdout.count("mine BackendCompilerFailed") == 1
    assert (
        done.stdout.count(
            "0/0 f failed in the backend: BackendCompilerFailed: backend='failing' raised"
        )
        == 1
    )


def test_it_opens_at_the_last_moment_when_nothing_failed(tmp_path: Path) -> None:
    code = UNSUPPORTED.replace(", fullgraph=True", "") + CALL
    stepper(tmp_path, "-m", "stepper", "record", "-o", "a.stepper", "-c", code)
    done = stepper(tmp_path, "-m", "stepper", "post-mortem", "a.stepper")
    assert "f, resumed at " in done.stdout
    stepper(tmp_path, "-m", "stepper", "record", "-o", "b.stepper", "-c", "pass")
    empty = stepper(tmp_path, "-m", "stepper", "post-mortem", "b.stepper")
    assert empty.returncode == 2
    assert "nothing was translated" in empty.stderr


@pytest.mark.real_terminal
def test_on_a_terminal_the_screen_opens(tmp_path: Path) -> None:
    (tmp_path / "dying.py").write_text(
        "import stepper\nstepper.set_excepthook()\n" + BACKEND + CALL
    )
    child = pexpect.spawn(
        sys.executable,
        ["dying.py"],
        cwd=str(tmp_path),
        env={**environment(tmp_path), "TERM": "xterm-256color", "NO_COLOR": "1"},
        encoding="utf-8",
        timeout=600,
        dimensions=(24, 100),
    )
    child.expect("BackendCompilerFailed")
    child.expect(r"5/5|4/4|6/6")
    child.send("\x03")  # the screen's, and not the waiting program's
    child.send("q")
    child.expect(pexpect.EOF)
    child.wait()
    child.close()
    assert (child.exitstatus, child.signalstatus) == (1, None)
