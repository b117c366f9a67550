"""Sets of numbers that mostly follow one another, as the first and the last of each run.

What a value depends on are often all guards so far, and a recording has many values: as runs, such
a set takes a few bytes however many guards there are. Nothing here counts through a run, since one
that was read from a recording may be of any length.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

Ranges = tuple[int, ...]
"""First, last, first, last, …, ascending."""


def ranges_of(numbers: Iterable[int]) -> Ranges:
    """The runs of these numbers."""
    found: list[int] = []
    for number in sorted(set(numbers)):
        if found and found[-1] == number - 1:
            found[-1] = number
        else:
            found += (number, number)
    return tuple(found)


def in_ranges(number: int, ranges: Ranges) -> bool:
    """Whether a number is one of them."""
    at = bisect_right(ranges, number)
    return at % 2 == 1 or (at > 0 and ranges[at - 1] == number)
