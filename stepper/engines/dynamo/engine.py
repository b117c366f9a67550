"""Follows Dynamo through translations, attempts and frames, and reports what it sees.

What is on the stack of things, outermost first: a *translation* (one call of `_compile`), its
current *attempt* (one root InstructionTranslator), and the *frames* (the root and each inlined
call). A backend can call a compiled function, so translations nest. All of it happens under
Dynamo's compile lock, in one thread at a time.

Every hook here runs inside the compiler. It must not raise (`Hook` sees to that; a defect of
ours ends the watching, not the program), except KeyboardInterrupt, by which the user ends the
program at a stop. A program at its recursion limit, or out of memory, makes hooks fail that have no
defect: what such a hook had to tell is lost, and the watching goes on.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import CodeType, FrameType
from typing import Any

from torch._dynamo.exc import TorchDynamoException, Unsupported

from stepper._C import Hook, Steps, call_and_undo
from stepper._C import fields as fields_of
from stepper.debuggee.engine import Engine, Recorder
from stepper.debuggee.mirror import (
    FrameMirror,
    LiveAttempt,
    LiveTranslation,
    Mark,
    names_at,
    newest_moment_of,
)
from stepper.engines.common.cache_face import CacheFace
from stepper.engines.common.choices import Choices
from stepper.engines.common.probe_points import resolve
from stepper.engines.common.probes import Probe
from stepper.engines.common.python_stack import program_stack
from stepper.engines.common.shape_env import source_name
from stepper.engines.common.shapes import ShapeWatcher, hearer
from stepper.engines.common.torch_state import torch_state
from stepper.engines.dynamo import bytecode, failures, versions
from stepper.engines.dynamo.cache_watch import CacheWatcher
from stepper.engines.dynamo.changes import PendingChanges
from stepper.engines.dynamo.choices import Choice
from stepper.engines.dynamo.describe import DynamoDescriber, node_of
from stepper.engines.dynamo.entries import ENTRIES
from stepper.engines.dynamo.execution import ExecutionWatcher
from stepper.engines.dynamo.graph_breaks import BreakTracker
from stepper.engines.dynamo.guards_set import (
    code_of,
    look_at_guards,
    record_guards,
    withdraw_filtered,
)
from stepper.engines.dynamo.lookups import LookupWatcher
from stepper.engines.dynamo.nodes import GraphWatcher
from stepper.engines.dynamo.resumed import ResumedCalls
from stepper.engines.dynamo.shapes import DynamoShapes
from stepper.engines.dynamo.underway import Compiling, enclosing_calls, underway
from stepper.model.cache import CacheError
from stepper.model.change import Change
from stepper.model.control import ForkTranslation
from stepper.model.program import Code
from stepper.model.shapes import SHAPE_EVENTS
from stepper.model.trace import EventKind, MomentId, Outcome
from stepper.support.words import callable_name, plain_text
from stepper.uncompiled import keep_out

_program_stack = program_stack(bytecode.is_torch_internal)


class _Context:
    """A translation in progress and where the interpreter is in it."""

    __slots__ = ("attempt", "captures", "frame", "graph", "output", "shapes", "translation")

    def __init__(self, translation: LiveTranslation, *, captures: bool) -> None:
        self.translation = translation
        self.attempt: LiveAttempt | None = None
        self.captures = captures
        """Whether a graph is all that is made, and no cache entry."""
        self.frame: FrameMirror | None = None
        """The innermost, while another translation is at work within this one."""
        self.graph = GraphWatcher()
        self.shapes = DynamoShapes()
        self.output: Any = None
        """The attempt's OutputGraph, from its first frame on."""


class DynamoEngine(Engine):
    """The engine behind `--engine dynamo`; see `stepper.debuggee.engine.Engine`."""

    def __init__(self) -> None:
        self._probes: list[Probe] = []
        self._placed: set[str] = set()
        """What the probes that are there mean."""
        self._steps: Steps[FrameMirror]
        self._describer: DynamoDescriber
        self._hears = False
        """Whether anybody wants to hear of guards and nodes."""
        self._contexts: list[_Context] = []
        self._now: _Context | None = None
        self._failed: LiveTranslation | None = None
        self._refusal = ""
        """Why Dynamo does not begin with the frame that it is about to skip."""
        self._breaks = BreakTracker()
        self._codes = bytecode.CodeTable()
        self._changes = PendingChanges()
        choices: Choices[Choice] = Choices()
        self._lookups = LookupWatcher(self._codes, _program_stack, self._changes, choices)
        self._executions = ExecutionWatcher(_program_stack, self.break_down)
        self._entries = CacheWatcher(
            lambda: bool(self._contexts), self._lookups.count_of, self._on_registered
        )
        self.cache = CacheFace(
            ENTRIES,
            choices,
            self._entries.call_of,
            bytecode.is_program,
            lambda backend: ResumedCalls(backend, self._lookups.by_hand, self._executions.by_hand),
        )

    # --- the face

    def change(self, changes: tuple[Change, ...]) -> None:
        """See `Engine.change`."""
        self._changes.make(changes)

    def install(self, recorder: Recorder) -> None:
        """See `Engine.install`."""
        points = versions.probe_points()
        for point in (*points.values(), *versions.change_points()):
            resolve(point)  # what this torch lacks is said before anything begins
        super().install(recorder)
        self._steps = recorder.steps
        recorder.before_commit(self._record_guards)
        self._steps.hear_frames(
            versions.INTERPRETERS, self._codes.traced, recorder.entered, recorder.leave,
            self._on_frame_entered, self._on_frame_left,
        )  # fmt: skip
        self._codes.begin(recorder.store_code)
        self._executions.install(recorder, self._codes)
        try:
            at_wish = versions.OF_GRAPHS | versions.OF_SHAPES | versions.OF_DETAIL
            self._place(points.keys() - at_wish)
            self._listen()
            self._lookups.install(recorder, self.safely)
            self._entries.install(recorder, self.safely)
            with contextlib.suppress(CacheError):  # somebody compiles: what is old stays unheard
                self._lookups.listen_to_old()
            self._join_underway(sys._getframe(1))
        except Exception:
            self.uninstall()
            raise

    def _place(self, meanings: Iterable[str]) -> None:
        """Put the probes there that are not yet."""
        points = versions.probe_points()
        for meaning in points:  # in their order
            if meaning in meanings and meaning not in self._placed:
                self._placed.add(meaning)
                if meaning == "step":
                    hook = self._step_hook()
                elif meaning in versions.MARKED:
                    hook = self.safely(getattr(self._steps, meaning))
                elif meaning in versions.OF_SHAPES:
                    hook = self.safely(hearer(meaning, self._watching, self._shapes_wait))
                else:
                    hook = self.safely(getattr(self, f"_on_{meaning}"))
                point = points[meaning]
                self._probes.append(Probe(resolve(point), point.parameters, hook))

    def _place_changes(self) -> None:
        if "change" not in self._placed:
            self._placed.add("change")
            hook = self.safely(self._on_change)
            for point in versions.change_points():
                self._probes.append(Probe(resolve(point), point.parameters, hook))

    def make_describer(self) -> DynamoDescriber:
        """What knows the trackers."""
        self._describer = DynamoDescriber()
        self._describer.pending = self._pending_attributes
        return self._describer

    def late_mutation_types(self) -> frozenset[type]:
        """See `Engine.late_mutation_types`."""
        return versions.late_mutation_types()

    def guard_code(self, guard: Any) -> Sequence[str]:
        """See `Engine.guard_code`."""
        return code_of(guard)

    def came_out(self, error: BaseException) -> bool:
        """See `Engine.came_out`."""
        return failures.came_out(error)

    def uninstall(self) -> None:
        """See `Engine.uninstall`."""
        if not self._probes:
            return
        with contextlib.suppress(Exception):  # that may be what broke down
            self._record_guards()
        self._entries.uninstall()
        self._lookups.uninstall()
        self._executions.uninstall()
        for probe in self._probes:
            probe.remove()
        self._placed.clear()
        self._contexts.clear()
        self._failed = None
        self._switch()
        self._probes.clear()

    def breakpoints_changed(self) -> None:
        """See `Engine.breakpoints_changed`."""
        self._listen()
        self._executions.begin_if_wanted()

    def fork(self, request: ForkTranslation) -> str:
        """See `Engine.fork`."""
        raise LookupError("Dynamo's trackers change in place: only --engine native can go back")

    def namespace(self, frame: int | None) -> dict[str, object]:
        """See `Engine.namespace`."""
        if self.recorder.stepping is not None:
            return self.recorder.stepping.namespace(frame)
        # At a graph break the frames have been left and the instruction has taken its operands: the
        # recorder has kept both as they were.
        return names_at(self.recorder.current, frame, lambda output: list(output.guards))

    def is_program(self, filename: str) -> bool:
        """See `Engine.is_program`."""
        return bytecode.is_program(filename)

    def report_graph(self) -> None:
        """Report the guards and nodes that came, went or changed since the last step."""
        if self._now is not None:
            self._now.shapes.record()
            if self._now.shapes.replaced:
                self._look_at_sizes(self._now)  # a commit in it may find guards lost
            self._sync(self._now)
        self._steps.graph_changed = False
        if self._describer.realized:
            self._describer.begin_instruction()

    def catch_up(self) -> None:
        """The recorder wants everything from now on, and what came before."""
        point = versions.probe_points()["step"]
        function = resolve(point)
        for index, probe in enumerate(self._probes):
            if probe.watches(function):
                probe.remove()
                self._probes[index] = Probe(function, point.parameters, self._step_hook())
        self._listen()
        self._report_all()

    def _step_hook(self) -> Callable[..., None]:
        recorder = self.recorder
        hook = recorder.step if recorder.everything else recorder.note_position
        lock = recorder.walks.lock if self._executions.wanted else None  # it is on the hot path
        return Hook(hook, lock, self)

    def _sync(self, now: _Context) -> None:
        if not self._hears or now.attempt is None:
            return
        if EventKind.GUARD in self.recorder.controller.wanted:
            self._record_guards()
        if self._steps.guards_lost and now.output is not None:
            look_at_guards(self.recorder, now.attempt, now.output)
        if now.graph.changed:
            now.graph.sync()

    def _sync_all(self, now: _Context) -> None:
        """Report what otherwise waits for a commit, too: what it is told of is about to go."""
        self._record_guards()
        self._sync(now)
        now.shapes.record()

    def _record_guards(self) -> None:
        record_guards(self.recorder)

    def _watch_graph(self, *, fresh: bool = False) -> None:
        """Have the nodes and guards of the attempt that is being made now marked, if anybody wants
        them; `fresh`: there are no guards yet."""
        self._steps.graph = None if self._now is None or not self._hears else self._now.graph
        now, wanted = self._now, self.recorder.controller.wanted
        attempt = None if now is None else now.attempt
        wants = self.recorder.wants(EventKind.GUARD)
        self._steps.watch_guards(attempt if wants else None, EventKind.GUARD in wanted, fresh)

    def _listen(self) -> None:
        """Hear of guards, nodes and changes from now on, as far as anybody wants to."""
        wants = self.recorder.wants
        hears, self._hears = self._hears, wants(EventKind.GUARD) or wants(EventKind.NODE)
        if self._hears:
            self._place(versions.OF_GRAPHS)
        if any(map(wants, SHAPE_EVENTS)):
            self._place(versions.OF_SHAPES)
        if self.recorder.everything:
            self._place(versions.OF_DETAIL)
            self._place_changes()
        if self._hears and not hears:
            for context in self._contexts:
                context.graph.catch_up()
        self._steps.records_frames = wants(EventKind.INLINE)
        stops = EventKind.INLINE in self.recorder.controller.wanted
        self._steps.writes_frames = self.recorder.everything and not stops
        self._record_guards()
        self._watch_graph()

    def _report_all(self) -> None:
        """Report the guards and nodes that are there."""
        if self._now is not None:
            self._now.graph.changed = True
            self.report_graph()

    def _join_underway(self, frame: FrameType) -> None:
        """Take up what runs already; each symbolic frame gets one moment, at its instruction."""
        run_code = resolve(versions.RUN).__code__
        for item in underway(frame, run_code):
            if isinstance(item, Compiling):
                self._begin(item.frame, item.code, item.cache_size, item.compile_id)
            elif self._now is not None:
                tx = item.tx
                if self._now.attempt is None:
                    self._on_attempt_begins(tx.f_code)
                    self._watch_graph()  # it has guards already
                self._on_frame_entered(tx.output, tx)
                if self.recorder.everything:
                    self._steps.step(tx, 1)
        self._report_all()

    def _switch(self) -> None:
        """The innermost translation has changed: say so to those on the hot path."""
        now = self._now = self._contexts[-1] if self._contexts else None
        self._steps.top = None if now is None else now.frame
        self._follow()
        self._steps.graph_changed = now is not None and now.graph.changed
        self._watch_graph()

    def _follow(self) -> None:
        """From its first frame on, the frames of the attempt that is being made now."""
        now = self._now
        follows = now is not None and now.output is not None
        self._steps.follow(*((now.attempt, now.output) if now and follows else (None, None)))

    # --- hooks: translations and attempts

    def _on_translation_begins(self, code: CodeType, cache_size: Any, compile_id: Any) -> None:
        # This hook, then `_compile`.
        self._executions.pause()
        self._record_guards()
        self._begin(sys._getframe(1), code, cache_size, compile_id)

    def _on_capture_begins(self, frame: Any) -> None:
        # This hook, then `_fullgraph_capture_frame`: it serves `torch.export` and compilation ahead
        # of time, which look into no cache and make no entry.
        self._executions.pause()
        self._record_guards()
        self._begin(sys._getframe(1), frame.code, None, versions.captured_now())

    def _begin(self, caller: FrameType, code: CodeType, cache_size: Any, compile_id: Any) -> None:
        self._entries.emit()
        self._end_left(enclosing_calls(caller), "an exception left it")
        self._failed = None
        unheard = partial(self._end_unheard, len(self._contexts), self.recorder.mark())
        call_and_undo(unheard, self._enter, caller, code, cache_size, compile_id)

    def _end_unheard(self, before: int, mark: Mark) -> None:
        """End a translation that was begun and that an exception has kept from the contexts."""
        if len(self._contexts) == before:
            self.recorder.unwind(mark, "an exception left it")

    def _enter(self, caller: FrameType, code: CodeType, cache_size: Any, compile_id: Any) -> None:
        translation = self.recorder.begin_translation(
            compile_id=str(compile_id),
            code=self._codes.plain(code),
            cache_size=getattr(cache_size, "num_cache_entries", 0),
            python_stack=_program_stack(caller),
            resume_of=bytecode.resumed_function(code),
            state=torch_state(),
            nested=bool(self._contexts),
        )
        if self._now is not None:
            self._now.frame = self._steps.top
        self._contexts.append(_Context(translation, captures=cache_size is None))
        self._switch()

    def _end_left(self, running: int, reason: str) -> None:
        """Of the translations only the outermost `running` still are."""
        while len(self._contexts) > running:
            left = self._contexts[-1]
            self._end(left, Outcome.FAILED, reason=left.translation.record.reason or reason)

    def _on_registered(self, code: CodeType, original: CodeType, compile_id: str) -> None:
        self._lookups.registered(code, original)
        self._executions.entry_made(code, original, compile_id)

    def _on_left(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None
    ) -> None:
        # Dynamo itself deals with most exceptions; some pass it by: those that end a program, what
        # it raises before it begins to trace, and what the compilation of a backward raises.
        if exc_type is None or exc_value is None:
            return
        # This hook, the context manager's `__exit__`, then who leaves it.
        caller = sys._getframe(2)
        if versions.is_backward_compile(caller.f_code):
            if issubclass(exc_type, Exception):
                stack = _program_stack(caller)
                self.recorder.failed(failures.of_backward(exc_value, self.recorder.moment, stack))
        elif self._contexts and versions.is_compile(caller.f_code):
            running = enclosing_calls(caller)
            if not issubclass(exc_type, Exception):
                self._end_left(running, f"{exc_type.__name__} left it")
            elif self._now is not None and len(self._contexts) > running:
                self._failed_before(self._now, exc_value)

    def _failed_before(self, now: _Context, error: BaseException) -> None:
        """An exception leaves a translation before it has begun to trace."""
        # At the recompile limit the frame is given up with this one; what is told to `skipped`.
        if now.attempt is None and not issubclass(type(error), Unsupported):
            self._failed = now.translation
            self._fail(now, error)

    def _on_attempt_begins(self, f_code: CodeType) -> None:
        now = self._now
        if now is None:
            return  # torch.export and other callers of the tracer that compile no frame
        self._record_guards()
        now.frame = now.output = None
        now.graph.reset()
        now.shapes.forget()
        self._switch()
        now.attempt = self.recorder.begin_attempt(now.translation)
        self._watch_graph(fresh=True)

    def _on_metrics_known(self, values: dict[str, Any]) -> None:
        reason = values.get("recompile_reason")
        if (
            type(reason) is str
            and self._now is not None
            and not self._now.translation.record.recompile_reason
        ):
            self.recorder.recompiled(self._now.translation, reason)

    def _on_restart_raised(self, error: Any, restart_reason: str | None) -> None:
        now = self._now
        if now is not None and now.attempt is not None:
            self.recorder.flush_pending()
            self._sync_all(now)
            self.recorder.restarts(now.attempt, restart_reason or type(error).__name__)

    def _on_compiled(self, code: CodeType, guard_manager: Any, compile_id: Any) -> None:
        now = self._now
        self._executions.compiled(code, str(compile_id))
        if now is not None and now.translation.compile_id == str(compile_id):
            self._end(now, Outcome.COMPILED, transformed=self._codes.plain(code))
            self._entries.entry_made(code, guard_manager, str(compile_id), now.translation.id)

    def _on_captured(self, graph_capture_output: Any) -> None:
        now = self._now
        if now is not None and now.captures:
            code = self._codes.plain(graph_capture_output.bytecode)
            self._end(now, Outcome.COMPILED, transformed=code)

    def _on_failed(self, error: BaseException, code: CodeType) -> None:
        now = self._now
        if now is not None and now.translation.code.id == self._codes.known(code):
            self._failed = now.translation
            self._fail(now, error)

    def _on_capture_failed(self, error: BaseException) -> None:
        if self._now is not None and self._now.captures:
            self._fail(self._now, error)

    def _fail(self, now: _Context, error: BaseException) -> None:
        text = failures.message(error)
        moment, traced = self.recorder.moment, now.attempt is not None
        if now.attempt is not None:
            moment = failures.moment_of(error, self.recorder.current, moment) or moment
            broken = failures.break_behind(error)
            if self._breaks.pending(broken):
                found = self._breaks.confirm(broken, failures.message(broken), resumes=False)
                self.recorder.graph_break(now.attempt, found)
        failure = failures.failure_of(error, moment, traced=traced)
        self.recorder.failed(failure, now.translation)
        said = f"{type(error).__name__}: {text}"
        reason = text if isinstance(error, TorchDynamoException) else said
        reason = now.translation.record.reason or reason  # it has one at the recompile limit
        self._end(now, Outcome.FAILED, reason=reason)

    def _on_skipped(self, result: Any, frame: Any) -> None:
        refusal, self._refusal = self._refusal, ""
        if result.skip_reason is None or result.guarded_code is not None:
            return
        code: CodeType = frame.f_code
        failed, self._failed = self._failed, None
        if failed is not None and failed.code.id == self._codes.known(code):
            self.recorder.end_translation(
                failed, Outcome.SKIPPED, reason=failed.record.reason or result.skip_reason
            )
        elif self._now is not None and self._now.translation.code.id == self._codes.known(code):
            reason = self._now.translation.record.reason or result.skip_reason
            self._end(self._now, Outcome.SKIPPED, reason=reason)
        elif bytecode.is_program(code.co_filename):
            reason = refusal or result.skip_reason
            self.recorder.skipped(code.co_qualname, code.co_filename, code.co_firstlineno, reason)

    def _on_skip_returned(self, guarded_code: Any) -> None:
        # This hook, `ConvertFrameReturn`, then who returns it, about its `frame`
        # or, within a compilation, its `code`.
        names = sys._getframe(2).f_locals
        about = names.get("frame")
        given_up = names.get("code") if about is None else about.f_code
        if type(given_up) is not CodeType:
            return
        code = self._codes.known(given_up)
        failed, self._failed = self._failed, None
        if guarded_code is not None or code is None:
            return
        if failed is not None and failed.code.id == code:
            self.recorder.end_translation(failed, Outcome.SKIPPED, reason=failed.record.reason)
        elif self._now is not None and self._now.translation.code.id == code:
            reason = self._now.translation.record.reason or "Dynamo decided to skip the frame"
            self._end(self._now, Outcome.SKIPPED, reason=reason)

    def _end(
        self, now: _Context, outcome: Outcome, *, reason: str = "", transformed: Code | None = None
    ) -> None:
        self._sync_all(now)
        call_and_undo(partial(self._over, now), self._record_end, now, outcome, reason, transformed)

    def _record_end(
        self, now: _Context, outcome: Outcome, reason: str, transformed: Code | None
    ) -> None:
        self._leave_context(now)
        self.note_lost("some of what Dynamo did could not be followed")
        self.recorder.end_translation(
            now.translation, outcome, reason=reason, transformed=transformed
        )

    def _over(self, now: _Context) -> None:
        """It is over, even if an exception has kept that from being told."""
        self._leave_context(now)
        self.recorder.walks.ends(now.translation)

    def _leave_context(self, now: _Context) -> None:
        now.shapes.forget()
        if now in self._contexts:
            self._contexts.remove(now)
        self._switch()
        self._breaks.clear()
        self._executions.go_on()

    # --- hooks: frames and instructions

    def _on_frame_entered(self, output: Any, tx: Any) -> None:
        now = self._now
        if now is None or now.attempt is None:
            return
        if now.graph.output is not output:
            now.graph.begin(output, self.recorder, now.attempt)
            if not now.shapes.is_of(output.shape_env):
                now.shapes.begin(self.recorder, now.attempt, output.shape_env)
            now.output = output
            self._follow()
        callers = versions.interpreters(output)
        parent = self._steps.top
        if callers and (parent is None or parent.key is not callers[-1]):
            self._leave_to(now, callers[-1])
            parent = self._steps.top
        self._steps.top = self.recorder.enter(now.attempt, tx, self._codes.traced, parent)
        if now.graph.changed:
            self._steps.nodes_changed = True

    def _on_frame_left(self, output: Any) -> None:
        now = self._now
        frame = self._steps.top
        if now is None or frame is None or now.attempt is None:
            return
        interpreters = versions.interpreters(output)
        if not interpreters:
            return
        if frame.key is not interpreters[-1] and not self._leave_to(now, interpreters[-1]):
            return  # its beginning was lost
        self._leave(now)

    def _leave_to(self, now: _Context, tx: Any) -> bool:
        """Make the frame of a translator the innermost; False when it was never entered.

        It is, unless the end of an inner one was lost."""
        frame = self._steps.top
        while frame is not None and frame.key is not tx:
            frame = frame.parent
        if frame is None:
            return False
        while self._steps.top is not frame:
            self._leave(now)
        return True

    def _leave(self, now: _Context) -> None:
        frame = self._steps.top
        assert frame is not None
        if now.graph.changed:
            self._sync(now)
        parent = frame.parent
        if parent is None:
            self.recorder.flush_pending()
        self.recorder.leave(frame)
        self._steps.top = parent

    def _on_graph_closing(self) -> None:
        # Dead objects and their pending changes are about to go, then the graph's example values.
        self.recorder.flush_pending()

    def _on_graph_done(self) -> None:
        now = self._now
        if now is not None and now.attempt is not None:
            self._sync_all(now)
            now.graph.reset()

    # --- hooks: what instructions cause

    def _on_node_moved(self, node: Any) -> None:
        if self._hears and self._now is not None and self._now.graph.moved(node):
            self._steps.nodes_changed = True

    _on_node_moved_behind = _on_node_moved

    def _on_guards_removed(self) -> None:
        if self._steps.guards_of is not None:
            self._record_guards()
            self._steps.guards_lost = self._steps.graph_changed = True

    def _on_guards_chosen(self, guards_out: list[Any]) -> None:
        if self._now is not None and self._now.attempt is not None:
            self._record_guards()
            withdraw_filtered(self.recorder, self._now.attempt, guards_out)

    def _on_lazy_realized(self, cache: Any) -> None:
        if not self.recorder.everything:
            if self._now is not None:
                self._describer.realizing(cache)
                self._steps.graph_changed = True
            return
        self.recorder.flush_pending()  # so that every lazy tracker in view is known
        tracker = self._describer.lazy_of(cache)
        if tracker is not None:
            self.recorder.about_to_mutate(tracker)

    _on_lazy_computed = _on_lazy_realized

    def _on_function_made(self, tx: Any) -> None:
        # From Python 3.13 on, a function gets its closure and defaults when it is on the stack.
        if self._now is not None:
            self.recorder.about_to_mutate(tx.stack[-1])

    def _on_name_hinted(self, tensor: Any) -> None:
        if self._now is not None:
            self.recorder.about_to_mutate(tensor)
            self._now.graph.renamed(node_of(fields_of(tensor)["proxy"]))
            self._steps.nodes_changed = self._now.graph.changed

    def _on_change(self, tracker: Any) -> None:
        if self._now is not None:
            self.recorder.about_to_mutate(tracker)

    def _on_tensor_method(self, tensor: Any, name: str) -> None:
        # In-place methods change what is known of the tensor; a hook takes its place in the graph.
        if self._now is None:
            return
        if name[-1:] == "_" and name[-2:] != "__":
            self.recorder.about_to_mutate(tensor)
            self._now.graph.in_place(node_of(fields_of(tensor)["proxy"]))
            self._steps.nodes_changed = self._now.graph.changed
        elif name[:8] == "register":
            self.recorder.about_to_mutate(tensor)

    def _on_outputs_moved(self, outputs: Any) -> None:
        # Values of a subgraph become outputs of the call, in place.
        if self._now is not None and type(outputs) in (tuple, list):
            for tracker in outputs:
                self.recorder.about_to_mutate(tracker)

    _on_flags_moved = _on_outputs_moved

    def _on_output_moved(self, body: Any) -> None:
        if body is not None:
            self._on_outputs_moved(fields_of(body).get("items"))

    def _on_mutated(self, var: Any) -> None:
        if self._now is not None and self._now.attempt is not None and self.recorder.everything:
            self.recorder.about_to_mutate(var)
            # What the traced code made itself needs no replay.
            mutation = fields_of(var).get("mutation_type")
            if type(mutation).__name__ == "ValueMutationExisting":
                self.recorder.side_effect(
                    self._now.attempt, "mutation", var, self._label(var), " changes", None
                )

    def _on_attribute_stored(self, item: Any, name: str, value: Any) -> None:
        if self._now is None or self._now.attempt is None or not self.recorder.everything:
            return
        self.recorder.about_to_mutate(item)
        cell = name == "cell_contents"
        changed = f"{self._label(item)}{'' if cell else f'.{name}'}"
        self.recorder.side_effect(
            self._now.attempt, "cell" if cell else "attribute", item, changed,
            f" = {self._label(value)}", value,
        )  # fmt: skip

    def _label(self, tracker: Any) -> str:
        """What a person would call a tracker in half a line."""
        fields = fields_of(tracker)
        if "_cache" in fields and (inner := self._describer.inner(tracker)) is not None:
            tracker, fields = inner, fields_of(inner)
        source = fields.get("source")
        if source is not None and (name := source_name(source)):
            return name
        if type(fields.get("local_name")) is str:
            return str(fields["local_name"])
        if type(tracker).__name__ == "ConstantVariable":
            return plain_text(fields["value"])
        if "value_type" in fields:
            return f"new {callable_name(fields['value_type'])}"
        proxy = fields.get("proxy")
        node = None if proxy is None else node_of(proxy)
        return type(tracker).__name__ if node is None else f"%{node.name}"

    def _pending_attributes(self, tracker: object) -> dict[str, object] | None:
        frame = self._steps.top
        if frame is None:
            return None
        stored: dict[str, object] | None = frame.key.output.side_effects.store_attr_mutations.get(
            tracker
        )
        return stored

    # --- hooks: sizes

    def _watching(self, env: Any) -> ShapeWatcher | None:
        """Who watches a ShapeEnv: nobody, if it is not that of this attempt."""
        now = self._now
        return now.shapes if now is not None and now.shapes.is_of(env) else None

    def _shapes_wait(self) -> None:
        self._steps.graph_changed = True

    def _look_at_sizes(self, now: _Context) -> None:
        """Symbols are something else now, so nodes and trackers in view have other sizes."""
        replaced, now.shapes.replaced = now.shapes.replaced, set()
        now.graph.resized(replaced)
        if not self.recorder.everything:
            return
        for tracker in self._describer.shown_with.take(replaced):
            self.recorder.about_to_mutate(tracker)

    # --- hooks: graph breaks

    def _on_unimplemented(
        self, gb_type: str, explanation: str, hints: list[str], from_exc: Any
    ) -> None:
        self._breaks.announced(gb_type, explanation, hints, from_exc)

    def _on_unsupported_raised(self, error: Any, msg: str) -> None:
        raising = sys._getframe(2)
        refused = versions.refused_code(raising)
        if refused is not None and refused[1]:
            self._lookups.refused(refused[0], raising, msg, type(error).__name__)
        elif refused is not None:
            self._refusal = self._breaks.words() or msg
        self._breaks.raised(error, self._raised_at())
        if self._now is not None and "recompile limit exceeded" in msg.partition("\n")[0]:
            self.recorder.cache_limit(self._now.translation, msg)

    def _on_user_error_raised(self, error: Any) -> None:
        self._breaks.raised(error, self._raised_at())

    def _raised_at(self) -> MomentId:
        """The moment whose instruction raises now: the call's, when what it inlined is over."""
        top, newest = self._steps.top, self.recorder.moment
        key = None if top is None else top.key
        return newest_moment_of(key, self.recorder.current, newest) or newest

    def _on_graph_break(self, reason: str, exc: Any) -> None:
        now = self._now
        if now is None or now.attempt is None or exc.logged:
            return
        resumes = "Skipping the function" not in reason
        self.recorder.graph_break(now.attempt, self._breaks.confirm(exc, reason, resumes=resumes))


keep_out()
