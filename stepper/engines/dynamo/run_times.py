"""How long what was compiled runs at each call that is told: the transformed code, and in it the
graphs.

A graph is the function that a transformed code calls by the name that the compiler gave it. What it
takes to tell of lookups meanwhile is left out.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import Any

from stepper.debuggee.engine import Recorder
from stepper.model.timing import GRAPH_RUN, TRANSFORMED_RUN
from stepper.uncompiled import keep_out

_GRAPH_NAME = "__compiled_fn"


class _Run:
    def __init__(self, code: CodeType, lookup: int, told: int) -> None:
        self.code = code
        self.lookup = lookup
        self.told = told
        """Nanoseconds that telling had taken when it began."""
        self.graph: tuple[CodeType, int] | None = None
        """The graph that runs now, likewise."""


class RunTimes:
    """Hears when watched code begins and ends; only what belongs to a call that is told counts."""

    def __init__(self, listen: Callable[[CodeType], None]) -> None:
        """`listen` has the beginning and the end of a code told from now on."""
        self._listen = listen
        self._recorder: Recorder
        self._running: dict[int, list[_Run]] = {}
        self._told: dict[int, int] = {}

    def install(self, recorder: Recorder) -> None:
        """Tell this one."""
        self._recorder = recorder

    def telling(self, nanoseconds: int) -> None:
        """So long it took to tell of something in this thread."""
        me = _thread.get_ident()
        self._told[me] = self._told.get(me, 0) + nanoseconds

    def hit(
        self, code: CodeType, f_globals: dict[str, Any], lookup: int, caller: FrameType | None
    ) -> None:
        """A transformed code is about to run for a call whose lookup is told."""
        me = _thread.get_ident()
        running = self._running.setdefault(me, [])
        # What an exception has left has no frame any more. A code that Dynamo has made can have
        # constants that have no hash, and then it has none itself.
        alive = set()
        while caller is not None and running:
            alive.add(id(caller.f_code))
            caller = caller.f_back
        for run in running:
            if id(run.code) not in alive:  # how long it took nobody knows
                if run.graph is not None:
                    self._recorder.phase_dropped(GRAPH_RUN)
                self._recorder.phase_dropped(TRANSFORMED_RUN)
        running[:] = [run for run in running if id(run.code) in alive]
        for name in code.co_names:
            graph = f_globals.get(name) if name.startswith(_GRAPH_NAME) else None
            if type(graph) is FunctionType:
                self._listen(graph.__code__)
        running.append(_Run(code, lookup, self._told.get(me, 0)))
        self._recorder.phase_began(TRANSFORMED_RUN)

    def awaits(self, code: CodeType, caller: FrameType | None) -> bool:
        """Whether a code that begins is a graph that runs for a call that is told."""
        running = self._running.get(_thread.get_ident())
        if not running or caller is None:
            return False
        run = running[-1]
        return run.graph is None and caller.f_code is run.code is not code

    def begins(self, code: CodeType) -> None:
        """A graph that is awaited begins."""
        me = _thread.get_ident()
        self._running[me][-1].graph = code, self._told.get(me, 0)
        self._recorder.phase_began(GRAPH_RUN)

    def ends(self, code: CodeType) -> None:
        """It has ended, or what was called in its place."""
        me = _thread.get_ident()
        running = self._running.get(me)
        if not running:
            return
        run, told = running[-1], self._told.get(me, 0)
        if run.graph is not None and run.graph[0] is code:
            self._recorder.phase_ended(GRAPH_RUN, run.lookup, told=told - run.graph[1])
            run.graph = None
        elif run.code is code:
            running.pop()
            self._recorder.phase_ended(TRANSFORMED_RUN, run.lookup, told=told - run.told)


keep_out()
