"""What gives a value that no object holds: a property's function, `__getattr__` or `__getitem__`.

No guard can look at such a value. What was inlined for it is guarded instead, and what that read of
the object.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import msgspec

from stepper.analysis.shapes import same
from stepper.analysis.sites import way_to
from stepper.analysis.sources import Path, meant, path_of
from stepper.model.trace import Frame, Guard, Translation
from stepper.recording.reader import Recording

_FALLBACK = "__getattr__"
"""What gives an attribute that an object does not have."""
_ITEM = "__getitem__"
"""What gives an item of what is no container of Python's own, or does not leave that to it."""

_ITEMS = frozenset({"BINARY_SUBSCR", "BINARY_OP"})
"""Instructions that take an item; the second one since Python 3.14."""
_HANDLER = "PUSH_EXC_INFO"


class Getter(msgspec.Struct, frozen=True):
    """What was traced for a property, by `__getattr__` or by `__getitem__`: its code, and what that
    reads of the object."""

    code: Guard | None
    """On the property's function; None: it is one of the others."""
    reads: tuple[Guard, ...]
    """On attributes that its instructions read."""
    gives: str = ""
    """Where what these return is taken from, as a source; empty: it is made there."""
    method: str = ""
    """Which of them it is; empty: a property's function."""
    missed: bool = False
    """Whether it has handled that a container has no such item, which no guard is on."""


def read_as(recording: Recording, item: Translation, path: Path) -> Path:
    """A path with an attribute as what its reading gave, where that is somewhere else: a field of
    a named tuple is one of its elements."""
    attempts = recording.attempts(item.id)
    names = {step[1:]: at for at, step in enumerate(path.steps) if step.startswith(".")}
    if not attempts or not names:
        return path
    end = attempts[-1].last_moment or recording.newest
    for moment in recording.moments(attempts[-1].first_moment, end):
        row = recording.code(recording.frame(moment.frame).code).instructions[moment.ip]
        name = row.argrepr.rpartition(" ")[2]
        if row.opname != "LOAD_ATTR" or name not in names or not recording.has(moment.id + 1):
            continue
        at = names[name]
        owner = Path(path.root, path.steps[:at], path.globally)
        before, after = recording.state(moment.id), recording.state(moment.id + 1)
        read = before.values.get(before.top.stack[-1]) if before.top.stack else None
        gives = after.values.get(after.top.stack[-1]) if after.top.stack else None
        other = path_of(gives.source) if gives is not None and gives.source else None
        if (
            read is None
            or other is None
            or not any(same(owner, each) for each in meant(read.source))
        ):
            continue
        if other.before.steps == owner.steps and other.root == owner.root:
            return Path(other.root, (*other.steps, *path.steps[at + 1 :]), other.globally)
    return path


def getter_of(
    recording: Recording, item: Translation, path: Path, guards: list[Guard]
) -> Getter | None:
    """What was traced for a property of this name, or for this name or key by the others."""
    if not path.steps:
        return None
    function = Path(path.root, (*path.steps, ".fget"), path.globally)
    code = next(
        (each for each in guards if any(same(function, other) for other in meant(each.source))),
        None,
    )
    owner, name = path.before, path.steps[-1].removeprefix(".")
    read: list[Path] = []
    found: list[Guard] = []
    gives = ""
    method = _ITEM if name.startswith("[") else _FALLBACK
    missed = False
    for frame, first in _called_on(recording, item, owner, guards, name if code else method):
        missed = missed or _misses(recording, frame)
        if code is not None:
            read += (
                Path(owner.root, (*owner.steps, f".{attribute}"), owner.globally)
                for attribute in _read_by(recording, frame, first)
            )
        elif _is_for(recording, frame, method, name):
            until = frame.last_moment
            gives = _given_by(recording, frame)
            found += (
                each
                for each in guards
                if (each.moment >= frame.first_moment and (until is None or each.moment <= until))
                or (gives and each.source == gives)
            )
    if code is None:
        return Getter(None, tuple(found), gives, method, missed) if found else None
    return Getter(
        code,
        tuple(
            guard
            for guard in guards
            if any(each.leads_to(other) for other in meant(guard.source) for each in read)
        ),
        missed=missed,
    )


def _misses(recording: Recording, frame: Frame) -> bool:
    """Whether a function has handled that a container has no such item."""
    rows = recording.code(frame.code).instructions
    if frame.last_moment is None or not any(row.opname == _HANDLER for row in rows):
        return False
    moments = recording.moments(frame.first_moment, frame.last_moment)
    ran = (rows[moment.ip] for moment in moments if moment.frame == frame.id)
    return any(
        row.opname in _ITEMS and following.opname == _HANDLER
        for row, following in itertools.pairwise(ran)
    )


def _called_on(
    recording: Recording, item: Translation, owner: Path, guards: list[Guard], name: str
) -> Iterator[tuple[Frame, str]]:
    """The inlined functions of this name whose first argument is the owner, and what they call it.
    What `__getattr__` has given, a part of a configuration say, is where it was taken from. What
    that has made comes from nowhere: then any such thing is taken for it."""
    given = getter_of(recording, item, owner, guards) if name == _FALLBACK else None
    attempts = recording.attempts(item.id)
    for frame in recording.frames(attempts[-1].id) if attempts else []:
        if not frame.depth:
            continue
        named = recording.code(frame.code).name.rpartition(".")[2] == name
        if named and recording.has(frame.first_moment):
            state = recording.state(frame.first_moment)
            first = next(iter(state.top.locals), "")
            value = state.values.get(state.top.locals.get(first, 0))
            source = "" if value is None else value.source
            of = path_of(source) if source else None
            taken = given is not None and source == given.gives
            if taken or (same(of, owner) if of is not None else given is not None):
                yield frame, first


def _given_by(recording: Recording, frame: Frame) -> str:
    """The source of what a function returns; empty: it has none. It is guarded when it is used."""
    end = frame.last_moment
    if end is None or not recording.has(end):
        return ""
    state = recording.state(end)
    value = state.values.get(state.top.stack[-1]) if state.top.stack else None
    return "" if value is None else value.source


def _read_by(recording: Recording, frame: Frame, first: str) -> Iterator[str]:
    """The attributes that a function reads of its first argument."""
    for row, following in itertools.pairwise(recording.code(frame.code).instructions):
        if row.local_uses[-1:] == (("LOAD", first),) and following.opname == "LOAD_ATTR":
            yield following.argrepr


def _is_for(recording: Recording, frame: Frame, method: str, name: str) -> bool:
    """Whether a call of one of these is for this attribute, or for this key."""
    if method == _ITEM:
        return _key_of(recording, frame) == name
    return _asked_for(recording, frame, name)


def _key_of(recording: Recording, frame: Frame) -> str:
    """The constant that a function was given after its first argument, as a step of a path."""
    state = recording.state(frame.first_moment)
    arguments = [state.values.get(id) for id in state.top.locals.values()]
    key = arguments[1] if len(arguments) > 1 else None
    return "" if key is None or key.constant is None else f"[{key.constant}]"


def _asked_for(recording: Recording, frame: Frame, name: str) -> bool:
    """Whether the instruction that called a function has this name."""
    callers = way_to(recording, frame.first_moment)[1:2]
    return any(name in each.instruction.argrepr.split() for each in callers)
