"""The cache: which entry holds for a call, what ends entries, and what each guard says."""

from __future__ import annotations

import gc
import sys
import threading
import tracemalloc
import types
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from stepper import _C

Check = Callable[[dict[str, Any], dict[str, Any]], object]


def original(x: Any) -> Any:
    return "original"


def other(x: Any) -> Any:
    return "other", x


@pytest.fixture
def cache() -> Iterator[_C.CodeCache]:
    """The cache of `original`, empty before and after."""
    found = _C.code_cache(original.__code__)
    yield found
    found.clear()
    _C.set_cache_listener(None)


def entry_for(check: Check, *, name: str = "other", **named: Any) -> _C.CacheEntry:
    code = other.__code__.replace(co_name=name)
    return _C.CacheEntry(original.__code__, code, check, **named)


def is_type(kind: type) -> Check:
    return lambda locals_, globals_: type(locals_["x"]) is kind


def find(cache: _C.CodeCache, x: object, backend: object = None) -> _C.CacheEntry | None:
    return cache.lookup({"x": x}, globals(), backend)


# --- lookups ---


def test_the_first_entry_that_holds_is_found_and_moves_to_the_front(cache: _C.CodeCache) -> None:
    ints, texts = entry_for(is_type(int)), entry_for(is_type(str))
    cache.add(ints)
    cache.add(texts)
    assert cache.entries == (texts, ints)
    assert find(cache, 1) is ints
    assert cache.entries == (ints, texts)
    assert find(cache, "text") is texts
    assert find(cache, 1.5) is None
    assert cache.entries == (texts, ints)
    assert (ints.hits, texts.hits, len(cache)) == (1, 1, 2)


def test_an_entry_is_for_its_backend(cache: _C.CodeCache) -> None:
    def eager() -> None: ...
    def inductor() -> None: ...

    for_eager = entry_for(lambda *_: True, backend=eager)
    cache.add(for_eager)
    assert find(cache, 1, inductor) is None
    assert find(cache, 1, eager) is for_eager
    assert find(cache, 1) is for_eager
    assert for_eager.backend is eager
    assert entry_for(lambda *_: True).backend is None


def test_a_check_that_raises_is_a_miss_and_is_reported(
    cache: _C.CodeCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[Any] = []
    raising = entry_for(lambda locals_, globals_: locals_["missing"])
    cache.add(raising)
    monkeypatch.setattr(sys, "unraisablehook", lambda report: reported.append(report.exc_value))
    assert find(cache, 1) is None
    _C.set_cache_listener(lambda *told: reported.append(told))
    assert find(cache, 1) is None
    first, (event, entry, error) = reported
    assert isinstance(first, KeyError)
    assert (event, entry) == ("error", raising)
    assert isinstance(error, KeyError)
    assert error.__traceback__ is not None

    class NoTruth:
        def __bool__(self) -> bool:
            raise ValueError("no truth")

    cache.clear()
    cache.add(entry_for(lambda *_: NoTruth()))
    assert find(cache, 1) is None


def test_an_interrupt_in_a_check_interrupts(cache: _C.CodeCache) -> None:
    def check(locals_: object, globals_: object) -> bool:
        raise KeyboardInterrupt

    cache.add(entry_for(check))
    with pytest.raises(KeyboardInterrupt):
        find(cache, 1)


def test_a_check_may_change_the_cache(cache: _C.CodeCache) -> None:
    entries: list[_C.CacheEntry] = []

    def clears(locals_: object, globals_: object) -> bool:
        cache.clear()
        cache.add(entry_for(lambda *_: True, name="new"))
        gc.collect()
        return True

    entries.append(entry_for(clears))
    cache.add(entries[0])
    found = find(cache, 1)
    # It held when it was asked; that it is in the cache no more changes nothing for this call.
    assert found is entries[0]
    assert [entry.code.co_name for entry in cache.entries] == ["new"]
    cache.clear()

    ends_itself = entry_for(lambda *_: ends_itself.invalidate("by itself") or True)
    cache.add(ends_itself)
    assert find(cache, 1) is None
    assert not ends_itself.valid

    second = entry_for(lambda *_: True)
    ends_next = entry_for(lambda *_: second.invalidate("by another"))
    cache.add(second)
    cache.add(ends_next)
    assert find(cache, 1) is None
    assert cache.entries == (ends_next,)


def test_a_check_may_look_up_itself(cache: _C.CodeCache) -> None:
    depth = 0

    def check(locals_: object, globals_: object) -> bool:
        nonlocal depth
        depth += 1
        return depth > 3 or find(cache, 1) is not None

    entry = entry_for(check)
    cache.add(entry)
    assert find(cache, 1) is entry
    assert entry.hits == 4


def _is_x(number: int, f_locals: dict[str, object], _: object) -> bool:
    return f_locals["x"] == number


def test_many_entries(cache: _C.CodeCache) -> None:
    for number in range(100):
        cache.add(entry_for(partial(_is_x, number)))
    last = cache.entries[-1]
    assert find(cache, 0) is last
    assert cache.entries[0] is last
    assert find(cache, 100) is None


def test_threads_look_up_and_change_the_cache(cache: _C.CodeCache) -> None:
    def work(number: int) -> None:
        for _ in range(300):
            entry = entry_for(lambda locals_, _: locals_["x"] == number)
            cache.add(entry)
            found = find(cache, number)
            assert found is not None
            entry.invalidate("done")

    failures = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert failures == []
    assert len(cache) == 0


# --- what ends entries ---


class Thing:
    pass


def test_an_entry_dies_with_an_object(cache: _C.CodeCache) -> None:
    told: list[tuple[object, ...]] = []
    _C.set_cache_listener(lambda *event: told.append(event))
    thing = Thing()
    entry = entry_for(lambda *_: True)
    entry.dies_with(thing, "L['self']")
    cache.add(entry)
    assert find(cache, 1) is entry
    del thing
    assert not entry.valid
    assert entry.reason == "L['self']"
    assert entry not in cache.entries
    assert cache.entries == ()
    assert find(cache, 1) is None
    assert told == [("added", entry, None), ("invalidated", entry, "L['self']")]


def test_an_object_in_a_cycle_ends_its_entry_when_it_is_collected(cache: _C.CodeCache) -> None:
    thing = Thing()
    thing.itself = thing  # type: ignore[attr-defined]  # set as programs set it
    entry = entry_for(lambda *_: True)
    entry.dies_with(thing)
    cache.add(entry)
    del thing
    gc.collect()
    assert not entry.valid
    assert entry.reason is None


def test_an_object_may_die_in_the_midst_of_a_lookup(cache: _C.CodeCache) -> None:
    things = [Thing()]
    entry = entry_for(lambda *_: things.pop() and True)
    entry.dies_with(things[0])
    cache.add(entry)
    assert find(cache, 1) is None
    assert cache.entries == ()


def test_an_entry_keeps_nothing_alive_and_its_lifelines_go_with_it(cache: _C.CodeCache) -> None:
    told: list[str] = []
    _C.set_cache_listener(lambda event, entry, detail: told.append(event))
    thing = Thing()
    entry = entry_for(lambda *_: True)
    entry.dies_with(thing, thing.__class__)
    cache.add(entry)
    gone = weakref.ref(entry)
    assert weakref.getweakrefcount(thing) == 1
    cache.remove(entry)
    del entry
    assert gone() is None
    assert weakref.getweakrefcount(thing) == 0
    del thing
    assert told == ["added", "removed"]


def test_what_cannot_be_referred_to_weakly_is_refused() -> None:
    entry = entry_for(lambda *_: True)
    with pytest.raises(TypeError, match="weak reference"):
        entry.dies_with(1)
    entry.invalidate()
    with pytest.raises(ValueError, match="not valid"):
        entry.dies_with(Thing())


def test_entries_go_to_the_cache_of_their_code_once(cache: _C.CodeCache) -> None:
    entry = entry_for(lambda *_: True)
    foreign = _C.code_cache(other.__code__)
    with pytest.raises(ValueError, match="other code"):
        foreign.add(entry)
    cache.add(entry)
    with pytest.raises(ValueError, match="already"):
        cache.add(entry)
    with pytest.raises(ValueError, match="not in this cache"):
        foreign.remove(entry)
    entry.invalidate("why")
    entry.invalidate("again")
    assert entry.reason == "why"
    with pytest.raises(ValueError, match="not valid"):
        cache.add(entry)
    with pytest.raises(TypeError):
        cache.add(1)  # type: ignore[arg-type]  # refused


def test_the_cache_goes_with_its_code() -> None:
    namespace: dict[str, Any] = {}
    exec("def function(x): pass", namespace)
    code = namespace.pop("function").__code__
    cache = _C.code_cache(code)
    entry = _C.CacheEntry(code, other.__code__, lambda *_: True)
    assert entry.original is code
    cache.add(entry)
    assert cache in _C.code_caches()
    assert cache.code is code
    del code
    gc.collect()
    assert cache.code is None
    assert entry.original is None
    assert entry not in cache.entries
    assert len(cache) == 0
    assert cache not in _C.code_caches()
    with pytest.raises(ValueError, match="gone"):
        cache.add(entry)


def test_entries_can_be_subclassed_and_collected() -> None:
    class GuardedCode(_C.CacheEntry):
        note = "of the class"

    class Check:
        entry: object = None

        def __call__(self, locals_: object, globals_: object) -> bool:
            return True

    check = Check()
    entry = GuardedCode(original.__code__, other.__code__, check)
    check.entry = entry
    assert entry.note
    gone = weakref.ref(entry)
    thing = Thing()
    entry.dies_with(thing)
    del entry, check
    gc.collect()
    assert gone() is None
    assert weakref.getweakrefcount(thing) == 0


# --- making ---


def test_guards_are_pairs() -> None:
    for wrong in ([1], [("name", 1)], [("name",)]):
        with pytest.raises(TypeError, match="pair"):
            entry_for(lambda *_: True, guards=wrong)
    with pytest.raises(TypeError, match="something to call"):
        entry_for(1)  # type: ignore[arg-type]  # refused


# --- with the hook ---


@pytest.mark.usefixtures("hook")
def test_calls_run_what_the_cache_holds(cache: _C.CodeCache) -> None:
    asked: list[str] = []
    called_in_checks: list[str] = []

    def helper() -> bool:
        return True

    def check(locals_: dict[str, Any], globals_: dict[str, Any]) -> bool:
        assert globals_ is original.__globals__
        called_in_checks.append("helper")
        return helper() and locals_ == {"x": 1}

    def callback(code: types.CodeType, function: object, locals_: object) -> None:
        asked.append(code.co_name)

    entry = entry_for(check)
    cache.add(entry)
    assert original(1) == "original"
    before = _C.set_frame_callback(callback)
    results = [original(1), original(2)]
    _C.set_frame_callback(False)
    results += [original(1), original(2)]
    _C.set_frame_callback(*before)
    assert results == [("other", 1), "original"] * 2
    assert asked == ["original"]
    assert entry.hits == 2
    assert original(1) == "original"


@pytest.mark.usefixtures("hook")
def test_who_listens_hears_of_lookups_before_what_they_found_runs(cache: _C.CodeCache) -> None:
    ints, texts = entry_for(is_type(int)), entry_for(is_type(str))
    cache.add(ints)
    cache.add(texts)
    heard: list[Any] = []

    def listen(code: Any, tried: Any, locals_: Any, globals_: Any, *more: Any) -> None:
        heard.append((code, tried, dict(locals_), *more))

    _C.set_lookup_listener(listen)
    before = _C.set_frame_callback(False, "inductor")
    try:
        assert original(1) == ("other", 1)
        assert original(2.5) == "original"
    finally:
        _C.set_frame_callback(*before)
        _C.set_lookup_listener(None)
    code = original.__code__
    assert heard == [
        (code, (texts, ints), {"x": 1}, "inductor", ints, False),
        (code, (ints, texts), {"x": 2.5}, "inductor", None, False),
    ]


@pytest.mark.usefixtures("hook")
def test_what_a_listener_raises_the_call_raises_and_an_entry_that_it_ends_is_not_run(
    cache: _C.CodeCache,
) -> None:
    cache.add(entry_for(is_type(int)))

    def ends(*arguments: Any) -> None:
        cache.entries[0].invalidate("by hand")

    def interrupts(*arguments: Any) -> None:
        raise KeyboardInterrupt

    before = _C.set_frame_callback(False)
    try:
        _C.set_lookup_listener(interrupts)
        with pytest.raises(KeyboardInterrupt):
            original(1)
        _C.set_lookup_listener(ends)
        assert original(1) == "original"
    finally:
        _C.set_frame_callback(*before)
        _C.set_lookup_listener(None)


@pytest.mark.usefixtures("hook")
def test_the_threads_backend_chooses_the_entry(cache: _C.CodeCache) -> None:
    cache.add(entry_for(lambda *_: True, backend="eager"))
    before = _C.set_frame_callback(False, "inductor")
    results = [original(1)]
    _C.set_frame_callback(False, "eager")
    results.append(original(1))
    inner = _C.set_frame_callback(*before)
    assert inner == (False, "eager", False)
    assert results == ["original", ("other", 1)]


@pytest.mark.usefixtures("hook")
def test_an_interrupt_in_a_check_reaches_the_caller(cache: _C.CodeCache) -> None:
    def check(locals_: object, globals_: object) -> bool:
        raise KeyboardInterrupt

    cache.add(entry_for(check))
    thing = Thing()
    gone = weakref.ref(thing)
    before = _C.set_frame_callback(False)
    interrupted = False
    try:
        original(thing)
    except KeyboardInterrupt:
        interrupted = True
    _C.set_frame_callback(*before)
    assert interrupted
    del thing
    gc.collect()
    assert gone() is None


@pytest.mark.usefixtures("hook")
def test_an_entry_that_ends_while_it_runs_runs_to_its_end(cache: _C.CodeCache) -> None:
    namespace: dict[str, Any] = {"cache": cache, "gc": gc}
    exec("def ends(x):\n    cache.clear()\n    gc.collect()\n    return 'ended', x", namespace)
    function = types.FunctionType(original.__code__, namespace)
    cache.add(_C.CacheEntry(original.__code__, namespace.pop("ends").__code__, lambda *_: True))
    before = _C.set_frame_callback(False)
    result = function(1)
    _C.set_frame_callback(*before)
    assert result == ("ended", 1)
    assert len(cache) == 0


@pytest.mark.usefixtures("hook")
def test_nothing_grows_over_many_entries(cache: _C.CodeCache) -> None:
    def work() -> None:
        thing = Thing()
        entry = entry_for(lambda locals_, _: locals_["x"], guards=[("guard", lambda *_: True)])
        entry.dies_with(thing, "reason")
        cache.add(entry)
        find(cache, 1)
        find(cache, 0)
        before = _C.set_frame_callback(False)
        original(1)
        original(0)
        _C.set_frame_callback(*before)

    for _ in range(20):
        work()
    gc.collect()
    watched = (original, other.__code__, original.__code__, Thing, None.__class__)
    counts = [sys.getrefcount(thing) for thing in watched]
    tracemalloc.start()
    try:
        snapshot = tracemalloc.take_snapshot()
        for _ in range(300):
            work()
        gc.collect()
        grown = sum(
            statistic.size_diff
            for statistic in tracemalloc.take_snapshot().compare_to(snapshot, "filename")
            if "tracemalloc" not in statistic.traceback[0].filename
        )
    finally:
        tracemalloc.stop()
    # One reference too many, or too few, at each turn counts 300; other threads count some.
    moved = [sys.getrefcount(thing) - count for thing, count in zip(watched, counts, strict=True)]
    assert max(map(abs, moved)) < 30
    assert grown < 300 * 16
