"""`stepper.cache` asks whatever engine is registered, and knows none by name."""

from __future__ import annotations

from typing import Any

import pytest

import stepper.cache
from stepper.debuggee import registry
from stepper.debuggee.engine import EngineType
from stepper.engines.common.known import ENTRY_NUMBERS
from stepper.model.cache import CachedCode, CacheEntry, CacheError, CacheListing
from stepper.model.capabilities import Capabilities
from tests.engines.toy.toy_engine import ToyEngine


class _Entries:
    """One entry, of an engine that a package brings."""

    def __init__(self) -> None:
        self.number = next(ENTRY_NUMBERS)
        self.removed: list[int] = []

    def __contains__(self, number: object) -> bool:
        return number == self.number

    def listing(self, function: str = "") -> CacheListing:
        entry = self.facts(self.number)
        code = CachedCode(1, "count", "count", "counter.py", 1, (entry,), 8, 1)
        return CacheListing((code,))

    def facts(self, number: int) -> CacheEntry:
        return CacheEntry(id=number, code=1, compile_id="counted")

    def remove(self, number: int) -> str:
        self.removed.append(number)
        return "gone"


def test_entries_of_an_engine_that_a_package_brings_are_asked_by_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    theirs: Any = _Entries()  # all of the contract that is used here
    capabilities = Capabilities(compile="counter.count")
    counts = EngineType("counter", capabilities, ToyEngine, entries=lambda: theirs)
    find = registry.find

    def found(name: str) -> EngineType:
        if name == "broken":
            raise registry.EngineError("it cannot be imported")
        return counts if name == "counts" else find(name)

    monkeypatch.setattr(registry, "names", lambda: ["dynamo", "native", "broken", "counts"])
    monkeypatch.setattr(registry, "find", found)
    assert len(registry.entries()) == 3
    monkeypatch.setattr(stepper.cache, "_ENTRIES", registry.entries())

    [entry] = [each for each in stepper.cache.list() if each.id == theirs.number]
    assert entry.facts.compile_id == "counted"
    stepper.cache.remove(entry)
    assert theirs.removed == [entry.id]
    with pytest.raises(CacheError, match="no cache entry"):
        stepper.cache.remove(entry.id + 10_000)
