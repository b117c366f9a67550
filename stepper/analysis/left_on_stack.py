"""What a function that goes on after a graph break finds on the stack, as its user wrote it.

Dynamo hands the values that were on the stack to such a function as `___stack0`, `___stack1` and so
on, the result of the instruction that broke last. Nobody wrote these names: a person knows
`___stack1` as `lookup(table, key)`.
"""

from __future__ import annotations

import re

import msgspec

from stepper.analysis.break_facts import NULL
from stepper.analysis.break_places import break_before
from stepper.analysis.sites import Site, made_at, site_at, way_to
from stepper.analysis.sources import spelled
from stepper.client.text import clip, expression_text, one_line
from stepper.model.trace import GraphBreak, State, Translation
from stepper.model.value import Value
from stepper.recording.reader import Recording

_LEFT = re.compile(r"___stack(\d+)")
_IN_TEXT = re.compile(r"L\['(___stack\d+)'\]")
_NO_RESULT = ("STORE_", "DELETE_", "POP_", "JUMP_", "RETURN_", "END_", "FOR_ITER", "SEND")
"""How instructions are called that leave nothing of their own on the stack, or not always."""
_LONGEST = 60
_METHOD = "UserMethodVariable"
_OF_METHOD = ".__self__"


class Left(msgspec.Struct, frozen=True):
    """What one of Dynamo's names stands for."""

    name: str
    written: str
    """As its user wrote it; empty: that is not known."""
    source: str = ""
    """Where the function that breaks has it from, as Dynamo writes that, where it was read before
    the break; empty: it has come to be there."""
    bound_to: str = ""
    """The source of the object of which it is a method."""


def left_on_stack(recording: Recording, item: Translation) -> dict[str, str]:
    """How what each of Dynamo's names stands for is written, as far as it is known; empty: the
    function goes on after no break."""
    found = slots(recording, item)
    written = {each.name: each.written for each in found if each.written}
    bound = {f"{each.name}{_OF_METHOD}": spelled(each.bound_to) for each in found if each.bound_to}
    return written | bound


def of_the_stack(source: str) -> bool:
    """Whether a source leads through what was on the stack where a graph broke."""
    return _LEFT.search(source) is not None


def with_names(recording: Recording, item: Translation, text: str) -> str:
    """A text of the compiler's with what its user wrote in the place of such names."""
    if not of_the_stack(text):
        return text
    names = left_on_stack(recording, item)
    return _IN_TEXT.sub(lambda found: names.get(found[1], found[0]), text)


def slots(recording: Recording, item: Translation) -> list[Left]:
    """What each of Dynamo's names stands for; empty: the function goes on after no break."""
    found = break_before(recording, item)
    if found is None or not recording.has(item.first_moment):
        return []
    own = recording.state(item.first_moment).frames[0].locals
    numbers = sorted(int(match[1]) for match in map(_LEFT.fullmatch, own) if match)
    *_, site = way_to(recording, found.moment)
    with_null = not recording.facts.capabilities.dynamo_config
    gaps = numbers != [*range(len(numbers))] and not with_null
    if not numbers or gaps or not recording.has(site.moment):
        return []
    stack = _stack(recording.state(site.moment))
    kept = [value for value in stack if with_null or value.cls != NULL]
    below = [_below(recording, found, value) for value in kept]
    if not site.instruction.opname.startswith(_NO_RESULT):
        below[numbers[-1] :] = [Left("", _written(recording, site))]
    return [
        msgspec.structs.replace(below[at], name=f"___stack{at}")
        for at in numbers
        if at < len(below)
    ]


def has_computed(recording: Recording, item: Translation, name: str) -> bool:
    """Whether a variable that a function goes on with has come to be before the break, and was not
    read from what the function that breaks was given."""
    found = break_before(recording, item)
    if found is None:
        return False
    *_, site = way_to(recording, found.moment)
    if not recording.has(site.moment):
        return False
    state = recording.state(site.moment)
    value = state.values.get(state.top.locals.get(name, 0))
    return value is not None and not value.source


def _stack(state: State) -> list[Value]:
    return [state.values[id] for id in state.top.stack]


def _below(recording: Recording, found: GraphBreak, value: Value) -> Left:
    """What was on the stack before the instruction."""
    if value.source:
        owner = _bound_to(recording, found, value)
        return Left("", spelled(value.source), value.source, owner)
    node = recording.node(found.attempt, value.node) if value.node else None
    if node is None or site_at(recording, node.moment) is None:
        return Left("", "")
    *_, site = way_to(recording, made_at(recording, node.moment))
    return Left("", _written(recording, site))


def _bound_to(recording: Recording, found: GraphBreak, value: Value) -> str:
    """The object that a method on the stack is one of, as a source: that which it is read from,
    where its class has it and it has no attribute of this name itself; empty: it is no such one."""
    owner, _, name = value.source.rpartition(".")
    if value.cls != _METHOD or not name.isidentifier():
        return ""
    hidden = f"not ___dict_contains('{name}', {owner}.__dict__)"
    last = recording.attempts(recording.attempt(found.attempt).translation)[-1]
    guards = recording.guards(None, attempt=last.id)  # one that is thrown away has no code
    return owner if any(hidden in guard.code for guard in guards) else ""


def _written(recording: Recording, site: Site) -> str:
    """The expression that an instruction stands for."""
    code = recording.code(recording.frame(recording.moment(site.moment).frame).code)
    return clip(one_line(expression_text(code, site.instruction)), _LONGEST)
