"""What Dynamo's engine knows of executions: which codes are transformed, and the graphs they call.

A transformed code is known from its compilation on (`compiled`), or, when it was compiled before
the session began, from Dynamo's own map of its codes. It is watched from then on if executions are
to be recorded; if nobody asks for them, nothing is watched and nothing costs anything.

Dynamo would take the callbacks, which run in the midst of the program, for part of it, and compile
them: they are marked so that it leaves them, and all that they call, alone.
"""

from __future__ import annotations

import functools
import linecache
import re
import sys
import weakref
from _thread import get_ident
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any, TypeVar

from torch.fx import GraphModule

from stepper.debuggee.execution import Executions, Graph, Program
from stepper.debuggee.instruction_events import Events, make_events
from stepper.debuggee.recorder import Recorder
from stepper.debuggee.walks import Described
from stepper.engines.common.words import plain_text
from stepper.engines.dynamo import bytecode, values, versions
from stepper.engines.dynamo.cache import BOOK
from stepper.engines.dynamo.graphs import compiled_names
from stepper.engines.dynamo.hits import leave_alone
from stepper.engines.dynamo.resumed import ResumedCalls
from stepper.model.program import Code, Instruction, PythonFrame
from stepper.model.trace import BY_HAND, EventKind, Phase

_NODE_LINE = re.compile(r"\s+(?:(?P<name>\w+)\s*(?::[^=]*)?=|(?P<returns>return\b))")
_CLEARED = re.compile(r";\s+\w+(?: = \w+)* = None.*$")

T = TypeVar("T")


class ExecutionWatcher:
    """Has executions followed when somebody wants them; see `Knowledge` in `Executions`."""

    frozen = values.FROZEN

    def __init__(
        self,
        codes: bytecode.CodeBook,
        program_stack: Callable[[FrameType | None], tuple[PythonFrame, ...]],
        break_down: Callable[[Exception], None],
    ) -> None:
        self._codes = codes
        self._program_stack = program_stack
        self.break_down = break_down
        self._recorder: Recorder
        self._events: Events | None = None
        self._programs: dict[int, tuple[weakref.ref[CodeType], Program]] = {}
        self._graphs: dict[int, tuple[weakref.ref[CodeType], Graph]] = {}
        self._hears_runs = False
        self._by_hand: tuple[int, ResumedCalls] | None = None
        """The thread that runs an entry's code by hand, and who answers for what that calls."""

    def install(self, recorder: Recorder) -> None:
        """Begin, with what was compiled before if executions are recorded."""
        self._recorder = recorder
        self.begin_if_wanted()

    def begin_if_wanted(self) -> None:
        """Begin, if that has come to be wanted; with all that was compiled before."""
        if self.wanted:
            self._begin()

    def uninstall(self) -> None:
        """Follow nothing any more."""
        self._stop_following()
        if self._hears_runs:
            versions.hear_of_runs(None)
            self._hears_runs = False

    def _stop_following(self) -> None:
        if self._events is not None:
            self._events.stop()
            self._events = None
        self._programs.clear()
        self._graphs.clear()

    def compiled(self, code: CodeType, compile_id: str) -> None:
        """Dynamo has made a transformed code."""
        if self.wanted and self._begin():
            original = versions.original_of(code)
            self._watch(code, code if original is None else original, compile_id)

    def registered(self, code: CodeType, original: CodeType, compile_id: str) -> None:
        """A copy of an entry has been put into the cache."""
        if self.wanted and self._begin():
            self._watch(code, original, compile_id)

    def pause(self) -> None:
        """Dynamo begins to compile in this thread."""
        if self._events is not None:
            self._events.pause()

    def go_on(self) -> None:
        """It has compiled."""
        if self._events is not None:
            self._events.go_on()

    @property
    def wanted(self) -> bool:
        """Whether executions are to be recorded."""
        recorder = self._recorder
        return Phase.EXECUTE in recorder.walks.asked or EventKind.EXECUTE in recorder.judge.wanted

    def by_hand(
        self,
        code: CodeType,
        original: CodeType,
        compile_id: str,
        run: Callable[[], T],
        resumed: ResumedCalls,
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
        known = self._programs.get(id(code))
        if known is None or known[0]() is not code:
            self._watch(code, original, compile_id)

    def _make_events(self) -> Events:
        return make_events(Executions(self._recorder, self), leave_alone, self._notice)

    def _begin(self) -> bool:
        if self._events is not None:
            return True
        if sys.version_info < (3, 12):
            leave_alone(self._about_to_run.__code__)
            if not versions.hear_of_runs(self._about_to_run):
                self._notice("executions cannot be followed with this torch on Python 3.11")
                return False
            self._hears_runs = True
        self._events = self._make_events()
        for code, original, compile_id in (*versions.transformed_codes(), *BOOK.registered()):
            self._watch(code, original, compile_id)
        return True

    def _notice(self, text: str) -> None:
        self._recorder.judge.notice(text)
        self._recorder.occurred(EventKind.NOTE, text, None)

    def _watch(self, code: CodeType, original: CodeType, compile_id: str) -> None:
        address = id(code)
        self._programs[address] = (
            weakref.ref(code, lambda _: self._programs.pop(address, None)),
            Program(
                self._codes.plain(code),
                original.co_qualname,
                compile_id,
                bytecode.resumed_function(original),
            ),
        )
        if self._events is not None:
            self._events.watch(code)

    def _about_to_run(self, code: CodeType) -> None:
        if self._events is not None:
            self._events.about_to_run(code)

    # --- what is asked

    def describe(self, value: object) -> Described:
        """See `Knowledge.describe`."""
        return values.describe(value)

    def python_stack(self, frame: FrameType) -> tuple[PythonFrame, ...]:
        """See `Knowledge.python_stack`."""
        return self._program_stack(frame.f_back)

    def program(self, code: CodeType, frame: FrameType) -> Program | None:
        """See `Knowledge.program`."""
        known = self._programs.get(id(code))
        if known is None or known[0]() is not code:
            return None
        for name in compiled_names(code):
            self._know_graph(name, dict.get(frame.f_globals, name))
        if self.exchanges:
            return known[1]._replace(name=f"{known[1].name}{BY_HAND}")
        return known[1]

    @property
    def exchanges(self) -> bool:
        """See `Knowledge.exchanges`."""
        return self._by_hand is not None and self._by_hand[0] == get_ident()

    def instead(self, callee: object) -> Callable[..., object] | None:
        """See `Knowledge.instead`."""
        if self._by_hand is None or type(callee) is not FunctionType:
            return None
        if not bytecode.resumed_function(callee.__code__):
            return None
        return functools.partial(self._resume, self._by_hand[1], callee)

    def _resume(
        self, resumed: ResumedCalls, function: FunctionType, /, *args: Any, **kwargs: Any
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
        """See `Knowledge.graph`."""
        known = self._graphs.get(id(code))
        return known[1] if known is not None and known[0]() is code else None

    def _know_graph(self, name: str, compiled: object) -> None:
        """Watch a graph that runs as it is: its module's own `forward`, as eager backends leave
        it."""
        if type(compiled) is not FunctionType or self._events is None:
            return
        forward = compiled.__dict__.get("_torchdynamo_orig_callable")
        if type(forward) is not MethodType or not isinstance(forward.__self__, GraphModule):
            return
        code = forward.__func__.__code__
        if self.graph(code) is not None or not code.co_filename.startswith("<eval_with_key>"):
            return
        address = id(code)
        self._graphs[address] = (
            weakref.ref(code, lambda _: self._graphs.pop(address, None)),
            _graph(name, forward.__self__, code, self._codes),
        )
        self._events.watch(code, lines=True)


def _graph(name: str, module: GraphModule, code: CodeType, codes: bytecode.CodeBook) -> Graph:
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


def marked(code: CodeType, instructions: tuple[Instruction, ...]) -> dict[int, str]:
    """For the calls in transformed code whom they call, if that is a graph or a resume function."""
    raise NotImplementedError


__all__ = ["Any", "Code", "ExecutionWatcher"]
