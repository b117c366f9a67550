"""The program's own part of the Python stack, and the frames of tracebacks."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import FrameType

from stepper.model.program import PythonFrame
from stepper.support.exceptions import traceback_of

MAX_PYTHON_FRAMES = 50
MAX_RAISED_FRAMES = 12
"""Frames of a traceback that are told."""

_frame = lru_cache(maxsize=4_000)(PythonFrame)
"""Makes each place once: most are met again and again."""

ProgramStack = Callable[[FrameType | None], tuple[PythonFrame, ...]]
"""Gives the program's own frames at a call, outermost first."""


def program_stack(is_machinery: Callable[[str], bool]) -> ProgramStack:
    """The frames whose files are none of the compiler's machinery; at most the innermost 50."""
    is_machinery = lru_cache(maxsize=4_000)(is_machinery)

    def frames_at(frame: FrameType | None) -> tuple[PythonFrame, ...]:
        frames: list[PythonFrame] = []
        while frame is not None and len(frames) < MAX_PYTHON_FRAMES:
            code = frame.f_code
            if not is_machinery(code.co_filename):
                line = frame.f_lineno or 0
                frames.append(_frame(code.co_filename, line, code.co_qualname))
            frame = frame.f_back
        frames.reverse()
        return tuple(frames)

    return frames_at


def traceback_frames(error: BaseException) -> list[tuple[FrameType, int]]:
    """The frames of an exception's traceback and their lines, outermost first."""
    found = []
    link = traceback_of(error)
    while link is not None:
        found.append((link.tb_frame, link.tb_lineno))
        link = link.tb_next
    return found


def place_of(frame: FrameType, line: int | None) -> PythonFrame:
    """Where a frame of a traceback was."""
    return PythonFrame(frame.f_code.co_filename, line or 0, frame.f_code.co_qualname)
