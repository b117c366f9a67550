"""Operators of which the program says what they return for fake tensors, on the way to a failure.

What the compiler knows of their results is what that function returned, and not what the operator
does.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from stepper.analysis.break_changes import Remedy
from stepper.analysis.failures import Failed, operands
from stepper.client.text import place_text
from stepper.model.program import PythonFrame
from stepper.model.trace import State
from stepper.model.value import ValueId
from stepper.recording.reader import Recording


class Faked(msgspec.Struct, frozen=True):
    """An operator of which the program says what it returns."""

    operator: str
    registered: PythonFrame
    """Where the function begins that says so."""


def fakes_behind(recording: Recording, failed: Failed) -> list[Faked]:
    """Those from whose results comes what the instruction to blame was about to take."""
    known = dict(failed.failure.fakes)
    if not known or not failed.sites or not failed.certain:
        return []
    state = recording.state(failed.sites[0].moment)
    taken = [failed.failure.node]
    taken += _nodes(state, (each.value for each in operands(recording, failed)))
    made = {node.name: node for node in recording.nodes(None, attempt=state.attempt)}
    waiting, seen = [name for name in taken if name in made], set[str]()
    found: dict[str, Faked] = {}
    while waiting:
        node = made[name := waiting.pop()]
        if name in seen:
            continue
        seen.add(name)
        waiting += [each for each in node.inputs if each in made]
        operator = "::".join(node.target.split(".")[:2])
        if operator in known:
            found[operator] = Faked(operator, known[operator])
    return list(found.values())


def change_of_fake(recording: Recording, failed: Failed) -> Remedy | None:
    """What to look at where the sizes that do not fit come from such a function."""
    for each in fakes_behind(recording, failed):
        return Remedy.telling(
            f"see that {place_text(each.registered)} says of {each.operator} what it returns, with "
            "torch.library.opcheck: what is known of the tensors here comes from that"
        )
    return None


def _nodes(state: State, ids: Iterable[ValueId]) -> list[str]:
    """The nodes of values, and of what they hold, as a bound method holds its tensor."""
    waiting, seen = list(ids), set[ValueId]()
    found: list[str] = []
    while waiting:
        value = state.values.get(id := waiting.pop())
        if value is None or id in seen:
            continue
        seen.add(id)
        found += [value.node] if value.node else []
        waiting += [item.value for item in value.items]
    return found
