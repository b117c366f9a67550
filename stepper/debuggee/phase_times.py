"""The phases that a compiler times of itself, as they begin and end in each thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from stepper.model.timing import Timing
from stepper.model.trace import MomentId


class _Open(NamedTuple):
    id: int
    name: str
    began: int
    moment: MomentId


class PhaseTimes:
    """Numbers phases when they begin, and hands them on when they have ended."""

    def __init__(
        self,
        write: Callable[[Timing], None],
        next_id: Callable[[], int],
        clock: Callable[[], int],
    ) -> None:
        """
        Args:
            write: takes a phase that has ended.
            next_id: gives each its number.
            clock: the one on which moments have their instants, see `Steps.clock`.
        """
        self._write = write
        self._next_id = next_id
        self._clock = clock
        self._open: dict[int, list[_Open]] = {}

    def began(self, name: str, moment: MomentId) -> None:
        """A phase begins in this thread."""
        stack = self._open.setdefault(threading.get_ident(), [])
        stack.append(_Open(self._next_id(), name, self._clock(), moment))

    def ended(self, name: str, translation: int | None) -> None:
        """The innermost phase of that name ends in this thread; one that began before the session
        is not known. What is left open within it was left by an exception."""
        now = self._clock()
        stack = self._open.get(threading.get_ident(), [])
        if not any(phase.name == name for phase in stack):
            return
        while (phase := stack.pop()).name != name:
            pass
        thread = threading.current_thread()
        self._write(
            Timing(
                phase.id,
                name,
                phase.began,
                max(0, now - phase.began),
                phase.moment,
                parent=stack[-1].id if stack else None,
                translation=translation,
                thread="" if thread is threading.main_thread() else thread.name,
            )
        )
