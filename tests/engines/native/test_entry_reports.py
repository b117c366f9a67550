"""What each guard of an entry says of a call, as a lookup of the native engine's would ask it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from stepper import _C
from stepper.engines.native.entry_guards import explain


def original(x: object) -> object:
    return x


def is_type(kind: type) -> Callable[..., bool]:
    return lambda locals_, _: type(locals_["x"]) is kind


def is_positive(locals_: dict[str, Any], globals_: object) -> bool:
    return bool(locals_["x"] > 0)


def entry_for(*checks: Callable[..., bool], **named: Any) -> _C.CacheEntry:
    def whole(*arguments: Any) -> bool:
        return all(check(*arguments) for check in checks)

    guards = named.pop("guards", [(f"guard {at}", check) for at, check in enumerate(checks)])
    code = original.__code__
    return _C.CacheEntry(code, code, whole, guards, **named)


def test_guards_are_asked_up_to_the_first_that_fails() -> None:
    entry = entry_for(is_type(int), is_positive, is_type(int), backend="inductor")
    report = explain(entry, {"x": 5}, {}, "inductor")
    assert (report.matched, report.backend_matched) == (True, True)
    assert [(each.guard, each.passed, each.error) for each in report.guards] == [
        ("guard 0", True, ""), ("guard 1", True, ""), ("guard 2", True, ""),
    ]  # fmt: skip
    assert all(each.nanoseconds > 0 for each in report.guards)
    report = explain(entry, {"x": -5}, {}, "inductor")
    assert not report.matched
    assert [each.passed for each in report.guards] == [True, False]
    report = explain(entry_for(is_positive), {"x": "text"}, {})
    assert not report.matched
    [failed] = report.guards
    assert (failed.passed, failed.error.partition(":")[0]) == (False, "TypeError")
    assert failed.nanoseconds > 0


def test_an_entry_without_parts_is_asked_as_a_whole() -> None:
    [whole] = explain(entry_for(is_type(int), guards=()), {"x": 5}, {}).guards
    assert (whole.guard, whole.passed) == (None, True)


def test_an_entry_for_another_backend_or_that_has_ended_does_not_match() -> None:
    class Unlike:
        def __eq__(self, other: object) -> bool:
            raise ValueError

        __hash__ = object.__hash__

    entry = entry_for(is_type(int), backend="eager")
    assert explain(entry, {"x": 5}, {}).matched
    for backend in ("inductor", Unlike()):
        report = explain(entry, {"x": 5}, {}, backend)
        assert (report.matched, report.backend_matched) == (False, False)
        assert [each.passed for each in report.guards] == [True]
    entry.invalidate("reason")
    report = explain(entry, {"x": 5}, {})
    assert (report.matched, report.backend_matched) == (False, True)


def test_asking_changes_and_keeps_nothing() -> None:
    class Thing:
        pass

    entry = entry_for(is_type(int), is_positive)
    cache = _C.code_cache(original.__code__)
    cache.add(entry)
    thing = Thing()
    gone = weakref.ref(thing)
    gc.disable()
    try:
        report = explain(entry_for(is_positive), {"x": thing}, {})
        explain(entry, {"x": 5}, {})
        del thing
        assert gone() is None
    finally:
        gc.enable()
        cache.clear()
    assert not report.matched
    assert entry.hits == 0


def test_an_interrupt_in_a_check_ends_the_question() -> None:
    def interrupts(*arguments: object) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explain(entry_for(interrupts), {"x": 5}, {})
