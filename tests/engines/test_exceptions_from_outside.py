"""What a signal handler raises in the midst of our code reaches the program, and the recording goes
on."""

from __future__ import annotations

import contextlib
import functools
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from stepper.model.trace import EventKind
from stepper.recording.reader import Recording
from stepper.support.outside import comes_from_outside
from tests import ready
from tests.conftest import ROOT, clean_environment


class Late(Exception):
    """The program's time is over."""


class Clock:
    """Has a handler that is a method."""

    def ring(self, number: int, frame: FrameType | None) -> None:
        raise Late


def handler(number: int, frame: FrameType | None) -> None:
    deeper()


def any_arguments(*args: Any, **options: Any) -> None:
    raise Late


def deeper() -> None:
    raise Late


@pytest.mark.parametrize(
    "function",
    [handler, any_arguments, Clock().ring, functools.partial(any_arguments, 1)],
    ids=["function", "any arguments", "method", "partial"],
)
def test_an_exception_of_a_handler_is_told_from_a_defect(function: Callable[..., None]) -> None:
    previous = signal.signal(signal.SIGUSR1, function)
    try:
        with pytest.raises(Late) as caught:
            signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, previous)
    assert comes_from_outside(caught.value)


def test_an_exception_of_a_trace_function_is_told_from_a_defect() -> None:
    def trace(frame: FrameType, event: str, arg: object) -> None:
        if frame.f_code is deeper.__code__:
            raise Late

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        with pytest.raises(Late) as caught:
            deeper()
    finally:
        sys.settrace(previous)
    assert comes_from_outside(caught.value)


def test_a_defect_is_none_of_the_programs() -> None:
    def defect(number: int, frame: object) -> None:
        raise Late

    for frame in (None, sys._getframe().f_back):
        with pytest.raises(Late) as caught:
            defect(1, frame)
        assert not comes_from_outside(caught.value)


PROGRAM = """
import os, signal, torch

class Late(Exception): pass

def handler(number, frame):
    raise Late

signal.signal(signal.SIGUSR1, handler)

from stepper.recording.writer import Writer

def flush(writer):
    Writer.flush = real
    os.kill(os.getpid(), signal.SIGUSR1)
    return real(writer)

real = Writer.flush

def compiled(function):
    return torch.compile(function, backend="eager")

compiled(lambda x: x + 1)(torch.ones(2))
Writer.flush = flush
try:
    compiled(lambda x: x + 2)(torch.ones(2))
except Exception as error:
    print("reached", "Late" in repr(error))
print(compiled(lambda x: x + 3)(torch.ones(2)).sum())
"""


def test_an_exception_of_a_handler_in_a_commit_reaches_the_program(tmp_path: Path) -> None:
    path = tmp_path / "r.stepper"
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    done = subprocess.run(
        ready.stepper("record", "-o", path, script),
        cwd=ROOT, env=clean_environment(), capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert "reached True" in done.stdout, done.stderr
    assert "tensor(8.)" in done.stdout
    with contextlib.closing(Recording.open(str(path))) as recording:
        assert recording.ended == "exit"
        assert recording.events(kinds=[EventKind.NOTE]) == []
        assert len(recording.translations()) == 3
        for moment in recording.moments(1, recording.newest):
            assert recording.state(moment.id).moment == moment
