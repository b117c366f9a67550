"""What a lookup shows of one guard of a native entry: expected, actual, and in what they differ."""

from __future__ import annotations

from typing import Any, NamedTuple

from stepper.debuggee.in_view import Described
from stepper.engines.common.lookup_words import (
    Difference,
    actual_tensor,
    note,
    tensor_differences,
    tensor_told,
    time_text,
    verdict_told,
)
from stepper.engines.common.words import class_name, object_text
from stepper.engines.native.guards import GuardPart
from stepper.model.cache import Verdict

_IDENTITY = frozenset(
    {
        "ID_MATCH", "FUNCTION_MATCH", "BUILTIN_MATCH", "PYMODULE_MATCH", "CLASS_MATCH", "NN_MODULE",
    }
)  # fmt: skip
_VALUE = frozenset({"CONSTANT_MATCH", "EQUALS_MATCH"})


class Said(NamedTuple):
    """What a guard has said in a lookup."""

    passed: bool
    nanoseconds: int
    value: Any = None
    reached: bool = False
    """Whether `value` is what it has looked at."""
    why: str = ""
    """What it raised, in words."""


def told(part: GuardPart, said: Said) -> dict[str, Described]:
    """The locals of the moment before a guard is asked."""
    verdict = Verdict.PASS if said.passed else Verdict.FAIL
    found = {"expected": _expected(part), "actual": _actual(part, said)}
    why = "" if said.passed else _why(part, said)
    found |= verdict_told(verdict, [] if said.passed else differences(part, said), why)
    found["time"] = note("time", time_text(said.nanoseconds))
    return found


def in_words(part: GuardPart, said: Said) -> str:
    """In what a value is not as its guard wants it."""
    return ", ".join(map(str, differences(part, said))) or _why(part, said)


def expected_text(part: GuardPart) -> str:
    """What the guard wants."""
    if part.kind == "GLOBAL_STATE":
        return "the state in which it was compiled"
    return part.expected or str(part)


def differences(part: GuardPart, said: Said) -> list[Difference]:
    """In what the value is not as the guard wants it; empty when that is not known."""
    if not said.reached:
        return []
    value, expected = said.value, part.expected
    if part.tensor is not None:
        return tensor_differences(part.tensor_class, part.tensor, value)
    if part.kind == "TYPE_MATCH":
        return [Difference("type", expected, class_name(type(value)))]
    if part.kind == "LIST_LENGTH":
        length = expected.removeprefix(_LENGTH)
        return [Difference("length", length, str(len(value)))]
    if part.kind in _VALUE and expected:
        return [Difference("value", expected, object_text(value))]
    if part.kind in _IDENTITY and not any(f", {id(value)})" in code for code in part.code):
        text = object_text(value)
        other = f"another {text.strip('<>')}" if text == expected or text[0] == "<" else text
        return [Difference("object", expected, other)]
    if part.kind == "DICT_KEYS":
        return [Difference("keys", expected, object_text(list(value)))]
    return []


_LENGTH = "length "


def _why(part: GuardPart, said: Said) -> str:
    return said.why or str(part)


def _expected(part: GuardPart) -> Described:
    if part.tensor is not None:
        return tensor_told("expected", part.tensor_class, part.tensor, part.expected)
    return note("expected", expected_text(part))


def _actual(part: GuardPart, said: Said) -> Described:
    if not said.reached:
        return note("actual", said.why or ("not looked at" if part.name else "the present state"))
    tensor = actual_tensor(said.value)
    if tensor is not None:
        return tensor
    if part.kind == "TYPE_MATCH":
        return note("actual", class_name(type(said.value)))
    if part.kind == "LIST_LENGTH":
        return note("actual", f"{_LENGTH}{len(said.value)}")
    if part.kind == "DICT_KEYS":
        return note("actual", object_text(list(said.value)))
    return note("actual", object_text(said.value))
