"""The guards of one entry, in words, and what each says to the variables of a call.

A check that stands behind one that failed may call the program's own code: attributes are looked at
after the type that has them. So the guards of a value of which one has failed are not asked any
more; the others are, beyond the first that fails, where a lookup would end.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from time import perf_counter_ns
from typing import Any, NamedTuple

from stepper import _C
from stepper.engines.common.entry_guards import Result
from stepper.engines.common.shape_conditions import SHAPE_ENV, seen, values_in
from stepper.engines.common.tensors import tensor_meta
from stepper.engines.common.words import object_text
from stepper.model.cache import GuardCheck, GuardRow, Verdict
from stepper.model.value import TensorMeta
from stepper.native.guards.guard import ADDED, Constant, ExpectedTensor, GuardPart
from stepper.native.runtime.cache_entry import GuardedCode
from stepper.support.words import class_name

_STEP = re.compile(r"\[[^\[\]]*\]|\.\w+")
_RELATIONAL = frozenset({"NO_ALIASING", "DUPLICATE_INPUT"})


class AskedGuards:
    """The guards of one entry, in a program with these globals. See
    `stepper.engines.common.entry_guards.EntryGuards`."""

    def __init__(self, entry: GuardedCode, f_globals: dict[str, Any]) -> None:
        self._entry = entry
        self._globals = f_globals
        self.rows = guard_rows(entry)

    def run(self, f_locals: dict[str, Any]) -> tuple[Result, tuple[GuardCheck, ...]]:
        """See `EntryGuards.run`. Whether all pass is what the cache's own verbose lookup says."""
        with uncaptured():
            report = explain(self._entry, f_locals, self._globals)
            checks = ask(self._entry, f_locals, self._globals)
        reason = next((str(each.guard) for each in report.guards if not each.passed), "")
        return Result(report.matched, reason, len(report.guards)), checks


class GuardReport(NamedTuple):
    """What a guard says."""

    guard: Any
    """What the entry gave for it; None: its whole check, when it gave no parts."""
    passed: bool
    nanoseconds: int
    error: str = ""
    """What it raised; empty: nothing."""


class EntryReport(NamedTuple):
    """What an entry says of a call."""

    matched: bool
    """Whether a lookup would take it, if it came to it."""
    backend_matched: bool
    """Whether it was captured for the backend, or for any."""
    guards: tuple[GuardReport, ...]
    """Up to the first that fails: what is behind that may raise for want of what it sees to."""


def explain(
    entry: _C.CacheEntry,
    f_locals: dict[str, object],
    f_globals: dict[str, object],
    backend: object = None,
) -> EntryReport:
    """What a lookup for a backend (None: any) would find; nothing is moved or counted."""
    with uncaptured():
        try:
            either = entry.backend is None or backend is None or entry.backend is backend
            for_backend = either or bool(entry.backend == backend)
        except Exception:  # not this one, to a lookup
            for_backend = False
        reports: list[GuardReport] = []
        for guard, check in entry.guards:
            reports.append(_report(guard, check, f_locals, f_globals))
            if not reports[-1].passed:
                break
        whole = _report(None, entry.check, f_locals, f_globals)
    matched = for_backend and entry.valid and whole.passed
    return EntryReport(matched, for_backend, tuple(reports) or (whole,))


def _report(
    guard: object, check: Callable[..., object], *variables: dict[str, object]
) -> GuardReport:
    began = perf_counter_ns()
    try:
        passed, nanoseconds = _C.shortest(1, check, *variables)
        return GuardReport(guard, bool(passed), nanoseconds)
    except Exception as error:  # a miss, to a lookup
        # In words: the error leads to this frame, and so to the variables of the call.
        text = f"{type(error).__name__}: {error}"
        return GuardReport(guard, False, perf_counter_ns() - began, text)


def uncaptured() -> _C.Capturing:
    """Nothing that this thread calls is captured or looked up in this block."""
    return _C.Capturing(None, _C.current_backend())


def guard_rows(entry: GuardedCode) -> tuple[GuardRow, ...]:
    """The guards, in the order in which a verbose lookup asks them."""
    return tuple(_row(index, part) for index, (part, _) in enumerate(entry.manager.parts))


def _row(index: int, part: GuardPart) -> GuardRow:
    relational = part.kind in _RELATIONAL
    return GuardRow(
        index,
        part.kind,
        source_of(part),
        code=part.code,
        expected=expected_text(part),
        wants=expected_meta(part.expected) if isinstance(part.expected, ExpectedTensor) else None,
        depth=0 if relational else len(_STEP.findall(part.name)),
        relational=relational,
        made=part.kind == ADDED,
    )


def source_of(part: GuardPart) -> str:
    """The expression that a guard is about; empty: a condition on sizes, which are in its code."""
    return "" if part.kind == SHAPE_ENV else part.name


def looked_at(
    entry: GuardedCode, part: GuardPart, f_locals: dict[str, object], f_globals: dict[str, object]
) -> tuple[Any, bool]:
    """What a guard has looked at, reached as the guard reaches it, and whether that is known. Of a
    condition on sizes: the size, or where it compares several, each by its expression; of objects
    no two of which are the same: each by its expression."""
    reach = partial(entry.manager.reach, f_locals=f_locals, f_globals=f_globals)
    if part.kind == SHAPE_ENV:
        names = values_in(part.name)
        return (seen({name: reach(name) for name in names}), True) if names else (None, False)
    if part.kind == "NO_ALIASING":
        return {name: reach(name) for name in values_in(f"({part.name})") or ()}, True
    return (reach(part.name), True) if part.reachable else (None, False)


def expected_text(part: GuardPart) -> str:
    """What a guard wants, in words; empty where its code says it."""
    match part.expected:
        case Constant(value):
            return f"length {value}" if part.kind == "LIST_LENGTH" else object_text(value)
        case ExpectedTensor() as wanted:
            text = f"{wanted.cls} {expected_meta(wanted).brief}"
            return f"{text}, requires_grad" if wanted.requires_grad else text
        case words:
            return words


def expected_meta(wanted: ExpectedTensor) -> TensorMeta:
    """The properties of a tensor that a guard wants; a size or stride that may be any is `?`."""
    _, *properties, _ = wanted
    return tensor_meta(*properties, "")


def ask(
    entry: GuardedCode, f_locals: dict[str, object], f_globals: dict[str, object]
) -> tuple[GuardCheck, ...]:
    """What each guard says."""
    failed: list[str] = []
    found = []
    for index, (part, check) in enumerate(entry.manager.parts):
        words = " ".join((part.name, *part.code))
        if any(name in words for name in failed):
            found.append(GuardCheck(index, Verdict.UNREACHED))
            continue
        try:
            passed = bool(check(f_locals, f_globals))
        except Exception as error:  # a miss, to a lookup
            found.append(GuardCheck(index, Verdict.UNREACHED, "", type(error).__name__))
            passed = False
        else:
            verdict = Verdict.PASS if passed else Verdict.FAIL
            actual = "" if passed else _actual(entry, part, f_locals, f_globals)
            expected = expected_text(part)
            differs = f"{actual} ≠ {expected}" if actual and expected else ""
            found.append(GuardCheck(index, verdict, actual, differs))
        if not passed and part.name and part.kind not in _RELATIONAL:
            failed.append(part.name)
    return tuple(found)


def _actual(
    entry: GuardedCode, part: GuardPart, f_locals: dict[str, object], f_globals: dict[str, object]
) -> str:
    """The value that a guard has looked at, in words: reached as the guard reaches it."""
    value, known = looked_at(entry, part, f_locals, f_globals)
    if not known:
        return ""
    match part.kind:
        case "TYPE_MATCH":
            return class_name(type(value))
        case "LIST_LENGTH":
            return f"length {len(value)}"
        case _:
            return object_text(value)
