"""What a lookup shows of one check: expected, actual, verdict, what differs, how long it took."""

from __future__ import annotations

from typing import Any, NamedTuple

from stepper.debuggee.walks import Described
from stepper.engines.common.tensors import fake_tensor_meta
from stepper.engines.dynamo.guard_tree import Check, tensor_fields
from stepper.engines.dynamo.quiet import Answer, words
from stepper.model.cache import GuardRow, Verdict
from stepper.model.value import TensorMeta, Value

MAX_TEXT = 300
MAX_ALSO = 50


class Difference(NamedTuple):
    """One thing in which a value is not as its guard wants it."""

    what: str
    """E.g. `size[0]`, `dtype`, `type`."""
    expected: str
    actual: str

    def __str__(self) -> str:
        return f"{self.what} {self.expected} ≠ {self.actual}"


def note(name: str, text: str) -> Described:
    """A text among the locals of a lookup's moment. The same text under a name is the same value,
    so a reader sees what changes from one check to the next."""
    text = text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"
    return Described((name, text), Value(cls="", text=text))


def told(check: Check, answer: Answer, verdict: Verdict, expected: str) -> dict[str, Described]:
    """The locals of the moment before a check."""
    row = check.row
    found = {"expected": _wanted(row, expected), "actual": _actual(row, answer)}
    found["verdict"] = note("verdict", _verdict_text(verdict))
    if verdict is Verdict.FAIL:
        found["differs"] = _differs(differences(row, answer, expected), answer.why)
    elif answer.why:
        found["note"] = note("note", answer.why)
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
    meta = fake_tensor_meta(value)
    if meta is None or fields["cls"] != type(value).__name__:
        return [Difference("type", fields["cls"], words(type(value)))]
    found = []
    if fields["dtype"] != meta.dtype:
        found.append(Difference("dtype", fields["dtype"], meta.dtype))
    for name, wanted, actual in (
        ("size", _sizes(fields["size"]), meta.shape or ()),
        ("stride", _sizes(fields["stride"]), meta.stride or ()),
    ):
        if len(wanted) != len(actual):
            if name == "size":
                found.append(Difference("rank", str(len(wanted)), str(len(actual))))
            continue
        found += [
            Difference(f"{name}[{at}]", want, got)
            for at, (want, got) in enumerate(zip(wanted, actual, strict=True))
            if want not in ("None", got)
        ]
    if (fields["grad"] == "True") != meta.requires_grad:
        found.append(Difference("requires_grad", fields["grad"], str(meta.requires_grad)))
    if fields["device"] != "None" and fields["device"] != meta.device.rpartition(":")[2]:
        found.append(Difference("device", fields["device"], meta.device))
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


def checks_text(row: GuardRow, expected: str) -> str:
    """A check in one line: the expression and what it must be."""
    if row.source and row.expected:
        return f"{row.source}  {expected}"
    if row.code:
        return "; ".join(row.code)
    return row.source


def time_text(nanoseconds: int) -> str:
    """A short time in a unit that fits it."""
    return f"{nanoseconds} ns" if nanoseconds < 1000 else f"{nanoseconds / 1000:.1f} µs"


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
    meta = TensorMeta(
        dtype=fields["dtype"],
        shape=tuple(size.replace("None", "?") for size in _sizes(fields["size"])),
        stride=tuple(step.replace("None", "?") for step in _sizes(fields["stride"])),
        device="cpu" if "CPU" in fields["keys"] else fields["device"],
        requires_grad=fields["grad"] == "True",
        subclass="" if fields["cls"] == "Tensor" else fields["cls"],
    )
    value = Value(cls="", type=fields["cls"], text=meta.brief, tensor=meta)
    return Described(("expected", row.code[0]), value)


def _actual(row: GuardRow, answer: Answer) -> Described:
    if not answer.reached:
        text = answer.why if answer.verdict is Verdict.FAIL else ""
        return note("actual", text or ("not looked at" if row.source else "the present state"))
    value = answer.value
    meta = fake_tensor_meta(value)
    if meta is not None:
        kind = type(value).__name__
        return Described(
            ("actual", id(value)), Value(cls="", type=kind, text=meta.brief, tensor=meta)
        )
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


def _differs(found: list[Difference], why: str) -> Described:
    if not found:
        return note("differs", why or "not known in what")
    text = ", ".join(map(str, found))
    children = tuple(
        (f".{each.what}", note(each.what, f"{each.expected} ≠ {each.actual}")) for each in found
    )
    return Described(("differs", text), Value(cls="", text=text, length=len(children)), children)


def _verdict_text(verdict: Verdict) -> str:
    return {Verdict.PASS: "pass", Verdict.FAIL: "FAIL"}.get(verdict, str(verdict))


def entry_told(parts: dict[str, Any]) -> dict[str, Described]:
    """The locals of a moment that is about an entry as a whole."""
    return {name: note(name, str(text)) for name, text in parts.items() if text != ""}


def also_told(rows: tuple[tuple[GuardRow, str], ...]) -> Described:
    """The guards of an entry that would have failed behind the one that did, each with how."""
    told = [(f"{row.kind} {row.source}".strip(), text) for row, text in rows]
    text = "; ".join(f"{what}: {how}" for what, how in told)
    children = tuple((what, note(what, how)) for what, how in told[:MAX_ALSO])
    brief = note("also fail", text)
    value = Value(cls="", text=brief.value.text, length=len(told))
    return Described(("also fail", text), value, children)
