"""What is different between two moments, and between two attempts.

Two moments are compared frame by frame. A frame of the later moment that the earlier one does not
have (it was entered since, or another frame was innermost) is compared with itself at its own
previous moment, since what changed in it is what a reader wants to see; a frame that has just been
entered is all new.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import TypeVar

import msgspec

from stepper.model.trace import FrameState, Guard, Moment, Node, SideEffect, State
from stepper.model.value import Value, ValueId
from stepper.recording.reader import Recording


class StackChange(msgspec.Struct, frozen=True):
    """A stack entry that was pushed (no old), popped (no new) or replaced."""

    index: int
    """From the bottom."""
    old: ValueId | None
    new: ValueId | None


class LocalChange(msgspec.Struct, frozen=True):
    """A local that was set (no old), deleted (no new) or rebound."""

    name: str
    old: ValueId | None
    new: ValueId | None


class FrameDiff(msgspec.Struct, frozen=True):
    """What changed in one symbolic frame."""

    frame: int
    entered: bool
    """The frame has no earlier moment to compare with: all of it is new."""
    stack: tuple[StackChange, ...]
    locals: tuple[LocalChange, ...]
    blocks: bool
    """Whether the block stack changed."""
    speculation: bool

    def __bool__(self) -> bool:
        return bool(self.entered or self.stack or self.locals or self.blocks or self.speculation)


class ValueChange(msgspec.Struct, frozen=True):
    """A tracker that is described differently."""

    id: ValueId
    old: Value
    new: Value


class StateDiff(msgspec.Struct, frozen=True):
    """What changed from moment `a` to moment `b`."""

    a: int
    b: int
    frames: tuple[FrameDiff, ...]
    """One for each frame of `b`, outermost first, also when nothing changed in it."""
    values: tuple[ValueChange, ...]
    old_values: dict[ValueId, Value]
    """Descriptions of the trackers that are named as `old`, as they were."""
    guards_added: tuple[Guard, ...]
    guards_removed: tuple[Guard, ...]
    nodes_added: tuple[Node, ...]
    nodes_removed: tuple[Node, ...]
    side_effects_added: tuple[SideEffect, ...]
    side_effects_removed: tuple[SideEffect, ...]

    def frame(self, id: int) -> FrameDiff | None:
        """What changed in a frame of `b`."""
        return next((each for each in self.frames if each.frame == id), None)


class AttemptDiff(msgspec.Struct, frozen=True):
    """How two attempts went differently."""

    a: int
    b: int
    common: int
    """How many instructions they interpreted alike before they parted."""
    diverges_a: int | None
    """The first moment of `a` that is different; None when `a` was over by then."""
    diverges_b: int | None
    guards_only_a: tuple[Guard, ...]
    guards_only_b: tuple[Guard, ...]
    nodes_only_a: tuple[Node, ...]
    nodes_only_b: tuple[Node, ...]


def diff(recording: Recording, a: int, b: int) -> StateDiff:
    """What changed from moment `a` to moment `b`; `a` may be the later one.

    Moments of different attempts share no frames, guards or nodes: all of `b`'s are new.

    Raises:
        RecordingError: there is no such moment.
    """
    old, new = recording.state(a), recording.state(b)
    same = old.attempt == new.attempt
    before = {frame.frame: frame for frame in old.frames} if same else {}
    old_values = dict(old.values) if same else {}
    frames = []
    for frame in new.frames:
        base = before.get(frame.frame)
        if base is None and same and a < b:
            earlier = _previous(recording, frame.frame, b)
            if earlier is not None:
                base = earlier.top
                old_values = {**earlier.values, **old_values}
        frames.append(_frame_diff(base, frame))
    named = {change.old for each in frames for change in each.stack if change.old}
    named |= {change.old for each in frames for change in each.locals if change.old}
    values = tuple(
        ValueChange(id, old_values[id], value)
        for id, value in new.values.items()
        if id in old_values and old_values[id] != value
    )
    guards = _changes(recording.guards(a) if same else [], recording.guards(b))
    nodes = _changes(recording.nodes(a) if same else [], recording.nodes(b))
    effects = _changes(recording.side_effects(a) if same else [], recording.side_effects(b))
    return StateDiff(
        a, b, tuple(frames), values,
        {id: old_values[id] for id in sorted(named) if id in old_values},
        *guards, *nodes, *effects,
    )  # fmt: skip


def _previous(recording: Recording, frame: int, moment: int) -> State | None:
    """The state at the frame's own moment before this one, when it has one."""
    record = recording.frame(frame)
    for each in recording.walk(moment, -1, over_calls_of=record):
        if each.id < record.first_moment:
            break
        if each.frame == frame:
            return recording.state(each.id)
    return None


def _frame_diff(old: FrameState | None, new: FrameState) -> FrameDiff:
    entered = old is None
    old = old or FrameState(new.frame, 0)
    stack = tuple(
        StackChange(i, was, now)
        for i, (was, now) in enumerate(zip_longest(old.stack, new.stack))
        if was != now
    )
    names = [*old.locals, *(name for name in new.locals if name not in old.locals)]
    locals = tuple(
        LocalChange(name, old.locals.get(name), new.locals.get(name))
        for name in names
        if old.locals.get(name) != new.locals.get(name)
    )
    return FrameDiff(
        new.frame, entered, stack, locals,
        old.blocks != new.blocks, old.speculation != new.speculation,
    )  # fmt: skip


Thing = TypeVar("Thing", Guard, Node, SideEffect)


def _changes(old: list[Thing], new: list[Thing]) -> tuple[tuple[Thing, ...], tuple[Thing, ...]]:
    """What only the new list has, and what only the old one has."""
    old_ids, new_ids = {each.id for each in old}, {each.id for each in new}
    return (
        tuple(each for each in new if each.id not in old_ids),
        tuple(each for each in old if each.id not in new_ids),
    )


def compare_attempts(recording: Recording, a: int, b: int) -> AttemptDiff:
    """Where two attempts part, and the guards and nodes that only one of them has at its end.

    Instructions are compared by code object, depth and index; guards by kind and source; nodes by
    name, operation and target, since numbers differ from attempt to attempt.

    Raises:
        RecordingError: there is no such attempt.
    """
    common, at_a, at_b = 0, None, None
    for first, second in zip_longest(_steps(recording, a), _steps(recording, b)):
        if first is None or second is None or first[1] != second[1]:
            at_a = None if first is None else first[0].id
            at_b = None if second is None else second[0].id
            break
        common += 1
    guards = _only(recording.guards(None, attempt=a), recording.guards(None, attempt=b), _guard_key)
    nodes = _only(recording.nodes(None, attempt=a), recording.nodes(None, attempt=b), _node_key)
    return AttemptDiff(a, b, common, at_a, at_b, *guards, *nodes)


def _steps(recording: Recording, attempt: int) -> Iterator[tuple[Moment, tuple[int, int, int]]]:
    owner = recording.attempt(attempt)
    for moment in recording.walk(owner.first_moment - 1, 1):
        if owner.last_moment is not None and moment.id > owner.last_moment:
            return
        frame = recording.frame(moment.frame)
        if frame.attempt == attempt:
            yield moment, (frame.code, frame.depth, moment.ip)


# Dynamo counts the globals that it makes up, on from one attempt to the next.
_MADE_UP = re.compile(r"(__builtins_dict__)_\d+")


def _guard_key(guard: Guard) -> object:
    return guard.kind, _MADE_UP.sub(r"\1", guard.source)


def _node_key(node: Node) -> object:
    return node.graph, node.name, node.op, node.target


def _only(
    a: Iterable[Thing], b: Iterable[Thing], key: Callable[[Thing], object]
) -> tuple[tuple[Thing, ...], tuple[Thing, ...]]:
    a, b = tuple(a), tuple(b)
    keys_a, keys_b = {key(each) for each in a}, {key(each) for each in b}
    return (
        tuple(each for each in a if key(each) not in keys_b),
        tuple(each for each in b if key(each) not in keys_a),
    )
