"""Lookups as a recording has them."""

from __future__ import annotations

from typing import NamedTuple

from stepper.model.trace import Phase, Translation
from stepper.recording.reader import Recording


class Row(NamedTuple):
    """A moment of a lookup."""

    depth: int
    opname: str
    text: str
    said: dict[str, str]


def lookups(recording: Recording) -> list[Translation]:
    return [each for each in recording.translations() if each.phase is Phase.LOOKUP]


def rows(recording: Recording, lookup: Translation) -> list[Row]:
    found = []
    assert lookup.last_moment is not None
    for moment in range(lookup.first_moment, lookup.last_moment + 1):
        state = recording.state(moment)
        code = recording.code(recording.frame(state.top.frame).code)
        instruction = code.instructions[state.top.ip]
        said = {name: state.values[id].brief for name, id in state.top.locals.items()}
        found.append(Row(len(state.frames) - 1, instruction.opname, instruction.argrepr, said))
    return found


def entries(recording: Recording, lookup: Translation) -> list[str]:
    return [row.text for row in rows(recording, lookup) if row.opname == "ENTRY"]


def failing(recording: Recording, lookup: Translation) -> list[Row]:
    checks = [row for row in rows(recording, lookup) if row.depth == 1]
    return [row for row in checks if row.said["verdict"] == "FAIL"]
