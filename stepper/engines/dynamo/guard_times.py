"""What guards cost a call: how long Dynamo's own C takes for them, as it runs them at a lookup.

They can be asked from Python only, which takes longer than most guards do. So the same call is made
of a guard that has next to nothing to do, and taken out. The least of a few is told: what the
machine did meanwhile is nobody's cost.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from stepper._C import shortest
from stepper.engines.dynamo.versions.cache import RootGuardManager
from stepper.uncompiled import keep_out

_TIMES = 3
_OFTEN = 50


def ask_leaf(leaf: Any, value: object) -> tuple[bool, int]:
    """Whether a leaf guard passes, and its nanoseconds without getting to its value."""
    passed, spent = shortest(_TIMES, leaf, value)
    return bool(passed), max(0, spent - _of_calling_a_leaf())


def tree_time(root: Any, f_locals: dict[str, Any]) -> int | None:
    """Nanoseconds of all guards of an entry that matches; None: they do not pass."""
    passed, spent = shortest(_TIMES, root.check, f_locals)
    return max(0, spent - _of_calling_a_root()) if passed else None


@cache
def _of_calling_a_leaf() -> int:
    root = RootGuardManager()
    root.add_true_match_guard(["True"], None)
    leaf: Any
    [leaf] = root.get_leaf_guards()
    return shortest(_OFTEN, leaf, True)[1]


@cache
def _of_calling_a_root() -> int:
    return shortest(_OFTEN, RootGuardManager().check, {})[1]


keep_out()
