"""Walks: the phases of a call's life besides translation, told as moments like a translation.

The idea. A lookup is a program of guards, an execution is a program of transformed bytecode: both
have code, frames, a stack, locals and an instruction about to run. So both are written as what a
translation is (a row of the catalogue with a `phase`, one attempt, frames, moments as deltas with
keyframes), and whoever reads a recording steps them in both directions without knowing them.

    walk = recorder.begin_walk(Phase.LOOKUP, code, compile_id="0/0")
    frame = walk.enter(code)
    walk.moment(frame, ip, stack=[...], locals={...})     # may stand still here
    walk.leave(frame)
    walk.end(Outcome.HIT)

Values. A walk sees values only as descriptions, made by its caller: see `described`.

Order. Walks nest (a call in transformed code leads to a lookup, a compilation, an execution), lie
inside of translations (a backend calls a compiled function) and interleave (threads). All moments
have one order. A walk has numbers and keyframes of its own; a keyframe is due when so many moments
of *anybody's* have passed, so that a state is rebuilt in bounded time whatever lies in between.

Threads. A translation is the business of one thread at a time, by Dynamo's compile lock. Walks are
not: every operation takes the recorder's `turn`, and who hooks the translation takes it, too. It is
kept while the program stands still, so the recording stays as the user sees it. What a thread does
while it tells a moment or stands still (an evaluation calls a compiled function) is no part of the
program's life and is not recorded.

Detail `stops`. Nothing is written before the first stop. A moment at which the program could stop
is shown to the judge first; when it does stop, `materialize` writes the walk's rows and the moment.
"""

from __future__ import annotations

import _thread
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from stepper._C import (
    KEYFRAME_EVERY,
    InView,
    Passage,
    ReentrantLock,
    WalkFrameState,
    WalkState,
    Writing,
)
from stepper.debuggee.described import Described
from stepper.debuggee.occurrence import Subject
from stepper.debuggee.threads import thread_name
from stepper.debuggee.told_again import ToldLookup
from stepper.model import trace
from stepper.model.lookup import CheckedGuard, TriedEntry
from stepper.model.method_names import Owner, wrapped_function
from stepper.model.program import Code, PythonFrame
from stepper.model.stepping import Place
from stepper.model.trace import Block, EventKind, MomentId, Outcome, Phase
from stepper.model.value import Item, Value, ValueId
from stepper.recording.packing import pack
from stepper.uncompiled import keep_out

if TYPE_CHECKING:
    from stepper.debuggee.recorder import Recorder

_BODIES_KEPT = 50_000
"""Descriptions that are remembered so as to be stored once."""

_encode = msgspec.msgpack.Encoder().encode

_EVENTS = {Phase.LOOKUP: EventKind.LOOKUP, Phase.EXECUTE: EventKind.EXECUTE}

_MOST_AGAIN = 4_000
"""Moments of a walk that is kept to be told again."""

Names = Callable[[int | None], dict[str, object]]
"""What an expression can speak of at a stop: asked with the id of a frame, or None."""


def no_names(frame: int | None) -> dict[str, object]:
    """The names at a stop that has none."""
    return {}


class WalkFrame(WalkFrameState):
    """A frame of a walk, as it was at its newest moment. Its `id` is 0 until it is written."""

    __slots__ = ("call_moment", "code", "depth", "parent", "walk")

    def __init__(self, walk: Walk, code: Code, parent: WalkFrame | None) -> None:
        self.walk = walk
        self.code = code
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.call_moment: MomentId | None = None
        self.stack = []
        self.locals = {}
        self.blocks = ()

    @property
    def place(self) -> Place:
        """Where its newest moment is."""
        instructions = self.code.instructions
        line = instructions[self.ip].line if self.ip < len(instructions) else None
        record = self.walk.record
        return Place(self.walk.attempt, self.id, self.depth, line, record.thread, record.level)

    def namespace(self, frame: int | None) -> dict[str, object]:
        """The names that an expression can use at a stop in it; see `Engine.namespace`."""
        return self.walk.names(frame)


class Walks:
    """What all walks of a session share."""

    def __init__(self, recorder: Recorder) -> None:
        self.lock = ReentrantLock()
        """Whoever writes while walks are recorded has it."""
        self.writing = Writing(self.lock, writes=True)
        """To be entered for every operation of a walk."""
        self.not_writing = Writing(self.lock, writes=False)
        """To be entered where walks are to be told though this thread tells one already: it stands
        still in the midst of that, and runs something by hand."""
        self.muted = False
        """Nothing is recorded any more."""
        self.asked: frozenset[Phase] = frozenset()
        """The phases that the session was begun to record; others only as far as a breakpoint
        speaks of them."""
        self.guard_programs: set[int] = set()
        """Codes whose guards have been written."""
        self.forget_the_lost: Callable[[], None] = lambda: None
        """Ends those of this thread that are missing from its Python stack: an exception has left
        them, and who would have told of it was interrupted."""
        self._recorder = recorder
        self._under_way: dict[int, list[object]] = {}
        self._bodies: dict[bytes, int] = {}
        self._told: dict[tuple[int, object], tuple[Value, int]] = {}
        """What was asked for last: descriptions by their address and what they hold, with their
        numbers. So most are not encoded again."""
        self.told_alone: dict[int, tuple[Value, int]] = {}
        """Likewise of those that hold nothing, by their address."""
        self._body = 0

    # Descriptions count downwards from -1: those of trackers are numbered by the engine.

    def body(
        self,
        store: Callable[[int, bytes], None],
        value: Value,
        items: tuple[tuple[str, ValueId], ...] | None = None,
    ) -> int:
        """The number of a description, with what the value holds; stored when it is new."""
        if items is None:
            number = self._stored(store, value)
            if len(self.told_alone) >= _BODIES_KEPT:
                self.told_alone.clear()
            self.told_alone[id(value)] = (value, number)
            return number
        key = (id(value), items)
        told = self._told.get(key)
        if told is not None and told[0] is value:
            return told[1]
        whole = msgspec.structs.replace(value, items=tuple(Item(*each) for each in items))
        number = self._stored(store, whole)
        if len(self._told) >= _BODIES_KEPT:
            self._told.clear()
        self._told[key] = (value, number)
        return number

    def _stored(self, store: Callable[[int, bytes], None], value: Value) -> int:
        packed = pack(value)
        number = self._bodies.get(packed)
        if number is None:
            if len(self._bodies) >= _BODIES_KEPT:
                self._bodies.clear()
            self._body -= 1
            number = self._bodies[packed] = self._body
            store(number, packed)
        return number

    # Who is inside of whom

    @property
    def here(self) -> tuple[object, ...]:
        """The walks and translations that are under way in this thread, the outermost first."""
        return tuple(self._under_way.get(_thread.get_ident(), ()))

    @property
    def level(self) -> int:
        """How many they are."""
        return len(self._under_way.get(_thread.get_ident(), ()))

    def begins(self, what: object) -> None:
        """A walk or a translation begins in this thread."""
        self._under_way.setdefault(_thread.get_ident(), []).append(what)

    def since(self, before: Collection[object]) -> list[object]:
        """What is under way in this thread and was not `before`; some of that may have been found
        to be over meanwhile, so it is no matter of how many there were."""
        return [what for what in self.here if what not in before]

    def ends(self, what: object) -> None:
        """Note the end of `what`, and of whatever began inside of it and told nobody of its
        end. Harmless when it had ended."""
        for ident, stack in list(self._under_way.items()):
            if what in stack:
                del stack[stack.index(what) :]
                if not stack:
                    del self._under_way[ident]

    @property
    def translating(self) -> bool:
        """Whether any thread translates. Its instructions are noted without the lock, and may be
        committed at any of them."""
        return any(not isinstance(what, Walk) for here in self._under_way.values() for what in here)

    @property
    def busy(self) -> bool:
        """Whether this thread tells a walk or stands still: what it does now is no part of the
        program's life."""
        return self.lock.writer == _thread.get_ident() or self._recorder.controller.stands

    def taking_turns(self, hook: Callable[..., None]) -> Callable[..., None]:
        """A hook of a translation that takes the lock."""
        return partial(self.lock.during, hook)


class Walk(WalkState):
    """One walk; made by `Recorder.begin_walk`."""

    def __init__(
        self,
        recorder: Recorder,
        phase: Phase,
        code: Code,
        *,
        name: str,
        compile_id: str,
        resume_of: str,
        python_stack: tuple[PythonFrame, ...],
        by_hand: bool,
        names: Names,
        owner: Owner | None,
        wraps: str,
    ) -> None:
        self._recorder = recorder
        self._walks = recorder.walks
        self._walks.forget_the_lost()
        self.names = names
        self._passage: Passage | None = None
        """Its moments, where they are kept."""
        self.attempt = 0
        """Id of its attempt; 0 until it is written."""
        # Not recorded: the session is over, or an evaluation made the call.
        self.muted = self._walks.muted or self._walks.busy
        self.record = trace.Translation(
            id=0,
            compile_id=compile_id,
            code=code.id,
            name=name or code.label,
            filename=code.filename,
            line=code.first_line,
            first_moment=0,
            thread=thread_name(),
            python_stack=python_stack,
            resume_of=resume_of,
            wraps=wraps,
            phase=phase,
            level=self._walks.level,
            by_hand=by_hand,
        )
        self.subject = Subject(
            name=name or code.qualname or code.name,
            resume_of=resume_of,
            owner=owner or wrapped_function(wraps) or recorder.owner_of(compile_id),
        )
        """What a breakpoint asks of it."""
        self._began = time.monotonic()
        self._stood_before = recorder.controller.stood
        self.values = InView(
            partial(self._walks.body, recorder.writer.value), self._walks.told_alone
        )
        self._frame: WalkFrame | None = None
        """The frame of its newest moment."""
        self._pending: tuple[list[Described], dict[str, Described], Sequence[Block]] | None = None
        if not self.muted:  # it is whole: whoever finds it under way can end it
            self._walks.begins(self)
        if recorder.everything or _EVENTS[phase] in recorder.controller.wanted:
            with self._walks.writing:
                if not self.muted:
                    self._announce()

    @property
    def idle(self) -> bool:
        """Whether a moment would neither be recorded nor looked at, so that it need not be
        described."""
        return (
            self.muted
            or self._walks.muted
            or not (self._recorder.everything or self._recorder.controller.alert)
        )

    def keep(self) -> None:
        """Keep its moments from now on, for `kept`, if they are only written."""
        if self.unheard and not self.moments:
            self._passage = Passage(self._recorder.steps)

    def _keep_moments(self) -> None:
        if self._passage is not None and not (
            0 < self.moments <= _MOST_AGAIN and self._passage.end(self.moments)
        ):
            self._passage = None

    def kept(self, hit: str) -> ToldLookup | None:
        """All of a lookup that has hit and is over, to be told again; `hit`: what its event says.
        None: it cannot be."""
        passage, record = self._passage, self.record
        if passage is None:
            return None
        first = passage.first_frame
        begun = f"{record.compile_id} {record.name}".lstrip()
        texts = (begun, hit, self._end_text())
        return ToldLookup(record, passage, self._recorder.steps.last_frame - first + 1, texts)

    # What happens in it

    def enter(self, code: Code, parent: WalkFrame | None = None) -> WalkFrame:
        """A frame begins."""
        frame = WalkFrame(self, code, parent)
        if parent is not None and parent.id:
            frame.call_moment = parent.last_moment
        return frame

    def moment(
        self,
        frame: WalkFrame,
        ip: int,
        stack: list[Described] | None = None,
        locals: dict[str, Described] | None = None,
        blocks: Sequence[Block] = (),
    ) -> None:
        """An instruction of the frame is about to run. Blocks while the program stands still.

        Raises:
            KeyboardInterrupt: the user ended the program at the stop.
        """
        if self.idle:
            return
        recorder = self._recorder
        with self._walks.writing:
            frame.ip = ip
            state = (stack or [], locals or {}, blocks)
            if recorder.everything:
                self._record(frame, *state)
                number = recorder.moment
            else:
                self._pending = state
                number = recorder.moment + 1
            self._frame = frame
            if recorder.controller.alert:
                recorder.stepping = frame
                try:
                    recorder.controller.at_moment(
                        number, frame.id, self.attempt, frame.depth, frame.code, ip
                    )
                finally:
                    recorder.stepping = self._pending = None

    @property
    def unheard(self) -> bool:
        """Whether its moments are only written: nobody waits for one."""
        recorder = self._recorder
        return recorder.everything and not recorder.controller.alert and not self.idle

    def unheard_moments(
        self, frame: WalkFrame, told: Iterable[tuple[int, dict[str, Described]]]
    ) -> list[MomentId]:
        """Instructions of the frame, one after the other, each with its locals: what `moment` does
        while it is unheard. Returns their numbers."""
        numbers = []
        with self._walks.writing:
            self._frame = frame
            for ip, locals in told:
                frame.ip = ip
                self._record(frame, [], locals, ())
                numbers.append(frame.last_moment)
        return numbers

    def leave(self, frame: WalkFrame) -> None:
        """The frame ends, by return or by exception."""
        with self._walks.writing:
            self.values.exchange([], [*frame.stack, *frame.locals.values()])
            frame.stack, frame.locals = [], {}
            if frame.id and not self.muted:
                self._recorder.writer.frame_end(frame.id, frame.last_moment)

    def occurred(
        self, kind: EventKind, text: str, number: int | None = None, subject: Subject | None = None
    ) -> None:
        """Something happened at its newest moment. Blocks while the program stands still."""
        recorder = self._recorder
        if (
            self.muted
            or self._walks.muted
            or not (recorder.everything or kind in recorder.controller.wanted)
        ):
            return
        with self._walks.writing:
            recorder.stepping = self._frame
            try:
                recorder.occurred(kind, text, number, subject or self.subject)
            finally:
                recorder.stepping = None

    def tried(self, entry: TriedEntry, guards: Sequence[CheckedGuard]) -> None:
        """A lookup has tried an entry, whose rows check `guards`."""
        if self.muted or self._walks.muted or not self._recorder.everything:
            return
        with self._walks.writing:
            if entry.code not in self._walks.guard_programs:
                self._walks.guard_programs.add(entry.code)
                self._recorder.writer.guard_program(entry.code, guards)
            self._recorder.writer.tried(entry)

    def end(self, outcome: Outcome, reason: str = "") -> None:
        """The walk is over; its frames have been left."""
        if self.muted:
            return
        with self._walks.writing:
            self._walks.ends(self)
            recorder = self._recorder
            self._frame = None
            self.values.forget()
            if not self.record.id:
                if not recorder.everything:
                    self.muted = True
                    return
                self._write()
            stood = recorder.controller.stood - self._stood_before
            self.record = msgspec.structs.replace(
                self.record,
                last_moment=max(self.last, self.record.first_moment - 1),
                outcome=outcome,
                reason=reason,
                attempts=1,
                instructions=self.moments,
                seconds=time.monotonic() - self._began - stood,
            )
            recorder.store_walk(self.record, self._attempt_record(self.record.last_moment))
            self.muted = True  # not before: an end that was interrupted is told again
            recorder.occurred(EventKind.END, self._end_text(), self.record.id, self.subject)
            self._keep_moments()
            recorder.writer.flush_soon()  # which takes them out of memory

    def _end_text(self) -> str:
        text = f"{self.record.compile_id} {self.record.outcome}".lstrip()
        return f"{text}: {self.record.reason}" if self.record.reason else text

    def materialize(self, frame: WalkFrame) -> None:
        """With detail `stops`, at the first stop: write the moment that is being looked at."""
        if self._pending is not None:
            pending, self._pending = self._pending, None
            self._record(frame, *pending)

    # How it is written

    def _announce(self) -> None:
        kind = _EVENTS[self.record.phase]
        recorder = self._recorder
        if recorder.everything:
            self._write()
        text = f"{self.record.compile_id} {self.record.name}".lstrip()
        recorder.occurred(
            kind, text, self.record.id or None, self.subject, moment=recorder.moment + 1
        )

    def _write(self) -> None:
        """The rows of the walk and of its attempt."""
        recorder = self._recorder
        id, self.attempt = recorder.new_walk_ids()
        self.record = msgspec.structs.replace(self.record, id=id, first_moment=recorder.moment + 1)
        recorder.store_walk(self.record, self._attempt_record(None))

    def _attempt_record(self, last_moment: MomentId | None) -> trace.Attempt:
        first = self.record.first_moment
        return trace.Attempt(self.attempt, self.record.id, 1, first, last_moment, "")

    def _record(
        self,
        frame: WalkFrame,
        stack: list[Described],
        locals: dict[str, Described],
        blocks: Sequence[Block],
    ) -> None:
        """Write a moment: what changed in the frame since its newest one."""
        if not frame.id:
            self.begin_frame(frame)
        packed = None
        if blocks is not frame.blocks and blocks != frame.blocks:
            packed = _encode(blocks)
        recorder = self._recorder
        number = self.looked(recorder.steps, frame, stack, locals, blocks, packed)
        if number >= self.keyframe_due:
            self.keyframe_due = number + KEYFRAME_EVERY
            recorder.writer.keyframe(number, self._keyframe(frame))

    @staticmethod
    def _numbers(frame: WalkFrame, keep: int) -> list[ValueId]:
        return [known.number for known in frame.stack[keep:]]

    def begin_frame(self, frame: WalkFrame) -> None:
        """Write a frame's row, before its first moment, and those of what it belongs to."""
        if not self.record.id:
            self._write()
        if frame.parent is not None and not frame.parent.id:
            self.begin_frame(frame.parent)
        frame.id = self._recorder.store_frame(
            self.attempt,
            frame.parent.id if frame.parent is not None else None,
            frame.depth,
            frame.code,
            frame.call_moment,
        )

    def _keyframe(self, frame: WalkFrame) -> bytes:
        frames = []
        values: dict[ValueId, int] = {}
        current: WalkFrame | None = frame
        while current is not None:
            frames.append(
                (
                    current.id,
                    current.ip,
                    self._numbers(current, 0),
                    {name: known.number for name, known in current.locals.items()},
                    list(current.blocks),
                    "",
                )
            )
            waiting = [*current.stack, *current.locals.values()]
            while waiting:
                known = waiting.pop()
                if known.number not in values:
                    values[known.number] = known.body
                    waiting += known.children
            current = current.parent
        frames.reverse()
        return _encode((frames, values))


keep_out()
