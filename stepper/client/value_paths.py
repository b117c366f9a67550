"""Value paths: `x`, `x[0].weight`, `stack[-1]`, `$17`, as a person would write them.

A path begins at a local, at a stack entry or at a tracker's number, and goes on by the labels that
the recorded children have; what is recorded of a tensor can be asked for as the program would
(`x.shape[0]`, `x.dtype`). Nothing is evaluated. A variable that a function inside of the frame's
uses is kept in a cell: its name means what the cell holds.
"""

from __future__ import annotations

import re

from stepper.client.text import value_line
from stepper.model.trace import FrameState, Phase, State
from stepper.model.value import TensorMeta, Value, ValueId
from stepper.recording.reader import Recording

_STACK = re.compile(r"stack\[(-?\d+)\]")
_QUOTED = re.compile(r'\["([^"\\]*)"\]')
"""A key in the other quotes: labels are written by `repr`."""
_TRACKER = re.compile(r"\$(\d+)")
_OF_TENSOR = re.compile(
    r"(?P<path>.+?)\.(?P<name>shape|size\(\)|size(?=\(\d)|stride\(\)|dtype|device|requires_grad|ndim|dim\(\))"
    r"(?:[\[(](?P<index>-?\d+)[\])])?"
)
_CHOICES = 12
_CELL = "cell"


class PathError(LookupError):
    """A path leads nowhere; the message says how far it went and what there is."""


def shown(state: State, frame: FrameState, path: str) -> str:
    """What is recorded of a value, or of a property of a tensor, in a line.

    Raises:
        PathError: it leads nowhere.
    """
    try:
        return value_line(resolve(state, frame, path)[1])
    except PathError:
        asked = _OF_TENSOR.fullmatch(path.strip())
        if asked is None:
            raise
        meta = resolve(state, frame, asked["path"])[1].tensor
        if meta is None:
            raise
        return _of_tensor(meta, asked["name"], asked["index"])


def traced(recording: Recording, state: State, frame: FrameState, path: str) -> str:
    """What is recorded of a path that begins at a local of a frame that is traced, in a line; empty
    where that says nothing. Such a local has no value, and the program's own variable of that
    name, which an expression would find, is another one."""
    walk = recording.translation(recording.attempt(state.attempt).translation)
    name = re.match(r"\w+", path.strip())
    if walk.phase is not Phase.TRANSLATE or name is None or name[0] not in frame.locals:
        return ""
    try:
        return shown(state, frame, path)
    except PathError:
        return ""


def _of_tensor(meta: TensorMeta, name: str, index: str | None) -> str:
    """A property of a tensor as Python would write it.

    Raises:
        PathError: it is not recorded, or has no such part.
    """
    match name.rstrip("()"):
        case "shape" | "size" | "stride" as asked:
            sizes = meta.stride if asked == "stride" else meta.shape
            if sizes is None:
                raise PathError(f"the {asked} of this tensor is not recorded")
            if index is None:
                written = ", ".join(sizes)
                return f"({written})" if asked == "stride" else f"torch.Size([{written}])"
            if not -len(sizes) <= int(index) < len(sizes):
                raise PathError(f"it has {len(sizes)} dimensions, so there is no [{index}]")
            return sizes[int(index)]
        case "ndim" | "dim":
            if meta.shape is None:
                raise PathError("the rank of this tensor is not recorded")
            return str(len(meta.shape))
        case "dtype":
            return f"torch.{meta.dtype}"
        case "device":
            return meta.device
        case _:
            return str(meta.requires_grad)


def resolve(state: State, frame: FrameState, path: str) -> tuple[ValueId, Value]:
    """The tracker that a path leads to, and its description.

    Raises:
        PathError: it leads nowhere; the message says how far it went and what there is.
    """
    path = path.strip()
    value, rest = _begin(frame, path)
    if path[0] not in "$" and not rest.startswith(".cell_contents"):
        value = _held(state, value)
    rest = _QUOTED.sub(lambda key: f"[{key[1]!r}]", rest)
    while rest:
        described = _described(state, value, path)
        step = next(
            (item for item in sorted(described.items, key=lambda i: -len(i.label))
             if rest.startswith(item.label)),
            None,
        )  # fmt: skip
        if step is None:
            raise PathError(_no_child(path[: len(path) - len(rest)], rest, described))
        value, rest = step.value, rest[len(step.label) :]
    return value, _described(state, value, path)


def _begin(frame: FrameState, path: str) -> tuple[ValueId, str]:
    if match := _STACK.match(path):
        position = int(match[1])
        try:
            return frame.stack[position], path[match.end() :]
        except IndexError:
            raise PathError(f"the stack has {len(frame.stack)} entries") from None
    if match := _TRACKER.match(path):
        return int(match[1]), path[match.end() :]
    for name in sorted(frame.locals, key=len, reverse=True):
        rest = path[len(name) :]
        if path.startswith(name) and (not rest or rest[0] in ".["):
            return frame.locals[name], rest
    names = ", ".join(frame.locals) or "none"
    raise PathError(
        f"no value {path!r}. Give a local ({names}), stack[N] or $ID, and then labels of children"
    )


def _held(state: State, value: ValueId) -> ValueId:
    """What a cell holds; of other values, they themselves."""
    described = state.values.get(value)
    if described is None or described.type != _CELL or not described.items:
        return value
    return described.items[-1].value


def _described(state: State, value: ValueId, path: str) -> Value:
    try:
        return state.values[value]
    except KeyError:
        raise PathError(f"{path}: no tracker ${value} is reachable at this moment") from None


def _no_child(reached: str, rest: str, value: Value) -> str:
    labels = [item.label for item in value.items]
    if not labels:
        return f"{reached} ({value.brief}) has no recorded children, so there is no {rest!r}"
    shown = ", ".join(labels[:_CHOICES]) + (", …" if len(labels) > _CHOICES else "")
    return f"{reached} ({value.brief}) has no {rest!r}; it has {shown}"
