"""Follows Dynamo through translations, attempts and frames, and reports what it sees.

What is on the stack of things, outermost first: a *translation* (one call of `_compile`), its
current *attempt* (one root InstructionTranslator), and the *frames* (the root and each inlined
call). A backend can call a compiled function, so translations nest. All of it happens under
Dynamo's compile lock, in one thread at a time.

Every hook of the engine runs inside the compiler. It must not raise (`Hook` sees to that; a defect
of ours ends the watching, not the program), except KeyboardInterrupt, by which the user ends the
program at a stop. A program at its recursion limit, or out of memory, makes hooks fail that have no
defect: what such a hook had to tell is lost, and the watching goes on.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from types import CodeType, FrameType
from typing import Any

import msgspec

from stepper._C import Steps, call_and_undo
from stepper.debuggee.engine import Recorder
from stepper.debuggee.mirror import (
    FrameMirror,
    LiveAttempt,
    LiveTranslation,
    Mark,
    newest_moment_of,
)
from stepper.engines.common.late_shapes import LateShapes
from stepper.engines.common.probe_points import resolve
from stepper.engines.common.python_stack import program_stack
from stepper.engines.common.shapes import ShapeWatcher
from stepper.engines.common.torch_state import torch_state
from stepper.engines.common.versions import is_backward_compile
from stepper.engines.dynamo import bytecode, failures, versions
from stepper.engines.dynamo.cache_watch import CacheWatcher
from stepper.engines.dynamo.describe import DynamoDescriber
from stepper.engines.dynamo.execution import ExecutionWatcher
from stepper.engines.dynamo.graph_breaks import BreakTracker
from stepper.engines.dynamo.guards_set import look_at_guards, record_guards
from stepper.engines.dynamo.jumps import Jumps
from stepper.engines.dynamo.lookups import LookupWatcher
from stepper.engines.dynamo.nodes import GraphWatcher
from stepper.engines.dynamo.shapes import DynamoShapes
from stepper.engines.dynamo.underway import Compiling, enclosing_calls, underway
from stepper.engines.dynamo.versions import TorchDynamoException, Unsupported
from stepper.model.program import Code
from stepper.model.trace import EventKind, MomentId, Outcome
from stepper.uncompiled import keep_out

_program_stack = program_stack(bytecode.is_machinery)


class Context:
    """A translation in progress and where the interpreter is in it."""

    __slots__ = (
        "attempt", "captures", "frame", "graph", "jumps", "output", "shapes", "translation",
    )  # fmt: skip

    def __init__(self, translation: LiveTranslation, *, captures: bool) -> None:
        self.translation = translation
        self.attempt: LiveAttempt | None = None
        self.captures = captures
        """Whether a graph is all that is made, and no cache entry."""
        self.frame: FrameMirror | None = None
        """The innermost, while another translation is at work within this one."""
        self.graph = GraphWatcher()
        self.shapes = DynamoShapes()
        self.jumps = Jumps()
        self.output: Any = None
        """The attempt's OutputGraph, from its first frame on."""


class Translations:
    """The translations that are in progress, and the hooks that tell of them."""

    def __init__(
        self,
        codes: bytecode.CodeTable,
        lookups: LookupWatcher,
        executions: ExecutionWatcher,
        entries: CacheWatcher,
        note_lost: Callable[[str], None],
    ) -> None:
        self._codes = codes
        self._lookups = lookups
        self._executions = executions
        self._entries = entries
        self._note_lost = note_lost
        self._recorder: Recorder
        self._steps: Steps[FrameMirror]
        self._describer: DynamoDescriber
        self.hears = False
        """Whether anybody wants to hear of guards and nodes."""
        self.contexts: list[Context] = []
        self.now: Context | None = None
        self._failed: LiveTranslation | None = None
        self._captured: LiveTranslation | None = None
        self.failed_backward = ""
        """The exception that the last backward failed to compile with; empty: none has."""
        self._refusal = ""
        """Why Dynamo does not begin with the frame that it is about to skip."""
        self._told_skips: set[tuple[str, str, int, str]] = set()
        """Frames that were told to be skipped, each with its reason: some are met at each call."""
        self._breaks = BreakTracker()
        self._late = LateShapes()

    def begin(self, recorder: Recorder, describer: DynamoDescriber) -> None:
        """Report to this recorder from now on."""
        self._recorder, self._steps, self._describer = recorder, recorder.steps, describer
        self._pid = os.getpid()

    def clear(self) -> None:
        """Nothing is followed any more."""
        self._late.clear()
        self._told_skips.clear()
        self.contexts.clear()
        self._failed = self._captured = None
        self._switch()

    def end_left(self) -> None:
        """The session ends: a capture that an exception has left tells nobody."""
        if os.getpid() == self._pid:  # else it is the parent's, and so are the threads
            running = sum(enclosing_calls(frame) + 1 for frame in sys._current_frames().values())
            self._end_left(running, "an exception left it")

    def report_graph(self) -> None:
        """Report the guards and nodes that came, went or changed since the last step."""
        if self.now is not None:
            self.now.shapes.record()
            if self.now.shapes.replaced:
                self._look_at_sizes(self.now)  # a commit in it may find guards lost
            self._sync(self.now)
        self._steps.graph_changed = False
        if self._describer.realized:
            self._describer.begin_instruction()

    def _sync(self, now: Context) -> None:
        if not self.hears or now.attempt is None:
            return
        if EventKind.GUARD in self._recorder.controller.wanted:
            self.record_guards()
        if self._steps.guards_lost and now.output is not None:
            look_at_guards(self._recorder, now.attempt, now.output)
        if now.graph.changed:
            now.graph.sync()

    def _sync_all(self, now: Context) -> None:
        """Report what otherwise waits for a commit, too: what it is told of is about to go."""
        self.record_guards()
        self._sync(now)
        now.shapes.record()

    def record_guards(self) -> None:
        record_guards(self._recorder)

    def before_commit(self) -> None:
        """Tell what is told no later than in the next commit."""
        self.record_guards()
        self._late.record()

    def watch_graph(self, *, fresh: bool = False) -> None:
        """Have the nodes and guards of the attempt that is being made now marked, if anybody wants
        them; `fresh`: there are no guards yet."""
        self._steps.graph = None if self.now is None or not self.hears else self.now.graph
        now, wanted = self.now, self._recorder.controller.wanted
        attempt = None if now is None else now.attempt
        wants = self._recorder.wants(EventKind.GUARD)
        self._steps.watch_guards(attempt if wants else None, EventKind.GUARD in wanted, fresh)

    def report_all(self) -> None:
        """Report the guards and nodes that are there."""
        if self.now is not None:
            self.now.graph.changed = True
            self.report_graph()

    def join_underway(self, frame: FrameType) -> None:
        """Take up what runs already; each symbolic frame gets one moment, at its instruction."""
        run_code = resolve(versions.points.RUN).__code__
        for item in underway(frame, run_code):
            if isinstance(item, Compiling):
                self._begin(item.frame, item.code, item.cache_size, item.compile_id)
            elif self.now is not None:
                tx = item.tx
                if self.now.attempt is None:
                    self.on_attempt_begins(tx.f_code)
                    self.watch_graph()  # it has guards already
                self.on_frame_entered(tx.output, tx)
                # None: it has traced its last instruction, and its graph is being compiled.
                if self._recorder.everything and tx.instruction_pointer is not None:
                    self._steps.step(tx, 1)
        self.report_all()

    def innermost(self) -> int | None:
        """The number of the translation that is under way, the innermost of several."""
        return self.contexts[-1].translation.record.id if self.contexts else None

    def _switch(self) -> None:
        """The innermost translation has changed: say so to those on the hot path."""
        now = self.now = self.contexts[-1] if self.contexts else None
        self._steps.top = None if now is None else now.frame
        self._follow()
        self._steps.graph_changed = now is not None and now.graph.changed
        self.watch_graph()

    def _follow(self) -> None:
        """From its first frame on, the frames of the attempt that is being made now."""
        now = self.now
        follows = now is not None and now.output is not None
        self._steps.follow(*((now.attempt, now.output) if now and follows else (None, None)))

    # --- hooks: translations and attempts

    def on_translation_begins(self, code: CodeType, cache_size: Any, compile_id: Any) -> None:
        # This hook, then `_compile`.
        self._executions.pause()
        self.record_guards()
        self._begin(sys._getframe(1), code, cache_size, compile_id)

    def on_capture_begins(self, frame: Any) -> None:
        # This hook, then `_fullgraph_capture_frame`: it serves `torch.export` and compilation ahead
        # of time, which look into no cache and make no entry.
        self._executions.pause()
        self.record_guards()
        self._begin(sys._getframe(1), frame.code, None, versions.captured_now())

    def _begin(self, caller: FrameType, code: CodeType, cache_size: Any, compile_id: Any) -> None:
        self._entries.emit()
        self._end_left(enclosing_calls(caller), "an exception left it")
        self._failed = self._captured = None
        unheard = partial(self._end_unheard, len(self.contexts), self._recorder.mark())
        call_and_undo(unheard, self._enter, caller, code, cache_size, compile_id)

    def _end_unheard(self, before: int, mark: Mark) -> None:
        """End a translation that was begun and that an exception has kept from the contexts."""
        if len(self.contexts) == before:
            self._recorder.unwind(mark, "an exception left it")

    def _enter(self, caller: FrameType, code: CodeType, cache_size: Any, compile_id: Any) -> None:
        translation = self._recorder.begin_translation(
            compile_id=str(compile_id),
            code=self._codes.plain(code),
            cache_size=getattr(cache_size, "num_cache_entries", 0),
            python_stack=_program_stack(caller),
            resume_of=bytecode.resumed_function(code),
            state=torch_state(),
            dynamic=versions.dynamic(),
            specialize_int=versions.specializes_int(),
            unmet=self._lookups.unmet(),
            nested=bool(self.contexts),
        )
        if self.now is not None:
            self.now.frame = self._steps.top
        self.contexts.append(Context(translation, captures=cache_size is None))
        self._switch()

    def _end_left(self, running: int, reason: str) -> None:
        """End all translations but the outermost `running`."""
        while len(self.contexts) > running:
            left = self.contexts[-1]
            self._end(left, Outcome.FAILED, reason=left.translation.record.reason or reason)

    def on_left(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None
    ) -> None:
        # Dynamo itself deals with most exceptions; some pass it by: those that end a program, what
        # it raises before it begins to trace, and what the compilation of a backward raises.
        # This hook, the context manager's `__exit__`, then who leaves it.
        caller = sys._getframe(2)
        if self._captured is not None and versions.is_ahead_of_time(caller.f_code):
            captured, self._captured = self._captured, None
            if exc_value is not None and issubclass(type(exc_value), Exception):
                failures.fail_captured(self._recorder, captured, exc_value)
            return
        if exc_type is None or exc_value is None:
            return
        if is_backward_compile(caller.f_code):
            if issubclass(exc_type, Exception):
                stack = _program_stack(caller)
                failure = failures.of_backward(exc_value, self._recorder.moment, stack)
                self.failed_backward = failure.exception
                self._recorder.failed(failure)
        elif self.contexts and versions.is_compile(caller.f_code):
            running = enclosing_calls(caller)
            if not issubclass(exc_type, Exception):
                self._end_left(running, f"{exc_type.__name__} left it")
            elif self.now is not None and len(self.contexts) > running:
                self._failed_before(self.now, exc_value)

    def _failed_before(self, now: Context, error: BaseException) -> None:
        """An exception leaves a translation before it has begun to trace."""
        # At the recompile limit the frame is given up with this one; what is told to `skipped`.
        if now.attempt is None and not issubclass(type(error), Unsupported):
            self._failed = now.translation
            self._fail(now, error)

    def on_attempt_begins(self, f_code: CodeType) -> None:
        now = self.now
        if now is None:
            return  # torch.export and other callers of the tracer that compile no frame
        self.record_guards()
        now.frame = now.output = None
        now.graph.reset()
        now.shapes.forget()
        self._switch()
        now.attempt = self._recorder.begin_attempt(now.translation)
        now.jumps.attempt_begins(self._recorder, now.attempt)
        self.watch_graph(fresh=True)

    def on_metrics_known(self, values: dict[str, Any]) -> None:
        reason = values.get("recompile_reason")
        if (
            type(reason) is str
            and self.now is not None
            and not self.now.translation.record.recompile_reason
        ):
            self._recorder.recompiled(self.now.translation, reason)

    def on_restart_raised(self, error: Any, restart_reason: str | None) -> None:
        now = self.now
        if now is not None and now.attempt is not None:
            self._recorder.flush_pending()
            self._sync_all(now)
            self._recorder.restarts(now.attempt, restart_reason or type(error).__name__)

    def on_compiled(self, code: CodeType, guard_manager: Any, compile_id: Any) -> None:
        now = self.now
        self._executions.compiled(code, str(compile_id))
        if now is not None and now.translation.compile_id == str(compile_id):
            self._end(now, Outcome.COMPILED, transformed=self._codes.plain(code))
            self._entries.entry_made(code, guard_manager, str(compile_id), now.translation.id)

    def on_captured(self, graph_capture_output: Any) -> None:
        now = self.now
        if now is not None and now.captures:
            code = self._codes.plain(graph_capture_output.bytecode)
            self._end(now, Outcome.COMPILED, transformed=code)
            self._captured = now.translation

    def on_failed(self, error: BaseException, code: CodeType) -> None:
        now = self.now
        if now is not None and now.translation.code.id == self._codes.known(code):
            self._failed = now.translation
            self._fail(now, error)

    def on_capture_failed(self, error: BaseException) -> None:
        if self.now is not None and self.now.captures:
            self._fail(self.now, error)

    def _fail(self, now: Context, error: BaseException) -> None:
        text = failures.message(error)
        moment, traced = self._recorder.moment, now.attempt is not None
        if now.attempt is not None:
            moment = failures.moment_of(error, self._recorder.current, moment) or moment
            broken = failures.break_behind(error)
            if self._breaks.pending(broken):
                found = self._breaks.confirm(broken, failures.message(broken), resumes=False)
                self._recorder.graph_break(now.attempt, found)
        failure = msgspec.structs.replace(
            failures.failure_of(error, moment, traced=traced),
            guard=failures.guard_of(error, now.translation.guards),
        )
        self._recorder.failed(failure, now.translation)
        said = f"{type(error).__name__}: {text}"
        reason = text if isinstance(error, TorchDynamoException) else said
        reason = now.translation.record.reason or reason  # it has one at the recompile limit
        self._end(now, Outcome.FAILED, reason=reason)

    def on_skipped(self, result: Any, frame: Any) -> None:
        refusal, self._refusal = self._refusal, ""
        if result.skip_reason is None or result.guarded_code is not None:
            return
        code: CodeType = frame.f_code
        failed, self._failed = self._failed, None
        if failed is not None and failed.code.id == self._codes.known(code):
            self._recorder.end_translation(
                failed, Outcome.SKIPPED, reason=failed.record.reason or result.skip_reason
            )
        elif self.now is not None and self.now.translation.code.id == self._codes.known(code):
            reason = self.now.translation.record.reason or result.skip_reason
            self._end(self.now, Outcome.SKIPPED, reason=reason)
        # This hook, two functions of Dynamo's, then who calls the frame.
        elif bytecode.is_program(code.co_filename) or versions.is_compiled_itself(
            code, sys._getframe(3)
        ):
            reason = refusal or versions.rule_of_skip(code, result.skip_reason)
            skip = (code.co_qualname, code.co_filename, code.co_firstlineno, reason)
            if skip not in self._told_skips:
                self._told_skips.add(skip)
                self._recorder.skipped(*skip)

    def on_skip_returned(self, guarded_code: Any) -> None:
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
            self._recorder.end_translation(failed, Outcome.SKIPPED, reason=failed.record.reason)
        elif self.now is not None and self.now.translation.code.id == code:
            reason = self.now.translation.record.reason or "Dynamo decided to skip the frame"
            self._end(self.now, Outcome.SKIPPED, reason=reason)

    def _end(
        self, now: Context, outcome: Outcome, *, reason: str = "", transformed: Code | None = None
    ) -> None:
        self._sync_all(now)
        call_and_undo(partial(self._over, now), self._record_end, now, outcome, reason, transformed)

    def _record_end(
        self, now: Context, outcome: Outcome, reason: str, transformed: Code | None
    ) -> None:
        self._leave_context(now)
        self._note_lost("some of what Dynamo did could not be followed")
        self._recorder.end_translation(
            now.translation, outcome, reason=reason, transformed=transformed
        )

    def _over(self, now: Context) -> None:
        """The translation is over, even if an exception has kept that from being told."""
        self._leave_context(now)
        self._recorder.walks.ends(now.translation)

    def _leave_context(self, now: Context) -> None:
        if now.jumps.made:
            self._recorder.controller.before_each(None)
        self._late.take(now.shapes)
        if now in self.contexts:
            self.contexts.remove(now)
        self._switch()
        self._breaks.clear()
        self._executions.go_on()

    # --- hooks: frames and instructions

    def on_frame_entered(self, output: Any, tx: Any) -> None:
        now = self.now
        if now is None or now.attempt is None:
            return
        if now.graph.output is not output:
            now.graph.begin(output, self._recorder, now.attempt)
            if not now.shapes.is_of(output.shape_env):
                now.shapes.begin(self._recorder, now.attempt, output.shape_env)
            now.output = output
            self._follow()
        callers = versions.interpreters(output)
        parent = self._steps.top
        if callers and (parent is None or parent.key is not callers[-1]):
            self._leave_to(now, callers[-1])
            parent = self._steps.top
        self._steps.top = self._recorder.enter(now.attempt, tx, self._codes.traced, parent)
        if now.graph.changed:
            self._steps.nodes_changed = True

    def on_frame_left(self, output: Any) -> None:
        now = self.now
        frame = self._steps.top
        if now is None or frame is None or now.attempt is None:
            return
        interpreters = versions.interpreters(output)
        if not interpreters:
            return
        if frame.key is not interpreters[-1] and not self._leave_to(now, interpreters[-1]):
            return  # its beginning was lost
        self._leave(now)
        if now.captures and len(interpreters) == 1:
            error = sys.exc_info()[1]
            if error is not None and versions.ends_capture(error):
                self._fail(now, error)

    def _leave_to(self, now: Context, tx: Any) -> bool:
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

    def _leave(self, now: Context) -> None:
        frame = self._steps.top
        assert frame is not None
        if now.graph.changed:
            self._sync(now)
        parent = frame.parent
        if parent is None:
            self._recorder.flush_pending()
        self._recorder.leave(frame)
        self._steps.top = parent

    def on_graph_closing(self) -> None:
        # Dead objects and their pending changes are about to go, then the graph's example values.
        self._recorder.flush_pending()

    def on_graph_done(self) -> None:
        now = self.now
        if now is not None and now.attempt is not None:
            self._sync_all(now)
            now.graph.reset()
            self._recorder.commit()  # It can take long, and the process can be killed meanwhile.

    # --- hooks: the graph

    def on_node_moved(self, node: Any) -> None:
        if self.hears and self.now is not None and self.now.graph.moved(node):
            self._steps.nodes_changed = True

    on_node_moved_behind = on_node_moved

    def on_guards_removed(self) -> None:
        if self._steps.guards_of is not None:
            self.record_guards()
            self._steps.guards_lost = self._steps.graph_changed = True

    def guarded(self) -> LiveAttempt | None:
        """The attempt that is being made into an entry, all of whose guards are told."""
        if self.now is None or self.now.attempt is None:
            return None
        self.record_guards()
        return self.now.attempt

    # --- hooks: sizes

    def watching(self, env: Any) -> ShapeWatcher | None:
        """Who watches a ShapeEnv: nobody, if it is of no attempt."""
        now = self.now
        if now is not None and now.attempt is not None:
            if now.output is None:
                now.shapes.begin_early(self._recorder, now.attempt, env)
            if now.shapes.is_of(env):
                return now.shapes
        return self._late.of(env)

    def shapes_wait(self) -> None:
        self._steps.graph_changed = True

    def _look_at_sizes(self, now: Context) -> None:
        """Symbols are something else now, so nodes and trackers in view have other sizes."""
        replaced, now.shapes.replaced = now.shapes.replaced, set()
        now.graph.resized(replaced)
        if not self._recorder.everything:
            return
        for tracker in self._describer.shown_with.take(replaced):
            self._recorder.about_to_mutate(tracker)

    # --- hooks: graph breaks

    def on_unimplemented(
        self, gb_type: str, explanation: str, hints: list[str], from_exc: Any
    ) -> None:
        self._breaks.announced(gb_type, explanation, hints, from_exc)

    def on_unsupported_raised(self, error: Any, msg: str) -> None:
        raising = sys._getframe(2)
        refused = versions.refused_code(raising)
        if refused is not None and refused[1]:
            self._lookups.refused(refused[0], raising, msg, type(error).__name__)
        elif refused is not None:
            self._refusal = self._breaks.words() or msg
        self._breaks.raised(error, self._raised_at())
        if self.now is not None and "recompile limit exceeded" in msg.partition("\n")[0]:
            self._recorder.cache_limit(self.now.translation, msg)

    def on_user_error_raised(self, error: Any) -> None:
        self._breaks.raised(error, self._raised_at())
        if self._captured is not None and failures.refuse_capture(self._recorder, self._captured):
            self._captured = None

    def _raised_at(self) -> MomentId:
        """The moment whose instruction raises now: the call's, when what it inlined is over."""
        top, newest = self._steps.top, self._recorder.moment
        key = None if top is None else top.key
        return newest_moment_of(key, self._recorder.current, newest) or newest

    def on_graph_break(self, reason: str, exc: Any) -> None:
        now = self.now
        if now is None or now.attempt is None or exc.logged:
            return
        resumes = "Skipping the function" not in reason
        self._recorder.graph_break(now.attempt, self._breaks.confirm(exc, reason, resumes=resumes))


keep_out()
