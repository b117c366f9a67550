"""Value paths: `x`, `x[0].weight`, `stack[-1]`, `$17`, as a person would write them.

A path begins at a local, at a stack entry or at a tracker's number, and goes on by the labels that
the recorded children have; nothing is evaluated.
"""

from __future__ import annotations

import re

from stepper.console.commands import CommandError
from stepper.model.trace import FrameState, State
from stepper.model.value import Value, ValueId

_STACK = re.compile(r"stack\[(-?\d+)\]")
_TRACKER = re.compile(r"\$(\d+)")
_CHOICES = 12


def resolve(state: State, frame: FrameState, path: str) -> tuple[ValueId, Value]:
    """The tracker that a path leads to, and its description.

    Raises:
        CommandError: it leads nowhere; the message says how far it went and what there is.
    """
    path = path.strip()
    value, rest = _begin(frame, path)
    while rest:
        described = _described(state, value, path)
        step = next(
            (item for item in sorted(described.items, key=lambda i: -len(i.label))
             if rest.startswith(item.label)),
            None,
        )  # fmt: skip
        if step is None:
            raise CommandError(_no_child(path[: len(path) - len(rest)], rest, described))
        value, rest = step.value, rest[len(step.label) :]
    return value, _described(state, value, path)


def _begin(frame: FrameState, path: str) -> tuple[ValueId, str]:
    if match := _STACK.match(path):
        position = int(match[1])
        try:
            return frame.stack[position], path[match.end() :]
        except IndexError:
            raise CommandError(f"the stack has {len(frame.stack)} entries") from None
    if match := _TRACKER.match(path):
        return int(match[1]), path[match.end() :]
    for name in sorted(frame.locals, key=len, reverse=True):
        rest = path[len(name) :]
        if path.startswith(name) and (not rest or rest[0] in ".["):
            return frame.locals[name], rest
    names = ", ".join(frame.locals) or "none"
    raise CommandError(
        f"no value {path!r}. Give a local ({names}), stack[N] or $ID, and then labels of children"
    )


def _described(state: State, value: ValueId, path: str) -> Value:
    try:
        return state.values[value]
    except KeyError:
        raise CommandError(f"{path}: no tracker ${value} is reachable at this moment") from None


def _no_child(reached: str, rest: str, value: Value) -> str:
    labels = [item.label for item in value.items]
    if not labels:
        return f"{reached} ({value.brief}) has no recorded children, so there is no {rest!r}"
    shown = ", ".join(labels[:_CHOICES]) + (", …" if len(labels) > _CHOICES else "")
    return f"{reached} ({value.brief}) has no {rest!r}; it has {shown}"
