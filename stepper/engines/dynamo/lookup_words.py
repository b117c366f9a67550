"""What one of Dynamo's checks wants and what it found, as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stepper.engines.common.lookup_words import (
    actual_tensor,
    inference_differences,
    tensor_differences,
)
from stepper.engines.common.shape_conditions import seen
from stepper.engines.dynamo.guard_tree import Check as LiveCheck
from stepper.engines.dynamo.guard_tree import length_of, tensor_fields
from stepper.engines.dynamo.safe_reader import Answer, words
from stepper.model.cache import GuardRow, Verdict
from stepper.model.datum import UNKNOWN, Datum, Tensor, Words, datum, literal
from stepper.model.lookup import Check, CheckedGuard, Difference
from stepper.support.guarded_values import membership_of

_CONSTANT = frozenset({"EQUALS_MATCH", "TRUE_MATCH", "FALSE_MATCH", "NONE_MATCH", "NOT_NONE"})
_LENGTH = frozenset({"LENGTH_CHECK", "DICT_LENGTH"})


def checked_guard(row: GuardRow, name: str = "") -> CheckedGuard:
    """A guard of an entry; `name`: of the object that an identity guard knows."""
    return CheckedGuard(
        row.kind, row.source, row.code, _expected(row, name), row.user_line, row.hint
    )


def checked(
    place: int, check: LiveCheck, answer: Answer, verdict: Verdict, guard: CheckedGuard
) -> Check:
    """What came of asking a guard again.

    Args:
        place: of the guard among the rows of its entry.
        check: the guard, as it was asked.
        answer: what it said.
        verdict: Dynamo's, where that is known, else the answer's.
        guard: the same guard as it is recorded.
    """
    row = check.row
    found = differences(check, answer, guard.expected) if verdict is Verdict.FAIL else ()
    actual = _actual(row, answer)
    # Of one that is known to fail because all others pass, its own words say what did not hold.
    by_elimination = verdict is Verdict.FAIL and answer.verdict is Verdict.UNKNOWN
    why = "" if by_elimination else answer.why
    return Check(place, verdict, 0, answer.nanoseconds, actual, found, why)


def differences(check: LiveCheck, answer: Answer, expected: Datum) -> tuple[Difference, ...]:
    """In what the value is not as the guard wants it; empty when that is not known."""
    if not answer.reached:
        return answer.differences
    row, value = check.row, answer.value
    if row.kind == "TENSOR_MATCH":
        return _tensor_differences(row, expected, value) if isinstance(expected, Tensor) else ()
    if row.kind == "TYPE_MATCH":
        return (Difference("type", expected, Words(words(type(value)))),)
    if row.kind == "OBJECT_ALIASING":
        return (Difference("identity", expected, Words("another object")),)
    if row.kind == "ID_MATCH":
        return (Difference("object", expected, _identity(value, expected)),)
    if row.kind in _LENGTH and (size := length_of(value)) is not None:
        return (Difference("length", expected, size),)
    if row.kind == "DICT_MANAGER":
        return tuple(_dict_differences(check, value))
    asked = membership_of(row.code[0]) if len(row.code) == 1 else None
    if asked is not None:
        wanted, found = map(Words, asked.words)
        return (Difference(asked.what, wanted, found),)
    if row.kind in _CONSTANT:
        return (Difference("value", expected, datum(value, words)),)
    return ()


def _tensor_differences(row: GuardRow, expected: Tensor, value: object) -> tuple[Difference, ...]:
    fields = tensor_fields(row.code[0])
    assert fields is not None
    found = tensor_differences(expected, value)
    found += inference_differences(value, gradients="Autograd" in fields["keys"])
    keys = Words(f"DispatchKeySet({fields['keys']})")
    return found or (Difference("dispatch keys", keys, Words("others")),)


def _expected(row: GuardRow, name: str) -> Datum:
    if row.kind == "ID_MATCH" and name:
        return Words(name)
    if row.wants is not None:
        return Tensor(row.wants.subclass or "Tensor", row.wants)
    if row.expected:
        constant = row.kind in _CONSTANT or row.kind in _LENGTH
        return literal(row.expected) if constant else Words(row.expected)
    if row.kind == "NOT_NONE":
        return Words("not None")
    if row.kind == "GLOBAL_STATE":
        return Words("the state in which it was compiled")
    return Words(row.code[0] if len(row.code) == 1 else "all of " + "; ".join(row.code))


def _actual(row: GuardRow, answer: Answer) -> Datum:
    if answer.saw:
        return datum(seen(answer.saw), words)
    if not answer.reached:
        return UNKNOWN
    value = _converted(row, answer.value)
    tensor = actual_tensor(value)
    if tensor is not None:
        return tensor
    if value is not answer.value:
        return datum(value, words)
    if row.kind == "TYPE_MATCH":
        return Words(words(type(value)))
    if row.kind in _LENGTH and (size := length_of(value)) is not None:
        return size
    if row.kind == "DICT_MANAGER" and length_of(value) is not None:
        return _dictionary(value)
    return datum(value, words) if row.kind in _CONSTANT else Words(words(value))


def _converted(row: GuardRow, value: object) -> object:
    """What a guard makes of a value of a class that is made of int, say, before it compares that:
    what int itself makes of it, whatever the class does."""
    for kind, convert in _CONVERTED.items():
        begins = bool(row.code) and row.code[0].startswith(f"{kind.__name__}(")
        if begins and issubclass(type(value), kind):
            return convert(value)
    return value


_CONVERTED: dict[type, Callable[..., object]] = {
    int: int.__int__, float: float.__float__, str: str.__str__
}  # fmt: skip


def _dict_differences(check: LiveCheck, value: object) -> Iterator[Difference]:
    """A dict's manager asks for its type and how many keys it has, and says no more than no."""
    wanted, found = check.wanted_dict, length_of(value)
    if wanted is None:
        return
    kind, least, length = wanted
    if type(value) is not kind:
        yield Difference("type", Words(words(kind)), Words(words(type(value))))
    elif length is not None:
        yield Difference("length", length, found)
    elif found is not None:
        size = "another size" if found >= least else f"{least} or more"
        yield Difference("dictionary", Words(f"{words(kind)} of {size}"), _dictionary(value))


def _dictionary(value: object) -> Words:
    return Words(f"{words(type(value))} of {length_of(value)}")


def _identity(value: object, expected: Datum) -> Words:
    text = words(value)
    only_its_type = text.startswith("<") and text.endswith(">")
    if only_its_type or Words(text) == expected:
        return Words(text.strip("<>") if only_its_type else text, another=True)
    return Words(text)
