"""Breaks that come of another one.

Where a break ends a graph, Dynamo writes code that hands what is needed after it to the rest of the
function. What it knows of no way to make, an iterator over a set, say, is then a break of its own,
at the same instruction, of an attempt that began anew because of the first. Without the first it
would not be there. Where a function ends, that can happen, too, to what it returns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from stepper.analysis.sites import Site, way_to
from stepper.model.break_words import context_of, kinds_of
from stepper.model.trace import GraphBreak, State
from stepper.model.value import Value, ValueId
from stepper.recording.reader import Recording

_KIND = "Reconstruction failure"
_OF_CLASS = re.compile(r"(\w+)\(")
_GENERATOR = "LocalGeneratorObjectVariable"


class Rebuilt(msgspec.Struct, frozen=True):
    """What could not be made for the rest of a function."""

    name: str
    """As the function has it; empty: that is not known."""
    what: str
    """Dynamo's name for what it is; empty: that is not known."""
    made: Site | None
    """The instruction of the function that made it; None: it is not known."""


def comes_of(recording: Recording, found: GraphBreak) -> GraphBreak | None:
    """The break that was being handled when this one came about: the first at its instruction, in
    an earlier attempt, which Dynamo gave up for a graph that ends there."""
    owner = recording.attempt(found.attempt).translation
    place = _own_place(recording, found)
    earlier = [
        each
        for attempt in recording.attempts(owner)
        for each in recording.graph_breaks(attempt.id)
        if each.attempt < found.attempt and each.resumes
    ]
    for each in earlier if place is not None else ():
        if _own_place(recording, each) == place:
            return each
        # Dynamo has tried to end the graph before that instruction instead, in vain.
        if is_not_rebuilt(found) and _said(each) == _said(found):
            return comes_of(recording, each)
    return None


def not_rebuilt(recording: Recording, found: GraphBreak) -> Rebuilt:
    """What could not be made, at a break for that reason."""
    site = _own_site(recording, found)
    if site is None:
        return Rebuilt("", "", None)
    state = recording.state(site.moment)
    what = _what(found, within=site.moment != found.moment)
    named = {
        id: name
        for id, name in _held(state)
        if (value := state.values.get(id)) is not None and value.cls == what
    }
    if len(named) != 1:
        return Rebuilt("", what, None)
    ((id, name),) = named.items()
    return Rebuilt(name, what, _made(recording, found.attempt, id))


def is_not_rebuilt(found: GraphBreak) -> bool:
    """Whether that is Dynamo's own word for a break."""
    return kinds_of(found)[0].startswith(_KIND)


def _said(found: GraphBreak) -> tuple[str, str]:
    return kinds_of(found)[0], context_of(found)


def _what(found: GraphBreak, *, within: bool) -> str:
    """What could not be made: Dynamo says it; of a generator it says what that needs, since it
    runs it to its end instead of making it."""
    if is_not_rebuilt(found):
        said = _OF_CLASS.match(context_of(found))
        return said[1] if said else ""
    return _GENERATOR if within else ""


def _own_site(recording: Recording, found: GraphBreak) -> Site | None:
    """The instruction of the translated function itself."""
    return next(reversed(way_to(recording, found.moment)), None)


def _own_place(recording: Recording, found: GraphBreak) -> tuple[int, int] | None:
    site = _own_site(recording, found)
    if site is None:
        return None
    moment = recording.moment(site.moment)
    return recording.frame(moment.frame).code, moment.ip


def _held(state: State) -> Iterator[tuple[ValueId, str]]:
    """The values that the translated function holds, what is in others behind them; those on the
    stack have no name."""
    frame = state.frames[0]
    seen: set[ValueId] = set()
    waiting = [(id, name) for name, id in frame.locals.items()]
    waiting += [(id, "") for id in frame.stack]
    for id, name in waiting:
        if id in seen:
            continue
        seen.add(id)
        yield id, name
        value: Value | None = state.values.get(id)
        if value is not None:
            waiting += [(each.value, f"{name}{each.label}" if name else "") for each in value.items]


def _made(recording: Recording, attempt: int, id: ValueId) -> Site | None:
    """The function's own instruction that made a value; None: it was there before the first."""
    moment = recording.value_origin(attempt, id)
    if moment is None or moment <= recording.attempt(attempt).first_moment:
        return None
    return next(reversed(way_to(recording, moment)), None)
