"""The lock of whoever opens or closes a recording in this process.

It is a lock of the C part, which an exception that a trace function or a signal raises cannot leave
locked. Where the C part is not, as in an installation for reading only, no program is watched, and
so there is nobody to raise one: Python's own lock does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

if TYPE_CHECKING:
    from stepper._C import ReentrantLock
else:
    try:
        from stepper._C import ReentrantLock
    except ImportError:

        class ReentrantLock:
            """As much of the C part's lock as readers take."""

            def __init__(self) -> None:
                lock = threading.RLock()
                self.acquire, self.release = lock.acquire, lock.release

            def during(self, call: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
                """Call while having the lock."""
                self.acquire()
                try:
                    return call(*args, **kwargs)
                finally:
                    self.release()


__all__ = ["ReentrantLock"]
