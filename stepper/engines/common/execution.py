"""What an engine knows of executions: which codes are transformed, and the graphs they call.

A transformed code is known from its compilation on (`compiled`), or, when it was compiled before
the session began, from the compiler's own lists. It is watched from then on if executions are to be
recorded; if nobody asks for them, nothing is watched and nothing costs anything.

The compiler would take the callbacks, which run in the midst of the program, for part of it, and
compile them: they are marked so that it leaves them, and all that they call, alone.
"""

from __future__ import annotations

import functools
import linecache
import re
from _thread import get_ident
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple, Protocol, TypeVar

from torch.fx import GraphModule

from stepper.debuggee.engine import Recorder
from stepper.debuggee.execution import Executions, Graph, Program
from stepper.debuggee.instruction_events import Events, make_events
from stepper.engines.common import values
from stepper.engines.common.versions import HAS_MONITORING
from stepper.model.program import Code, Instruction, PythonFrame
from stepper.model.trace import EventKind, Phase
from stepper.support.per_object import PerCode
from stepper.support.words import plain_text
from stepper.uncompiled import keep_out

_NODE_LINE = re.compile(r"\s+(?:(?P<name>\w+)\s*(?::[^=]*)?=|(?P<returns>return\b))")
_CLEARED = re.compile(r";\s+\w+(?: = \w+)* = None.*$")

T = TypeVar("T")


class CodeTable(Protocol):
    """Gives code objects numbers: a `NumberedCodes` of the engine's."""

    def plain(self, code: CodeType) -> Code: ...
    def graph(self, code: CodeType, name: str, nodes: tuple[Instruction, ...]) -> Code: ...


class RunGraph(NamedTuple):
    """A graph that transformed code calls."""

    name: str
    """The name of the function that it calls."""
    module: GraphModule
    code: CodeType
    """The code of the Python function that runs."""


class Served(NamedTuple):
    """What runs in a resume function's place."""

    function: FunctionType
    compile_id: str


class Resumed(Protocol):
    """Answers for the resume functions that are called while code is stepped by hand."""

    def serve(
        self, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Served | None:
        """What a call of a resume function is to run; None: the function as it is."""


class ExecutionWatcher(ABC):
    """Has executions followed when somebody wants them; see `Knowledge` in `Executions`. What only
    the engine knows is left to it."""

    frozen, leaves = values.FROZEN, values.LEAVES
    describe = staticmethod(values.describe)
    inside = staticmethod(values.inside)
    container = staticmethod(values.container)
    unchanged = values.unchanged

    def __init__(
        self,
        program_stack: Callable[[FrameType | None], tuple[PythonFrame, ...]],
        break_down: Callable[[Exception], None],
    ) -> None:
        self._program_stack = program_stack
        self.break_down = break_down
        self._recorder: Recorder
        self._codes: CodeTable
        self._events: Events | None = None
        self._programs: PerCode[Program] = PerCode()
        self._graphs: PerCode[Graph] = PerCode()
        self._hears_runs = False
        self._by_hand: tuple[int, Resumed | None] | None = None
        """The thread that runs an entry's code by hand, and who answers for what that calls."""

    def install(self, recorder: Recorder, codes: CodeTable) -> None:
        """Begin, with what was compiled before if executions are recorded."""
        self._recorder = recorder
        self._codes = codes
        self.begin_if_wanted()

    def begin_if_wanted(self) -> None:
        """Begin, if that has come to be wanted; with all that was compiled before."""
        if self.wanted:
            self._begin()

    def uninstall(self) -> None:
        """Follow nothing any more."""
        self._stop_following()
        if self._hears_runs:
            self.hear_of_runs(None)
            self._hears_runs = False

    def _stop_following(self) -> None:
        if self._events is not None:
            self._events.stop()
            self._events = None
        self._programs.clear()
        self._graphs.clear()

    def entry_made(self, code: CodeType, original: CodeType, compile_id: str) -> None:
        """A transformed code has been made, or an entry with one put into the cache."""
        if self.wanted and self._begin():
            self._watch(code, original, compile_id)

    def pause(self) -> None:
        """The compiler begins to compile in this thread."""
        if self._events is not None:
            self._events.pause()

    def go_on(self) -> None:
        """The compiler has compiled."""
        if self._events is not None:
            self._events.go_on()

    @property
    def wanted(self) -> bool:
        """Whether executions are to be recorded."""
        asked, wanted = self._recorder.walks.asked, self._recorder.controller.wanted
        return Phase.EXECUTE in asked or EventKind.EXECUTE in wanted

    def by_hand(
        self,
        code: CodeType,
        original: CodeType,
        compile_id: str,
        run: Callable[[], T],
        resumed: Resumed | None = None,
    ) -> T:
        """Call `run`, which runs a code once, and have that followed, whether or not executions are
        to be recorded. `resumed` answers for the resume functions that it calls.

        Raises:
            CacheError: somebody else follows code here.
        """
        alone = self._events is None
        if self._events is None:
            self._events = self._make_events()
        events, before = self._events, self._by_hand
        self._watch_once(code, original, compile_id)
        self._by_hand = (get_ident(), resumed)
        try:
            return events.run(run)
        finally:
            self._by_hand = before
            if alone:
                self._stop_following()
                self.begin_if_wanted()

    def _watch_once(self, code: CodeType, original: CodeType, compile_id: str) -> None:
        if self._programs.get(code) is None:
            self._watch(code, original, compile_id)

    def _make_events(self) -> Events:
        follower = Executions(self._recorder, self)
        return make_events(follower, self.leave_alone, self._notice)

    def _begin(self) -> bool:
        if self._events is not None:
            return True
        if not HAS_MONITORING:
            self.leave_alone(self._about_to_run.__code__)
            if not self.hear_of_runs(self._about_to_run):
                self._notice("executions cannot be followed with this torch on Python 3.11")
                return False
            self._hears_runs = True
        self._events = self._make_events()
        for code, original, compile_id in self.transformed():
            self._watch(code, original, compile_id)
        return True

    def _notice(self, text: str) -> None:
        self._recorder.controller.notice(text)
        self._recorder.occurred(EventKind.NOTE, text, None)

    def _watch(self, code: CodeType, original: CodeType, compile_id: str) -> None:
        resume_of = self.resumed_function(original)
        self._programs.set(
            code, Program(self._codes.plain(code), original.co_qualname, compile_id, resume_of)
        )
        self.watched(code)
        if self._events is not None:
            self._events.watch(code)

    def _about_to_run(self, code: CodeType, *more: object) -> None:
        if self._events is not None:
            self._events.about_to_run(code)

    # --- what the engine knows

    @abstractmethod
    def transformed(self) -> Iterable[tuple[CodeType, CodeType, str]]:
        """Every transformed code that there is, the code it was made of, and its compile id."""

    @abstractmethod
    def resumed_function(self, original: CodeType) -> str:
        """For a resume function, the name of the function that it continues; else empty."""

    @abstractmethod
    def graphs(self, code: CodeType, frame: FrameType) -> Iterable[RunGraph]:
        """The graphs that a transformed code calls and that run as they are."""

    @abstractmethod
    def hear_of_runs(self, heard: Callable[..., None] | None) -> bool:
        """Call `heard(code, …)` whenever a transformed code is about to run; None: no more. Asked
        for on Python 3.11 only. False: that cannot be."""

    @abstractmethod
    def leave_alone(self, code: CodeType) -> None:
        """Compile neither a function of ours nor what it calls."""

    @abstractmethod
    def watched(self, code: CodeType) -> None:
        """A transformed code is followed from now on."""

    # --- what is asked

    def python_stack(self, frame: FrameType) -> tuple[PythonFrame, ...]:
        return self._program_stack(frame.f_back)

    def program(self, code: CodeType, frame: FrameType) -> Program | None:
        known = self._programs.get(code)
        if known is None:
            return None
        for graph in self.graphs(code, frame):
            self._know_graph(graph)
        if self._by_hand is not None and self._by_hand[0] == get_ident():
            return known._replace(by_hand=True)
        return known

    @property
    def exchanges(self) -> bool:
        by_hand = self._by_hand
        return by_hand is not None and by_hand[0] == get_ident() and by_hand[1] is not None

    def instead(self, callee: object) -> Callable[..., object] | None:
        resumed = None if self._by_hand is None else self._by_hand[1]
        if resumed is None or type(callee) is not FunctionType:
            return None
        if not self.resumed_function(callee.__code__):
            return None
        return functools.partial(self._resume, resumed, callee)

    def _resume(
        self, resumed: Resumed, function: FunctionType, /, *args: Any, **kwargs: Any
    ) -> object:
        served = None
        try:
            served = resumed.serve(function, args, kwargs)
            if served is not None:
                original = function.__code__
                self._watch_once(served.function.__code__, original, served.compile_id)
        except Exception as error:
            self.break_down(error)
        return (function if served is None else served.function)(*args, **kwargs)

    def graph(self, code: CodeType) -> Graph | None:
        return self._graphs.get(code)

    def _know_graph(self, graph: RunGraph) -> None:
        """Watch a graph that runs as it is: its module's own `forward`, as eager backends leave
        it."""
        name, module, code = graph
        if (
            self._events is None
            or self.graph(code) is not None
            or not code.co_filename.startswith("<eval_with_key>")
        ):
            return
        self._graphs.set(code, _graph(name, module, code, self._codes))
        self._events.watch(code, lines=True)


def _graph(name: str, module: GraphModule, code: CodeType, codes: CodeTable) -> Graph:
    """The nodes of a graph as instructions, and the lines of its function that are nodes."""
    nodes = {node.name: node for node in module.graph.nodes}
    lines = linecache.getlines(code.co_filename)
    instructions: list[Instruction] = []
    node_at: dict[int, int] = {}
    for number in range(code.co_firstlineno + 1, len(lines) + 1):
        line = lines[number - 1].rstrip()
        match = _NODE_LINE.match(line)
        node = nodes.get("output" if match and match["returns"] else match["name"] if match else "")
        if node is None:
            continue
        node_at[number] = len(instructions)
        text = _CLEARED.sub("", line.strip())
        instructions.append(
            Instruction(len(instructions), node.op, None, plain_text(text)[1:-1], line=number)
        )
    made = codes.graph(code, name, tuple(instructions))
    return Graph(made, node_at, frozenset({"self"}))


keep_out()
