"""The phases that a compiler times of itself, as they begin and end in each thread."""

from __future__ import annotations

import itertools
import operator
from _thread import get_ident
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from stepper._C import RunTimes, Steps
from stepper.debuggee.garbage import Garbage
from stepper.debuggee.threads import main_thread, thread_name
from stepper.model.timing import GARBAGE, GRAPH_RUN, RUNS, TRANSFORMED_RUN, CacheAnswer, Timing
from stepper.model.trace import MomentId
from stepper.recording.schema import MOST_TOGETHER, GuardsMade
from stepper.recording.waiting import RunTook


class PhaseMark(NamedTuple):
    """The beginning of what is a phase if its end is heard."""

    id: int
    began: int
    away: int
    moment: MomentId


class GuardsBegun(NamedTuple):
    """Guards that are made one after the other. By columns: with an object for each, the garbage
    collector would come in their midst."""

    kinds: list[str]
    numbers: list[int]
    clock: list[int]
    """When they began to be made, and when the last of them was."""
    away: list[int]
    """What the clock had left out by then."""


class _Open(msgspec.Struct, gc=False):
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
        write_guards: Callable[[int, GuardsMade], None],
        write_run: Callable[[RunTook], None],
        ids: Iterator[int],
        steps: Steps[Any],
    ) -> None:
        """
        Args:
            write: takes a phase that has ended.
            write_guards: takes what a run of guards took to be made, and the first's number.
            write_run: takes a run of what was compiled that has ended.
            ids: gives each its number.
            steps: has the clock on which moments have their instants.
        """
        self._write = write
        self._write_guards = write_guards
        self._ids = ids
        self._steps = steps
        self._open: dict[int, list[_Open]] = {}
        self._garbage = Garbage(lambda: steps.clock(), self._collected)
        self._waiting: list[Timing] = []
        """Collections of garbage that are not written yet."""
        self.runs = RunTimes(
            steps, ids, self._open, write_run, _thread, self._leave_garbage, TRANSFORMED_RUN,
            GRAPH_RUN,
        )  # fmt: skip
        """Numbers runs of what was compiled, which stand among the phases, and writes them."""

    def began(self, name: str, moment: MomentId) -> None:
        """A phase of compiling begins in this thread."""
        stack = self._open.setdefault(get_ident(), [])
        steps = self._steps
        self._garbage.listen()
        stack.append(_Open(next(self._ids), name, steps.clock(), steps.away, moment))

    def mark(self, moment: MomentId, alone: bool) -> PhaseMark | None:
        """Something begins whose end is perhaps not heard; None: this thread is in the midst of no
        phase of the compiler, and it is none `alone`."""
        stack = self._open.get(get_ident(), [])
        if not alone and (not stack or stack[-1].name in RUNS):
            return None
        return PhaseMark(next(self._ids), self._steps.clock(), self._steps.away, moment)

    def took(
        self,
        name: str,
        mark: PhaseMark,
        translation: int | None,
        *,
        least: int = 0,
        side_effect: int | None = None,
    ) -> None:
        """What began there has lasted until now; told is what took so many nanoseconds at least."""
        steps = self._steps
        spent, left_out = steps.clock() - mark.began, steps.away - mark.away
        if spent < least:
            return
        stack = self._open.get(get_ident())
        parent, thread = stack[-1].id if stack else None, _thread()
        for at, each in enumerate(self._waiting):
            if each.id > mark.id and (each.parent, each.thread) == (parent, thread):
                self._waiting[at] = msgspec.structs.replace(each, parent=mark.id)
        self._write(
            Timing(
                mark.id, name, mark.began, spent, mark.moment, parent, translation, thread,
                left_out, side_effect=side_effect,
            )
        )  # fmt: skip

    def guards_made(self, begun: GuardsBegun, translation: int) -> None:
        """Each has lasted until the next began."""
        stack = self._open.get(get_ident())
        count, (kinds, numbers, clock, away) = len(begun.numbers), begun
        if not (count and stack):
            return
        # Made without an object that could wake the garbage collector, which takes a number.
        ids = list(itertools.islice(self._ids, count))
        for at, each in enumerate(self._waiting):
            before = bisect_right(clock, each.began, hi=count)
            mine = (each.parent, each.thread) == (stack[-1].id, _thread())
            if mine and before and each.began < clock[-1]:
                # Whatever is in the midst of a phase has a greater number.
                self._waiting[at] = msgspec.structs.replace(
                    each, id=next(self._ids), parent=ids[before - 1]
                )
        for at in range(0, count, MOST_TOGETHER):
            end = at + MOST_TOGETHER
            of_kinds = {kind: place for place, kind in enumerate(dict.fromkeys(kinds[at:end]))}
            run = GuardsMade(
                self._steps.moment,
                translation,
                stack[-1].id,
                _thread(),
                list(of_kinds),
                [*map(of_kinds.__getitem__, kinds[at:end])],
                numbers[at:end],
                [clock[at], *map(operator.sub, clock[at + 1 : end + 1], clock[at:end])],
                [*map(operator.sub, away[at + 1 : end + 1], away[at:end])],
            )
            self._write_guards(ids[at], run)

    def _leave_garbage(self) -> None:
        """Write what the collector took, and listen no more when no phase of compiling is open."""
        while self._waiting:
            self._write(self._waiting.pop(0))
        if all(phase.name in RUNS for stack in self._open.values() for phase in stack):
            self._garbage.leave()

    def _collected(self, began: int, nanoseconds: int) -> None:
        """The collector has run in this thread; called in the midst of anything."""
        stack = self._open.get(get_ident())
        if stack and stack[-1].name not in RUNS:
            id, parent = next(self._ids), stack[-1].id
            moment, thread = self._steps.moment, _thread()
            found = Timing(id, GARBAGE, began, nanoseconds, moment, parent=parent, thread=thread)
            self._waiting.append(found)

    def ended(
        self,
        name: str,
        translation: int | None,
        compile_id: str,
        kernels: int | None = None,
    ) -> None:
        """The innermost phase of that name ends in this thread; one that began before the session
        is not known. What is left open within it was left by an exception. `kernels`: those that
        were generated."""
        now, away = self._steps.clock(), self._steps.away
        stack = self._open.get(get_ident(), [])
        innermost = stack and stack[-1].name == name  # as nearly always
        if not innermost and not any(phase.name == name for phase in stack):
            return
        while (phase := stack.pop()).name != name:
            pass
        self._write(
            Timing(
                phase.id,
                name,
                phase.began,
                max(0, now - phase.began),
                phase.moment,
                parent=stack[-1].id if stack else None,
                translation=translation,
                thread=_thread(),
                left_out=away - phase.away,
                kernels=kernels,
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
        stack = self._open.get(get_ident(), [])
        self._write(
            Timing(
                next(self._ids),
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
    return "" if get_ident() == main_thread() else thread_name()
