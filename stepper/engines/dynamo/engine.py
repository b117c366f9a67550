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
import inspect
import sys
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import Any

from torch._dynamo.exc import TorchDynamoException

from stepper._C import Hook, Steps
from stepper._C import fields as fields_of
from stepper.debuggee.evaluator import shorten
from stepper.debuggee.mirror import FrameMirror, LiveAttempt, LiveTranslation, names_at
from stepper.debuggee.recorder import Recorder
from stepper.debuggee.threads import thread_name
from stepper.engines.common.python_stack import program_stack
from stepper.engines.common.torch_state import torch_state
from stepper.engines.common.words import callable_name, plain_text
from stepper.engines.dynamo import bytecode, versions
from stepper.engines.dynamo.cache import BOOK
from stepper.engines.dynamo.cache_check import TOOLKIT
from stepper.engines.dynamo.cache_face import DynamoCache
from stepper.engines.dynamo.cache_watch import CacheWatcher
from stepper.engines.dynamo.describe import Describer, node_of
from stepper.engines.dynamo.execution import ExecutionWatcher
from stepper.engines.dynamo.graph_breaks import BreakTracker
from stepper.engines.dynamo.guards_set import look_at_guards, tell_guards
from stepper.engines.dynamo.lookups import LookupWatcher
from stepper.engines.dynamo.nodes import GraphWatcher
from stepper.engines.dynamo.probes import Probe
from stepper.engines.dynamo.underway import Compiling, enclosing_calls, underway
from stepper.engines.dynamo.versions import source_name
from stepper.model.cache import CacheError
from stepper.model.control import ForkTranslation
from stepper.model.program import Code
from stepper.model.trace import EventKind, Outcome

_program_stack = program_stack(bytecode.is_torch_internal)


class _Context:
    """A translation in progress and where the interpreter is in it."""

    __slots__ = ("attempt", "frame", "graph", "output", "translation")

    def __init__(self, translation: LiveTranslation) -> None:
        self.translation = translation
        self.attempt: LiveAttempt | None = None
        self.frame: FrameMirror | None = None
        """The innermost, while another translation is at work within this one."""
        self.graph = GraphWatcher()
        self.output: Any = None
        """The attempt's OutputGraph, from its first frame on."""


class DynamoEngine:
    """The engine behind `--engine dynamo`; see `stepper.debuggee.engine.Engine`."""

    name = "dynamo"

    def __init__(self) -> None:
        self._probes: list[Probe] = []
        self._placed: set[str] = set()
        """What the probes that are there mean."""
        self._recorder: Recorder
        self._steps: Steps[FrameMirror]
        self._describer: Describer
        self._hears = False
        """Whether anybody wants to hear of guards and nodes."""
        self._contexts: list[_Context] = []
        self._now: _Context | None = None
        self._failed: LiveTranslation | None = None
        self.lost = ""
        """What the program ran out of while a hook was at work, until that is told."""
        self._breaks = BreakTracker()
        self._codes = bytecode.CodeBook()
        self._lookups = LookupWatcher(self._codes, _program_stack)
        self._executions = ExecutionWatcher(_program_stack, self.break_down)
        self._entries = CacheWatcher(lambda: bool(self._contexts))
        self.cache = DynamoCache(
            self._entries.call_of, self._executions.by_hand, self._lookups.by_hand
        )

    # --- the face

    def install(self, observer: Any) -> None:
        """See `Engine.install`. `observer` is the recorder."""
        points = versions.probe_points()
        functions = {meaning: versions.resolve(point) for meaning, point in points.items()}
        for point in versions.change_points():
            versions.resolve(point)  # what this torch lacks is said before anything begins
        self._recorder = observer
        self._steps = observer.steps
        observer.before_commit(self._tell_guards)
        self._steps.hear_frames(
            versions.INTERPRETERS, self._codes.traced, observer.entered, observer.leave,
            self._on_frame_entered, self._on_frame_left,
        )  # fmt: skip
        self._codes.begin(observer.store_code)
        self._executions.install(observer, self._codes)
        compile_code = inspect.unwrap(functions["translation_begins"]).__code__
        try:
            self._place(points.keys() - versions.OF_GRAPHS - versions.OF_DETAIL)
            self._listen()
            self._lookups.install(observer, self._safely)
            BOOK.hits = self._lookups.count_of
            TOOLKIT.registered = self._on_registered
            self._entries.install(observer, self._safely)
            with contextlib.suppress(CacheError):  # somebody compiles: what is old stays unheard
                self._lookups.listen_to_old()
            self._join_underway(sys._getframe(1), compile_code)
        except Exception:
            self.uninstall()
            raise

    def _place(self, meanings: Iterable[str]) -> None:
        """Put the probes there that are not yet."""
        points = versions.probe_points()
        for meaning in points:  # in their order
            if meaning in meanings and meaning not in self._placed:
                self._placed.add(meaning)
                if meaning == "step":  # on the hot path: the recorder's own, which is its own net
                    hook = self._step_hook()
                elif meaning in versions.MARKED:
                    hook = self._safely(getattr(self._steps, meaning))
                else:
                    hook = self._safely(getattr(self, f"_on_{meaning}"))
                point = points[meaning]
                self._probes.append(Probe(versions.resolve(point), point.parameters, hook))

    def _place_changes(self) -> None:
        if "change" not in self._placed:
            self._placed.add("change")
            hook = self._safely(self._on_change)
            for point in versions.change_points():
                self._probes.append(Probe(versions.resolve(point), point.parameters, hook))

    def make_describer(self) -> Describer:
        """What knows the trackers."""
        self._describer = Describer()
        self._describer.attributes = self._pending_attributes
        return self._describer

    def told_late(self) -> frozenset[type]:
        """The kinds of trackers whose changes are told when they are made already."""
        return versions.told_late()

    def uninstall(self) -> None:
        """See `Engine.uninstall`."""
        if not self._probes:
            return
        TOOLKIT.registered = lambda code, original, compile_id: None
        with contextlib.suppress(Exception):  # that may be what broke down
            self._tell_guards()
        self._entries.uninstall()
        self._lookups.uninstall()
        self._executions.uninstall()
        for probe in self._probes:
            probe.remove()
        self._probes.clear()
        self._placed.clear()
        self._contexts.clear()
        self._failed = None
        self._switch()

    def wishes_changed(self) -> None:
        """See `Engine.wishes_changed`."""
        self._listen()
        self._executions.begin_if_wanted()

    def fork(self, request: ForkTranslation) -> str:
        """See `Engine.fork`."""
        raise LookupError("Dynamo's trackers change in place: only --engine native can go back")

    def namespace(self, frame: int | None) -> dict[str, object]:
        """See `Engine.namespace`."""
        if self._recorder.stepping is not None:
            return self._recorder.stepping.namespace(frame)
        # At a graph break the frames have been left and the instruction has taken its operands: the
        # recorder has kept both as they were.
        return names_at(self._recorder.current, frame, lambda output: list(output.guards))

    def is_program(self, filename: str) -> bool:
        """See `Engine.is_program`."""
        return bytecode.is_program(filename)

    def report_graph(self) -> None:
        """Report the guards and nodes that came, went or changed since the last step."""
        if self._now is not None:
            self._sync(self._now)
        self._steps.graph_changed = False
        if self._describer.realized:
            self._describer.begin_instruction()

    def catch_up(self) -> None:
        """The recorder wants everything from now on, and what came before."""
        point = versions.probe_points()["step"]
        function = versions.resolve(point)
        for index, probe in enumerate(self._probes):
            if probe.watches(function):
                probe.remove()
                self._probes[index] = Probe(function, point.parameters, self._step_hook())
        self._listen()
        self._report_all()

    def _step_hook(self) -> Callable[..., None]:
        recorder = self._recorder
        hook = recorder.step if recorder.everything else recorder.glance
        return recorder.walks.taking_turns(hook) if self._executions.wanted else hook

    def _sync(self, now: _Context) -> None:
        if not self._hears or now.attempt is None:
            return
        if EventKind.GUARD in self._recorder.judge.wanted:
            self._tell_guards()
        if self._steps.guards_lost and now.output is not None:
            look_at_guards(self._recorder, now.attempt, now.output)
        if now.graph.changed:
            now.graph.sync()

    def _sync_all(self, now: _Context) -> None:
        """Report what otherwise waits for a commit, too: what it is told of is about to go."""
        self._tell_guards()
        self._sync(now)

    def _tell_guards(self) -> None:
        tell_guards(self._recorder)

    def _watch_graph(self, *, fresh: bool = False) -> None:
        """Have the nodes and guards of the attempt that is being made now marked, if anybody wants
        them; `fresh`: there are no guards yet."""
        self._steps.graph = None if self._now is None or not self._hears else self._now.graph
        now, wanted = self._now, self._recorder.judge.wanted
        attempt = None if now is None else now.attempt
        wants = self._recorder.wants(EventKind.GUARD)
        self._steps.watch_guards(attempt if wants else None, EventKind.GUARD in wanted, fresh)

    def _listen(self) -> None:
        """Hear of guards, nodes and changes from now on, as far as anybody wants to."""
        wants = self._recorder.wants
        hears, self._hears = self._hears, wants(EventKind.GUARD) or wants(EventKind.NODE)
        if self._hears:
            self._place(versions.OF_GRAPHS)
        if self._recorder.everything:
            self._place(versions.OF_DETAIL)
            self._place_changes()
        if self._hears and not hears:
            for context in self._contexts:
                context.graph.catch_up()
        self._steps.tells_frames = wants(EventKind.INLINE)
        stops = EventKind.INLINE in self._recorder.judge.wanted
        self._steps.writes_frames = self._recorder.everything and not stops
        self._tell_guards()
        self._watch_graph()

    def _report_all(self) -> None:
        """Report the guards and nodes that are there."""
        if self._now is not None:
            self._now.graph.changed = True
            self.report_graph()

    def _join_underway(self, frame: FrameType, compile_code: CodeType) -> None:
        """Take up what runs already; each symbolic frame gets one moment, at its instruction."""
        run_code = versions.resolve(versions.RUN).__code__
        for item in underway(frame, compile_code, run_code):
            if isinstance(item, Compiling):
                self._begin(item.frame, item.code, item.cache_size, item.compile_id)
            elif self._now is not None:
                tx = item.tx
                if self._now.attempt is None:
                    self._on_attempt_begins(tx.f_code)
                    self._watch_graph()  # it has guards already
                self._on_frame_entered(tx.output, tx)
                if self._recorder.everything:
                    self._recorder.step(tx, 1)
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
        self._tell_guards()
        self._begin(sys._getframe(1), code, cache_size, compile_id)

    def _begin(self, caller: FrameType, code: CodeType, cache_size: Any, compile_id: Any) -> None:
        self._entries.tell()
        self._end_left(enclosing_calls(caller), "an exception left it")
        self._failed = None
        translation = self._recorder.begin_translation(
            compile_id=str(compile_id),
            code=self._codes.plain(code),
            cache_size=getattr(cache_size, "num_cache_entries", 0),
            python_stack=_program_stack(caller),
            thread=thread_name(),
            resume_of=bytecode.resumed_function(code),
            state=torch_state(),
            nested=bool(self._contexts),
        )
        if self._now is not None:
            self._now.frame = self._steps.top
        self._contexts.append(_Context(translation))
        self._switch()

    def _end_left(self, running: int, reason: str) -> None:
        """Of the translations only the outermost `running` still are."""
        while len(self._contexts) > running:
            left = self._contexts[-1]
            self._end(left, Outcome.FAILED, reason=left.translation.record.reason or reason)

    def _on_registered(self, code: CodeType, original: CodeType, compile_id: str) -> None:
        self._lookups.registered(code, original)
        self._executions.entry_made(code, original, compile_id)

    def _on_left(self, exc_type: type[BaseException] | None) -> None:
        # Dynamo itself deals with exceptions; those that end a program pass it by.
        if exc_type is None or issubclass(exc_type, Exception) or not self._contexts:
            return
        # This hook, the context manager's `__exit__`, then who leaves it.
        caller = sys._getframe(2)
        if versions.is_compile(caller.f_code):
            self._end_left(enclosing_calls(caller), f"{exc_type.__name__} left it")

    def _on_attempt_begins(self, f_code: CodeType) -> None:
        now = self._now
        if now is None:
            return  # torch.export and other callers of the tracer that compile no frame
        self._tell_guards()
        now.frame = now.output = None
        now.graph.reset()
        self._switch()
        now.attempt = self._recorder.begin_attempt(now.translation)
        self._watch_graph(fresh=True)

    def _on_metrics_known(self, values: dict[str, Any]) -> None:
        reason = values.get("recompile_reason")
        if (
            type(reason) is str
            and self._now is not None
            and not self._now.translation.recompile_reason
        ):
            self._recorder.recompiled(self._now.translation, reason)

    def _on_restart_raised(self, error: Any, restart_reason: str | None) -> None:
        now = self._now
        if now is not None and now.attempt is not None:
            self._recorder.settle()
            self._sync_all(now)
            self._recorder.restarts(now.attempt, restart_reason or type(error).__name__)

    def _on_compiled(self, code: CodeType, guard_manager: Any, compile_id: Any) -> None:
        now = self._now
        self._executions.compiled(code, str(compile_id))
        if now is not None and now.translation.compile_id == str(compile_id):
            self._end(now, Outcome.COMPILED, transformed=self._codes.plain(code))
            self._entries.entry_made(code, guard_manager, str(compile_id), now.translation.id)

    def _on_failed(self, error: BaseException, code: CodeType) -> None:
        now = self._now
        if now is None or now.translation.code.id != self._codes.known(code):
            return
        text = _message(error)
        if now.attempt is not None and self._breaks.pending(error):
            self._recorder.graph_break(
                now.attempt, self._breaks.confirm(error, text, resumes=False)
            )
        said = f"{type(error).__name__}: {text}"
        self._recorder.raised(now.translation, said)
        self._failed = now.translation
        reason = text if isinstance(error, TorchDynamoException) else said
        self._end(now, Outcome.FAILED, reason=reason)

    def _on_skipped(self, result: Any, frame: Any) -> None:
        if result.skip_reason is None or result.guarded_code is not None:
            return
        code: CodeType = frame.f_code
        failed, self._failed = self._failed, None
        if failed is not None and failed.code.id == self._codes.known(code):
            self._recorder.end_translation(
                failed, Outcome.SKIPPED, reason=failed.record.reason or result.skip_reason
            )
        elif self._now is not None and self._now.translation.code.id == self._codes.known(code):
            reason = self._now.translation.record.reason or result.skip_reason
            self._end(self._now, Outcome.SKIPPED, reason=reason)
        elif bytecode.is_program(code.co_filename):
            self._recorder.skipped(
                code.co_qualname, code.co_filename, code.co_firstlineno, result.skip_reason
            )

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
            self._recorder.end_translation(failed, Outcome.SKIPPED, reason=failed.record.reason)
        elif self._now is not None and self._now.translation.code.id == code:
            reason = self._now.translation.record.reason or "Dynamo decided to skip the frame"
            self._end(self._now, Outcome.SKIPPED, reason=reason)

    def _end(
        self, now: _Context, outcome: Outcome, *, reason: str = "", transformed: Code | None = None
    ) -> None:
        self._sync_all(now)
        self._contexts.pop()
        self._switch()
        self._breaks.clear()
        self._executions.go_on()
        if self.lost:
            lost, self.lost = self.lost, ""
            self._recorder.note(f"{lost}: some of what Dynamo did could not be followed")
        self._recorder.end_translation(
            now.translation, outcome, reason=reason, transformed=transformed
        )

    # --- hooks: frames and instructions

    def _on_frame_entered(self, output: Any, tx: Any) -> None:
        now = self._now
        if now is None or now.attempt is None:
            return
        if now.graph.output is not output:
            now.graph.begin(output, self._recorder, now.attempt)
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
            self._recorder.settle()
        self._recorder.leave(frame)
        self._steps.top = parent

    def _on_graph_closing(self) -> None:
        # Dead objects and their pending changes are about to go, then the graph's example values.
        self._recorder.settle()

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
            self._tell_guards()
            self._steps.guards_lost = self._steps.graph_changed = True

    def _on_lazy_realized(self, cache: Any) -> None:
        if not self._recorder.everything:
            if self._now is not None:
                self._describer.realizing(cache)
                self._steps.graph_changed = True
            return
        self._recorder.settle()  # so that every lazy tracker in view is known
        tracker = self._describer.lazy_of(cache)
        if tracker is not None:
            self._recorder.touched(tracker)

    _on_lazy_computed = _on_lazy_realized

    def _on_function_made(self, tx: Any) -> None:
        # From Python 3.13 on, a function gets its closure and defaults when it is on the stack.
        if self._now is not None:
            self._recorder.touched(tx.stack[-1])

    def _on_name_hinted(self, tensor: Any) -> None:
        if self._now is not None:
            self._recorder.touched(tensor)
            self._now.graph.renamed(node_of(fields_of(tensor)["proxy"]))
            self._steps.nodes_changed = self._now.graph.changed

    def _on_change(self, tracker: Any) -> None:
        if self._now is not None:
            self._recorder.touched(tracker)

    def _on_tensor_method(self, tensor: Any, name: str) -> None:
        # In-place methods change what is known of the tensor; a hook takes its place in the graph.
        if self._now is not None and (
            (name[-1:] == "_" and name[-2:] != "__") or name[:8] == "register"
        ):
            self._recorder.touched(tensor)

    def _on_outputs_moved(self, outputs: Any) -> None:
        # Values of a subgraph become outputs of the call, in place.
        if self._now is not None and type(outputs) in (tuple, list):
            for tracker in outputs:
                self._recorder.touched(tracker)

    _on_flags_moved = _on_outputs_moved

    def _on_output_moved(self, body: Any) -> None:
        if body is not None:
            self._on_outputs_moved(fields_of(body).get("items"))

    def _on_mutated(self, var: Any) -> None:
        if self._now is not None and self._now.attempt is not None and self._recorder.everything:
            self._recorder.touched(var)
            # What the traced code made itself needs no replay.
            mutation = fields_of(var).get("mutation_type")
            if type(mutation).__name__ == "ValueMutationExisting":
                self._recorder.side_effect(
                    self._now.attempt, "mutation", var, f"{self._label(var)} changes", None
                )

    def _on_attribute_stored(self, item: Any, name: str, value: Any) -> None:
        if self._now is None or self._now.attempt is None or not self._recorder.everything:
            return
        self._recorder.touched(item)
        cell = name == "cell_contents"
        text = f"{self._label(item)}{'' if cell else f'.{name}'} = {self._label(value)}"
        self._recorder.side_effect(
            self._now.attempt, "cell" if cell else "attribute", item, text, value
        )

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

    # --- hooks: graph breaks

    def _on_unimplemented(
        self, gb_type: str, explanation: str, hints: list[str], from_exc: Any
    ) -> None:
        self._breaks.announced(gb_type, explanation, hints, from_exc)

    def _on_unsupported_raised(self, error: Any, msg: str) -> None:
        self._breaks.raised(error, self._recorder.moment)
        if self._now is not None and "recompile limit exceeded" in msg.partition("\n")[0]:
            self._recorder.cache_limit(self._now.translation, msg)

    def _on_user_error_raised(self, error: Any) -> None:
        self._breaks.raised(error, self._recorder.moment)

    def _on_graph_break(self, reason: str, exc: Any) -> None:
        now = self._now
        if now is None or now.attempt is None or exc.logged:
            return
        resumes = "Skipping the function" not in reason
        self._recorder.graph_break(now.attempt, self._breaks.confirm(exc, reason, resumes=resumes))

    # --- what the recorder asks for

    def _safely(self, hook: Callable[..., None]) -> Callable[..., None]:
        """The hook with a net under it: a defect of ours ends the watching and not the program."""
        return Hook(hook, self._recorder.walks.turn, self)

    def break_down(self, error: Exception) -> None:
        """A defect of ours: watch no more."""
        self.uninstall()
        self._recorder.broke_down(error)


def _message(error: BaseException) -> str:
    """A compiler exception's message. They are torch's own classes or come from torch's own
    operators."""
    text = getattr(error, "msg", None)
    if type(text) is str:
        return text
    return " ".join(shorten(part) if type(part) is str else plain_text(part) for part in error.args)


def create() -> DynamoEngine:
    """The engine, not yet installed."""
    return DynamoEngine()
