"""What a lookup shows of one check: expected, actual, verdict, what differs, how long it took.

What a check found is data (`stepper.model.lookup`); here it becomes the locals of a moment, which
is where a person who steps through a lookup looks. Nobody reads them back.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec
import torch

from stepper._C import shortened
from stepper.debuggee.described import Described
from stepper.engines.common.tensors import fake_tensor_meta
from stepper.engines.common.versions import without_torch_function
from stepper.model.cache import Verdict
from stepper.model.datum import UNKNOWN, Datum, Tensor, Words, size, text_of
from stepper.model.lookup import (
    BACKEND,
    INVALID,
    Check,
    CheckedGuard,
    Difference,
    verdict_text,
)
from stepper.model.value import TensorMeta, Value
from stepper.support.words import class_name

MAX_TEXT = 300
MAX_ALSO = 50

OTHER_BACKEND = "another backend"
"""Why an entry does not match that was compiled for another one than the call's."""


@lru_cache(maxsize=4_000)
def note(name: str, text: str) -> Described:
    """A text among the locals of a lookup's moment. The same text under a name is the same value,
    so a reader sees what changes from one check to the next."""
    text = shortened(text, MAX_TEXT)
    return Described((name, text), Value(cls="", text=text))


def notes(**texts: Any) -> dict[str, Described]:
    """The locals of a moment that is about an entry as a whole; those without text are left out."""
    return {name: note(name, str(text)) for name, text in texts.items() if text != ""}


def check_notes(guard: CheckedGuard, check: Check) -> dict[str, Described]:
    """The locals of the moment before a guard is asked."""
    found: dict[str, Described] = {}
    if guard.expected != UNKNOWN:
        found["expected"] = _datum_note("expected", guard.expected)
    if check.actual != UNKNOWN:
        found["actual"] = _datum_note("actual", check.actual)
    elif guard.kind not in (BACKEND, INVALID):
        unseen = check.why if check.verdict is Verdict.FAIL and guard.source else ""
        unseen = unseen or ("not looked at" if guard.source else "the present state")
        found["actual"] = note("actual", unseen)
    found["verdict"] = note("verdict", verdict_text(check.verdict))
    if check.verdict is Verdict.FAIL:
        found["differs"] = _differs(check)
    elif check.why:
        found["note"] = note("note", check.why)
    if check.nanoseconds is not None:
        found["time"] = time_note(check.nanoseconds)
    line = "" if guard.user_line is None else str(guard.user_line)
    return found | notes(**{"because of": line, "hint": guard.hint})


def entry_notes(
    label: str, reason: str, checks: Sequence[Check] | None = None, executed: int = 0, of: int = 0
) -> dict[str, Described]:
    """The locals of the moment before an entry is tried.

    Args:
        reason: why it does not match; empty: it does.
        checks: what its guards said; None: none was asked.
        executed: how many of its guards were run, `of` all.
    """
    ran = {}
    if checks is not None:
        ran["guards"] = f"{executed} of {of} run"
        times = [check.nanoseconds for check in checks if check.nanoseconds is not None]
        if times:
            ran["time"] = time_text(sum(times))
    verdict = f"no match: {label}: {reason}" if reason else "match"
    return notes(entry=label, **ran, verdict=verdict)


def refusal_text(guard: CheckedGuard, check: Check) -> str:
    """The guard that failed, and in what."""
    return f"{guard.kind} {guard.source}".strip() + f": {check.failure(guard)}"


def _datum_note(name: str, found: Datum) -> Described:
    if isinstance(found, Tensor):
        value = Value(cls="", type=found.cls, text=found.meta.brief, tensor=found.meta)
        return Described((name, found), value)
    return note(name, text_of(found))


def _differs(check: Check) -> Described:
    if not check.differences:
        return note("differs", check.why or "not known in what")
    text = ", ".join(map(str, check.differences))
    children = tuple(
        (
            f".{each.aspect}",
            note(str(each.aspect), f"{text_of(each.expected)} ≠ {text_of(each.actual)}"),
        )
        for each in check.differences
    )
    shown = note("differs", text).value.text
    return Described(("differs", text), Value(cls="", text=shown, length=len(children)), children)


def backend_check(expected: str, actual: str, verdict: Verdict) -> Check:
    """The check of an entry's backend against the call's."""
    if verdict is not Verdict.FAIL:
        return Check(0, verdict, actual=Words(actual))
    found = Words(actual, another=actual == expected)
    difference = Difference("backend", Words(expected), found)
    return Check(0, verdict, actual=found, differences=(difference,))


def behind_note(guards: Sequence[CheckedGuard], behind: Sequence[Check]) -> Described:
    """The guards of an entry that would have failed behind the one that did, each with how."""
    found = [
        (f"{guard.kind} {guard.source}".strip(), check.failure(guard))
        for check in behind
        for guard in (guards[check.place],)
    ]
    text = "; ".join(f"{what}: {how}" for what, how in found)
    children = tuple((what, note(what, how)) for what, how in found[:MAX_ALSO])
    brief = note("also fail", text)
    value = Value(cls="", text=brief.value.text, length=len(found))
    return Described(("also fail", text), value, children)


def time_note(nanoseconds: int) -> Described:
    """How long a guard took."""
    return note("time", time_text(nanoseconds))


def time_text(nanoseconds: int) -> str:
    """A short time in a unit that fits it."""
    return f"{nanoseconds} ns" if nanoseconds < 1000 else f"{nanoseconds / 1000:.1f} µs"


# -- tensors -------------------------------------------------------------------------------------


def actual_tensor(value: object) -> Tensor | None:
    """What a guard has looked at, when that is a tensor."""
    meta = fake_tensor_meta(value)
    return None if meta is None else Tensor(type(value).__name__, meta)


def inference_differences(tensor: object, *, gradients: bool) -> tuple[Difference, ...]:
    """How inference mode makes a tensor another than a guard wants: what is made in that mode has
    no keys for gradients, and in that mode nothing has; `gradients`: the guard wants them."""
    if not isinstance(tensor, torch.Tensor):
        return ()
    made = torch.Tensor.is_inference(tensor)
    mode = torch.is_inference_mode_enabled()
    if gradients and made:
        return (Difference("inference tensor", False, True),)
    if gradients and mode:
        return (Difference("inference mode", False, True),)
    return () if gradients or made or mode else (Difference("inference", True, False),)


def tensor_differences(wanted: Tensor, value: object) -> tuple[Difference, ...]:
    """In what a value is not the tensor that a guard wants; sizes and strides of `?` may be any."""
    meta = fake_tensor_meta(value)
    if meta is None or wanted.cls != type(value).__name__:
        return (Difference("type", Words(wanted.cls), Words(class_name(type(value)))),)
    return tuple(
        msgspec.structs.replace(each, computed=_is_computed(value)) if each.actual is True else each
        for each in _meta_differences(wanted.meta, meta)
    )


def _is_computed(value: object) -> bool:
    """Whether a plain tensor is the result of operations that gradients go back through."""
    assert isinstance(value, torch.Tensor)
    with without_torch_function():
        return not value.is_leaf


def _meta_differences(wanted: TensorMeta, meta: TensorMeta) -> list[Difference]:
    found = []
    if wanted.dtype != meta.dtype:
        found.append(Difference("dtype", Words(wanted.dtype), Words(meta.dtype)))
    for name, wants, actual in (
        ("size", wanted.shape or (), meta.shape or ()),
        ("stride", wanted.stride or (), meta.stride or ()),
    ):
        if len(wants) != len(actual):
            if name == "size":
                found.append(Difference("rank", len(wants), len(actual)))
            continue
        found += [
            Difference(name, size(want), size(got), at)
            for at, (want, got) in enumerate(zip(wants, actual, strict=True))
            if want not in ("?", got)
        ]
    if wanted.requires_grad != meta.requires_grad:
        found.append(Difference("requires_grad", wanted.requires_grad, meta.requires_grad))
    if wanted.device not in ("", meta.device):
        found.append(Difference("device", Words(wanted.device), Words(meta.device)))
    return found
