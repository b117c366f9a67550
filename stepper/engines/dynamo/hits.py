"""Who hears that transformed code begins to run: that is what a cache hit looks like from outside.

The first run of a transformed code belongs to the compilation that made it; each further one is a
hit. When the original code begins although it has entries, none of them served the call, and
nothing was compiled for it.

From Python 3.12 on, `sys.monitoring` tells of the beginning of just these code objects and costs
nothing anywhere else. Python 3.11 has no such thing. There the frame hook of `stepper._C` tells, if
lookups were asked for when the session began: it is felt by every call of the program, so it is not
put in otherwise, and where Dynamo's is in it cannot be. Without it hits are only counted, through
the callback that torch has for a bytecode debugger (a C function, called for transformed code
alone); a torch that lacks it leaves nobody to count.

What is called here runs in the midst of the program, with Dynamo's evaluator active: see
`stepper.uncompiled`.
"""

from __future__ import annotations

import _thread
import contextlib
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple, Protocol

from stepper import _C
from stepper._C import RunTimes
from stepper.debuggee.instruction_events import TOOL
from stepper.engines.common.versions import HAS_MONITORING
from stepper.engines.dynamo.versions.cache import count_runs, stop_counting_runs
from stepper.recording.at_once import at_once
from stepper.support.per_object import PerCode
from stepper.uncompiled import keep_out

_GRAPH, _ORIGINAL, _TRANSFORMED = range(3)
"""What a watched code is, as the hook tells it."""

_by_hand: set[int] = set()
"""The threads that run code by hand now."""


@contextlib.contextmanager
def by_hand() -> Iterator[None]:
    """What this thread runs meanwhile is no call of the program's: it is no hit, and no miss."""
    ident = _thread.get_ident()
    outermost = ident not in _by_hand
    _by_hand.add(ident)
    try:
        yield
    finally:
        if outermost:
            _by_hand.discard(ident)


class Heard(Protocol):
    """Told of a hit, or of a call that nothing served: the code that begins, its arguments by name,
    its globals, and the frame that made the call."""

    def __call__(
        self,
        code: CodeType,
        f_locals: dict[str, Any],
        f_globals: dict[str, Any],
        caller: FrameType | None,
    ) -> None: ...


class Listener(NamedTuple):
    """Who is told of what is watched; `wanted`: whether hits are to be told; `runs`: what is told
    of the ends, and of the beginnings of graphs that it awaits."""

    on_hit: Heard
    on_uncompiled: Heard
    wanted: Callable[[], bool]
    runs: RunTimes


class Hits:
    """Counts how often watched code begins, and passes it on when somebody wants it."""

    def __init__(self, listener: Listener) -> None:
        self._on_hit, self._on_uncompiled, self._wanted, self._runs = listener
        self._graphs: PerCode[bool] = PerCode()
        self._watched: PerCode[bool] = PerCode()
        self._originals: PerCode[bool] = PerCode()
        self.trouble = ""
        """Why hits cannot be told, only counted at best; empty when they can."""

    def watch(self, transformed: CodeType, original: CodeType, *, compiled: bool = True) -> None:
        """Listen to both from now on. The first run of what was just compiled is no hit."""
        new = self._watched.get(transformed) is None
        for code, known in ((transformed, self._watched), (original, self._originals)):
            self._listen(code, known)
        if new and not compiled:
            _C.count_call(transformed)

    def watch_graph(self, code: CodeType) -> None:
        """Tell when it begins and ends; its runs are nobody's hits."""
        self._listen(code, self._graphs)

    def _listen(self, code: CodeType, known: PerCode[bool]) -> None:
        if known.get(code) is None:
            known.set(code, True)
            role = self._role(code)
            # A graph that is not called by what was compiled is none: many functions have its code.
            _C.watch(code, role, inside=role == _GRAPH)

    def _role(self, code: CodeType) -> int:
        if self._graphs.get(code):
            return _GRAPH
        return _ORIGINAL if self._originals.get(code) else _TRANSFORMED

    def _callback_for(self, code: CodeType, role: int) -> Heard | None:
        """Who is to be told that a code begins, which is no graph; it was counted already."""
        if not self._wanted():
            return None
        if role == _ORIGINAL:
            return self._on_uncompiled
        return self._on_hit if self._calls(code) > 1 else None

    def _calls(self, code: CodeType) -> int:
        """How often the program has called a code that is watched."""
        return _C.watched_calls(code)

    def count_of(self, code: CodeType) -> int | None:
        """Hits of a transformed code; None when nobody counted."""
        if not self._watched.get(code) or not self._counts:
            return None
        return max(0, self._calls(code) - 1)

    @property
    def _counts(self) -> bool:
        return True

    def close(self) -> None:
        """Listen to nothing any more."""
        for code in self._codes():
            _C.unwatch(code)
        self._watched.clear()
        self._originals.clear()
        self._graphs.clear()

    def _codes(self) -> list[CodeType]:
        return [*self._watched.living(), *self._originals.living(), *self._graphs.living()]


class MonitoredHits(Hits):
    """Python 3.12 and later. A function's start is told before its first instruction is, so a
    lookup comes before the execution that it leads to."""

    def __init__(self, listener: Listener) -> None:
        super().__init__(listener)
        monitoring = self._monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]  # as of Python 3.12
        self._event: int = monitoring.events.PY_START
        self._both: int = monitoring.events.PY_START | monitoring.events.PY_RETURN
        self._tool: int | None = next(
            (tool for tool in (3, 4) if monitoring.get_tool(tool) is None), None
        )
        if self._tool is None:
            self.trouble = "all tools of sys.monitoring are taken by others"
            return
        monitoring.use_tool_id(self._tool, TOOL)
        monitoring.register_callback(self._tool, self._event, self._begins)
        monitoring.register_callback(self._tool, monitoring.events.PY_RETURN, self._returns)

    def _listen(self, code: CodeType, known: PerCode[bool]) -> None:
        super()._listen(code, known)
        if self._tool is not None:
            self._monitoring.set_local_events(self._tool, code, self._both)

    @property
    def _counts(self) -> bool:
        return self._tool is not None

    def close(self) -> None:
        if self._tool is not None:
            for code in self._codes():
                self._monitoring.set_local_events(self._tool, code, 0)
            for event in (self._event, self._monitoring.events.PY_RETURN):
                self._monitoring.register_callback(self._tool, event, None)
            free = (self._monitoring.free_tool_id, self._tool)
            at_once(free, (setattr, self, "_tool", None))
        super().close()

    def _begins(self, code: CodeType, offset: int) -> None:
        if _thread.get_ident() in _by_hand:
            return
        role = self._role(code)
        if role == _GRAPH:
            if self._runs.awaits(code, sys._getframe(1).f_back):
                self._runs.begins(code)
            return
        _C.count_call(code)
        if (callback := self._callback_for(code, role)) is not None:
            frame = sys._getframe(1)
            callback(code, _C.frame_locals(frame), frame.f_globals, frame.f_back)

    def _returns(self, code: CodeType, offset: int, value: object) -> None:
        if _thread.get_ident() not in _by_hand:
            self._runs.ends(code)


class HookedHits(Hits):
    """Python 3.11, when hits are wanted from the beginning on."""

    def __init__(self, listener: Listener) -> None:
        super().__init__(listener)
        self._apart: PerCode[int] = PerCode()
        """How often a code was called by hand; the hook counts that, too."""
        _C.install_hook()
        _C.set_observer(self._begins, self._runs.ends)

    def close(self) -> None:
        _C.set_observer(None)
        super().close()
        with contextlib.suppress(RuntimeError):  # Dynamo's is over it: it stays, and does nothing
            _C.remove_hook()

    def _calls(self, code: CodeType) -> int:
        return _C.watched_calls(code) - (self._apart.get(code) or 0)

    def _begins(self, code: CodeType, role: int) -> bool:
        """Whether its end is wanted, too."""
        if _by_hand and _thread.get_ident() in _by_hand:
            self._apart.set(code, (self._apart.get(code) or 0) + 1)
            return False
        if role == _GRAPH:
            awaited = self._runs.awaits(code, sys._getframe(1))
            if awaited:
                self._runs.begins(code)
            return awaited
        callback = self._callback_for(code, role)
        if callback is None:
            return False
        f_locals, f_globals = _C.entering_call()
        try:
            callback(code, f_locals, f_globals, sys._getframe(1))
        except KeyboardInterrupt:  # no exception passes the hook
            _thread.interrupt_main()
        return callback is self._on_hit


class CountedHits(Hits):
    """Python 3.11 otherwise."""

    def __init__(self, listener: Listener, trouble: str) -> None:
        super().__init__(listener)
        self.trouble = trouble
        self._mine = count_runs()

    @property
    def _counts(self) -> bool:
        return self._mine

    def close(self) -> None:
        if self._mine:
            stop_counting_runs()
        self._mine = False
        super().close()


def listen(listener: Listener) -> Hits:
    """What hears of hits here, best of all."""
    if HAS_MONITORING:
        return MonitoredHits(listener)
    if not listener.wanted():
        return CountedHits(
            listener,
            "on Python 3.11, hits are told when they are asked for before the program begins: "
            "with --lookups, or a breakpoint on the command line",
        )
    try:
        return HookedHits(listener)
    except RuntimeError:
        return CountedHits(
            listener,
            "on Python 3.11, hits are not told in a session that begins while compiled code runs, "
            "or after a compilation was left by an exception: Dynamo's evaluator stays in then",
        )


keep_out()
