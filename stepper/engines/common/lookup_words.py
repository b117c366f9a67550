"""What a lookup shows of one check: expected, actual, verdict, what differs, how long it took."""

from __future__ import annotations

from typing import Any, NamedTuple

from stepper.debuggee.in_view import Described
from stepper.engines.common.tensors import fake_tensor_meta
from stepper.engines.common.words import class_name
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


def entry_told(parts: dict[str, Any]) -> dict[str, Described]:
    """The locals of a moment that is about an entry as a whole."""
    return {name: note(name, str(text)) for name, text in parts.items() if text != ""}


def verdict_told(verdict: Verdict, found: list[Difference], why: str) -> dict[str, Described]:
    """A check's verdict, and for one that fails in what the value differs.

    Args:
        why: what is said where no difference is known, and of a check that does not fail.
    """
    text = {Verdict.PASS: "pass", Verdict.FAIL: "FAIL"}.get(verdict, str(verdict))
    told = {"verdict": note("verdict", text)}
    if verdict is Verdict.FAIL:
        told["differs"] = _differs(found, why)
    elif why:
        told["note"] = note("note", why)
    return told


def _differs(found: list[Difference], why: str) -> Described:
    if not found:
        return note("differs", why or "not known in what")
    text = ", ".join(map(str, found))
    children = tuple(
        (f".{each.what}", note(each.what, f"{each.expected} ≠ {each.actual}")) for each in found
    )
    return Described(("differs", text), Value(cls="", text=text, length=len(children)), children)


def backend_told(expected: str, actual: str, verdict: Verdict) -> dict[str, Described]:
    """The locals of the moment before an entry's backend is compared with the call's."""
    if verdict is Verdict.FAIL and actual == expected:
        actual = f"another {actual}"
    found = {"expected": note("expected", expected), "actual": note("actual", actual)}
    text = {Verdict.PASS: "pass", Verdict.FAIL: "FAIL"}.get(verdict, "unknown")
    found["verdict"] = note("verdict", text)
    if verdict is Verdict.FAIL:
        found["differs"] = note("differs", f"backend {expected} ≠ {actual}")
    return found


def also_told(rows: tuple[tuple[GuardRow, str], ...]) -> Described:
    """The guards of an entry that would have failed behind the one that did, each with how."""
    told = [(f"{row.kind} {row.source}".strip(), text) for row, text in rows]
    text = "; ".join(f"{what}: {how}" for what, how in told)
    children = tuple((what, note(what, how)) for what, how in told[:MAX_ALSO])
    brief = note("also fail", text)
    value = Value(cls="", text=brief.value.text, length=len(told))
    return Described(("also fail", text), value, children)


def time_text(nanoseconds: int) -> str:
    """A short time in a unit that fits it."""
    return f"{nanoseconds} ns" if nanoseconds < 1000 else f"{nanoseconds / 1000:.1f} µs"


def checks_text(row: GuardRow, expected: str) -> str:
    """A check in one line: the expression and what it must be."""
    if row.source and row.expected:
        return f"{row.source}  {expected}"
    if row.code:
        return "; ".join(row.code)
    return row.source


# -- tensors -------------------------------------------------------------------------------------


def tensor_told(name: str, kind: str, meta: TensorMeta, key: object) -> Described:
    """A tensor among the locals of a lookup's moment; `key` tells it from others of the name."""
    return Described((name, key), Value(cls="", type=kind, text=meta.brief, tensor=meta))


def actual_tensor(value: object) -> Described | None:
    """What a guard has looked at, when that is a tensor."""
    meta = fake_tensor_meta(value)
    return None if meta is None else tensor_told("actual", type(value).__name__, meta, id(value))


def tensor_differences(kind: str, wanted: TensorMeta, value: object) -> list[Difference]:
    """In what a value is not the tensor that a guard wants; sizes and strides of `?` may be any."""
    meta = fake_tensor_meta(value)
    if meta is None or kind != type(value).__name__:
        return [Difference("type", kind, class_name(type(value)))]
    found = []
    if wanted.dtype != meta.dtype:
        found.append(Difference("dtype", wanted.dtype, meta.dtype))
    for name, want, actual in (
        ("size", wanted.shape or (), meta.shape or ()),
        ("stride", wanted.stride or (), meta.stride or ()),
    ):
        if len(want) != len(actual):
            if name == "size":
                found.append(Difference("rank", str(len(want)), str(len(actual))))
            continue
        found += [
            Difference(f"{name}[{at}]", size, got)
            for at, (size, got) in enumerate(zip(want, actual, strict=True))
            if size not in ("?", got)
        ]
    if wanted.requires_grad != meta.requires_grad:
        grad = Difference("requires_grad", str(wanted.requires_grad), str(meta.requires_grad))
        found.append(grad)
    if wanted.device not in ("None", meta.device, meta.device.rpartition(":")[2]):
        found.append(Difference("device", wanted.device, meta.device))
    return found
