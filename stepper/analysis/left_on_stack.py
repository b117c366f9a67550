"""What a function that goes on after a graph break finds on the stack, as its user wrote it.

Dynamo hands the values that were on the stack to such a function as `___stack0`, `___stack1` and so
on, the result of the instruction that broke last. Nobody wrote these names: a person knows
`___stack1` as `lookup(table, key)`.
"""

from __future__ import annotations

import re

from stepper.analysis.breaks import break_before
from stepper.analysis.sites import Site, site_at, way_to
from stepper.analysis.sources import spelled
from stepper.client.text import clip, expression_text, one_line
from stepper.model.trace import GraphBreak, State, Translation
from stepper.model.value import Value
from stepper.recording.reader import Recording

_LEFT = re.compile(r"___stack(\d+)")
_NO_RESULT = ("STORE_", "DELETE_", "POP_", "JUMP_", "RETURN_", "END_", "FOR_ITER", "SEND")
"""How instructions are called that leave nothing of their own on the stack, or not always."""
_LONGEST = 60


def left_on_stack(recording: Recording, item: Translation) -> dict[str, str]:
    """What each of Dynamo's names stands for, as far as it is known; empty: the function goes on
    after no break."""
    found = break_before(recording, item)
    if found is None or not recording.has(item.first_moment):
        return {}
    own = recording.state(item.first_moment).frames[0].locals
    numbers = sorted(int(match[1]) for match in map(_LEFT.fullmatch, own) if match)
    *_, site = way_to(recording, found.moment)
    if numbers != [*range(len(numbers))] or not recording.has(site.moment):
        return {}
    state = recording.state(site.moment)
    stack = [value for value in _stack(state) if value.cls != "NullVariable"]
    words = [_below(recording, found, value) for value in stack]
    if not site.instruction.opname.startswith(_NO_RESULT):
        words[len(numbers) - 1 :] = [_written(recording, site)]
    return {f"___stack{at}": text for at, text in zip(numbers, words, strict=False) if text}


def _stack(state: State) -> list[Value]:
    return [state.values[id] for id in state.top.stack]


def _below(recording: Recording, found: GraphBreak, value: Value) -> str:
    """What was on the stack before the instruction."""
    if value.source:
        return spelled(value.source)
    node = recording.node(found.attempt, value.node) if value.node else None
    if node is None or site_at(recording, node.moment) is None:
        return ""
    *_, site = way_to(recording, node.moment)
    return _written(recording, site)


def _written(recording: Recording, site: Site) -> str:
    """The expression that an instruction stands for."""
    code = recording.code(recording.frame(recording.moment(site.moment).frame).code)
    return clip(one_line(expression_text(code, site.instruction)), _LONGEST)
