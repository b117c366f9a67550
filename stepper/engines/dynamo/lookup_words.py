"""What a lookup shows of one of Dynamo's checks."""

from __future__ import annotations

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
from stepper.engines.dynamo.guard_tree import Check, tensor_fields
from stepper.engines.dynamo.quiet import Answer, words
from stepper.model.cache import GuardRow, Verdict
from stepper.model.value import TensorMeta


def told(check: Check, answer: Answer, verdict: Verdict, expected: str) -> dict[str, Described]:
    """The locals of the moment before a check."""
    row = check.row
    found = {"expected": _wanted(row, expected), "actual": _actual(row, answer)}
    differing = differences(row, answer, expected) if verdict is Verdict.FAIL else []
    found |= verdict_told(verdict, differing, answer.why)
    if answer.nanoseconds is not None:
        found["time"] = note("time", time_text(answer.nanoseconds))
    if row.user_line:
        found["because of"] = note(
            "because of", f"{row.user_line}: {row.user_code}" if row.user_code else row.user_line
        )
    if row.hint:
        found["hint"] = note("hint", row.hint)
    return found


def differences(row: GuardRow, answer: Answer, expected: str) -> list[Difference]:
    """In what the value is not as the guard wants it; empty when that is not known."""
    if not answer.reached:
        return []
    value = answer.value
    match row.kind:
        case "TENSOR_MATCH":
            fields = tensor_fields(row.code[0]) if row.code else None
            return _tensor_differences(fields, value) if fields is not None else []
        case "TYPE_MATCH":
            return [Difference("type", expected, words(type(value)))]
        case "ID_MATCH" | "OBJECT_ALIASING":
            return [Difference("object", expected, _identity_words(value, expected))]
        case "LENGTH_CHECK" | "DICT_LENGTH" if (size := _size(value)) is not None:
            return [Difference("length", expected, str(size))]
        case "DICT_MANAGER" if (size := _size(value)) is not None:
            return [Difference("dictionary", expected, f"{words(type(value))} of {size}")]
        case "EQUALS_MATCH" | "TRUE_MATCH" | "FALSE_MATCH" | "NONE_MATCH" | "NOT_NONE":
            return [Difference("value", expected or "not None", words(value))]
        case _:
            return []


def _tensor_differences(fields: dict[str, str], value: object) -> list[Difference]:
    found = tensor_differences(fields["cls"], _wanted_tensor(fields), value)
    return found or [Difference("dispatch keys", f"DispatchKeySet({fields['keys']})", "others")]


def expected_text(row: GuardRow, name: str = "") -> str:
    """What the guard wants; `name`: of the object that an identity guard knows."""
    if row.kind == "ID_MATCH" and name:
        return name
    if row.expected:
        return row.expected
    match row.kind:
        case "GLOBAL_STATE":
            return "the state in which it was compiled"
        case _:
            return row.code[0] if len(row.code) == 1 else "all of " + "; ".join(row.code)


def _size(value: object) -> int | None:
    """How many elements a builtin container has; None for anything else."""
    kind = type(value)
    for base in (dict, list, tuple, set, frozenset):
        if kind is base or type.__subclasscheck__(base, kind):
            return base.__len__(value)  # type: ignore[arg-type]
    return None


def _sizes(text: str) -> list[str]:
    return [size for size in text.split(", ") if size]


def _wanted(row: GuardRow, expected: str) -> Described:
    described = note("expected", expected)
    fields = tensor_fields(row.code[0]) if row.kind == "TENSOR_MATCH" and row.code else None
    if fields is None:
        return described
    return tensor_told("expected", fields["cls"], _wanted_tensor(fields), row.code[0])


def _wanted_tensor(fields: dict[str, str]) -> TensorMeta:
    return TensorMeta(
        dtype=fields["dtype"],
        shape=tuple(size.replace("None", "?") for size in _sizes(fields["size"])),
        stride=tuple(step.replace("None", "?") for step in _sizes(fields["stride"])),
        device="cpu" if "CPU" in fields["keys"] else fields["device"],
        requires_grad=fields["grad"] == "True",
        subclass="" if fields["cls"] == "Tensor" else fields["cls"],
    )


def _actual(row: GuardRow, answer: Answer) -> Described:
    if not answer.reached:
        text = answer.why if answer.verdict is Verdict.FAIL else ""
        return note("actual", text or ("not looked at" if row.source else "the present state"))
    value = answer.value
    tensor = actual_tensor(value)
    if tensor is not None:
        return tensor
    match row.kind:
        case "TYPE_MATCH":
            text = words(type(value))
        case "LENGTH_CHECK" | "DICT_LENGTH" if (size := _size(value)) is not None:
            text = f"length {size}"
        case "DICT_MANAGER" if (size := _size(value)) is not None:
            text = f"{words(type(value))} of {size}"
        case _:
            text = words(value)
    return note("actual", text)


def _identity_words(value: object, expected: str) -> str:
    text = words(value)
    return f"another {text.strip('<>')}" if text == expected or text.startswith("<") else text
