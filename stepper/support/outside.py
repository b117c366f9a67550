"""Whether an exception is the program's own, though it was raised in the midst of what is ours.

The program's signal handlers and trace functions run between any two instructions, so also between
ours, and what they raise is meant for the program: a timeout, for instance. To take that for a
defect of ours would end the watching, and take the exception from the program.

Such a function is called by nobody, and it can be told: it is the only kind that is given the frame
that it interrupts. An exception that another thread sets (`PyThreadState_SetAsyncExc`) leaves no
trace of where it came from, unless it is no Exception.
"""

from __future__ import annotations

import inspect
from types import FrameType

from stepper.support.exceptions import traceback_of


def comes_from_outside(error: BaseException) -> bool:
    """Whether a function of the program's raised it that had interrupted us."""
    place = traceback_of(error)
    while place is not None:
        if _interrupts(place.tb_frame):
            return True
        place = place.tb_next
    return False


def _interrupts(frame: FrameType) -> bool:
    """Whether a function was given the frame that it was called from."""
    interrupted, code = frame.f_back, frame.f_code
    if interrupted is None:
        return False
    names = code.co_varnames[: code.co_argcount]
    if code.co_flags & inspect.CO_VARARGS:
        names += (code.co_varnames[code.co_argcount + code.co_kwonlyargcount],)
    for value in map(frame.f_locals.get, names):
        if value is interrupted:
            return True
        if type(value) is tuple and any(each is interrupted for each in value):
            return True
    return False


def limit_of(error: BaseException) -> str:
    """The limit of the program's own that an exception tells of, in words; empty: it tells of none.
    The words are those of csrc/support/hook.c."""
    if isinstance(error, RecursionError):
        return "the program was at its recursion limit"
    return "the program was out of memory" if isinstance(error, MemoryError) else ""
