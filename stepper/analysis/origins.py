"""Where guards came from: the instruction that made the compiler install them, and the line."""

from __future__ import annotations

import msgspec

from stepper.analysis.sites import made_at, program_line
from stepper.analysis.sources import taken_for_tensor
from stepper.client.text import source_line
from stepper.model.program import Instruction, PythonFrame, UserLine
from stepper.model.trace import Guard, MomentId
from stepper.model.value import Value
from stepper.recording.reader import Recording
from stepper.support.pythons_own import is_installed


class Origin(msgspec.Struct, frozen=True):
    """Where a guard came from."""

    guard: int
    """Id of the installed guard."""
    source: str
    """Its expression, as Dynamo writes it."""
    moment: MomentId
    """Whose instruction made the compiler install it."""
    instruction: Instruction | None = None
    value: Value | None = None
    """The value that it protects, as it was then; None when it was not in view."""
    line: UserLine | None = None
    """The line that needed it; None when it is not known."""
    called_from: UserLine | None = None
    """The program's line that led there, where that one is a library's."""


def origin_of(recording: Recording, guard: Guard) -> Origin:
    """The instruction that made the compiler install a guard, and the value that it protects."""
    first = recording.attempt(guard.attempt).first_moment
    if not first <= guard.moment <= recording.newest:
        # It was there before the first instruction, as those on global state are.
        line = None if guard.user_line is None else UserLine(guard.user_line)
        return Origin(guard.id, guard.source, guard.moment, line=line)
    state = recording.state(guard.moment)
    moment = recording.moment(made_at(recording, guard.moment))
    code = recording.code(recording.frame(moment.frame).code)
    row = code.instructions[moment.ip]
    source = taken_for_tensor(guard.source)
    named = (value for value in state.values.values() if value.source == source)
    place = guard.user_line or PythonFrame(code.filename, row.line or 0, code.name)
    here = (place.filename, place.line) == (code.filename, row.line)
    line = UserLine(place, source_line(code, row.line) if here else "")
    library = is_installed(place.filename)
    called_from = program_line(recording, guard.moment) if library else None
    value = next(named, None)
    return Origin(guard.id, guard.source, moment.id, row, value, line, called_from)
