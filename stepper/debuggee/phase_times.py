"""The phases that a compiler times of itself, as they begin and end in each thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from stepper.model.timing import Timing
from stepper.model.trace import MomentId


class _Open(NamedTuple):
    id: int
    name: str
    began: int
    stood: float
    moment: MomentId


class PhaseTimes:
    """Numbers phases when they begin, and hands them on when they have ended."""

    def __init__(
        self,
        write: Callable[[Timing], None],
        next_id: Callable[[], int],
        stood: Callable[[], float],
    ) -> None:
        """
        Args:
            write: takes a phase that has ended.
            next_id: gives each its number.
            stood: the seconds for which the program has stood still, in all.
        """
        self._write = write
        self._next_id = next_id
        self._stood = stood
        self._open: dict[int, list[_Open]] = {}

    def began(self, name: str, moment: MomentId) -> None:
        """A phase begins in this thread."""
        stack = self._open.setdefault(threading.get_ident(), [])
        stack.append(_Open(self._next_id(), name, time.monotonic_ns(), self._stood(), moment))

    def ended(self, name: str, translation: int | None) -> None:
        """The innermost phase of that name ends in this thread; one that began before the session
        is not known. What is left open within it was left by an exception."""
        now = time.monotonic_ns()
        stack = self._open.get(threading.get_ident(), [])
        if not any(phase.name == name for phase in stack):
            return
        while (phase := stack.pop()).name != name:
            pass
        stood = int((self._stood() - phase.stood) * 1e9)
        thread = threading.current_thread()
        self._write(
            Timing(
                phase.id,
                name,
                phase.began,
                max(0, now - phase.began - stood),
                phase.moment,
                parent=stack[-1].id if stack else None,
                translation=translation,
                thread="" if thread is threading.main_thread() else thread.name,
            )
        )
