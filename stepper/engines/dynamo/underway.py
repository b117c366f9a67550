"""Translations that were already running when the watching began.

`stepper.breakpoint()` can begin a session in the midst of a translation: Dynamo calls it while it
traces. What the probes would have told stands on the Python stack: each running `_compile` (or
what is called in its place) with its arguments, and each symbolic interpreter in its `run`.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

from stepper.engines.dynamo import versions


class Compiling(NamedTuple):
    """A call that is running and has a frame translated; None: it looks into no cache."""

    frame: FrameType
    code: CodeType
    cache_size: Any
    compile_id: Any


class Interpreting(NamedTuple):
    """A symbolic interpreter that is running."""

    tx: Any


def underway(frame: FrameType | None, run_code: CodeType) -> Iterator[Compiling | Interpreting]:
    """What runs around `frame`, outermost first. `run_code`: of the interpreter's `run`."""
    found: list[Compiling | Interpreting] = []
    while frame is not None:
        if versions.is_compile(frame.f_code):
            found.append(_compiling(frame))
        elif frame.f_code is run_code:
            found.append(Interpreting(frame.f_locals["self"]))
        frame = frame.f_back
    yield from reversed(found)


def _compiling(frame: FrameType) -> Compiling:
    names = frame.f_locals
    if "compile_id" in names:
        return Compiling(frame, names["code"], names["cache_size"], names["compile_id"])
    return Compiling(frame, names["frame"].code, None, versions.captured_now())


def enclosing_calls(frame: FrameType | None) -> int:
    """How many translations are still running around the one that begins in `frame`, a frame for
    which `versions.is_compile` holds.

    One that was left by a KeyboardInterrupt told nobody; it is missing from the Python stack.
    """
    count = -1
    if frame is None:
        return 0
    while frame is not None:
        count += versions.is_compile(frame.f_code)
        frame = frame.f_back
    return count
