"""What Python's garbage collector takes while a compiler times its phases.

A collection comes in the midst of anything, stepper's own writing too. So it is only noted, and
written when a phase ends. Only long ones are: there are thousands of a few microseconds, and
together they take less than one that looks at every object.
"""

from __future__ import annotations

import contextlib
import gc
from _thread import get_ident
from collections.abc import Callable
from typing import Any

from stepper.uncompiled import keep_out

_LEAST = 1_000_000
"""Nanoseconds of a collection that is told."""


class Garbage:
    """Listens to the collector."""

    def __init__(self, clock: Callable[[], int], tell: Callable[[int, int], None]) -> None:
        """`tell` takes when a collection of this thread began, and its nanoseconds."""
        self._clock = clock
        self._tell = tell
        self._began: dict[int, int] = {}
        self._hook = self._heard
        """One object, so that it is found among the program's own callbacks."""

    def listen(self) -> None:
        """Listen from now on. Harmless when that was done."""
        if self._hook not in gc.callbacks:
            gc.callbacks.append(self._hook)

    def leave(self) -> None:
        """Listen no more."""
        if self._hook in gc.callbacks:
            with contextlib.suppress(ValueError):  # the program has cleared the list
                gc.callbacks.remove(self._hook)
        self._began.clear()

    def _heard(self, phase: str, _info: dict[str, Any]) -> None:
        me = get_ident()
        if phase == "start":
            self._began[me] = self._clock()
        elif (began := self._began.pop(me, None)) is not None:
            spent = self._clock() - began
            if spent >= _LEAST:
                self._tell(began, spent)


keep_out()
