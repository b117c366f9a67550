"""Programs under the command `stepper`, as a user types it, and what is left of them."""

from __future__ import annotations

import select
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from tests import ready
from tests.conftest import clean_environment

SECONDS = 600.0

COMPILED = """
import torch

@torch.compile(backend="eager")
def f(x):
    for step in range(20):
        x = x.sin() + step
    return x

f(torch.ones(3))
"""
"""The beginning of a program: one translation of some two hundred moments."""

ENDLESS = """
import os, torch

@torch.compile(backend="eager")
def f(x):
    for step in range(1000):
        x = x.sin() + step
    return x

while True:
    torch._dynamo.reset()
    f(torch.ones(3))
"""


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    status: int
    out: str
    err: str


def environment(home: Path, **more: str) -> dict[str, str]:
    """Nothing inherited that shows; recordings without a name of their own go to `home`."""
    return clean_environment() | {"XDG_STATE_HOME": str(home / "state"), "TERM": "xterm"} | more


def run(
    command: Sequence[object], directory: Path, *, forked: bool = False, **options: Any
) -> Outcome:
    """Run a Python command line to its end; if `forked`, it begins as `tests.ready` says."""
    result = subprocess.run(
        ready.python(*command, forked=forked),
        **{
            "cwd": directory,
            "env": environment(directory),
            "stdin": None if "input" in options else subprocess.DEVNULL,
            "capture_output": True,
            "text": True,
            "timeout": SECONDS,
            **options,
        },
    )
    return Outcome(result.returncode, result.stdout, result.stderr)


def record(directory: Path, *program: object, **options: Any) -> Outcome:
    """A program under `stepper record -o run.stepper`."""
    return run(["-m", "stepper", "record", "-o", "run.stepper", *program], directory, **options)


def console(directory: Path, *commands: str, program: Sequence[object], **options: Any) -> Outcome:
    """A session of the line-mode debugger."""
    given = [part for command in commands for part in ("-x", command)]
    return run(["-m", "stepper", "console", *given, *program], directory, **options)


@dataclass(frozen=True)
class Facts:
    """What a recording says of itself."""

    moments: int
    ended: str | None
    functions: list[str]
    """The functions that were translated, in order."""
    unfinished: list[str]
    """Those whose end is not in the recording."""
    rank: int | None
    output: str


def look(path: Path) -> Facts:
    """Open a recording, rebuild states all over it, the last included, and close it."""
    recording = Recording.open(str(path))
    try:
        newest = recording.newest
        for moment in {*range(1, newest + 1, 50), newest} - {0}:
            assert recording.state(moment).frames
        translations = recording.translations()
        return Facts(
            newest,
            recording.ended,
            [translation.name for translation in translations],
            [each.name for each in translations if each.last_moment is None],
            recording.facts.rank,
            "".join(piece.data for piece in recording.output()),
        )
    finally:
        recording.close()


def moments(path: Path) -> int:
    """How many moments are in a recording that may not be there yet."""
    try:
        recording = Recording.open(str(path))
    except RecordingError:
        return 0
    newest = recording.newest
    recording.close()
    return newest


def until(happened: Callable[[], bool]) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        select.select([], [], [], 0.02)
