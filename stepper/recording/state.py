"""The state at a moment, rebuilt from what changed.

A frame's moments say only what changed in it. So a state is built from a *base*, which is the
newest keyframe at or before the moment or a state built a little earlier, by applying the moments
in between; all frames of the attempt take part, since each of them may describe trackers that
another one holds.

Two things make this more than a loop. Other attempts can have moments in between (a compilation
inside a compilation): they are passed over. And a generator's frame that was suspended when the
keyframe was taken is not in it, nor are the trackers that only it holds; both are then fetched from
before the keyframe. The same goes for a tracker that nothing held for a while.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

import msgspec

from stepper.model.trace import Attempt, Block, Frame, FrameState, Moment, State
from stepper.model.value import Value
from stepper.recording.catalog import Catalog
from stepper.recording.database import Database, damaged
from stepper.recording.descriptions import Descriptions
from stepper.recording.history import TrackerHistory
from stepper.recording.moments import Moments, Step
from stepper.recording.packing import unpacked
from stepper.recording.schema import Delta, Keyframe

_CACHED_STATES = 16
_CACHED_VALUES = 50_000


class _Work(NamedTuple):
    """A frame while it is being rebuilt."""

    ip: int
    stack: tuple[int, ...]
    locals: dict[str, int]
    blocks: tuple[Block, ...]
    speculation: str


class _Entered(msgspec.Struct, frozen=True, array_like=True):
    """The start of a Delta; only `locals` is looked at."""

    keep: msgspec.Raw = msgspec.Raw()
    push: msgspec.Raw = msgspec.Raw()
    locals: dict[str, int] | None = None


_ENTERED = _Work(0, (), {}, (), "")


class _Base(NamedTuple):
    """Everything known of an attempt at a moment; `values` may hold more than can be reached."""

    moment: int
    frames: dict[int, _Work]
    values: dict[int, int]


class StateBuilder:
    """Rebuilds states; keeps the last few, so that small steps in either direction are cheap."""

    def __init__(
        self, database: Database, catalog: Catalog, moments: Moments, history: TrackerHistory
    ) -> None:
        self._database = database
        self._catalog = catalog
        self._moments = moments
        self._history = history
        self._states: OrderedDict[int, tuple[_Base, State]] = OrderedDict()
        self._descriptions = Descriptions(database)
        self._values: dict[int, Value] = {}
        self._delta_decoder = msgspec.msgpack.Decoder(Delta)
        self._entered_decoder = msgspec.msgpack.Decoder(_Entered)
        self._keyframe_decoder = msgspec.msgpack.Decoder(Keyframe)
        self._value_decoder = msgspec.msgpack.Decoder(Value)

    def state(self, moment: Moment) -> State:
        """The whole state at a moment.

        Raises:
            RecordingError: the recording is damaged.
        """
        cached = self._states.get(moment.id)
        if cached is not None:
            self._states.move_to_end(moment.id)
            return cached[1]
        frame = self._catalog.frame(moment.frame)
        chain = self._catalog.chain(frame)
        attempt = self._catalog.attempt(frame.attempt)
        base = self._advance(attempt, self._base(attempt, moment.id), moment.id)
        state = self._finish(moment, chain, attempt, base)
        self._states[moment.id] = (base, state)
        if len(self._states) > _CACHED_STATES:
            self._states.popitem(last=False)
        return state

    def begins_with(self, frame: Frame) -> Collection[str]:
        """The names of the locals that a frame begins with. No state is built for that."""
        at = frame.first_moment
        deltas = [step.delta for step in self._moments.steps(at, at)]
        if not deltas or deltas[0] is None:
            return ()
        return unpacked(self._database, self._entered_decoder, deltas[0]).locals or ()

    def entered_with(
        self, attempt: Attempt, frames: Sequence[Frame], name: str
    ) -> Iterator[tuple[int, Value | None]]:
        """What a local was where frames of an attempt that is over begin, as each frame's end knows
        it: by the frame's number, in the order of moments. No state is built for that."""
        mark, waiting = name.encode(), sorted(frames, key=attrgetter("first_moment"), reverse=True)
        if attempt.last_moment is None or not waiting:
            return
        for run in self._moments.runs(waiting[-1].first_moment, waiting[0].first_moment):
            end = run.first + len(run.frames)
            while waiting and waiting[-1].first_moment < end:
                frame = waiting.pop()
                delta = run.deltas.between(frame.first_moment, frame.first_moment)[0]
                value = None
                if delta is not None and mark in delta:
                    entered = unpacked(self._database, self._entered_decoder, delta)
                    tracker = (entered.locals or {}).get(name, 0)
                    last = frame.last_moment or attempt.last_moment
                    value = self._newest(attempt, tracker, last)
                    if value is not None and value.type == "cell" and value.items:
                        value = self._newest(attempt, value.items[0].value, last)
                yield frame.id, value

    def _newest(self, attempt: Attempt, tracker: int, moment: int) -> Value | None:
        body = self._history.description(attempt, tracker, moment) if tracker else None
        return None if body is None else self.value(body)

    def value(self, body: int) -> Value:
        """A description by its id in the table `value`."""
        self._fetch_values([body])
        return self._values[body]

    def values(self, bodies: Sequence[int]) -> list[Value]:
        """Many descriptions by their ids; best some hundreds at once."""
        self._fetch_values(bodies)
        return [self._values[body] for body in bodies]

    def containing(self, text: str) -> Iterator[int]:
        """The ids of the descriptions with a text in them, in any case."""
        return self._descriptions.containing(text)

    # Where to start

    def _base(self, attempt: Attempt, moment: int) -> _Base:
        """The newest complete state of the attempt that is not later than the moment."""
        base = self._keyframe_base(attempt, moment)
        for known, state in self._states.values():
            if state.attempt == attempt.id and base.moment < known.moment <= moment:
                base = known
        return base

    def _keyframe_base(self, attempt: Attempt, moment: int) -> _Base:
        found = self._keyframe(attempt, moment)
        if found is None:
            return _Base(attempt.first_moment - 1, {}, {})
        at, keyframe = found
        frames = {
            key.frame: _Work(
                key.ip, key.stack, key.locals, self._blocks(key.blocks), key.speculation
            )
            for key in keyframe.frames
        }
        return _Base(at, frames, keyframe.values)

    def _keyframe(self, attempt: Attempt, moment: int) -> tuple[int, Keyframe] | None:
        """The attempt's newest keyframe at or before the moment."""
        while True:
            row = self._database.one(
                tuple[int, bytes],
                "SELECT moment, state FROM keyframe WHERE moment BETWEEN ? AND ?"
                " ORDER BY moment DESC LIMIT 1",
                (attempt.first_moment, moment),
            )
            if row is None:
                return None
            keyframe = unpacked(self._database, self._keyframe_decoder, row[1])
            if keyframe.frames and self._owns(attempt, keyframe.frames[0].frame):
                return row[0], keyframe
            moment = row[0] - 1

    def _owns(self, attempt: Attempt, frame: int) -> bool:
        return self._catalog.frame(frame).attempt == attempt.id

    # From there to the moment

    def _advance(self, attempt: Attempt, base: _Base, moment: int) -> _Base:
        frames = dict(base.frames)
        values = dict(base.values)
        for step in self._moments.steps(base.moment + 1, moment):
            frame = step.frame
            if not self._owns(attempt, frame):
                continue
            if frame not in frames:
                frames[frame] = self._before(self._catalog.frame(frame), base.moment)
            frames[frame] = self._apply(frames[frame], step, values)
        return _Base(moment, frames, values)

    def _before(self, frame: Frame, moment: int) -> _Work:
        """A frame that the base does not have: entered since, or suspended when it was taken."""
        work = _ENTERED
        if frame.first_moment <= moment:
            for run in self._moments.runs(frame.first_moment, moment):
                if frame.id in run.frames:
                    for step in run.steps():
                        if step.frame == frame.id:
                            work = self._apply(work, step, {})
        return work

    def _apply(self, work: _Work, step: Step, values: dict[int, int]) -> _Work:
        ip, body = step.ip, step.delta
        _, stack, locals, blocks, speculation = work
        if body is None:
            return _Work(ip, stack, locals, blocks, speculation)
        delta = unpacked(self._database, self._delta_decoder, body)
        if not 0 <= delta.keep <= len(stack):
            raise damaged(self._database.path, f"moment {step.id} keeps {delta.keep} stack entries")
        if delta.keep != len(stack) or delta.push:
            stack = stack[: delta.keep] + delta.push
        if delta.locals:
            locals = {**locals, **delta.locals}
            for name, tracker in delta.locals.items():
                if tracker == 0:
                    del locals[name]
        if delta.values:
            values.update(delta.values)
        if delta.blocks is not None:
            blocks = self._blocks(delta.blocks)
        if delta.speculation is not None:
            speculation = delta.speculation
        return _Work(ip, stack, locals, blocks, speculation)

    def _blocks(self, raw: object) -> tuple[Block, ...]:
        try:
            return msgspec.convert(raw or (), tuple[Block, ...])
        except msgspec.ValidationError as error:
            raise damaged(self._database.path, str(error)) from error

    # What can be seen of it

    def _finish(self, moment: Moment, chain: list[Frame], attempt: Attempt, base: _Base) -> State:
        states = []
        for frame in chain:
            work = base.frames.get(frame.id)
            if work is None:
                work = base.frames[frame.id] = self._before(frame, moment.id)
            self._catalog.check_ip(frame, work.ip)
            states.append(
                FrameState(
                    frame.id, work.ip, work.stack, dict(work.locals), work.blocks, work.speculation
                )
            )
        # What has returned is not needed again; a suspended generator still runs.
        for id in [id for id in base.frames if self._is_over(id, moment.id)]:
            del base.frames[id]
        values = self._reachable(states, attempt, base)
        return State(moment, attempt.id, attempt.translation, tuple(states), values)

    def _is_over(self, frame: int, moment: int) -> bool:
        last = self._catalog.frame(frame).last_moment
        return last is not None and last < moment

    def _reachable(
        self, states: Iterable[FrameState], attempt: Attempt, base: _Base
    ) -> dict[int, Value]:
        """Descriptions of all trackers that the frames hold, directly or inside others."""
        found: dict[int, Value] = {}
        level = {id for s in states for ids in (s.stack, s.locals.values()) for id in ids}
        level.discard(0)
        while level:
            missing = {id for id in level if id not in base.values}
            if missing:
                self._recover(missing, attempt, base)
            known = {id: base.values[id] for id in level if id in base.values}
            self._fetch_values(known.values())
            following: set[int] = set()
            for id, body in known.items():
                value = found[id] = self._values[body]
                if value.items:
                    following.update(item.value for item in value.items)
            level = {id for id in following if id not in found and id != 0}
        return found

    def _recover(self, missing: set[int], attempt: Attempt, base: _Base) -> None:
        """Take the descriptions of trackers that the base does not know from before it."""
        for tracker in missing:
            body = self._history.description(attempt, tracker, base.moment)
            if body is not None:
                base.values[tracker] = body

    def _fetch_values(self, bodies: Iterable[int]) -> None:
        missing = [body for body in set(bodies) if body not in self._values]
        if len(self._values) + len(missing) > _CACHED_VALUES:
            missing = list(set(bodies))
            self._values.clear()
        for id, body in self._descriptions.bodies(missing):
            self._values[id] = unpacked(self._database, self._value_decoder, body)
        if missing and any(body not in self._values for body in missing):
            raise damaged(self._database.path, "a description is missing")
