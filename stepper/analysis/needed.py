"""What is to be done about a number that the program needs the value of.

An entry with a symbol serves every value of it, until something asks for the one at hand: then the
entry is for that one alone, and so is the next. A number that is a constant of the graph has an
entry for each value anyway, and where its value is needed it would be of no use to have it be a
symbol, or keep it in a tensor. What helps depends on what asks, which the instruction and its
operands say: what is looked up by a size can be looked up before, a loop that is as long as one
cannot.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from stepper.analysis.shapes import Size
from stepper.analysis.sites import METHODS, Site, called_at, own_frame, program_line, site_at
from stepper.analysis.sources import path_of
from stepper.client.text import place_text
from stepper.model.datum import number
from stepper.model.program import Instruction, PythonFrame
from stepper.model.shapes import ShapeStep, Stage
from stepper.model.trace import MomentId, State
from stepper.model.value import Value
from stepper.recording.reader import Recording
from stepper.support.pythons_own import is_installed

_INDEXED = frozenset({"list", "tuple", "ModuleList", "ParameterList"})
_KEYED = frozenset({"dict", "OrderedDict", "defaultdict", "ModuleDict", "ParameterDict"})
_SETS = frozenset({"set", "frozenset"})
_BY_KEY = frozenset({".get", ".pop", ".setdefault", ".move_to_end"})
_BY_INDEX = frozenset({".pop", ".insert"})
"""Methods that take a key, or an index, first."""
_OBJECT = ".obj"
"""What a method is of, among its items."""
_TEXTS = ("BUILD_STRING", "FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC")
_FOR_A_TEXT = " for a text"
_MAKING_TEXTS = ("str", "repr", "format")
_RANGE = "range"
_TENSOR = "Tensor"
_THROUGH = ("zip", "enumerate", "list", "tuple", "map", "reversed", "sum", "iter")
"""Builtin functions that go through what they are given."""
_OPERANDS = 5
"""As many values as a call of one of them takes, with itself and what CPython puts there."""

OF_CONSTANTS = frozenset({"LOAD_CONST", "LOAD_SMALL_INT"})
"""Instructions that load a constant of the program's text."""
_JUMP = 3
"""As many instructions before a jump the last operand stands of the comparison that decides it."""

_OUTSIDE = "take it out of the compiled function, or do it without the value"
_KEY = "look it up outside of the compiled function, and hand over what is found"
_ELEMENT = (
    "take the element outside of the compiled function, and hand that over, or have the elements "
    "in one tensor"
)
_PART = "take the slice outside of the compiled function, and hand that over"
_TEXT = "make the text outside of the compiled function, or of something that stays the same"
_LOOP = "write the loop as operations on whole tensors, or have it around the compiled function"
_IN_A_TENSOR = "keep it in a tensor, and compute with that"
_OF_A_LIBRARY = (
    "hand over few values of it, since that line is a library's, and so is the compiled function"
)
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
        if not cause.target:
            purpose, remedy = use_at(recording, cause.moment)
        elif not cause.target.startswith("operator."):
            remedy = _as_ones_own(recording, cause.moment, _OPERATOR)
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


class Use(NamedTuple):
    """What the program needs the value of a number for."""

    purpose: str = ""
    """E.g. ` as a key of a dict`; empty: it is not known."""
    remedy: str = _OUTSIDE


def use_at(recording: Recording, moment: MomentId) -> Use:
    """What an instruction needs the value of a number for that it asks for."""
    site = site_at(recording, moment)
    if site is None:
        return Use()
    found = _use(recording, moment, site)
    if not is_installed(site.line.place.filename):
        return found
    return found._replace(remedy=_as_ones_own(recording, moment, _OUTSIDE))


def _as_ones_own(recording: Recording, moment: MomentId, remedy: str) -> str:
    """What is to be done where a program's own line can be changed, that led to a moment or is its
    own; where all are a library's, what can be done instead."""
    return _OF_A_LIBRARY if program_line(recording, moment) is None else remedy


def _use(recording: Recording, moment: MomentId, site: Site) -> Use:
    state, row = recording.state(moment), site.instruction
    stack = [value for id in state.top.stack if (value := state.values.get(id)) is not None]
    called = called_at(state, row)
    if use := _of_container(row, stack) or _of_method(called, state):
        return use
    if row.opname in _TEXTS or _fills_in(row, stack) or _is_one_of(called, _MAKING_TEXTS):
        return Use(_FOR_A_TEXT, _TEXT)
    if _is_one_of(called, (_RANGE,)):
        return Use(" as the bound of a loop, which is unrolled", _LOOP)
    tensors = any(value.type == _TENSOR for value in stack[-_OPERANDS:])
    if tensors and (row.opname == "GET_ITER" or _is_one_of(called, _THROUGH)):
        return Use(" to go through a tensor row by row, which is unrolled", _LOOP)
    return Use()


def asks_whether_equal(recording: Recording, cause: ShapeStep) -> bool:
    """Whether a size had to be what another one is: an operator wants that of its tensors, or the
    program compares it with what is no constant of its text."""
    if cause.target:
        return True
    site = site_at(recording, cause.moment)
    if site is None:
        return False
    frame = recording.frame(recording.moment(cause.moment).frame)
    at = site.instruction.index
    rows = recording.code(frame.code).instructions[max(0, at - _JUMP) : at + 1]
    pairs = [*itertools.pairwise(rows)][::-1]
    operand = next((before for before, row in pairs if row.opname == "COMPARE_OP"), None)
    return operand is not None and operand.opname not in OF_CONSTANTS


def _of_container(row: Instruction, stack: list[Value]) -> Use | None:
    """What an instruction that looks into a container, or changes one, needs a number for."""
    if len(stack) < 2 or (stack[-1].type == "str" and row.opname != "CONTAINS_OP"):
        return None  # no number is the key
    if row.opname == "CONTAINS_OP":
        kind = stack[-1].type
        if kind in _KEYED:
            return Use(_as_key(kind), _KEY)
        return Use(f" to look for it in a {kind}") if kind in _INDEXED | _SETS else None
    takes = row.opname == "BINARY_SUBSCR" or (row.opname, row.argrepr) == ("BINARY_OP", "[]")
    if not takes and row.opname not in ("STORE_SUBSCR", "DELETE_SUBSCR"):
        return None
    kind, sliced = stack[-2].type, stack[-1].type == "slice"
    if kind in _KEYED:
        return Use(_as_key(kind), _KEY if takes else _OUTSIDE)
    if kind not in _INDEXED:
        return None
    if sliced:
        return Use(f" as the bound of a slice of a {kind}", _PART if takes else _OUTSIDE)
    return Use(_as_index(kind), _ELEMENT if takes else _OUTSIDE)


def _of_method(called: Value | None, state: State) -> Use | None:
    """What a method of a container, or of a text, that is called needs a number for."""
    if called is None or called.cls not in METHODS:
        return None
    owners = (state.values.get(item.value) for item in called.items if item.label == _OBJECT)
    kind = next((owner.type for owner in owners if owner is not None), "")
    if kind in _KEYED and called.text in _BY_KEY:
        return Use(_as_key(kind), _KEY if called.text == ".get" else _OUTSIDE)
    if kind in _INDEXED and called.text in _BY_INDEX:
        return Use(_as_index(kind))
    if (kind, called.text) == ("str", ".format"):
        return Use(_FOR_A_TEXT, _TEXT)
    return None


def _fills_in(row: Instruction, stack: list[Value]) -> bool:
    """Whether an instruction fills in a text by `%`."""
    by_percent = (row.opname, row.argrepr) == ("BINARY_OP", "%")
    return by_percent and len(stack) > 1 and stack[-2].type == "str"


def _as_key(kind: str) -> str:
    return f" as a key of a {kind}"


def _as_index(kind: str) -> str:
    return f" as an index into a {kind}"


def _is_one_of(called: Value | None, names: tuple[str, ...]) -> bool:
    """Whether what is called is one of these builtin functions."""
    path = None if called is None else path_of(called.source)
    return path is not None and not path.steps and path.root in names


def place_of(stack: tuple[PythonFrame, ...], cwd: str) -> str:
    """The innermost line, behind the program's own that leads there where it is a library's."""
    there = place_text(stack[-1], cwd)
    own = own_frame(stack)
    return there if own is None or own is stack[-1] else f"{place_text(own, cwd)} (there {there})"
