"""The phases that a compiler times of itself, as they begin and end in each thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from stepper._C import Steps
from stepper.debuggee.garbage import Garbage
from stepper.model.timing import GARBAGE, RUNS, CacheAnswer, Timing
from stepper.model.trace import MomentId


class PhaseMark(NamedTuple):
    """The beginning of what is a phase if its end is heard."""

    id: int
    began: int
    away: int
    moment: MomentId


Begun = tuple[str, PhaseMark, int | None]
"""The name of a phase, its beginning, and the number of the guard that is made in it."""


class _Open(NamedTuple):
    id: int
    name: str
    began: int
    away: int
    moment: MomentId


class PhaseTimes:
    """Numbers phases when they begin, and hands them on when they have ended."""

    def __init__(
        self,
        write: Callable[[Timing], None],
        next_id: Callable[[], int],
        steps: Steps[Any],
    ) -> None:
        """
        Args:
            write: takes a phase that has ended.
            next_id: gives each its number.
            steps: has the clock on which moments have their instants.
        """
        self._write = write
        self._next_id = next_id
        self._steps = steps
        self._open: dict[int, list[_Open]] = {}
        self._garbage = Garbage(lambda: steps.clock(), self._collected)
        self._waiting: list[Timing] = []
        """Collections of garbage that are not written yet."""

    def began(self, name: str, moment: MomentId) -> None:
        """A phase begins in this thread."""
        stack = self._open.setdefault(threading.get_ident(), [])
        steps = self._steps
        if name not in RUNS:
            self._garbage.listen()
        stack.append(_Open(self._next_id(), name, steps.clock(), steps.away, moment))

    def mark(self, moment: MomentId, alone: bool) -> PhaseMark | None:
        """Something begins whose end is perhaps not heard; None: this thread is in the midst of no
        phase of the compiler, and it is none `alone`."""
        stack = self._open.get(threading.get_ident(), [])
        if not alone and (not stack or stack[-1].name in RUNS):
            return None
        return PhaseMark(self._next_id(), self._steps.clock(), self._steps.away, moment)

    def took(self, begun: Sequence[Begun], translation: int | None, least: int) -> None:
        """Each has lasted until the next began, the last until now; told is what took so many
        nanoseconds at least."""
        steps = self._steps
        stack = self._open.get(threading.get_ident())
        parent, thread = stack[-1].id if stack else None, _thread()
        for at, each in enumerate(self._waiting):
            if each.id > begun[0][1].id and (each.parent, each.thread) == (parent, thread):
                around = max(mark.id for _, mark, _ in begun if mark.id < each.id)
                self._waiting[at] = msgspec.structs.replace(each, parent=around)
        ends = [(mark.began, mark.away) for _, mark, _ in begun[1:]]
        ends.append((steps.clock(), steps.away))
        for (name, mark, guard), (now, away) in zip(begun, ends, strict=True):
            spent = now - mark.began
            if spent >= least:
                self._write(
                    Timing(
                        mark.id, name, mark.began, spent, mark.moment, parent, translation, thread,
                        left_out=away - mark.away, guard=guard,
                    )
                )  # fmt: skip

    def dropped(self, name: str) -> None:
        """It is not known how long the innermost phase of that name took in this thread."""
        stack = self._open.get(threading.get_ident(), [])
        if any(phase.name == name for phase in stack):
            while stack.pop().name != name:
                pass
        self._leave_garbage()

    def _leave_garbage(self) -> None:
        """Write what the collector took, and listen no more when no phase is open."""
        while self._waiting:
            self._write(self._waiting.pop(0))
        if not any(self._open.values()):
            self._garbage.leave()

    def _collected(self, began: int, nanoseconds: int) -> None:
        """The collector has run in this thread; called in the midst of anything."""
        stack = self._open.get(threading.get_ident())
        if stack and stack[-1].name not in RUNS:
            id, parent = self._next_id(), stack[-1].id
            moment, thread = self._steps.moment, _thread()
            found = Timing(id, GARBAGE, began, nanoseconds, moment, parent=parent, thread=thread)
            self._waiting.append(found)

    def ended(
        self,
        name: str,
        translation: int | None,
        compile_id: str,
        told: int = 0,
    ) -> None:
        """The innermost phase of that name ends in this thread; one that began before the session
        is not known. What is left open within it was left by an exception. `told`: nanoseconds
        that telling took meanwhile."""
        now, away = self._steps.clock(), self._steps.away
        stack = self._open.get(threading.get_ident(), [])
        if not any(phase.name == name for phase in stack):
            return
        while (phase := stack.pop()).name != name:
            pass
        self._write(
            Timing(
                phase.id,
                name,
                phase.began,
                max(0, now - phase.began - told),
                phase.moment,
                parent=stack[-1].id if stack else None,
                translation=translation,
                thread=_thread(),
                left_out=away - phase.away + told,
                compile_id=compile_id,
            )
        )
        self._leave_garbage()

    def close(self) -> None:
        """Nothing is told any more."""
        self._open.clear()
        self._garbage.leave()

    def cache_answered(
        self, name: str, answer: CacheAnswer, moment: MomentId, translation: int | None
    ) -> None:
        """A cache was asked in the midst of this thread's phases."""
        stack = self._open.get(threading.get_ident(), [])
        self._write(
            Timing(
                self._next_id(),
                name,
                self._steps.clock(),
                0,
                moment,
                parent=stack[-1].id if stack else None,
                translation=translation,
                thread=_thread(),
                cache=answer,
            )
        )


def _thread() -> str:
    """The name of this thread; empty: the main one."""
    thread = threading.current_thread()
    return "" if thread is threading.main_thread() else thread.name
