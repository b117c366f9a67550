"""What one guard of a native entry wants and what it found, as data."""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType
from typing import Any, NamedTuple

import torch
from torch.nn.modules import module as nn_module

from stepper.engines.common.lookup_walk import Call
from stepper.engines.common.lookup_words import (
    actual_tensor,
    inference_differences,
    tensor_differences,
)
from stepper.engines.common.shape_conditions import SHAPE_ENV, same_object_as
from stepper.engines.common.words import object_text
from stepper.engines.native.entry_guards import expected_meta, expected_text, looked_at
from stepper.model.cache import GuardRow, Verdict
from stepper.model.datum import UNKNOWN, Datum, Many, Tensor, Words, datum
from stepper.model.lookup import Check, CheckedGuard, Difference
from stepper.native.guards.guard import Constant, ExpectedTensor, GuardPart
from stepper.native.guards.guard_builder import member_text
from stepper.native.guards.scope import has_hooks
from stepper.native.runtime.cache_entry import GuardedCode
from stepper.support.words import class_name

_IDENTITY = frozenset(
    {"ID_MATCH", "FUNCTION_MATCH", "BUILTIN_MATCH", "PYMODULE_MATCH", "CLASS_MATCH"}
)
_VALUE = frozenset({"CONSTANT_MATCH", "EQUALS_MATCH"})
_MARKS = "_dynamo_dynamic_indices"
"""Where `mark_dynamic` keeps what it is told of a tensor."""


class Said(NamedTuple):
    """What a guard has said in a lookup."""

    passed: bool
    nanoseconds: int | None
    value: Any = None
    reached: bool = False
    """Whether `value` is what it has looked at."""
    why: str = ""
    """What it raised, in words."""


def with_value(entry: GuardedCode, part: GuardPart, said: Said, call: Call) -> Said:
    """What a guard has said, with what it has looked at."""
    value, known = looked_at(entry, part, call.f_locals, call.f_globals)
    return said._replace(value=value, reached=known)


def checked_guard(row: GuardRow, part: GuardPart) -> CheckedGuard:
    """A guard of an entry."""
    return CheckedGuard(row.kind, row.source, row.code, _expected(part))


def checked(place: int, part: GuardPart, said: Said) -> Check:
    """What came of asking a guard; `place`: its own among the rows of its entry."""
    verdict = Verdict.PASS if said.passed else Verdict.FAIL
    found = () if said.passed or said.why else differences(part, said)
    return Check(place, verdict, 0, said.nanoseconds, _actual(part, said), found, said.why)


def differences(part: GuardPart, said: Said) -> tuple[Difference, ...]:
    """In what the value is not as the guard wants it; empty when that is not known."""
    if not said.reached:
        return tuple(_of_the_world(part))
    value, expected = said.value, _expected(part)
    if isinstance(expected, Tensor):
        return _of_a_tensor(part, expected, value)
    if part.kind == "NO_ALIASING":
        return _of_a_pair(value)
    if part.kind == "DUPLICATE_INPUT":
        return (Difference("identity", Words(same_object_as(part.code)), Words("another object")),)
    if part.kind == "HASATTR":
        name, _, there = part.code[0].partition(" ")
        with_it, without = Words(f"with {name}"), Words(f"without {name}")
        if there.startswith("not "):
            return (Difference("attributes", without, with_it),)
        return (Difference("attributes", with_it, without),)
    of_class = f", {id(type(value))})" in part.code[0]
    if part.kind == "TYPE_MATCH" or (part.kind == "NN_MODULE" and not of_class):
        return (Difference("type", expected, Words(class_name(type(value)))),)
    if part.kind == "LIST_LENGTH":
        return (Difference("length", expected, len(value)),)
    if part.kind in _VALUE and isinstance(part.expected, Constant):
        return (Difference("value", expected, datum(value, object_text)),)
    if part.kind == "CONSTANT_SUBCLASS_MATCH":
        return (Difference("object", expected, Words(member_text(value))),)
    if part.kind == "FUNCTION_MATCH" and f", {id(value)})" in part.code[0]:
        return (Difference("object", expected, _code(value), source=f"{part.name}.__code__"),)
    if part.kind == "CLOSURE_MATCH":
        return _of_a_function(part, value, expected)
    if part.kind in _IDENTITY and not any(f", {id(value)})" in code for code in part.code):
        text = object_text(value)
        another = text == expected_text(part) or text[0] == "<"
        found = Words(text.strip("<>"), another=True) if another else Words(text)
        return (Difference("object", expected, found),)
    if part.kind == "DICT_KEYS" and issubclass(type(value), (set, frozenset)):
        if isinstance(expected, Many):  # a list, as they were met
            expected = Many("set", expected.items)
        return (Difference("value", expected, datum(set(value), object_text)),)
    if part.kind == "DICT_KEYS":
        return (Difference("keys", expected, datum(list(value), object_text)),)
    return _of_a_module(part, value) if part.kind == "NN_MODULE" else ()


def _of_a_function(part: GuardPart, value: object, expected: Datum) -> tuple[Difference, ...]:
    """A function, known by its code, that is another, of other code, or of another module."""
    if type(value) is not FunctionType:
        return (Difference("type", Words("function"), Words(class_name(type(value)))),)
    if any(f", {id(value.__code__)})" in code for code in part.code):
        return (Difference("object", expected, Words(object_text(value), another=True)),)
    return (Difference("object", expected, _code(value), source=f"{part.name}.__code__"),)


def _code(function: FunctionType) -> Words:
    code = function.__code__
    return Words(f"{code.co_name} at {code.co_filename}:{code.co_firstlineno}")


def _of_a_tensor(part: GuardPart, expected: Tensor, value: object) -> tuple[Difference, ...]:
    found = tensor_differences(expected, value)
    if isinstance(part.expected, ExpectedTensor):
        found += inference_differences(value, gradients=part.expected.gradients)
    return found or _of_marks(part, value) or _of_dispatch(part.expected, value)


def _of_marks(part: GuardPart, tensor: object) -> tuple[Difference, ...]:
    """A tensor with marks that differs in nothing else, where one without was asked for."""
    marks = vars(tensor).get(_MARKS) if isinstance(tensor, torch.Tensor) else None
    if marks is None or f"hasattr({part.name}, {_MARKS!r}) == False" not in part.code:
        return ()
    return (Difference("marks", Words("none"), Words(f"dimensions {sorted(marks)}")),)


def _of_dispatch(wanted: object, tensor: object) -> tuple[Difference, ...]:
    """A tensor that differs in nothing else has other dispatch keys, unless marks are asked for."""
    if not isinstance(wanted, ExpectedTensor) or _MARKS in getattr(tensor, "__dict__", ()):
        return ()
    return (Difference("dispatch keys", Words("those of the compilation"), Words("others")),)


def _of_a_pair(objects: dict[str, object]) -> tuple[Difference, ...]:
    """The first object that is one of those before it."""
    before: dict[int, str] = {}
    for name, each in objects.items():
        if (other := before.setdefault(id(each), name)) != name:
            return (Difference("alias", Words("none"), Words(other), source=name),)
    return ()


def _of_the_world(part: GuardPart) -> Iterator[Difference]:
    """In what classes, libraries and torch's own state are not as they were."""
    match part.kind:
        case "CLASS_ATTRIBUTES":
            yield Difference("attributes", Words("as they were"), Words("replaced"))
        case "ORIGINAL_FUNCTION":
            yield Difference("object", Words("as it was"), Words("replaced"))
        case "MODULE_HOOKS":
            for name, there in vars(nn_module).items():
                if any(f"[{name!r}]" in code for code in part.code) and there:
                    source = f"{nn_module.__name__}.{name}"
                    yield Difference("hooks", Words("none"), Words("some"), source=source)


def _of_a_module(part: GuardPart, module: torch.nn.Module) -> tuple[Difference, ...]:
    """In what a module of the same class is not called in the same way."""
    training = vars(module).get("training")
    for code in part.code:
        if code.endswith((f", {not training})", f"is {not training}")):
            return (Difference("value", not training, training, source=f"{part.name}.training"),)
    with_hooks, without = Words("some"), Words("none")
    if has_hooks(module):
        return (Difference("hooks", without, with_hooks),)
    return (Difference("hooks", with_hooks, without),)


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
