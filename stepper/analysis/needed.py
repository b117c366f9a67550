"""What is to be done about a symbol that the program needs the value of.

An entry with a symbol serves every value of it, until something asks for the one at hand: then the
entry is for that one alone, and so is the next. What helps depends on what asks, which the
instruction and its operands say: what is looked up by a size can be looked up before, a loop that
is as long as one cannot.
"""

from __future__ import annotations

from stepper.analysis.shapes import Size
from stepper.analysis.sites import own_frame, site_at
from stepper.analysis.sources import path_of
from stepper.client.text import place_text
from stepper.model.datum import number
from stepper.model.program import Instruction, PythonFrame
from stepper.model.shapes import ShapeStep, Stage
from stepper.model.value import Value
from stepper.recording.reader import Recording

INDEXED = frozenset({"list", "tuple", "ModuleList", "ParameterList"})
KEYED = frozenset({"dict", "OrderedDict", "defaultdict", "ModuleDict", "ParameterDict"})
_TEXTS = ("BUILD_STRING", "FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC")
_MAKING_TEXTS = ("str", "repr", "format")
_RANGE = "range"
_TENSOR = "Tensor"
_THROUGH = ("zip", "enumerate", "list", "tuple", "map", "reversed", "sum", "iter")
"""Builtin functions that go through what they are given."""
_OPERANDS = 5
"""As many values as a call of one of them takes, with itself and what CPython puts there."""

_OUTSIDE = "take it out of the compiled function, or do it without the value"
_KEY = "look it up outside of the compiled function, and hand over what is found"
_ELEMENT = (
    "take the element outside of the compiled function, and hand that over, or have the elements "
    "in one tensor"
)
_TEXT = "make the text outside of the compiled function, or of something that stays the same"
_LOOP = "write the loop as operations on whole tensors, or have it around the compiled function"
_IN_A_TENSOR = "keep it in a tensor, and compute with that"
_OPERATOR = (
    "call it outside of the compiled function, or hand it something there that stays the same"
)


def needed_by(recording: Recording, size: Size, cause: ShapeStep, what: str) -> tuple[str, str]:
    """What is to be done about a symbol that the program needs the value of, and the fact that
    speaks for it.

    Args:
        recording: what is asked.
        size: the symbol, in the entry where it was fixed.
        cause: the condition that fixed it.
        what: what the symbol stands for.
    """
    stack = cause.program_stack
    place = place_of(stack, recording.facts.cwd) if stack else ""
    purpose, remedy = "", _OUTSIDE
    born = None if size.symbol is None else number(size.symbol.born.hint)
    # What AOTAutograd finds that it needs, Dynamo asks for when it has begun anew, at no line.
    later = cause.stage is Stage.DISPATCH or (cause.stage is Stage.TRACING and not stack)
    if later and isinstance(born, float):
        place = f"{Stage.DISPATCH}, at {place}," if place else str(Stage.DISPATCH)
        purpose, remedy = " for an operator that takes a number there", _IN_A_TENSOR
    elif cause.stage is Stage.TRACING:
        purpose, remedy = _use(recording, cause)
        place = place or "torch"
    else:
        cached = cause.stage is Stage.CACHE
        who = "a graph from a cache" if cached else str(cause.stage)
        place = f"{who}, at {place}," if place else who
    by = f" for {cause.target}" if cause.target else ""
    text = (
        f"{what} is a symbol until {place}{by} needs its value{purpose}. As long as that is asked "
        f"for, each value is compiled by itself: {remedy}."
    )
    return text, f"{size.translation.compile_id} has {cause.written} from there"


def _use(recording: Recording, cause: ShapeStep) -> tuple[str, str]:
    """What the value is needed as, e.g. ` as a key of a dict`, and what helps there."""
    if cause.target:
        return "", _OUTSIDE if cause.target.startswith("operator.") else _OPERATOR
    site = site_at(recording, cause.moment)
    if site is None:
        return "", _OUTSIDE
    state, row = recording.state(cause.moment), site.instruction
    stack = [value for id in state.top.stack if (value := state.values.get(id)) is not None]
    if container := _looked_into(row, stack):
        if container.type in KEYED:
            return f" as a key of a {container.type}", _KEY
        if container.type in INDEXED:
            return f" as an index into a {container.type}", _ELEMENT
    if row.opname in _TEXTS or _calls(row, stack, _MAKING_TEXTS):
        return " for a text", _TEXT
    if _calls(row, stack, (_RANGE,)):
        return " as the bound of a loop, which is unrolled", _LOOP
    tensors = any(value.type == _TENSOR for value in stack[-_OPERANDS:])
    if tensors and _calls(row, stack, _THROUGH):
        return " to go through a tensor row by row, which is unrolled", _LOOP
    return "", _OUTSIDE


def _looked_into(row: Instruction, stack: list[Value]) -> Value | None:
    """The container in which an instruction looks for something."""
    if subscribes(row):
        return stack[-2] if len(stack) > 1 else None
    return stack[-1] if row.opname == "CONTAINS_OP" and stack else None


def puts(row: Instruction) -> bool:
    """Whether an instruction puts an element into a container, or deletes one."""
    return row.opname in ("STORE_SUBSCR", "DELETE_SUBSCR")


def subscribes(row: Instruction) -> bool:
    """Whether an instruction takes an element out of a container."""
    return row.opname == "BINARY_SUBSCR" or (row.opname, row.argrepr) == ("BINARY_OP", "[]")


def _calls(row: Instruction, stack: list[Value], names: tuple[str, ...]) -> bool:
    """Whether an instruction calls one of these builtin functions."""
    called = stack[-_OPERANDS:] if row.opname.startswith("CALL") else []
    paths = (path_of(value.source) for value in called)
    return any(path is not None and not path.steps and path.root in names for path in paths)


def place_of(stack: tuple[PythonFrame, ...], cwd: str) -> str:
    """The innermost line, behind the program's own that leads there where it is a library's."""
    there = place_text(stack[-1], cwd)
    own = own_frame(stack)
    return there if own is None or own is stack[-1] else f"{place_text(own, cwd)} (there {there})"
