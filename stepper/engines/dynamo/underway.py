"""Translations that were already running when the watching began.

`stepper.breakpoint()` can begin a session in the midst of a translation: Dynamo calls it while it
traces. What the probes would have told stands on the Python stack: each running `_compile` with its
arguments, and each symbolic interpreter in its `run`.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple


class Compiling(NamedTuple):
    """A call of `_compile` that is running."""

    frame: FrameType
    code: CodeType
    cache_size: Any
    compile_id: Any


class Interpreting(NamedTuple):
    """A symbolic interpreter that is running."""

    tx: Any


def underway(
    frame: FrameType | None, compile_code: CodeType, run_code: CodeType
) -> Iterator[Compiling | Interpreting]:
    """What runs around `frame`, outermost first. The codes are those of the functions that run,
    without probes."""
    found: list[Compiling | Interpreting] = []
    while frame is not None:
        if frame.f_code is compile_code:
            names = frame.f_locals
            found.append(Compiling(frame, names["code"], names["cache_size"], names["compile_id"]))
        elif frame.f_code is run_code:
            found.append(Interpreting(frame.f_locals["self"]))
        frame = frame.f_back
    yield from reversed(found)


def enclosing_calls(frame: FrameType | None) -> int:
    """How many translations are still running around the one that begins in `frame`, a frame of
    `_compile`.

    One that was left by a KeyboardInterrupt told nobody; it is missing from the Python stack.
    """
    count = -1
    if frame is None:
        return 0
    code = frame.f_code
    while frame is not None:
        # Not by identity: a call that began before the probes were there runs without them.
        count += frame.f_code.co_name == code.co_name and (
            frame.f_code.co_filename == code.co_filename
        )
        frame = frame.f_back
    return count
