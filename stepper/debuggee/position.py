"""Where a program is while it runs, told from its main thread's stack."""

from __future__ import annotations

import _thread

from stepper._C import thread_frames
from stepper.debuggee.threads import main_thread
from stepper.model.control import Position
from stepper.model.program import PythonFrame
from stepper.support.pythons_own import is_own_file
from stepper.uncompiled import keep_out

_MOST = 500
"""Frames that are looked at."""
_NOT_THE_PROGRAM = ("stepper", "torch", "importlib")
_COLLECTIVES = "torch.distributed.distributed_c10d"


def position() -> Position:
    """Where the main thread is."""
    main = main_thread()
    frames = [] if main is None else thread_frames(main, _MOST)
    collective = ""
    for module, function, filename, line in frames:
        if module == _COLLECTIVES and function.isidentifier():
            # The last one is what the program has called: that may call others.
            collective = function
        if _is_program(module, filename):
            return Position(function, filename, line, collective)
    return Position(collective=collective)


def own_stack() -> tuple[PythonFrame, ...]:
    """The program's frames in this thread, outermost first."""
    frames = thread_frames(_thread.get_ident(), _MOST)
    return tuple(
        PythonFrame(filename, line, function)
        for module, function, filename, line in reversed(frames)
        if _is_program(module, filename)
    )


def _is_program(module: str | None, filename: str) -> bool:
    root = (module or "").partition(".")[0]
    if root in _NOT_THE_PROGRAM or (filename.startswith("<") and filename != "<string>"):
        return False
    return not is_own_file(filename)


keep_out()
