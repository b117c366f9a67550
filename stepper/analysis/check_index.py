"""Finds the checks of a lookup that a guard may have made, without comparing each with each.

An entry of a large model has thousands of guards, and a lookup runs as many checks. A check belongs
to a guard when it looks at the guard's source, or when one of its conditions is one of the guard's.
"""

from __future__ import annotations

from collections.abc import Sequence

from stepper.analysis.conditions import LEAVES, SHAPE_ENV, comparisons
from stepper.analysis.walks import LookedUp
from stepper.model.trace import Guard


class CheckIndex:
    """The checks of an entry in one lookup."""

    def __init__(self, checks: Sequence[LookedUp]) -> None:
        self._checks = checks
        self._by_source: dict[str, list[int]] = {}
        self._by_code: dict[str, list[int]] = {}
        self._by_comparisons: dict[tuple[str, ...], list[int]] = {}
        for number, each in enumerate(checks):
            self._by_source.setdefault(each.guard.source, []).append(number)
            for part in each.guard.code if each.guard.kind in LEAVES else ():
                self._by_comparisons.setdefault(comparisons(part), []).append(number)
            for part in each.guard.code:
                self._by_code.setdefault(part, []).append(number)
        self.nanoseconds = sum(each.check.nanoseconds or 0 for each in checks)
        """What they took together."""

    def candidates(self, guard: Guard) -> list[LookedUp]:
        """The checks that look at a guard's source or share a condition with it, in order."""
        if guard.kind == SHAPE_ENV:
            same = map(comparisons, guard.code)
            on_sizes = {at for each in same for at in self._by_comparisons.get(each, ())}
            return [self._checks[number] for number in sorted(on_sizes)]
        found = {
            number
            for source in (guard.source, f"{guard.source}.__code__")
            for number in self._by_source.get(source, ())
        }
        found.update(number for part in guard.code for number in self._by_code.get(part, ()))
        return [self._checks[number] for number in sorted(found)]
