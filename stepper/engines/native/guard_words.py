"""What one guard of a native entry wants and what it found, as data."""

from __future__ import annotations

from typing import Any, NamedTuple

from stepper.engines.common.lookup_words import actual_tensor, tensor_differences
from stepper.engines.common.shape_conditions import SHAPE_ENV
from stepper.engines.common.words import object_text
from stepper.engines.native.entry_guards import expected_meta, expected_text
from stepper.model.cache import GuardRow, Verdict
from stepper.model.datum import UNKNOWN, Datum, Tensor, Words, datum
from stepper.model.lookup import Check, CheckedGuard, Difference
from stepper.native.guards.guard import Constant, ExpectedTensor, GuardPart
from stepper.support.words import class_name

_IDENTITY = frozenset(
    {
        "ID_MATCH", "FUNCTION_MATCH", "BUILTIN_MATCH", "PYMODULE_MATCH", "CLASS_MATCH", "NN_MODULE",
    }
)  # fmt: skip
_VALUE = frozenset({"CONSTANT_MATCH", "EQUALS_MATCH"})


class Said(NamedTuple):
    """What a guard has said in a lookup."""

    passed: bool
    nanoseconds: int | None
    value: Any = None
    reached: bool = False
    """Whether `value` is what it has looked at."""
    why: str = ""
    """What it raised, in words."""


def checked_guard(row: GuardRow, part: GuardPart) -> CheckedGuard:
    """A guard of an entry."""
    return CheckedGuard(row.kind, row.source, row.code, _expected(part))


def checked(place: int, part: GuardPart, said: Said) -> Check:
    """What came of asking a guard; `place`: its own among the rows of its entry."""
    verdict = Verdict.PASS if said.passed else Verdict.FAIL
    why = "" if said.passed else said.why or _unmet(part)
    found = () if said.passed else differences(part, said)
    return Check(place, verdict, 0, said.nanoseconds, _actual(part, said), found, why)


def _unmet(part: GuardPart) -> str:
    if part.kind in ("CLASS_ATTRIBUTES", "ORIGINAL_FUNCTION"):
        return f"something of {part.name} was replaced"
    return str(part)


def differences(part: GuardPart, said: Said) -> tuple[Difference, ...]:
    """In what the value is not as the guard wants it; empty when that is not known."""
    if not said.reached:
        return ()
    value, expected = said.value, _expected(part)
    if isinstance(expected, Tensor):
        return tensor_differences(expected, value)
    if part.kind == "TYPE_MATCH":
        return (Difference("type", expected, Words(class_name(type(value)))),)
    if part.kind == "LIST_LENGTH":
        return (Difference("length", expected, len(value)),)
    if part.kind in _VALUE and isinstance(part.expected, Constant):
        return (Difference("value", expected, datum(value, object_text)),)
    if part.kind in _IDENTITY and not any(f", {id(value)})" in code for code in part.code):
        text = object_text(value)
        another = text == expected_text(part) or text[0] == "<"
        found = Words(text.strip("<>"), another=True) if another else Words(text)
        return (Difference("object", expected, found),)
    if part.kind == "DICT_KEYS":
        return (Difference("keys", expected, datum(list(value), object_text)),)
    return ()


def _expected(part: GuardPart) -> Datum:
    if part.kind == "GLOBAL_STATE":
        return Words("the state in which it was compiled")
    match part.expected:
        case Constant(value):
            return datum(value, object_text)
        case ExpectedTensor() as wanted:
            return Tensor(wanted.cls, expected_meta(wanted))
        case words:
            return Words(words or str(part))


def _actual(part: GuardPart, said: Said) -> Datum:
    if not said.reached:
        return UNKNOWN
    value = said.value
    tensor = actual_tensor(value)
    if tensor is not None:
        return tensor
    if part.kind == "TYPE_MATCH":
        return Words(class_name(type(value)))
    if part.kind == "LIST_LENGTH":
        return len(value)
    if part.kind == "DICT_KEYS":
        return datum(list(value), object_text)
    constant = part.kind in _VALUE or part.kind == SHAPE_ENV
    return datum(value, object_text) if constant else Words(object_text(value))
