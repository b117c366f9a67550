"""Several calls as one, between which no exception from outside can get.

A Ctrl-C, a signal handler that raises, a trace or profile function that does, an exception that
another thread sets: Python lets them in between two bytecode instructions and nowhere else. To be
safe against them with `try` alone is not possible: they can come in the `except`, too. But a loop
over C functions that is itself written in C has no instructions. So whatever must not be left half
done (rows leave one list and stand in another; a transaction is kept and its rows are dropped) is
put into calls of C functions, and those are made here.

What such a call raises itself ends the loop, and the calls after it are not made.
"""

from __future__ import annotations

from collections import deque
from itertools import starmap
from operator import call
from typing import Any

Call = tuple[Any, ...]
"""A function written in C, and its arguments."""


def at_once(*calls: Call) -> None:
    """Make these calls, all of them or, when one raises, those before it."""
    deque(starmap(call, calls), maxlen=0)
