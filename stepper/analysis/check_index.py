"""Finds the checks of a lookup that a guard may have made, without comparing each with each.

An entry of a large model has thousands of guards, and a lookup runs as many checks. A check belongs
to a guard when it looks at the guard's source, or when its words contain the guard's code. The
words of all checks are kept as one text, which is searched in one go for the code.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from stepper.analysis.walks import Check
from stepper.model.trace import Guard

_BETWEEN = "\0"
"""No check has it in its words."""


class CheckIndex:
    """The checks of an entry in one lookup."""

    def __init__(self, checks: Sequence[Check]) -> None:
        self._checks = checks
        self._by_source: dict[str, list[int]] = {}
        self._starts: list[int] = []
        at = 0
        for number, check in enumerate(checks):
            self._by_source.setdefault(check.source, []).append(number)
            self._starts.append(at)
            at += len(check.text) + len(_BETWEEN)
        self._texts = _BETWEEN.join(check.text for check in checks)
        self.nanoseconds = sum(check.nanoseconds or 0 for check in checks)
        """What they took together."""

    def candidates(self, guard: Guard) -> list[Check]:
        """The checks that look at a guard's source or contain its code, in order."""
        found = {
            number
            for source in (guard.source, f"{guard.source}.__code__")
            for number in self._by_source.get(source, ())
        }
        for part in filter(None, guard.code):
            found.update(self._containing(part))
        return [self._checks[number] for number in sorted(found)]

    def _containing(self, part: str) -> Iterator[int]:
        at = self._texts.find(part)
        while at >= 0:
            number = bisect_right(self._starts, at) - 1
            yield number
            following = number + 1
            if following == len(self._starts):
                return
            at = self._texts.find(part, self._starts[following])
