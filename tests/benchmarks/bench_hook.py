"""What the frame hook costs, in nanoseconds per call of a small Python function.

Run `python -m tests.benchmarks.bench_hook`. Needs no torch. Each number is the best of several
rounds, less the loop around the call.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import repeat
from typing import Any

from stepper import _C

CALLS = 200_000
ROUNDS = 15


def called(a: int, b: int) -> int:
    return a


def other(a: int, b: int) -> int:
    return b


def all_hold(locals_: dict[str, Any], globals_: dict[str, Any]) -> bool:
    return True


def none_holds(locals_: dict[str, Any], globals_: dict[str, Any]) -> bool:
    return False


def replaced() -> list[tuple[str, float]]:
    """With an entry in the cache whose check does nothing: the lookup and the replacement."""
    rows: list[tuple[str, float]] = []
    cache = _C.code_cache(called.__code__)
    cache.add(_C.CacheEntry(called.__code__, called.__code__, all_hold))
    before = _C.set_frame_callback(False)
    rows.append(("cache hit, own code", measure()))
    cache.clear()
    cache.add(_C.CacheEntry(called.__code__, other.__code__, all_hold))
    rows.append(("cache hit, other code in place", measure()))
    _C.force_helper(True)
    rows.append(("cache hit, other code by helper", measure()))
    _C.force_helper(False)
    cache.clear()
    for _ in range(3):
        cache.add(_C.CacheEntry(called.__code__, other.__code__, none_holds))
    rows.append(("cache miss of three entries", measure()))
    _C.set_frame_callback(*before)
    cache.clear()
    return rows


def loop_calls(function: Callable[[int, int], int]) -> float:
    begin = time.perf_counter()
    for _ in repeat(None, CALLS):
        function(1, 2)
    return time.perf_counter() - begin


def loop_only(function: Callable[[int, int], int]) -> float:
    begin = time.perf_counter()
    for _ in repeat(None, CALLS):
        pass
    return time.perf_counter() - begin


def measure() -> float:
    empty = min(loop_only(called) for _ in range(ROUNDS))
    return (min(loop_calls(called) for _ in range(ROUNDS)) - empty) / CALLS * 1e9


def main() -> None:
    rows: list[tuple[str, float]] = [("no hook", measure())]
    _C.install_hook()
    try:
        rows.append(("hook, nobody watches", measure()))
        _C.watch(called.__code__)
        rows.append(("watched, only counted", measure()))
        _C.set_observer(lambda code, tag: None)
        rows.append(("watched, observer at entry", measure()))
        _C.set_observer(lambda code, tag: None, lambda code, tag, raised: None)
        rows.append(("watched, observer at both ends", measure()))
        _C.set_observer(None)
        _C.unwatch(called.__code__)
        rows += replaced()
    finally:
        _C.set_observer(None)
        _C.unwatch(called.__code__)
        _C.remove_hook()
    rows.append(("hook removed", measure()))
    for name, cost in rows:
        print(f"{name:32} {cost:7.1f} ns")


if __name__ == "__main__":
    main()
