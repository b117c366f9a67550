"""Turns what an engine sees into moments, each told as the difference to the one before.

The idea. A moment's state is a few lists of trackers: the symbolic stack and the locals of each
frame. From one instruction to the next almost all of it stays, so the recorder keeps, per frame,
what it saw last (`FrameMirror`), compares by identity and writes only what differs. A tracker gets
a number when it is first seen; what it *is* (its description) is written apart from where it is,
again only when it changed. So aliasing stays visible, a mutation is told once for all places where
the value stands, and the state at a moment is exact: descriptions are taken before the next
instruction runs and never later.

The recorder holds a tracker only while it stands in a frame; all other knowledge hangs on weak
references, so that nothing of the user's lives longer because of us. It knows no engine: what a
tracker is says the `describer`.

Two levels of detail. `all`: every instruction becomes a moment. `stops`: a step only notes where it
is; the first stop writes one moment with the whole state, and from then on everything is recorded.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from stepper._C import Steps, call_and_undo
from stepper.debuggee.engine import Controller, Describer, Engine
from stepper.debuggee.evaluator import describe_exception, place_of
from stepper.debuggee.mirror import (
    FrameMirror,
    GuardMarks,
    GuardWords,
    LiveAttempt,
    LiveTranslation,
    Mark,
    newest_moment_of,
    storing,
)
from stepper.debuggee.occurrence import NO_SUBJECT, Subject
from stepper.debuggee.phase_times import PhaseMark, PhaseTimes
from stepper.debuggee.threads import thread_name
from stepper.debuggee.told_again import ToldLookup, tell_again
from stepper.debuggee.walks import Names, Walk, WalkFrame, Walks, no_names
from stepper.model import trace
from stepper.model.break_words import reason_of
from stepper.model.failure import Failure
from stepper.model.lookup import UnmetEntry
from stepper.model.method_names import Entered, Owner, wrapped_function
from stepper.model.program import Code, PythonFrame
from stepper.model.shapes import ShapeStep
from stepper.model.stepping import Place
from stepper.model.timing import BACKEND_PHASES, CacheAnswer
from stepper.model.trace import EventKind, MomentId, Outcome, Phase

if TYPE_CHECKING:
    from stepper.model.collective import CollectiveReading
    from stepper.recording.writer import Writer

_encode = msgspec.msgpack.Encoder().encode
_NUMBERED = (
    "translation", "attempt", "side_effect", "shape", "break", "failure", "skipped frame",
    "timing", "collective reading",
)  # fmt: skip


class Recorder:
    """What an engine reports to; see the module's essay. What the methods are for that engines and
    the controller call stands in the contract, `stepper.debuggee.engine.Recorder`."""

    def __init__(
        self, writer: Writer, controller: Controller, engine: Engine, *, detail: str = "all"
    ) -> None:
        self.writer = writer
        """Walks write what needs no number by it themselves."""
        self.controller = controller
        self._engine = engine
        self._event = writer.event
        self.event_at = writer.event_at
        """Tells what has no breakpoint and happened at the newest moment, outside any walk."""
        self.write_node = writer.node
        """Writes a node, and nothing else: see `node`."""
        self.write_node_erased = writer.node_erased
        self.store_code, self.store_entry_end = writer.code, writer.entry_end
        self._event_late = writer.event_late
        self.everything = detail == "all"
        self.from_the_start = False
        self.broken = False
        """Whether a defect has ended the watching."""
        self.first_skip = ""
        """What was told first of what is not translated."""
        self.failures = 0
        """How many failures were told."""
        self._ids = {what: itertools.count(1) for what in _NUMBERED}
        self._guard_ids = itertools.count(1)
        self.node_ids: Iterator[int] = itertools.count(1)
        """Gives each node its number."""
        self.stepping: WalkFrame | None = None
        """The frame of a walk that is at its newest moment now, while the controller is asked."""
        self.walks = Walks(self)
        self._facts: dict[int, tuple[int, bytes, str]] = {}
        self._compiled: dict[str, tuple[str, Owner | None]] = {}
        """By compile id: the function that is continued, and whose method was compiled."""
        self.describer: Describer = engine.make_describer()
        """The engine's knowledge of trackers."""
        self.steps: Steps[FrameMirror] = Steps(
            controller,
            self.describer,
            engine.late_mutation_types(),
            on_graph=engine.report_graph,
            on_alert=self._stand,
            on_adopt=self._write_frame,
            on_error=engine.break_down,
            pack_blocks=self._pack_blocks,
            speculation_text=self.describer.speculation,
            write_keyframe=writer.keyframe,
            flush=writer.flush,
        )
        """The hot path. The engine sets its `top` and `graph_changed`."""
        self._phase_times = PhaseTimes(
            writer.timing, writer.guards_made, writer.run_took, self._ids["timing"], self.steps
        )
        self.phase_took = self._phase_times.took
        self.guards_made = self._phase_times.guards_made
        self.runs = self._phase_times.runs
        self.flush_pending: Callable[[], None] = self.steps.flush
        self.about_to_mutate: Callable[[object], None] = (
            self.steps.touched if self.everything else _ignore
        )
        self._user_lines: dict[tuple[int, int], PythonFrame] = {}
        """What `user_line` answered of an instruction, by code and index."""
        self.steps.write_frames(self._facts_of, writer.event, EventKind.INLINE, EventKind.RETURN)
        writer.moments = self.steps.take
        writer.frames = self.steps.take_frames
        writer.descriptions = self.describer.facts.take

    def _next(self, what: str) -> int:
        return next(self._ids[what])

    @property
    def moment(self) -> MomentId:
        return self.steps.moment

    @property
    def current(self) -> FrameMirror | None:
        return self.steps.current

    @property
    def step(self) -> Callable[[object], None]:
        return self.steps.step

    @property
    def note_position(self) -> Callable[[object], None]:
        return self.steps.note_position

    # --- steps (see csrc/record/steps.c)

    def _stand(self, frame: FrameMirror) -> None:
        """The controller wants to see the instruction that is about to be interpreted."""
        moment = self.steps.moment + (not self.everything)
        self.controller.at_moment(
            moment, frame.id, frame.attempt.id, frame.depth, frame.code, frame.ip
        )

    def _pack_blocks(self, translator: object, blocks: list[object]) -> bytes:
        return _encode([self.describer.block(translator, block) for block in blocks])

    # --- translations, attempts, frames

    def begin_translation(
        self,
        *,
        compile_id: str,
        code: Code,
        cache_size: int,
        python_stack: tuple[PythonFrame, ...],
        resume_of: str = "",
        state: Mapping[str, str] = MappingProxyType({}),
        dynamic: bool | None = None,
        specialize_int: bool = False,
        unmet: tuple[UnmetEntry, ...] = (),
        nested: bool = False,
    ) -> LiveTranslation:
        self.walks.forget_the_lost()
        record = trace.Translation(
            id=self._next("translation"),
            compile_id=compile_id,
            code=code.id,
            name=code.label,
            filename=code.filename,
            line=code.first_line,
            first_moment=self.moment + 1,
            cache_size=cache_size,
            thread=thread_name(),
            python_stack=python_stack,
            resume_of=resume_of,
            level=self.walks.level,
            state=dict(state),
            dynamic=dynamic,
            specialize_int=specialize_int,
            unmet=unmet,
        )
        translation = LiveTranslation(record, code, nested)
        translation.stood_before = self.controller.stood
        self.walks.begins(translation)  # before anything is written: so it also ends
        self.writer.translation(record)
        self._event(
            record.first_moment, EventKind.TRANSLATION, f"{compile_id} {code.label}", record.id
        )
        return translation

    def recompiled(self, translation: LiveTranslation, reason: str) -> None:
        translation.record = msgspec.structs.replace(translation.record, recompile_reason=reason)
        self.writer.translation(translation.record)
        self._occurred(
            EventKind.RECOMPILE, reason, translation.id, Subject(name=translation.code.qualname)
        )

    def cache_limit(self, translation: LiveTranslation, text: str) -> None:
        translation.record = msgspec.structs.replace(translation.record, reason=text)
        self._occurred(
            EventKind.CACHE_LIMIT, text, translation.id, Subject(name=translation.code.qualname)
        )

    def begin_attempt(self, translation: LiveTranslation) -> LiveAttempt:
        if not translation.nested:
            self._forget_all()
        translation.attempts += 1
        attempt = LiveAttempt(
            self._next("attempt"), translation, translation.attempts, self.moment + 1
        )
        translation.newest_attempt = attempt
        translation.counts["nodes"] = 0
        translation.guards.clear()
        self.writer.attempt(_attempt_record(attempt, None))
        self._event(
            attempt.first_moment,
            EventKind.ATTEMPT,
            f"{translation.compile_id} attempt {attempt.number}",
            attempt.id,
        )
        self.steps.restart()
        return attempt

    def restarts(self, attempt: LiveAttempt, reason: str) -> None:
        if attempt.restart_reason:
            return
        attempt.restart_reason = reason
        self.writer.attempt(_attempt_record(attempt, self.moment))
        self._occurred(EventKind.RESTART, reason, attempt.id)

    def end_translation(
        self,
        translation: LiveTranslation,
        outcome: Outcome,
        *,
        reason: str = "",
        transformed: Code | None = None,
        dependence: trace.Dependence | None = None,
    ) -> None:
        counts = translation.counts
        stood = self.controller.stood - translation.stood_before
        record = msgspec.structs.replace(
            translation.record,
            last_moment=self.moment,
            outcome=outcome,
            reason=reason or translation.record.reason,
            attempts=translation.attempts,
            instructions=max(0, self.moment - translation.record.first_moment + 1),
            guards=len(translation.guards) or translation.record.guards,
            nodes=counts["nodes"],
            graph_breaks=counts["graph_breaks"],
            seconds=time.monotonic() - translation.began - stood,
            transformed_code=transformed.id if transformed is not None else None,
            dependence=dependence,
        )
        translation.record = record
        codes = {
            number: code if set(map(type, code)) == {str} else tuple(map(str, code))
            for number, guard in translation.guards.items()
            if (code := self._engine.guard_code(guard))
        }
        if codes:
            self.writer.guard_codes(translation.id, codes)
        translation.guards.clear()  # they refer to the program's tensors
        last = translation.newest_attempt
        if last is not None and not last.restart_reason:
            self.writer.attempt(_attempt_record(last, self.moment))
        self.writer.translation(record)
        text = f"{record.compile_id} {outcome}" + (f": {trace.headline(reason)}" if reason else "")
        self._event(self.moment, EventKind.END, text, record.id)
        self.walks.ends(translation)
        if not translation.nested:
            self._forget_all()
        self.steps.flush()
        self.writer.flush()
        if outcome is Outcome.SKIPPED and self._engine.is_program(record.filename):
            self._occurred(EventKind.SKIP, reason, record.id, Subject(name=record.name))

    def skipped(self, name: str, filename: str, line: int, reason: str) -> None:
        number = self._next("skipped frame")
        frame = trace.SkippedFrame(number, self.moment, name, filename, line, reason)
        self.writer.skipped_frame(frame)
        text = f"{name} ({filename}:{line}): {reason}"
        self._occurred(EventKind.SKIP, text, None, Subject(name=name))

    def failed(self, failure: Failure, translation: LiveTranslation | None = None) -> None:
        number = self.failures = self._next("failure")
        if translation is not None:
            record = translation.record
            failure = msgspec.structs.replace(
                failure, translation=record.id, compile_id=record.compile_id, name=record.name,
                filename=record.filename, line=record.line,
            )  # fmt: skip
        failure = msgspec.structs.replace(failure, id=number)
        self.writer.failure(failure)
        text = f"{failure.exception}: {failure.message}"
        subject = Subject(name=failure.name)
        self._occurred(EventKind.EXCEPTION, text, number, subject, moment=failure.moment)

    def ended_by(self, failure: Failure) -> None:
        """The program ended with what is no compilation's: there is nobody to stop for."""
        self.failures = self._next("failure")
        self.writer.failure(msgspec.structs.replace(failure, id=self.failures))

    def phase_began(self, name: str) -> None:
        if name in BACKEND_PHASES:
            self.controller.compiling(done=False)
        self._phase_times.began(name, self.moment)

    def phase_ended(
        self,
        name: str,
        translation: int | None,
        compile_id: str = "",
        *,
        kernels: int | None = None,
    ) -> None:
        self._phase_times.ended(name, translation, compile_id, kernels)
        if name in BACKEND_PHASES:
            self.controller.compiling(done=True)

    def collectives(self, reading: CollectiveReading) -> None:
        self.writer.collectives(self._next("collective reading"), self.moment, reading)

    def phase_mark(self, *, alone: bool = False) -> PhaseMark | None:
        return self._phase_times.mark(self.moment, alone)

    def cache_answered(self, name: str, answer: CacheAnswer, translation: int | None) -> None:
        self._phase_times.cache_answered(name, answer, self.moment, translation)

    def enter(
        self,
        attempt: LiveAttempt,
        translator: object,
        make_code: Callable[[object], Code],
        parent: FrameMirror | None,
    ) -> FrameMirror:
        steps = self.steps
        steps.last_frame += 1
        call_moment = None
        if parent is not None:
            newest = steps.moment
            call_moment = newest_moment_of(parent.key, steps.current, newest) or newest
        frame = FrameMirror(steps.last_frame, translator, make_code, parent, attempt, call_moment)
        if parent is None:
            record = attempt.translation.record
            wraps = self.describer.wraps(translator)
            if wraps != record.wraps:
                record = msgspec.structs.replace(record, wraps=wraps)
                attempt.translation.record = record
                self.writer.translation(record)
            self._compiled[record.compile_id] = record.resume_of, self._owner(frame)
        self.entered(frame)
        return frame

    def entered(self, frame: FrameMirror) -> None:
        if self.everything:
            self._write_frame(frame)
        if frame.parent is not None:
            if EventKind.INLINE in self.controller.wanted:
                code = frame.code
                subject = Subject(name=code.qualname)
                self._occurred(EventKind.INLINE, code.label, frame.id, subject)
            elif self.everything:
                self._record(EventKind.INLINE, frame.code.label, frame.id)

    def _write_frame(self, frame: FrameMirror) -> None:
        frame.written = True
        code, frame.stores, _ = self._facts_of(frame.code)
        parent = frame.parent
        self.writer.frame(
            frame.id, frame.attempt.id, None if parent is None else parent.id, frame.depth,
            code, self.steps.moment + 1, frame.call_moment,
        )  # fmt: skip

    def _facts_of(self, code: Code) -> tuple[int, bytes, str]:
        """What is written of each frame of a code: its number, what stores, its label."""
        facts = self._facts.get(code.id)
        if facts is None:
            facts = self._facts[code.id] = (code.id, storing(code), code.label)
        return facts

    def leave(self, frame: FrameMirror) -> None:
        if frame.written:
            moment, parent = self.steps.moment, frame.parent
            self.writer.frame_end(frame.id, moment)
            if parent is not None:
                self._event(moment, EventKind.RETURN, frame.code.label, frame.id, parent.id)

    # --- what an instruction causes

    def wants(self, kind: EventKind) -> bool:
        return self.everything or kind in self.controller.wanted

    def guard(
        self,
        attempt: LiveAttempt,
        guard: object,
        kind: str,
        source: str,
        scope: str,
        moment: MomentId,
        frame: int | None,
        line: PythonFrame | None,
    ) -> int:
        number = next(self._guard_ids)
        attempt.translation.guards[number] = guard
        self.writer.guards(number, attempt.id, (moment,), (kind,), (source,), (scope,), (line,))
        text = f"{kind} {source}" if source else kind
        if EventKind.GUARD in self.controller.wanted:
            subject = Subject(kind=kind, source=source)
            self._occurred(EventKind.GUARD, text, number, subject, moment=moment)
        else:
            self._event_late(moment, EventKind.GUARD, text, number, frame)
        return number

    def guards(
        self,
        attempt: LiveAttempt,
        marks: GuardMarks,
        words: GuardWords,
    ) -> None:
        guards, moments, frames, codes, ips = marks
        kinds, sources, scopes = words
        known = self._user_lines
        lines = [
            None if code is None else known.get((code.id, ip)) or self.user_line(code, ip)
            for code, ip in zip(codes, ips, strict=True)
        ]
        numbers = list(itertools.islice(self._guard_ids, len(guards)))
        attempt.translation.guards.update(zip(numbers, guards, strict=True))
        self.writer.guards(numbers[0], attempt.id, moments, kinds, sources, scopes, lines)
        rows = zip(moments, kinds, sources, numbers, frames, strict=True)
        for moment, kind, source, number, frame in rows:
            text = f"{kind} {source}" if source else kind
            self._event_late(moment, EventKind.GUARD, text, number, frame or None)

    def marked_now(self, attempt: LiveAttempt, guards: Sequence[object]) -> GuardMarks:
        frame = self.steps.current
        code, ip = None, 0
        if frame is not None and frame.attempt is attempt:
            code, ip = frame.code, frame.ip
        at, count = self.stepping or frame, len(guards)
        of = [0 if at is None else at.id] * count
        return GuardMarks(list(guards), [self.moment] * count, of, [code] * count, [ip] * count)

    def guard_now(
        self, attempt: LiveAttempt, guard: object, kind: str, source: str, scope: str
    ) -> int:
        ((_, moment, frame, code, ip),) = zip(*self.marked_now(attempt, [guard]), strict=True)
        line = None if code is None else self.user_line(code, ip)
        return self.guard(attempt, guard, kind, source, scope, moment, frame or None, line)

    def guard_withdrawn(self, attempt: LiveAttempt, number: int) -> None:
        attempt.translation.guards.pop(number, None)
        self.writer.guard_withdrawn(number, self.moment)

    def user_line(self, code: Code, ip: int) -> PythonFrame:
        found = self._user_lines.get((code.id, ip))
        if found is None:
            line = code.instructions[ip].line if ip < len(code.instructions) else None
            found = PythonFrame(code.filename, line or code.first_line, code.label)
            self._user_lines[code.id, ip] = found
        return found

    def node(self, attempt: LiveAttempt, node: trace.Node, *, known: bool) -> None:
        self.write_node(node)
        if not known:
            attempt.translation.counts["nodes"] += 1
            text = f"{node.name} = {node.op} {node.target}"
            if EventKind.NODE in self.controller.wanted:
                subject = Subject(target=node.target, name=node.name)
                self._occurred(EventKind.NODE, text, node.id, subject)
            else:
                self._record(EventKind.NODE, text, node.id)

    def node_erased(self, id: int) -> None:
        self.write_node_erased(id, self.steps.moment)

    def side_effect(
        self,
        attempt: LiveAttempt,
        kind: str,
        target: object,
        name: str,
        how: str,
        value: object | None,
    ) -> int:
        if not self.everything:
            return 0
        record = trace.SideEffect(
            id=self._next("side_effect"),
            attempt=attempt.id,
            moment=self.moment,
            kind=kind,
            target=self.steps.number(target),
            name=name,
            how=how,
            value=None if value is None else self.steps.number(value),
        )
        self.writer.side_effect(record)
        self._occurred(EventKind.SIDE_EFFECT, record.text, record.id)
        return record.id

    def shape(self, step: ShapeStep, frame: int | None) -> None:
        if not self.wants(step.event):
            return
        step = msgspec.structs.replace(step, id=self._next("shape"))
        self.writer.shape_step(step)
        self._event(step.moment, step.event, step.text, step.id, frame)
        if step.event in self.controller.wanted:
            subject = Subject(name=step.symbol or step.expression, source=step.source)
            self.controller.occurred(step.event, step.moment, step.text, subject)

    def graph_break(self, attempt: LiveAttempt, record: trace.GraphBreak) -> None:
        attempt.translation.counts["graph_breaks"] += 1
        if not self.everything and EventKind.GRAPH_BREAK not in self.controller.wanted:
            return
        self._materialize()
        record = msgspec.structs.replace(
            record, id=self._next("break"), attempt=attempt.id, moment=record.moment or self.moment
        )
        self.writer.graph_break(record)
        self._occurred(EventKind.GRAPH_BREAK, reason_of(record), record.id, moment=record.moment)

    def _record(self, kind: EventKind, text: str, number: int) -> None:
        """What has no breakpoint; the text is one line."""
        if self.stepping is None:
            self.event_at(self.steps, kind, text, number)
        else:
            self._event(self.steps.moment, kind, text, number, self.stepping.id)

    def _occurred(
        self,
        kind: EventKind,
        text: str,
        number: int | None,
        subject: Subject = NO_SUBJECT,
        *,
        moment: MomentId | None = None,
    ) -> None:
        moment = self.steps.moment if moment is None else moment
        if kind is EventKind.SKIP and not self.first_skip:
            self.first_skip = text
        frame = self.stepping or self.steps.current
        self._event(moment, kind, trace.headline(text), number, None if frame is None else frame.id)
        if kind in self.controller.wanted:
            self.controller.occurred(kind, moment, text, subject)

    def before_commit(self, tell: Callable[[], None]) -> None:
        self.writer.before_commit = tell

    # --- other walks (see `stepper.debuggee.walks`), which have the lock when they call these

    occurred = _occurred

    def commit(self) -> None:
        self.steps.flush()
        self.writer.flush()

    @contextlib.contextmanager
    def nested_recording(self) -> Iterator[None]:
        stepping, self.stepping = self.stepping, None
        try:
            with self.walks.not_writing:
                yield
        finally:
            self.stepping = stepping

    def begin_walk(
        self,
        phase: Phase,
        code: Code,
        *,
        name: str = "",
        compile_id: str = "",
        resume_of: str = "",
        python_stack: tuple[PythonFrame, ...] = (),
        by_hand: bool = False,
        names: Names = no_names,
        owner: Owner | None = None,
        wraps: str = "",
    ) -> Walk:
        return Walk(
            self,
            phase,
            code,
            name=name,
            compile_id=compile_id,
            resume_of=resume_of,
            python_stack=python_stack,
            by_hand=by_hand,
            names=names,
            owner=owner,
            wraps=wraps,
        )

    def lookup_again(self, told: ToldLookup, began: int) -> int | None:
        return tell_again(self, self.writer, told, began)

    def new_walk_ids(self) -> tuple[int, int]:
        """Numbers for a walk and its attempt."""
        ids = self._ids
        return next(ids["translation"]), next(ids["attempt"])

    def store_walk(self, record: trace.Translation, attempt: trace.Attempt) -> None:
        """A walk's rows, at its beginning and again at its end."""
        self.writer.attempt(attempt)
        self.writer.translation(record)

    def store_frame(
        self, attempt: int, parent: int | None, depth: int, code: Code, call: MomentId | None
    ) -> int:
        """A walk's frame, before its first moment; returns its number."""
        self.steps.last_frame += 1
        id = self.steps.last_frame
        self.writer.frame(id, attempt, parent, depth, code.id, self.moment + 1, call)
        return id

    # --- what an exception leaves

    def mark(self) -> Mark:
        return Mark(self.walks.lock.depth(), self.walks.here, self.steps.top, self.stepping)

    def unwind(self, mark: Mark, reason: str) -> None:
        self.walks.lock.unwind(mark.lock)
        self.stepping = mark.stepping
        for left in reversed(self.walks.since(mark.under_way)):
            self.walks.lock.during(self._end, left, reason)
        self.steps.top = mark.top

    def _end(self, left: object, reason: str) -> None:
        if isinstance(left, LiveTranslation):
            self.end_translation(left, Outcome.FAILED, reason=reason)
        elif isinstance(left, Walk):
            left.end(Outcome.RAISED, reason)
        self.walks.ends(left)

    def whole(self, function: Callable[..., None], *args: object) -> None:
        call_and_undo(partial(self.unwind, self.mark(), "an exception left it"), function, *args)

    # --- what the controller and the start-up ask for

    def entered_module(self) -> Entered | None:
        frame = self.current
        owner = None if self.stepping is not None or frame is None else self._owner(frame)
        if frame is None or owner is None:
            return None
        around = frame.parent
        while around is not None and (found := self._owner(around)) is None:
            around = around.parent
        wraps = owner == _wrapped_by(frame)
        return Entered(owner, not wraps and (around is None or found != owner))

    def owner_of(self, compile_id: str) -> Owner | None:
        return self._compiled.get(compile_id, ("", None))[1]

    def entry_subject(self, name: str, compile_id: str) -> Subject:
        resume_of, owner = self._compiled.get(compile_id, ("", None))
        return Subject(name=name, resume_of=resume_of, owner=owner)

    def _owner(self, frame: FrameMirror) -> Owner | None:
        tracker = frame.key.symbolic_locals.get("self")
        owner = None if tracker is None else self.describer.owner(tracker)
        return owner or _wrapped_by(frame)

    def place(self) -> Place:
        if self.stepping is not None:
            return self.stepping.place
        frame = self.current
        if frame is None:
            return Place(0, 0, 0, None)
        instructions = frame.code.instructions
        line = instructions[frame.ip].line if frame.ip < len(instructions) else None
        record = frame.attempt.translation.record
        return Place(frame.attempt.id, frame.id, frame.depth, line, record.thread, record.level)

    def stopping(self, moment: MomentId, text: str) -> MomentId:
        self._materialize()
        moment = min(moment, self.moment) or self.moment
        self.steps.flush()
        self._event(moment, EventKind.STOP, text)
        self.writer.flush()
        return moment

    def note(self, text: str) -> None:
        self.controller.notice(text)
        self._event(self.moment, EventKind.NOTE, text)

    def broke_down(self, error: Exception) -> None:
        self.broken = True
        text = (
            f"stepper stopped watching: {describe_exception(error)}{place_of(error)}. The "
            "program goes on. Please report it."
        )
        self.controller.notice(text)
        self._event(self.moment, EventKind.NOTE, text)
        self.walks.muted = True
        self._phase_times.close()
        self.steps.clear()  # without telling: that may be what broke down
        self.writer.flush()

    def detach(self) -> None:
        """Record nothing and keep nothing from now on: the engine is about to be uninstalled."""
        self.walks.muted = True
        self._phase_times.close()
        self._forget_all()

    def _materialize(self) -> None:
        """With detail `stops`: write the state as it is now as one moment, and everything from now
        on."""
        if self.everything:
            return
        self.everything = True
        self.about_to_mutate = self.steps.touched
        if self.stepping is not None:
            self.stepping.walk.materialize(self.stepping)
            self._engine.catch_up()
            return
        frame = self.current
        if frame is None:
            return
        current: FrameMirror | None = frame
        chain: list[FrameMirror] = []
        while current is not None:
            chain.append(current)
            current = current.parent
        for mirror in reversed(chain):
            self._write_frame(mirror)
        self.steps.record_whole(frame)
        for tracker in self.describer.take_shown_before():
            self.about_to_mutate(tracker)
        self._engine.catch_up()  # before the moment counts: what is there already is seen at it
        self.steps.moment += 1

    def _forget_all(self) -> None:
        """Tell what is left to tell, and let go of every tracker."""
        self.steps.flush()
        self.steps.clear()
        self.describer.forget()
        self._facts.clear()
        self._user_lines.clear()


def _ignore(tracker: object) -> None:
    """Nobody keeps what trackers are."""


def _wrapped_by(frame: FrameMirror) -> Owner | None:
    """The function that a translation's outermost frame has been put around."""
    wraps = frame.attempt.translation.record.wraps if frame.parent is None else ""
    return wrapped_function(wraps)


def _attempt_record(attempt: LiveAttempt, last_moment: int | None) -> trace.Attempt:
    return trace.Attempt(
        attempt.id,
        attempt.translation.id,
        attempt.number,
        attempt.first_moment,
        last_moment,
        attempt.restart_reason,
    )
