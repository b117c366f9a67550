"""The interpreter's own events for code that is watched: each instruction, each line, each end.

From 3.12 on `sys.monitoring` tells them for just those code objects (`Monitoring`); before,
`sys.settrace` tells a thread about all calls, so it is on only while watched code runs (`Tracing`).
Which of the two there is stands in `make_events`.

Two debuggers, or a debugger and a coverage tool, would see each other and spoil each other's
results. Whoever was there first stays: before anything is followed in a thread, `rival` looks for
tracers, profilers and tools of `sys.monitoring`, and with one there we give way for good and say
so. Our own tool has a number that the standard leaves free, since torch's own bytecode debugger
takes the debugger's without asking.

A callback is called in the midst of the program and would be seen by the compiler as part of it;
what the engine does against that is `hide`, called with the code of each callback.
"""

from __future__ import annotations

import dis
import sys
from _thread import get_ident
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Protocol, TypeVar

from stepper._C import AtInstruction, own_tracer
from stepper.debuggee.made_coroutines import MadeCoroutines, makes_coroutine
from stepper.model.cache import CacheError
from stepper.recording.at_once import at_once
from stepper.support.per_object import PerCode
from stepper.support.stack_depths import stack_depth

T = TypeVar("T")

_monitoring: Any = getattr(sys, "monitoring", None)
"""None before 3.12."""


class Follower(Protocol):
    """Who is told; see `stepper.debuggee.execution.Executions`."""

    running: dict[int, list[Any]]

    def unless_moved(
        self, callback: Callable[..., object], raising: dict[int, Any]
    ) -> Callable[..., Any]: ...
    def step(self, real: FrameType, code: CodeType, offset: int) -> None: ...
    def line(self, real: FrameType, code: CodeType, line: int) -> None: ...
    def returned(self, real: FrameType, value: object) -> None: ...
    def raised(self, real: FrameType, kind: type[BaseException]) -> None: ...
    def break_down(self, error: Exception) -> None: ...


TOOL = "stepper"
"""Name of all our tools: whoever has another name is somebody else."""

Hide = Callable[[CodeType], object]


class Events(Protocol):
    """What both kinds can do."""

    def watch(self, code: CodeType, *, lines: bool = False) -> None:
        """Tell each instruction of the code from now on, or only where each line begins."""

    def about_to_run(self, code: CodeType) -> None:
        """The compiler is about to run the code in this thread: called by what it calls."""

    def run(self, what: Callable[[], T]) -> T:
        """Call something that runs watched code. The program may stand still in a callback of the
        interpreter's, which calls no others until that one has returned, unless told so.

        Raises:
            CacheError: somebody else follows code here.
        """

    def pause(self) -> None:
        """The compiler begins its own work in this thread."""

    def go_on(self) -> None:
        """The compiler's work is done."""

    def stop(self) -> None:
        """Tell nothing any more."""


def rival(ours: object) -> str:
    """Who follows this thread's code besides us, in words; empty: nobody. `ours`: the trace
    function that is our own."""
    trace = sys.gettrace()
    if trace is not None and trace is not ours:
        return f"{_owner(trace)} (sys.settrace)"
    profile = sys.getprofile()
    if profile is not None:
        return f"{_owner(profile)} (sys.setprofile)"
    if _monitoring is not None:
        for tool in range(6):
            name = _monitoring.get_tool(tool)
            if name is not None and name != TOOL:
                return f"{name} (sys.monitoring)"
    return ""


def _owner(function: object) -> str:
    kind = type(function)
    module = function.__module__ if hasattr(function, "__code__") else kind.__module__
    return module if type(module) is str and module != "builtins" else kind.__name__


class Monitoring:
    """`Events` through `sys.monitoring`."""

    def __init__(self, follower: Follower, hide: Hide, notice: Callable[[str], None]) -> None:
        self._follower = follower
        self._hide = hide
        self._notice = notice
        self._tool: int | None = None
        self._watched: PerCode[bool] = PerCode()
        self._stopped = False

    def watch(self, code: CodeType, *, lines: bool = False) -> None:
        if self._stopped or not self._start():
            return
        events = _monitoring.events
        kind = events.LINE if lines else events.INSTRUCTION
        self._watched.set(code, lines)
        _monitoring.set_local_events(self._tool, code, kind | events.PY_RETURN)

    def about_to_run(self, code: CodeType) -> None:
        """See `Events.about_to_run`."""

    def run(self, what: Callable[[], T]) -> T:
        if self._stopped:
            raise CacheError(_NOT_BY_HAND)
        result: T = sys.call_tracing(what, ())
        return result

    def pause(self) -> None:
        """See `Events.pause`."""

    def go_on(self) -> None:
        """See `Events.go_on`."""

    def stop(self) -> None:
        self._stopped = True
        tool = self._tool
        if tool is None:
            return
        monitoring = _monitoring
        for code in self._watched.living():
            monitoring.set_local_events(tool, code, 0)
        self._watched.clear()
        monitoring.set_events(tool, 0)
        for event in ("INSTRUCTION", "LINE", "PY_RETURN", "PY_UNWIND"):
            monitoring.register_callback(tool, getattr(monitoring.events, event), None)
        at_once((monitoring.free_tool_id, tool), (setattr, self, "_tool", None))

    def _start(self) -> bool:
        if self._tool is not None:
            return True
        monitoring = _monitoring
        events = monitoring.events
        found = rival(None)
        free = next((tool for tool in (4, 3) if monitoring.get_tool(tool) is None), None)
        if found or free is None:
            self._give_way(found or "other tools (sys.monitoring)")
            return False
        self._tool = free
        monitoring.use_tool_id(free, TOOL)
        register, unless_moved = monitoring.register_callback, self._follower.unless_moved
        on_instruction = unless_moved(self._callback(self._on_instruction()), {})
        register(free, events.INSTRUCTION, AtInstruction(on_instruction, stack_depth))
        register(free, events.LINE, unless_moved(self._callback(self._on_line()), {}))
        register(free, events.PY_RETURN, self._callback(self._on_return()))
        register(free, events.PY_UNWIND, self._callback(self._on_unwind()))
        monitoring.set_events(free, events.PY_UNWIND)  # it cannot be had for single codes
        return True

    def _give_way(self, found: str) -> None:
        self._notice(_GIVES_WAY.format(found))
        self.stop()

    def _callback(self, function: Callable[..., None]) -> Callable[..., None]:
        self._hide(function.__code__)
        return function

    # The frame of the code is that of who calls the callback.

    def _on_instruction(self) -> Callable[[CodeType, int], None]:
        break_down = self._follower.break_down
        step, frame_at = self._follower.step, sys._getframe

        def on_instruction(code: CodeType, offset: int) -> None:
            try:
                step(frame_at(1), code, offset)
            except Exception as error:
                break_down(error)

        return on_instruction

    def _on_line(self) -> Callable[[CodeType, int], None]:
        break_down = self._follower.break_down
        line_begins, frame_at = self._follower.line, sys._getframe

        def on_line(code: CodeType, line: int) -> None:
            try:
                line_begins(frame_at(1), code, line)
            except Exception as error:
                break_down(error)

        return on_line

    def _on_return(self) -> Callable[[CodeType, int, object], None]:
        break_down = self._follower.break_down
        returned, frame_at = self._follower.returned, sys._getframe

        def on_return(code: CodeType, offset: int, value: object) -> None:
            try:
                returned(frame_at(1), value)
            except Exception as error:
                break_down(error)

        return on_return

    def _on_unwind(self) -> Callable[[CodeType, int, BaseException], None]:
        break_down = self._follower.break_down
        raised, frame_at = self._follower.raised, sys._getframe
        running = self._follower.running

        def on_unwind(code: CodeType, offset: int, error: BaseException) -> None:
            if not running:
                return
            try:
                raised(frame_at(1), type(error))
            except Exception as defect:
                break_down(defect)

        return on_unwind


class Tracing:
    """`Events` through `sys.settrace`, in each thread for as long as watched code runs in it."""

    def __init__(self, follower: Follower, hide: Hide, notice: Callable[[str], None]) -> None:
        self._follower = follower
        self._notice = notice
        self._stopped = False
        self._watched: PerCode[bool] = PerCode()
        self._paused: set[int] = set()
        self._coroutines = MadeCoroutines(hide, self._none_left)
        self._done: set[int] = set()
        """Threads in which nothing is awaited any more, as another thread has found."""
        hide(Tracing._none_left.__code__)
        self._trace = self._functions(hide)

    def watch(self, code: CodeType, *, lines: bool = False) -> None:
        if not self._stopped:
            self._watched.set(code, lines)

    def about_to_run(self, code: CodeType) -> None:
        if self._stopped or self._watched.get(code) is None:
            return
        self._done.discard(get_ident())
        if sys.gettrace() is not self._trace:
            found = rival(self._trace)
            if found:
                self._notice(_GIVES_WAY.format(found))
                self.stop()
                return
            sys.settrace(self._trace)
        if makes_coroutine(code):
            # It is only made now: whoever runs it does not say so.
            self._coroutines.expect(code, sys._getframe(2))

    def run(self, what: Callable[[], T]) -> T:
        trace = sys.gettrace()
        found = rival(self._trace)
        if found:
            self._notice(_GIVES_WAY.format(found))
            self.stop()
        if self._stopped:
            raise CacheError(_NOT_BY_HAND)
        try:
            result: T = sys.call_tracing(self._run, (what,))
            return result
        finally:
            sys.settrace(trace)

    def _run(self, what: Callable[[], T]) -> T:
        # Python 3.11 notices only so that tracing is on again.
        sys.settrace(self._trace)
        return what()

    def pause(self) -> None:
        if sys.gettrace() is self._trace:
            sys.settrace(None)
            self._paused.add(get_ident())

    def go_on(self) -> None:
        if get_ident() in self._paused:
            self._paused.discard(get_ident())
            if not self._stopped and sys.gettrace() is None:
                sys.settrace(self._trace)

    def stop(self) -> None:
        self._stopped = True
        self._watched.clear()
        if sys.gettrace() is self._trace:
            sys.settrace(None)

    def _none_left(self, thread: int) -> None:
        """The last coroutine that was waited for in a thread has died."""
        if thread != get_ident():
            self._done.add(thread)
        elif thread not in self._follower.running and sys.gettrace() is self._trace:
            sys.settrace(None)

    def _functions(self, hide: Hide) -> Callable[..., Any]:
        follower, running, watched = self._follower, self._follower.running, self._watched
        coroutines, done = self._coroutines, self._done
        break_down = follower.break_down
        raising: dict[int, type[BaseException]] = {}

        def trace(frame: FrameType, event: str, argument: Any) -> Any:
            lines = watched.get(frame.f_code)
            if lines is None or event != "call":
                if done and (ident := get_ident()) in done and ident not in running:
                    done.discard(ident)
                    sys.settrace(None)
                return None
            frame.f_trace_lines = lines
            frame.f_trace_opcodes = not lines
            return unless_moved

        def local(frame: FrameType, event: str, argument: Any) -> Any:
            try:
                if event == "opcode":
                    raising.pop(id(frame), None)
                    follower.step(frame, frame.f_code, frame.f_lasti)
                elif event == "line":
                    raising.pop(id(frame), None)
                    follower.line(frame, frame.f_code, frame.f_lineno)
                elif event == "exception":
                    raising[id(frame)] = argument[0]
                elif event == "return":
                    kind = raising.pop(id(frame), None)
                    if kind is not None and argument is None:
                        follower.raised(frame, kind)
                    else:
                        follower.returned(frame, argument)
                    if makes_coroutine(frame.f_code) and not _suspends(frame):
                        coroutines.ended(frame)
                    ident = get_ident()
                    waits = ident in running or coroutines.waits(ident)
                    if not waits and sys.gettrace() is trace:
                        sys.settrace(None)
            except Exception as defect:
                break_down(defect)
            return unless_moved

        unless_moved = follower.unless_moved(local, raising)
        hide(trace.__code__)
        hide(local.__code__)
        own_tracer(trace.__code__)
        return trace


def _suspends(frame: FrameType) -> bool:
    """Whether a frame that returns is a generator's that goes on later."""
    code = frame.f_code.co_code
    return dis.opname[code[frame.f_lasti]] == "YIELD_VALUE"


_GIVES_WAY = (
    "stepper does not follow transformed code as it runs (--execute): {} is at work in this "
    "program, and the two would see each other. Run the program without it to see executions"
)


_NOT_BY_HAND = "its code cannot be followed here: see the note before this"


def make_events(follower: Follower, hide: Hide, notice: Callable[[str], None]) -> Events:
    """The events of this Python."""
    kind = Tracing if _monitoring is None else Monitoring
    return kind(follower, hide, notice)
