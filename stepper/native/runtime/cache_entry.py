"""What the cache of a code holds.

Code that was made for a frame may run as long as its guards hold, and as long as what they know by
identity lives: another object could get the address of one that has died. So an entry is told of
each such object (`dies_with`), and when one dies, it is no longer valid and leaves its cache. So
does an entry that `reset` ends.
"""

from __future__ import annotations

from stepper import _C
from stepper.native.guards.check_function import CheckFunctionManager

RESET = "reset"
"""With this reason entries end that `reset` ends."""


class GuardedCode(_C.CacheEntry):
    """A cache entry, and what it was made from.

    manager: its guards.
    number: in the order in which entries were made; copies have their original's.
    graph_code: the Python source of its graph; empty: it has none.
    has_effects: whether what runs changes anything beside the graph's inputs.
    """

    manager: CheckFunctionManager
    number: int
    graph_code: str
    has_effects: bool
