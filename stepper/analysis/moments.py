"""Two moments side by side, of two recordings or of two attempts.

Moments of one attempt share trackers, guards and nodes by their numbers, so that what changed
between them is known exactly (`stepper.recording.diff`). Others share nothing but words. Here their
frames are aligned from the outermost on, locals by name, stack entries from the bottom, and each
value is what is said of it, down to the elements of its elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

import msgspec

from stepper.analysis.compare_recordings import Named, Row, node_lines, side_by_side
from stepper.analysis.guard_uses import checked
from stepper.client.text import (
    block_line,
    function_name,
    guard_line,
    instruction_text,
    short_name,
    side_effect_line,
    source_line,
    value_line,
)
from stepper.model.trace import FrameState, MomentId, State
from stepper.model.value import ValueId
from stepper.recording.reader import Recording

_DEEPEST = 3
"""Elements of elements of elements are told apart; what lies deeper is in its owner's words."""


class FramePair(msgspec.Struct, frozen=True):
    """Two symbolic frames that belong together, and in what they differ."""

    a: str
    """The function's name; empty: only the other moment has it."""
    b: str
    rows: tuple[Row, ...]


class MomentsDiff(msgspec.Struct, frozen=True):
    """In what two moments differ."""

    frames: tuple[FramePair, ...]
    """Outermost first; those that are the same are left out."""
    guards: tuple[Row, ...]
    nodes: tuple[Row, ...]
    side_effects: tuple[Row, ...]

    def __bool__(self) -> bool:
        return bool(self.frames or self.guards or self.nodes or self.side_effects)


def compare_moments(a: Recording, one: MomentId, b: Recording, other: MomentId) -> MomentsDiff:
    """Everything in which two moments differ.

    Raises:
        RecordingError: there is no such moment.
    """
    left, right = a.state(one), b.state(other)
    pairs = (
        FramePair(
            _name(a, mine), _name(b, theirs),
            tuple(side_by_side(_frame(a, left, mine), _frame(b, right, theirs))),
        )
        for mine, theirs in zip_longest(left.frames, right.frames)
    )  # fmt: skip
    guards, nodes, effects = (
        tuple(side_by_side(*found))
        for found in (
            (_guards(a, one), _guards(b, other)),
            (node_lines(a.nodes(one)), node_lines(b.nodes(other))),
            (_side_effects(a, one), _side_effects(b, other)),
        )
    )
    different = (pair for pair in pairs if pair.rows or not (pair.a and pair.b))
    return MomentsDiff(tuple(different), guards, nodes, effects)


def _name(recording: Recording, frame: FrameState | None) -> str:
    if frame is None:
        return ""
    return function_name(recording.code(recording.frame(frame.frame).code).label)


def _frame(recording: Recording, state: State, frame: FrameState | None) -> list[Named]:
    if frame is None:
        return []
    code = recording.code(recording.frame(frame.frame).code)
    row = code.instructions[frame.ip]
    lines = [
        Named.of("at", f"at {instruction_text(row)}"),
        Named.of("line", source_line(code, row.line)),
    ]
    for name, value in frame.locals.items():
        lines += _values(state, name, value)
    for index, value in enumerate(frame.stack):
        lines += _values(state, f"stack[{index}]", value)
    lines += [Named.of("block", block_line(block, code)) for block in frame.blocks]
    return lines


def _values(state: State, name: str, id: ValueId, deep: int = 0) -> Iterator[Named]:
    value = state.values.get(id)
    yield Named.of(name, f"{name} = {value_line(value)}")
    if value is not None and deep < _DEEPEST:
        for item in value.items:
            yield from _values(state, f"{name}{item.label}", item.value, deep + 1)


def _guards(recording: Recording, moment: MomentId) -> list[Named]:
    lines = (
        (guard_line(guard), "; ".join((guard_line(guard), *checked(guard, {}))))
        for guard in recording.guards(moment)
    )
    return [Named.of(name, short_name(text)) for name, text in lines]


def _side_effects(recording: Recording, moment: MomentId) -> list[Named]:
    return [
        Named.of(f"{effect.kind}  {effect.name}", side_effect_line(effect))
        for effect in recording.side_effects(moment)
    ]
