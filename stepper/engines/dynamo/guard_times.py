"""What guards cost a call: how long Dynamo's own C takes for them, as it runs them at a lookup.

They can be asked from Python only, which takes longer than most guards do. So the same call is made
of a guard that has next to nothing to do, and taken out. The least of a few is told: what the
machine did meanwhile is nobody's cost.
"""

from __future__ import annotations

from functools import cache
from time import perf_counter_ns
from typing import Any

from stepper.engines.dynamo.versions.cache import RootGuardManager
from stepper.uncompiled import keep_out

_TIMES = 7


def leaf_time(leaf: Any, value: object) -> int:
    """Nanoseconds of a leaf guard, without getting to its value."""
    return max(0, _least(leaf, value) - _of_calling_a_leaf())


def tree_time(root: Any, f_locals: dict[str, Any]) -> int | None:
    """Nanoseconds of all guards of an entry that matches; None: they do not pass."""
    if not root.check(f_locals):
        return None
    return max(0, _least(root.check, f_locals) - _least(RootGuardManager().check, f_locals))


def _least(function: Any, argument: object) -> int:
    least = 0
    for _ in range(_TIMES):
        began = perf_counter_ns()
        function(argument)
        spent = perf_counter_ns() - began
        least = min(least or spent, spent)
    return least


@cache
def _of_calling_a_leaf() -> int:
    root = RootGuardManager()
    root.add_true_match_guard(["True"], None)
    [leaf] = root.get_leaf_guards()
    return min(_least(leaf, True) for _ in range(_TIMES))


keep_out()
