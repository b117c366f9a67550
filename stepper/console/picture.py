"""What a stop looks like in lines, and what changed on the way to it."""

from __future__ import annotations

from collections.abc import Iterable

from stepper.client.cursor import Cursor
from stepper.client.frame_names import frame_name
from stepper.client.text import (
    attempt_name,
    clip,
    guard_line,
    instruction_line,
    instruction_text,
    location,
    node_line,
    one_line,
    plural,
    side_effect_line,
    source_line,
    tensor_line,
    value_line,
)
from stepper.model.trace import FrameState, Phase, State
from stepper.model.value import Value, ValueId

WIDTH = 110
"""Longest line of a short form."""

_CHANGES = 12
_STACK = 3


def stop_lines(cursor: Cursor, before: int = 0) -> list[str]:
    """The place, the source line, the instruction, what changed, the top of the stack.

    `before` is the moment that a step came from; 0: only the instruction just interpreted counts.
    """
    state, code, recording = cursor.state, cursor.code, cursor.recording
    frame, instruction = cursor.frame, cursor.instruction
    attempt, translation = cursor.attempt, cursor.translation
    if state is None or recording is None:
        return ["no moment is recorded"]
    assert code is not None
    assert frame is not None
    assert instruction is not None
    assert attempt is not None
    assert translation is not None
    line = (
        instruction.line if instruction.line is not None else recording.place(state.moment.id).line
    )
    depth = f"  depth {frame.depth}" if frame.depth else ""
    name = frame_name(recording, frame.id)
    lines = [
        f"moment {state.moment.id}/{recording.newest}  {attempt_name(attempt, translation)}{depth}"
        f"  {name}  {location(code, line, recording.facts.cwd)}"
    ]
    source = source_line(code, line)
    if source:
        lines.append(f"{line:>6}  {source}")
    if translation.phase is Phase.LOOKUP:
        lines.append(f"  -->  {instruction_text(instruction)}")
        return [*lines, *check_lines(state).values()]
    lines.append(f"  -->  {instruction_line(instruction).strip()}")
    lines += changes(cursor, before)
    lines += stack_top(state)
    return lines


def check_lines(state: State) -> dict[str, str]:
    """What a lookup says of the check at which it is, by what says it."""
    found = [(name, state.values.get(value)) for name, value in state.top.locals.items()]
    width = max((len(name) for name, _ in found), default=0)
    return {
        name: f"    {name:<{width}}  "
        + clip((tensor_line(value.tensor) if value.tensor else one_line(value.brief)), WIDTH)
        for name, value in found
        if value is not None
    }


def stack_top(state: State) -> list[str]:
    """The uppermost entries of the innermost frame's stack."""
    stack = state.top.stack
    if not stack:
        return ["  stack: empty"]
    lines = [f"  stack: {plural(len(stack), 'value')}, the top first"]
    for position in range(len(stack) - 1, max(len(stack) - 1 - _STACK, -1), -1):
        text = value_line(state.values.get(stack[position]))
        lines.append(f"    [{position}] {clip(text, WIDTH)}")
    return lines


def changes(cursor: Cursor, before: int = 0) -> list[str]:
    """What was added (+), changed (~) and removed (-) since an earlier moment of the attempt."""
    state, recording = cursor.state, cursor.recording
    if state is None or recording is None or state.moment.id < 2:
        return []
    here = state.moment.id
    # Going back has no news: what is shown is what the instruction before this moment did.
    start = before if 0 < before < here else here - 1
    if recording.place(start).attempt != state.attempt:
        return []
    old = recording.state(start)
    lines: list[str] = []
    previous = next((f for f in old.frames if f.frame == state.top.frame), None)
    if previous is not None:
        lines += local_changes(old, previous, state, state.top, only_changed=True).values()
    for guard in recording.guards(here):
        if guard.moment >= start:
            lines.append(f"+ guard {guard_line(guard)}")
    for guard in recording.guards(start):
        if guard.withdrawn is not None and guard.withdrawn < here:
            lines.append(f"- guard {guard_line(guard)}")
    for node in recording.nodes(here):
        if node.moment >= start:
            lines.append(f"+ node {node_line(node)}")
    for effect in recording.side_effects(here):
        if effect.moment >= start:
            lines.append(f"+ effect {side_effect_line(effect)}")
    lines = [clip(line, WIDTH) for line in lines]
    if len(lines) > _CHANGES:
        rest = len(lines) - _CHANGES
        lines = [*lines[:_CHANGES], f"  … {plural(rest, 'more change')}: see diff {start} {here}"]
    return lines


def local_changes(
    old: State, previous: FrameState, new: State, frame: FrameState, *, only_changed: bool
) -> dict[str, str]:
    """A line for each local of a frame, with its sign; the old value follows a changed one."""
    lines: dict[str, str] = {}
    for name, value in frame.locals.items():
        now = new.values.get(value)
        if name not in previous.locals:
            lines[name] = f"+ {name} = {value_line(now)}"
            continue
        was_id = previous.locals[name]
        was = old.values.get(was_id)
        if was_id != value or was != now:
            lines[name] = f"~ {name} = {value_line(now)}{_old(was, now)}"
        elif not only_changed:
            lines[name] = f"  {name} = {value_line(now)}"
    for name, value in previous.locals.items():
        if name not in frame.locals:
            lines[name] = f"- {name} = {value_line(old.values.get(value))}"
    return lines


def stack_changes(
    old: State | None, previous: FrameState | None, new: State, frame: FrameState
) -> list[str]:
    """A frame's whole stack, the top first, each entry with its sign."""
    before: tuple[ValueId, ...] = previous.stack if previous is not None else ()
    lines: list[str] = []
    if previous is not None and old is not None:
        lines += [
            f"- [{position}] {value_line(old.values.get(before[position]))}"
            for position in range(len(before) - 1, len(frame.stack) - 1, -1)
        ]
    for position in range(len(frame.stack) - 1, -1, -1):
        value = frame.stack[position]
        now = new.values.get(value)
        sign, tail = " ", ""
        if previous is not None and old is not None:
            if position >= len(before):
                sign = "+"
            else:
                was = old.values.get(before[position])
                if before[position] != value or was != now:
                    sign, tail = "~", _old(was, now)
        lines.append(f"{sign} [{position}] {value_line(now)}{tail}")
    return lines


def _old(was: Value | None, now: Value | None) -> str:
    """The old value behind a new one, when its line is another."""
    text = value_line(was)
    return f"  (was {text})" if text != value_line(now) else ""


def numbered(items: Iterable[str], first: int = 1) -> list[str]:
    """Lines with a number before each."""
    return [f"{number:>4}  {item}" for number, item in enumerate(items, first)]
