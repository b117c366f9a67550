"""The frozen picture of one moment that all panes draw.

A snapshot is made for every movement and never changes afterwards, so panes cannot disagree about
where they are. Nothing in it is computed before a visible pane asks: making one costs a few
attribute assignments, and a pane that is hidden costs nothing at all. Whatever two panes could ask
for is computed once."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from stepper.analysis.shapes import Symbol, symbols_at
from stepper.model.breakpoint import Breakpoint
from stepper.model.control import Stopped
from stepper.model.program import Code
from stepper.model.shapes import ShapeStep
from stepper.model.stepping import Motion
from stepper.model.trace import (
    Attempt,
    Event,
    EventKind,
    Frame,
    FrameState,
    Guard,
    MomentId,
    Node,
    Outcome,
    Phase,
    SideEffect,
    State,
    Translation,
)
from stepper.model.value import Value, ValueId
from stepper.recording.navigation import move
from stepper.recording.reader import Recording


class Status(StrEnum):
    """What the program does, in the word that the header shows."""

    STARTING = "STARTING"
    RUNNING = "LIVE"
    STOPPED = "STOPPED"
    ENDED = "ENDED"
    RECORDING = "RECORDING"
    """Another process writes this recording."""


class Change(StrEnum):
    """What happened to something in the step that led here, as the sign that marks it."""

    SAME = " "
    NEW = "+"
    CHANGED = "~"
    GONE = "-"

    @property
    def role(self) -> str:
        """The role of the sign on screen."""
        return _CHANGE_ROLES[self]


_CHANGE_ROLES = {Change.SAME: "", Change.NEW: "new", Change.CHANGED: "changed", Change.GONE: "gone"}


_CACHE_EVENTS = (
    EventKind.ENTRY,
    EventKind.HIT,
    EventKind.INVALIDATE,
    EventKind.EVICT,
    EventKind.END,
)


class Slot(NamedTuple):
    """A stack entry or a local variable, now and before."""

    label: str
    value: ValueId | None
    """None: it is gone."""
    old: ValueId | None
    """None: it is new; the same as `value` when nothing changed."""
    change: Change


class Snapshot:
    """One moment of a recording, seen in one frame of the symbolic call stack.

    Attributes that can be None are None before the program has reached its first moment.
    """

    def __init__(
        self,
        recording: Recording | None,
        moment: MomentId,
        *,
        status: Status,
        frame: int | None = None,
        newest: MomentId = 0,
        breakpoints: tuple[Breakpoint, ...] = (),
        stopped: Stopped | None = None,
        evaluated: int = 0,
        ended: str = "",
    ) -> None:
        """
        Args:
            recording: where everything is read from.
            moment: the moment shown; 0: none.
            status: what the program does.
            frame: position in the symbolic call stack, outermost 0; None: the innermost.
            newest: the newest moment known.
            breakpoints: the breakpoints set.
            stopped: where and why the live program stands still.
            evaluated: how many expressions were evaluated in it so far; each can have changed it.
            ended: how the program ended, in words; empty while it lives.
        """
        self.recording = recording
        self.moment = moment
        self.status = status
        self.newest = newest
        self.breakpoints = breakpoints
        self.stopped = stopped
        self.evaluated = evaluated
        self.ended = ended
        self._frame = frame

    @property
    def final(self) -> bool:
        """Whether nothing more is recorded."""
        return self.status is Status.ENDED

    @property
    def at_stop(self) -> bool:
        """Whether the program stands still at exactly this moment, so that expressions can be
        evaluated in it.
        """
        return self.stopped is not None and self.stopped.moment == self.moment

    @cached_property
    def state(self) -> State | None:
        """Everything the symbolic interpreter had."""
        if self.recording is None or not self.moment:
            return None
        return self.recording.state(self.moment)

    # The frame that is looked at

    @cached_property
    def frame_index(self) -> int:
        """Position of the selected frame in `state.frames`."""
        last = len(self.state.frames) - 1 if self.state else 0
        return last if self._frame is None else max(0, min(self._frame, last))

    @property
    def innermost(self) -> bool:
        """Whether the selected frame is the one whose instruction is next."""
        return self.state is None or self.frame_index == len(self.state.frames) - 1

    @cached_property
    def frame_state(self) -> FrameState | None:
        """The selected frame at this moment."""
        return self.state.frames[self.frame_index] if self.state and self.state.frames else None

    @cached_property
    def frame(self) -> Frame | None:
        """The selected frame."""
        return (
            self.recording.frame(self.frame_state.frame)
            if self.recording and self.frame_state
            else None
        )

    @cached_property
    def code(self) -> Code | None:
        """The selected frame's code."""
        return self.recording.code(self.frame.code) if self.recording and self.frame else None

    @property
    def ip(self) -> int:
        """Position of the selected frame's current instruction in `code.instructions`."""
        return self.frame_state.ip if self.frame_state else 0

    @property
    def line(self) -> int | None:
        """The selected frame's current source line."""
        return line_at(self.code, self.ip) if self.code else None

    @cached_property
    def executed(self) -> dict[int, int]:
        """How often each instruction of the selected frame was interpreted before this moment."""
        if self.recording is None or self.frame is None:
            return {}
        return self.recording.executed(self.frame.id, self.moment)

    # What it belongs to

    @cached_property
    def attempt(self) -> Attempt | None:
        """The run of the symbolic interpreter that the moment is part of."""
        return self.recording.attempt(self.state.attempt) if self.recording and self.state else None

    @cached_property
    def attempts(self) -> int:
        """How many attempts the translation has had, as far as is known."""
        if self.recording is None or self.attempt is None:
            return 0
        return len(self.recording.attempts(self.attempt.translation))

    @cached_property
    def translation(self) -> Translation | None:
        """The translation that the moment is part of."""
        if self.recording is None or self.state is None:
            return None
        return self.recording.translation(self.state.translation)

    @property
    def phase(self) -> Phase:
        """The part of a call's life that the moment is part of."""
        return self.translation.phase if self.translation else Phase.TRANSLATE

    @cached_property
    def maker(self) -> Translation | None:
        """The translation whose guards, graph and codes are to be seen at this moment: the one that
        it is part of, or for an execution the one that made what is executed. None for a lookup.
        """
        here = self.translation
        if here is None or here.phase is Phase.TRANSLATE:
            return here
        if here.phase is Phase.LOOKUP or not here.compile_id or self.recording is None:
            return None
        made = (
            each
            for each in reversed(self.recording.translations())
            if each.compile_id == here.compile_id
            and each.phase is Phase.TRANSLATE
            and each.outcome is Outcome.COMPILED
        )
        return next(made, None)

    @cached_property
    def _found_at(self) -> tuple[MomentId | None, int | None] | None:
        """As of which moment (None: their end), and in which attempt (None: the moment's), guards
        and nodes are to be seen; None: there are none.
        """
        if self.phase is Phase.TRANSLATE:
            return (self.moment, None) if self.moment else None
        if self.recording is None or self.maker is None:
            return None
        attempts = self.recording.attempts(self.maker.id)
        return (None, attempts[-1].id) if attempts else None

    @cached_property
    def failed(self) -> frozenset[int]:
        """In a lookup, the checks of the selected frame that have failed, by their position."""
        if self.recording is None or self.frame is None or self.phase is not Phase.LOOKUP:
            return frozenset()
        events = self.recording.events(
            kinds=(EventKind.GUARD_FAIL,),
            after=self.frame.first_moment - 1,
            before=self.moment + 1,
        )
        moments = [self.recording.moment(event.moment) for event in events]
        return frozenset(moment.ip for moment in moments if moment.frame == self.frame.id)

    # What changed

    @cached_property
    def previous(self) -> MomentId | None:
        """The moment before this one in the same frame: what changed, changed since then. None at a
        frame's start.
        """
        if self.recording is None or self.state is None:
            return None
        frame = self.state.moment.frame
        if self.recording.frame(frame).first_moment >= self.moment:
            return None
        if self.recording.moment(self.moment - 1).frame == frame:
            return self.moment - 1
        return move(self.recording, self.moment, Motion.NEXT, -1)

    @cached_property
    def before(self) -> State | None:
        """The state at `previous`; None in a lookup, where each check is about something else."""
        if self.phase is Phase.LOOKUP:
            return None
        return self.recording.state(self.previous) if self.recording and self.previous else None

    def is_new(self, moment: MomentId) -> bool:
        """Whether something that `moment`'s instruction caused came with the step that led here."""
        return (self.previous or self.moment - 1) <= moment < self.moment

    def value(self, id: ValueId) -> Value | None:
        """A tracker's description at this moment."""
        return self.state.values.get(id) if self.state else None

    def old_value(self, id: ValueId) -> Value | None:
        """A tracker's description at `previous`."""
        return self.before.values.get(id) if self.before else None

    def change_of(self, id: ValueId) -> Change:
        """Whether a tracker that is there before and now has changed itself."""
        old = self.old_value(id)
        return Change.CHANGED if old is not None and old != self.value(id) else Change.SAME

    @cached_property
    def stack(self) -> list[Slot]:
        """The selected frame's symbolic stack, bottom first; entries that were popped follow at the
        end.
        """
        now = self.frame_state.stack if self.frame_state else ()
        before = self._frame_before.stack if self._frame_before else None
        old = now if before is None else before
        return [
            self._slot(
                str(at), now[at] if at < len(now) else None, old[at] if at < len(old) else None
            )
            for at in range(max(len(now), len(old)))
        ]

    @cached_property
    def locals(self) -> list[Slot]:
        """The selected frame's symbolic locals, in the order of their names' first appearance."""
        now = self.frame_state.locals if self.frame_state else {}
        old = self._frame_before.locals if self._frame_before else now
        names = dict.fromkeys((*now, *old))
        return [self._slot(name, now.get(name), old.get(name)) for name in names]

    @cached_property
    def _frame_before(self) -> FrameState | None:
        if self.before is None or self.frame_state is None:
            return None
        return next((f for f in self.before.frames if f.frame == self.frame_state.frame), None)

    def _slot(self, label: str, value: ValueId | None, old: ValueId | None) -> Slot:
        if value is None:
            change = Change.GONE
        elif old is None:
            change = Change.NEW
        else:
            change = self.change_of(value) if value == old else Change.CHANGED
        return Slot(label, value, old, change)

    # What the translation has gathered

    @cached_property
    def guards(self) -> list[Guard]:
        """The attempt's guards so far."""
        if self.recording is None or self._found_at is None:
            return []
        moment, attempt = self._found_at
        return self.recording.guards(moment, attempt=attempt)

    @cached_property
    def guards_by_source(self) -> dict[str, list[Guard]]:
        """The guards on each expression."""
        found: dict[str, list[Guard]] = {}
        for guard in self.guards:
            found.setdefault(guard.source, []).append(guard)
        return found

    @cached_property
    def nodes(self) -> list[Node]:
        """The FX graph as it is, in graph order."""
        if self.recording is None or self._found_at is None:
            return []
        moment, attempt = self._found_at
        return self.recording.nodes(moment, attempt=attempt)

    @cached_property
    def side_effects(self) -> list[SideEffect]:
        """The mutations that are buffered so far."""
        return self.recording.side_effects(self.moment) if self.recording and self.moment else []

    @cached_property
    def symbols(self) -> list[Symbol]:
        """The symbols that sizes and numbers have so far."""
        if self.recording is None or self._found_at is None:
            return []
        moment, attempt = self._found_at
        owner = self.state.attempt if attempt is None and self.state else attempt
        return [] if owner is None else [*symbols_at(self.recording, owner, moment).values()]

    @cached_property
    def late_shape_steps(self) -> list[ShapeStep]:
        """What became known about sizes when the attempt was over."""
        owner = self.state.attempt if self.state else None
        if self.recording is None or owner is None:
            return []
        return self.recording.late_shape_steps(owner)

    @cached_property
    def cache_events(self) -> int:
        """How much has happened to the cache so far, as far as it was recorded."""
        return self.recording.event_count(kinds=_CACHE_EVENTS) if self.recording else 0

    @cached_property
    def caused(self) -> list[Event]:
        """What the step that led here caused."""
        if self.recording is None or not self.moment:
            return []
        since = (self.previous or self.moment - 1) - 1
        return self.recording.events(after=since, before=self.moment)


def line_at(code: Code, ip: int) -> int | None:
    """The source line of an instruction; that of the nearest earlier one when it has none of its
    own.
    """
    for index in range(min(ip, len(code.instructions) - 1), -1, -1):
        line = code.instructions[index].line
        if line is not None:
            return line
    return None
