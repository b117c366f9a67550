"""What the frame hook costs, in nanoseconds per call of a small Python function.

Run `python -m tests.benchmarks.bench_hook`. Needs no torch. Each number is the best of several
rounds, less the loop around the call.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import repeat

from stepper import _C

CALLS = 200_000
ROUNDS = 15


def called(a: int, b: int) -> int:
    return a


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
    finally:
        _C.set_observer(None)
        _C.unwatch(called.__code__)
        _C.remove_hook()
    rows.append(("hook removed", measure()))
    for name, cost in rows:
        print(f"{name:32} {cost:7.1f} ns")


if __name__ == "__main__":
    main()
