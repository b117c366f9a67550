"""Tells the recorder what one translation does.

The translator calls this at each instruction, guard and node; there is nothing to hook. What is
called from here must not be captured: the translator runs without a frame callback, and so does
this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch.fx

from stepper.debuggee.evaluator import SECONDS, bounded, describe_exception
from stepper.debuggee.program_names import ProgramNames, program_frame
from stepper.engines.common.jumps import landing
from stepper.engines.native.dependence import Dependences
from stepper.engines.native.fork import (
    GuardName,
    Intervention,
    Past,
    fork_of,
    forked,
    give_value,
)
from stepper.engines.native.graph import NodeRows
from stepper.engines.native.net import AskedBreak, netted
from stepper.engines.native.shapes import NativeShapes, user_stack
from stepper.model import trace
from stepper.model.control import ForkTranslation
from stepper.model.failure import FailedStage, Failure
from stepper.model.program import PythonFrame
from stepper.model.trace import Outcome
from stepper.native.bytecode.opcodes import Instruction, handler_of
from stepper.native.exc import Reason
from stepper.native.variables.functions import CellVariable
from stepper.native.watching import TranslationWatcher

if TYPE_CHECKING:
    from stepper.debuggee.mirror import FrameMirror, LiveAttempt, LiveTranslation
    from stepper.engines.native.engine import NativeEngine
    from stepper.model.ranges import Ranges
    from stepper.native.guards.guard import Guard
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.runtime.cache_entry import GuardedCode
    from stepper.native.tracing.plan import Plan
    from stepper.native.tracing.symbolic_shapes import Cause
    from stepper.native.variables.base import Guards, VariableTracker

_TOLD = tuple(name for name in vars(TranslationWatcher) if not name.startswith("_"))


def _engine_of(observer: RecordingObserver) -> NativeEngine:
    return observer._engine


@netted(TranslationWatcher, _engine_of)
class RecordingObserver(TranslationWatcher):
    """Tells of one translation."""

    follows = True

    def __init__(self, engine: NativeEngine, translation: LiveTranslation) -> None:
        self._engine = engine
        self._recorder = engine.recorder
        self.translation = translation
        self._attempt: LiveAttempt
        self._frames: list[FrameMirror] = []
        self._guards: dict[Guard, int] = {}
        self._nodes = NodeRows(engine.recorder)
        self._dependences = Dependences(self._guards)
        self._guard_names: dict[int, GuardName] = {}
        self._past = Past()
        self._plan: Plan
        self.shapes = NativeShapes()
        self.txs: list[Any] = self.shapes.txs
        self._left: tuple[int, tuple[PythonFrame, ...]] = (-1, ())
        """After which step an inlined call was last given up, and the stack there."""
        self._restarted: list[tuple[str, int, tuple[PythonFrame, ...]]] = []
        """For which reasons the attempts so far were given up while they were interpreted; of each
        at which moment that was, and the stack there."""
        self._broken = False
        """Whether the graph of this attempt is broken: what comes then is of writing the code."""
        if engine.walks_are_recorded:  # other threads tell of theirs meanwhile
            for name in _TOLD:
                setattr(self, name, self._recorder.walks.taking_turns(getattr(self, name)))

    def attempt_begins(self, plan: Plan) -> None:
        self._past.begin(plan)
        self._plan, self._broken = plan, False
        # What is repeated has been seen.
        fork = fork_of(plan)
        self._recorder.controller.passing = fork is not None and not fork.arrived
        self._attempt = self._recorder.begin_attempt(self.translation)
        self._guards.clear()
        self._nodes.begin(self._attempt)
        self._dependences.restart()
        self.shapes.forget()

    def restarts(self, reason: str) -> None:
        self._record_all()
        if not self._broken:
            self._restarted.append((reason, self._recorder.moment, self._left[1]))
        self._recorder.restarts(self._attempt, str(reason))

    def enter(self, tx: Translator) -> None:
        parent = self._frames[-1] if self._frames else None
        frame = self._recorder.enter(self._attempt, tx, self._engine.codes.traced, parent)
        self._frames.append(frame)
        self.txs.append(tx)
        self._recorder.steps.top = frame
        if parent is None:
            self.shapes.follow(tx.output.shapes)
            self.shapes.begin(self._recorder, self._attempt, tx.output.shapes.shape_env)

    def leave(self, tx: Translator) -> None:
        steps = self._past.steps
        if not tx.current_instruction.opname.startswith("RETURN") and self._left[0] != steps:
            self._left = steps, user_stack(tx)
        frame = self._frames.pop()
        self.txs.pop()
        self._recorder.flush_pending()
        self._recorder.leave(frame)
        self._recorder.steps.top = self._frames[-1] if self._frames else None

    def step(self, tx: Translator) -> bool:
        recorder, past = self._recorder, self._past
        if self.shapes.waits or self.shapes.replaced:
            self._record_sizes()
        breaks = False
        while past.next_due == past.steps:
            due = self._intervene(tx)
            if due.jump is not None:
                return True
            breaks |= due.break_graph
        hook = recorder.step if recorder.everything else recorder.note_position
        hook(tx)
        past.step_begun(recorder.moment)
        if past.wanted is not None:
            self.checkpoint()
        if breaks:
            raise AskedBreak
        return False

    def _record_sizes(self) -> None:
        """Tell what became of sizes; where a symbol is something else, what has it is, too."""
        self.shapes.record()
        replaced, self.shapes.replaced = self.shapes.replaced, set()
        self._nodes.resized(replaced)
        if self._recorder.everything:
            for tracker in self._engine.take_with(replaced):
                self._recorder.about_to_mutate(tracker)

    def _record_all(self) -> None:
        self._recorder.flush_pending()
        self._record_sizes()

    def size_known(self, name: str, value: int, cause: Cause) -> None:
        self.shapes.known(name, value, cause)

    def _intervene(self, tx: Translator) -> Intervention:
        """Do what is to be done at a fork before the instruction, but for breaking the graph."""
        due, last = self._past.take()
        text = str(due)
        for slot, expression in due.values:
            try:
                names = ProgramNames({}, program_frame(self._engine.is_program))
                bounded(partial(give_value, tx, slot, expression, names), SECONDS)
            except Exception as error:
                text = f"{slot} stays as it is: {describe_exception(error)}"
        for guard in tx.output.guards.values():
            if not self._plan.keeps(guard):
                self.guard_withdrawn(guard)
        if due.jump is not None:
            tx.instruction_pointer, tx.kw_names = due.jump.to, ()
            del tx.stack[due.jump.depth :]
        judge = self._recorder.controller
        if last and judge.passing:
            judge.passing = False
            if due.jump is None:
                judge.request_stop("fork", text)
            else:
                judge.request_stop("jump", due.jump.told)
        return due

    def checkpoint(self) -> None:
        fork, self._past.wanted = self._past.wanted, None
        if fork is not None:
            raise forked(fork, self._plan)

    def jump(self, line: int) -> str:
        """See `Engine.jump`. It is a fork at the newest moment whose entry is kept."""
        tx, frame = self.txs[-1], self._frames[-1]
        found = [handler_of(tx.f_code, index) for index in range(len(tx.instructions))]
        covering = [
            None if each is None else (each.target, each.depth, each.lasti) for each in found
        ]
        place = landing(frame.code, frame.ip, line, covering, len(tx.stack), tx.symbolic_locals)
        moment = self._recorder.moment
        wish = Intervention(0, jump=place)
        self._past.wanted = self._past.fork(moment, moment, wish, keep=True)
        return place.told

    def fork(self, request: ForkTranslation) -> str:
        """See `Engine.fork`."""
        unknown = [number for number in request.drop if number not in self._guard_names]
        if unknown:
            raise LookupError(f"guard {unknown[0]} is none of this translation; guards lists them")
        for slot, expression in request.values:
            try:
                compile(expression, slot, "eval")
            except (SyntaxError, ValueError) as error:
                raise LookupError(f"{slot} = {expression}: {error}") from None
        wish = Intervention(
            0,
            request.values,
            frozenset(self._guard_names[number] for number in request.drop),
            request.break_graph,
        )
        moment = self._recorder.moment
        fork = self._past.fork(request.moment, moment, wish, keep=request.keep)
        self._past.wanted = fork
        if fork.sound:
            return f"fork at moment {request.moment}: {wish}; its entry is kept"
        if fork.kept:
            return (
                f"fork at moment {request.moment}: {wish}; its entry is kept, and it is unsound: "
                "calls that it serves need not compute what the program does"
            )
        return (
            f"fork at moment {request.moment}: {wish}; it is tried and set aside: the program goes "
            "on with what it gets without it"
        )

    def guard_installed(self, guard: Guard) -> None:
        source = guard.name if guard.origin is not None else ""
        self._guards[guard] = self._recorder.guard_now(
            self._attempt, guard, guard.kind, source, guard.source.value
        )
        self._guard_names[self._guards[guard]] = guard.kind, guard.name
        if not self._plan.keeps(guard) and self._past.next_due < 0:
            self.guard_withdrawn(guard)

    def guard_withdrawn(self, guard: Guard) -> None:
        number = self._guards.pop(guard, None)
        if number is not None:
            self._recorder.guard_withdrawn(self._attempt, number)

    def node_made(self, node: torch.fx.Node, guards: Guards) -> None:
        self.shapes.node_made(node)
        argument = self.txs[0].output.graphargs.get(node) if self.txs else None
        source = "" if argument is None else argument.source.name()
        self._nodes.made(node, source, self._dependences.ranges(guards))

    def node_erased(self, node: torch.fx.Node) -> None:
        self._nodes.erased(node)

    def ranges(self, guards: Guards) -> Ranges:
        """The numbers of guards that a value carries."""
        return self._dependences.ranges(guards)

    def acts(self, guards: Guards) -> Callable[[], object]:
        return self._dependences.acts(guards)

    def chosen(self, guards: Guards) -> Callable[[], object] | None:
        return self._dependences.chosen(guards, self._recorder.moment)

    def needs(self, codegen: Codegen, roots: Iterable[VariableTracker]) -> None:
        self._dependences.needs(codegen, roots)

    def changed(self, owner: Any, what: str, value: object) -> None:
        for shown in self._engine.shown(owner):
            self._recorder.about_to_mutate(shown)
        if what == "next":
            return
        holder = getattr(owner, "holder", None) or owner  # of what an object holds: the object
        source = holder.source
        name = source.name() if source is not None else type(owner).__name__
        if value is None:
            kind, changed = "mutation", (name, f".{what}(…)")
        elif isinstance(holder, CellVariable):
            kind, changed = "cell", (holder.local_name if source is None else name, " = …")
        else:
            kind, changed = "attribute", (f"{name}.{what}", " = …")
        self._recorder.side_effect(self._attempt, kind, owner, *changed, value)

    def graph_break(self, tx: Translator, inst: Instruction, reason: str, *, resumes: bool) -> None:
        self._record_all()
        self._broken = True
        known = reason if isinstance(reason, Reason) else Reason(reason)
        steps, stack = self._left
        if steps != self._past.steps:  # nothing was inlined there
            stack = user_stack(tx)
        moment = 0
        for earlier, at, there in self._restarted:
            if earlier is reason:  # it came about in that attempt; this one stops short of it
                moment, stack = at, there
        self._recorder.graph_break(
            self._attempt,
            trace.GraphBreak(
                id=0,
                attempt=0,
                moment=moment,
                reason=str(reason),
                gb_type=known.kind,
                explanation=known.explanation,
                context=known.context,
                hints=(known.hint,) if known.hint else (),
                user_stack=stack,
                resumes=resumes,
            ),
        )
        self.checkpoint()

    def backend_called(self) -> None:
        self._recorder.commit()  # The process can be killed in it.

    def compiled(self, tx: Translator, entry: GuardedCode) -> None:
        self._record_all()
        self._end(Outcome.COMPILED, "", self._engine.codes.plain(entry.code))

    def skipped(self, reason: str) -> None:
        self._record_all()
        self._end(Outcome.SKIPPED, str(reason), None)

    def failed(self, exception: str, reason: str, *, traced: bool) -> None:
        self._record_all()
        stage = FailedStage.TRACING if traced else FailedStage.OTHER
        failure = Failure(0, self._recorder.moment, stage, str(exception), str(reason))
        self._recorder.failed(failure, self.translation)
        self._end(Outcome.FAILED, str(reason), None)

    def _end(self, outcome: Outcome, reason: str, code: Any) -> None:
        self._recorder.controller.passing = False
        self._engine.translation_ends(self)
        self._engine.late_shapes.take(self.shapes)
        self._recorder.end_translation(
            self.translation,
            outcome,
            reason=reason,
            transformed=code,
            dependence=self._dependences.found() if code is not None else None,
        )
