"""Whether a number bounds a slice: kept in a tensor, it would break the graph there.

The number is followed from where it is asked for, as `taken` follows one: through what is computed
with it, and into functions that it is handed to."""

from __future__ import annotations

from collections.abc import Iterator

from stepper.model.program import Instruction
from stepper.model.trace import MomentId, State
from stepper.model.value import Value
from stepper.recording.reader import Recording

_MOST = 64
"""How many instructions are looked at, at most."""
_NUMBERS = frozenset({"float", "int"})
_BOUNDED = ("BINARY_SLICE", "STORE_SLICE")
"""Instructions that take both bounds of a slice."""
_KEYED = ("BINARY_SUBSCR", "DELETE_SUBSCR", "STORE_SUBSCR")
_COMPUTING = {"BINARY_OP": 2, "UNARY_NEGATIVE": 1}
_LOOKED_AT = ("BUILD_SLICE", "CALL", *_BOUNDED, *_KEYED, *_COMPUTING)


def bounds_a_slice(recording: Recording, begin: MomentId, number: str) -> bool:
    """Whether a number of a source, or what is computed with it, bounds a slice from a moment
    on."""
    attempt = recording.attempt(recording.frame(recording.moment(begin).frame).attempt)
    end = recording.newest if attempt.last_moment is None else attempt.last_moment
    made: set[int] = set()
    computed_in: int | None = None  # the frame of which the next moment has the result
    asked = 0
    for moment in recording.moments(begin, end):
        row = recording.code(recording.frame(moment.frame).code).instructions[moment.ip]
        looked_at = row.opname.startswith(_LOOKED_AT)
        if not looked_at and moment.frame != computed_in:
            continue
        state = recording.state(moment.id)
        stack = state.top.stack
        if moment.frame == computed_in:
            computed_in = None
            made |= {
                each
                for each in stack[-1:]
                if (value := state.values.get(each)) and value.type in _NUMBERS
            }
        if not looked_at:
            continue
        if any(_is_it(state, each, number, made) for each in _bounds(row, state)):
            return True
        asked += 1
        if asked == _MOST:
            return False
        count = _COMPUTING.get(row.opname, row.arg or 0 if row.opname.startswith("CALL") else 0)
        if count and any(_is_it(state, each, number, made) for each in stack[-count:]):
            computed_in = moment.frame
    return False


def _is_it(state: State, id: int, number: str, made: set[int]) -> bool:
    value = state.values.get(id)
    return id in made or (value is not None and value.source == number)


def _bounds(row: Instruction, state: State) -> Iterator[int]:
    """The bounds of slices that an instruction takes."""
    stack = state.top.stack
    if row.opname == "BUILD_SLICE":
        yield from stack[-(row.arg or 0) :]
    elif row.opname in _BOUNDED:
        yield from stack[-2:]
    elif row.opname in _KEYED or "[]" in row.argrepr:
        key = state.values.get(stack[-1]) if stack else None
        if key is not None:
            yield from _within(key, state)


def _within(key: Value, state: State) -> Iterator[int]:
    """The bounds of a slice, or of those in a tuple."""
    for item in key.items:
        if key.type == "slice":
            yield item.value
        elif (part := state.values.get(item.value)) is not None and part.type == "slice":
            yield from (each.value for each in part.items)
