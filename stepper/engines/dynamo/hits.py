"""Who hears that transformed code begins to run: that is what a cache hit looks like from outside.

The first run of a transformed code belongs to the compilation that made it; each further one is a
hit. From Python 3.12 on, `sys.monitoring` tells of the beginning of just these code objects and
costs nothing anywhere else. On 3.11 there is no such thing; the frame hook of `stepper._C` hears of
it while it is installed.

What is called here runs in the midst of the program, with Dynamo's evaluator active: it is marked
so that Dynamo leaves it, and all that it calls, alone.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import CodeType, FrameType

from torch._C._dynamo.eval_frame import (
    _FrameAction,
    _FrameExecStrategy,
    set_code_exec_strategy,
)

Heard = Callable[[CodeType, FrameType], None]

_TOOL = "stepper"
_NO_MONITORING = "hits are not told on Python 3.11 without sys.monitoring"


class Hits:
    """Counts how often watched code begins, and passes it on when somebody wants it."""

    def __init__(self, heard: Heard, wanted: Callable[[], bool]) -> None:
        self._heard = heard
        self._wanted = wanted
        self._starts: dict[int, int] = {}
        self._refs: dict[int, weakref.ref[CodeType]] = {}
        self._tool: int | None = None
        self.trouble = ""
        if sys.version_info >= (3, 12):
            self._tool = _free_tool()
            if self._tool is None:
                self.trouble = "hits are not told: all tools of sys.monitoring are taken"
            else:
                _leave_alone(self._begins.__code__)
                sys.monitoring.register_callback(
                    self._tool, sys.monitoring.events.PY_START, self._begins
                )
        else:
            self.trouble = _NO_MONITORING

    def watch(self, code: CodeType) -> None:
        """Listen to a code from now on, that is about to run for the first time."""
        if sys.version_info >= (3, 12) and self._tool is not None:
            address = id(code)
            self._refs[address] = weakref.ref(code, lambda _: self._forget(address))
            self._starts[address] = 0
            sys.monitoring.set_local_events(self._tool, code, sys.monitoring.events.PY_START)

    def count_of(self, code: CodeType) -> int | None:
        """Hits of a transformed code; None when nobody counted."""
        known = self._refs.get(id(code))
        if known is None or known() is not code:
            return None
        return max(0, self._starts[id(code)] - 1)

    def close(self) -> None:
        """Listen to nothing any more."""
        if sys.version_info >= (3, 12) and self._tool is not None:
            for reference in list(self._refs.values()):
                if (code := reference()) is not None:
                    sys.monitoring.set_local_events(self._tool, code, 0)
            sys.monitoring.free_tool_id(self._tool)
            self._tool = None
        self._refs.clear()
        self._starts.clear()

    def _begins(self, code: CodeType, offset: int) -> None:
        address = id(code)
        starts = self._starts.get(address)
        if starts is None:
            return
        self._starts[address] = starts + 1
        if starts and self._wanted():
            self._heard(code, sys._getframe(1))

    def _forget(self, address: int) -> None:
        self._refs.pop(address, None)
        self._starts.pop(address, None)


def _leave_alone(code: CodeType) -> None:
    set_code_exec_strategy(code, _FrameExecStrategy(_FrameAction.SKIP, _FrameAction.SKIP))


def _free_tool() -> int | None:
    """A tool of `sys.monitoring` that nobody uses, now ours; not one with a name of its own."""
    for tool in (4, 3):
        if sys.monitoring.get_tool(tool) is None:  # type: ignore[attr-defined,unused-ignore]
            sys.monitoring.use_tool_id(tool, _TOOL)  # type: ignore[attr-defined,unused-ignore]
            return tool
    return None
