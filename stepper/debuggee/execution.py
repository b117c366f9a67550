"""Executions: transformed code on real values, one instruction a moment.

The idea. The interpreter calls back before each instruction of the codes that are watched
(`instruction_events`). At the first one of a frame a walk begins (`stepper.debuggee.walks`), at its
end it ends; each instruction between is a moment. Stack and locals are read by `stepper._C`, which
is never wrong about where a stack ends, and described at once; nothing of the program's is held
from one event to the next. So a program's objects die when they would die without us.

The cost. To look at every value before every instruction would take some ten microseconds for each.
Most instructions only move values about (`effects`), so the values of the frame are followed
without being looked at, and all of them are looked at again where code of the user's may have run:
after a call, an attribute, an exception. Those whose descriptions still say what is so keep them
(csrc/describe/unchanged.c). Both are told in C; `step` has the rest. What can be changed from
outside the frame without any of that, a list in the hands of another thread, is shown as it was
when it was looked at last.

The graph. Where the engine knows the graph that transformed code calls, its nodes are followed
likewise: the graph's own Python function runs as it would, and the beginning of each of its lines
is a moment, in a frame whose instructions are the nodes. So nothing is computed twice.

What is around it. All happens in the recorder's lock. A thread that has the lock already is at a
stop, evaluating: what it executes then is nobody's business. Frames of one thread nest, so each
thread has a stack of executions; a frame that ends tells it, also when an exception ends it.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from collections.abc import Callable
from functools import partial
from types import CodeType, FrameType
from typing import Any, NamedTuple, Protocol

from stepper import _C
from stepper._C import NULL as NO_VALUE
from stepper._C import call_and_undo, frame_locals, value_stack
from stepper.debuggee.described import Described
from stepper.debuggee.effects import Plan, no_code_runs
from stepper.debuggee.engine import Recorder
from stepper.debuggee.mirror import Mark
from stepper.debuggee.walks import Walk, WalkFrame, no_names
from stepper.model.program import Code, PythonFrame
from stepper.model.trace import Block, Outcome, Phase
from stepper.model.value import Value
from stepper.support.per_object import PerCode
from stepper.uncompiled import keep_out

_NULL = Described("NULL", Value(cls="NULL", text="NULL"))
"""An empty slot of a value stack."""


class Program(NamedTuple):
    """Code that is stepped, as the engine knows it."""

    code: Code
    name: str
    compile_id: str = ""
    resume_of: str = ""
    by_hand: bool = False
    """Whether the user asked for this at a stop."""


class Graph(NamedTuple):
    """The Python function of a graph, as the engine knows it."""

    code: Code
    """Its instructions are nodes."""
    nodes: dict[int, int]
    """Which of them a line of the function is."""
    hidden: frozenset[str]
    """Locals that are not shown."""


class Knowledge(Protocol):
    """The engine's side."""

    frozen: frozenset[type]
    """Exact types whose values are described once."""

    @property
    def exchanges(self) -> bool:
        """Whether frames of this thread may be made to call something else: see `instead`."""

    def describe(self, value: object, /) -> Described: ...
    def inside(self, value: object, depth: int, /) -> Described:
        """Describe a value of which so many levels are shown."""

    def container(
        self, key: Any, kind: type, children: tuple[tuple[str, Described], ...], length: int, /
    ) -> Described:
        """The description of a list or a tuple."""

    leaves: tuple[type, ...]
    """Exact types whose values are described alike at each level."""

    @property
    def unchanged(self) -> Callable[[object, Described], bool]:
        """Whether a description still says what is so; False, too, where that is not known."""

    def program(self, code: CodeType, frame: FrameType) -> Program | None:
        """What a code is that begins to run; None: not to be followed."""

    def graph(self, code: CodeType) -> Graph | None:
        """The graph whose function a code is, if it is one."""

    def instead(self, callee: object) -> Callable[..., object] | None:
        """What a frame of this thread is to call instead of something; None: just that."""

    def python_stack(self, frame: FrameType) -> tuple[PythonFrame, ...]: ...
    def break_down(self, error: Exception) -> None: ...


class Execution(_C.RunState):
    """A frame of watched code that runs."""

    __slots__ = ("graph", "plan")

    def __init__(
        self, key: int, walk: Walk, frame: WalkFrame, plan: Plan | None, graph: Graph | None = None
    ) -> None:
        self.key = key
        """The address of the real frame; the frame itself is not held."""
        self.plan = plan
        self.graph = graph
        """Either it runs transformed code or a graph's function."""
        self.moves = None if plan is None else plan.moves
        self.nodes = None if graph is None else graph.nodes
        self.hidden = None if graph is None else graph.hidden
        self.walk = walk
        self.frame = frame
        self.at = -1
        """Index of its newest instruction."""
        self.exact = False
        """Whether `frame` holds what was there before that instruction."""


class Executions:
    """Follows the executions of all threads. The callbacks are for `instruction_events`."""

    def __init__(self, recorder: Recorder, knowledge: Knowledge) -> None:
        self._recorder = recorder
        self._walks = recorder.walks
        self._knowledge = knowledge
        self._plans: PerCode[Plan] = PerCode()
        self._eyes = _C.Eyes(
            knowledge.describe, knowledge.inside, knowledge.container, knowledge.unchanged,
            value_stack, frame_locals, knowledge.leaves, NO_VALUE, _NULL,
        )  # fmt: skip
        self.break_down = knowledge.break_down
        self.running: dict[int, list[Execution]] = {}
        """By thread, the innermost last."""
        self._walks.forget_the_lost = self._forget_the_lost_here

    # What the interpreter calls

    def unless_moved(
        self, callback: Callable[..., object], raising: dict[int, Any]
    ) -> Callable[..., Any]:
        """The callback for an instruction or a line, called only for moments that are not told in
        C. `raising` is empty unless exceptions are on their way."""
        recorder = self._recorder
        return _C.UnlessMoved(
            callback, self.running, raising, self._walks.lock, recorder, self._walks,
            recorder.controller, recorder.steps, no_code_runs, self._knowledge.frozen,
            self.break_down, self._eyes,
        )  # fmt: skip

    def step(self, real: FrameType, code: CodeType, offset: int) -> None:
        """An instruction of a watched frame is about to run."""
        if self._walks.busy:
            return
        stack = self.running.get(get_ident())
        execution = stack[-1] if stack else None
        if execution is None or execution.key != id(real):
            arrived = self._arrive(real, code, offset)
            if arrived is None:
                return
            execution = arrived
        plan = execution.plan
        at = None if plan is None else plan.index.get(offset)
        if plan is None or at is None:
            return
        execution.at = at
        if execution.walk.idle:
            execution.exact = False
        else:
            with self._walks.writing:
                self._look(execution, real, at, plan.blocks[at])
        if (taken := plan.calls.get(at)) and self._knowledge.exchanges:
            self._exchange(real, taken)

    def line(self, real: FrameType, code: CodeType, line: int) -> None:
        """A line of a graph's function is about to run."""
        if self._walks.busy:
            return
        stack = self.running.get(get_ident())
        if not stack:
            return
        execution = stack[-1]
        if execution.key != id(real):
            graph = self._knowledge.graph(code)
            if graph is None or execution.plan is None:
                return
            walk = execution.walk
            frame = walk.enter(graph.code, execution.frame)
            execution = Execution(id(real), walk, frame, None, graph)
            stack.append(execution)
        if execution.graph is None or execution.walk.idle:
            return
        at = execution.graph.nodes.get(line)
        if at is not None:
            self._look(execution, real, at)

    def returned(self, real: FrameType, value: object) -> None:
        """A watched frame returns."""
        if self._walks.busy:
            return
        execution = self._innermost(real)
        if execution is not None:
            described = "" if execution.walk.idle else self._knowledge.describe(value).value.brief
            self._end(execution, Outcome.RETURNED, described)
            self._leave()

    def raised(self, real: FrameType, kind: type[BaseException]) -> None:
        """An exception leaves a frame, which need not be watched."""
        if self._walks.busy:
            return
        execution = self._innermost(real)
        if execution is not None:
            self._end(execution, Outcome.RAISED, kind.__name__)
            self._leave()

    # How it goes

    def _exchange(self, real: FrameType, taken: int) -> None:
        """Have a call that takes so many values call something else, if the engine says so."""
        values = value_stack(real) or []
        base = max(0, len(values) - taken)
        for index, value in enumerate(values[base:], base):
            if (other := self._knowledge.instead(value)) is not None:
                _C.put_on_stack(real, index, other)
                return

    def _arrive(self, real: FrameType, code: CodeType, offset: int) -> Execution | None:
        """A frame's first instruction, or the first that we hear of."""
        plan = self._plan(code)
        at = plan.index.get(offset)
        if at is None or at < plan.first:
            return None  # a lookup that hit is told when the code begins
        stack = self.running.setdefault(get_ident(), [])
        self._forget_the_lost(stack, real)
        program = self._knowledge.program(code, real)
        if program is None:
            return None
        return call_and_undo(
            partial(self._end_unheard, stack, len(stack), self._recorder.mark()),
            self._begin, stack, real, program, plan,
        )  # fmt: skip

    def _begin(
        self, stack: list[Execution], real: FrameType, program: Program, plan: Plan
    ) -> Execution:
        walk = self._recorder.begin_walk(
            Phase.EXECUTE,
            program.code,
            name=program.name,
            compile_id=program.compile_id,
            resume_of=program.resume_of,
            by_hand=program.by_hand,
            python_stack=self._knowledge.python_stack(real) if not stack else (),
        )
        execution = Execution(id(real), walk, walk.enter(program.code), plan)
        execution.looks = program.by_hand  # or `_exchange` would not be asked
        stack.append(execution)
        return execution

    def _end_unheard(self, stack: list[Execution], before: int, mark: Mark) -> None:
        """End a walk that was begun and that an exception has kept from the stack."""
        if len(stack) == before:
            self._recorder.unwind(mark, "an exception left it")

    def _forget_the_lost_here(self) -> None:
        if stack := self.running.get(get_ident()):
            self._forget_the_lost(stack, sys._getframe(1))

    def _forget_the_lost(self, stack: list[Execution], real: FrameType) -> None:
        """What has ended without telling is missing from the Python stack."""
        around = set()
        outer: FrameType | None = real.f_back
        while outer is not None and stack:
            around.add(id(outer))
            outer = outer.f_back
        while stack and stack[-1].key not in around:
            self._end(stack[-1], Outcome.RAISED, "")
            stack.pop()

    def _plan(self, code: CodeType) -> Plan:
        known = self._plans.get(code)
        if known is None:
            known = self._plans.set(code, Plan(code, self._knowledge.describe))
        return known

    def _innermost(self, real: FrameType) -> Execution | None:
        """The execution of a frame that ends."""
        stack = self.running.get(get_ident())
        return stack[-1] if stack and stack[-1].key == id(real) else None

    def _leave(self) -> None:
        """The innermost one has ended, and that has been told."""
        ident = get_ident()
        if stack := self.running.get(ident):
            stack.pop()
            if not stack:
                del self.running[ident]

    def _end(self, execution: Execution, outcome: Outcome, reason: str) -> None:
        execution.walk.leave(execution.frame)
        if execution.graph is None:
            execution.walk.end(outcome, reason)

    def _look(
        self, execution: Execution, real: FrameType, at: int, blocks: tuple[Block, ...] = ()
    ) -> None:
        """Look at all values, and tell the moment; what can be evaluated if the program stands
        still is there meanwhile."""
        walk, hidden = execution.walk, execution.hidden
        stack, locals = self._eyes.look(walk.values, real, hidden)
        values = [] if hidden is not None else value_stack(real) or []
        real_locals = {name: value for name, value in frame_locals(real).items() if name in locals}

        def names(frame: int | None) -> dict[str, object]:
            if frame is not None and frame != execution.frame.id:
                raise LookupError("only the frame that runs can be looked into")
            return {
                **real_locals,
                "globals": real.f_globals,
                "stack": values,
                "locals": real_locals,
                "inst": execution.frame.code.instructions[at],
            }

        execution.frame.ip = at
        execution.exact = self._recorder.everything
        walk.names = names
        try:
            walk.moment(execution.frame, at, stack, locals, blocks)
        finally:
            walk.names = no_names


keep_out()
