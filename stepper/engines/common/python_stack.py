"""The program's own part of the Python stack, and the frames of tracebacks."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType

from stepper import _C
from stepper.model.program import PythonFrame
from stepper.support.exceptions import traceback_of

MAX_PYTHON_FRAMES = 50
MAX_RAISED_FRAMES = 12
"""Frames of a traceback that are told."""

ProgramStack = Callable[[FrameType | None], tuple[PythonFrame, ...]]
"""Gives the program's own frames at a call, outermost first."""


def program_stack(is_machinery: Callable[[str], bool]) -> ProgramStack:
    """The frames whose files are none of the compiler's machinery; at most the innermost 50."""
    return _C.ProgramStack(is_machinery, PythonFrame, MAX_PYTHON_FRAMES)


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
