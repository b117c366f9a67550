"""Leaves `linecache` to the program.

While it traces, torch takes stacks with the text of their lines: for each fake mode, for each
symbol, for its structured log. Python reads the files for that into `linecache`, where the program
can see them, though it may just have emptied it; so can the interpreter, which looks at what there
is while it runs. So whatever torch is asked for that may take a stack, what it read for it goes
into a copy of `linecache`'s dictionary, is kept here, and is in the copy the next time: then torch
finds it, and each file is read once.

What has no file, as the code of a graph, stays: nobody could read that again. What another
thread reads meanwhile is taken from it, and read again when it is needed.
"""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

_read: dict[str, object] = {}
"""What translations have read: entries of `linecache.cache`."""


def lines_as_found(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """A function such that files which are read in it are not in `linecache` afterwards."""

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        found: dict[str, Any] = linecache.cache
        ours = {**_read, **found}
        size = len(ours)
        linecache.cache = ours
        try:
            return function(*args, **kwargs)
        finally:
            linecache.cache = found
            if len(ours) != size:
                for name in ours.keys() - found.keys():
                    (found if name.startswith("<") else _read)[name] = ours[name]

    return call
