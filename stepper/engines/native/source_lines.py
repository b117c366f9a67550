"""Leaves `linecache` to the program.

While it traces, torch takes stacks with the text of their lines: for each fake mode, for each
symbol, for its structured log. Python reads the files for that into `linecache`, where the program
can see them, though it may just have emptied it; so can the interpreter, which looks at what there
is while it runs. So whatever torch is asked for that may take a stack, what it read for it is taken
out again, and kept here, and put in for the next time: then torch finds it, and each file is read
once.

What has no file, as the code of a graph, stays: nobody could read that again. Another thread may
read a file meanwhile; if that is taken from it, it is read again when it is needed.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_read: dict[str, Any] = {}
"""What translations have read: entries of `linecache.cache`."""


@contextmanager
def lines_as_found() -> Iterator[None]:
    """Files that are read meanwhile are not in `linecache` afterwards."""
    cache: dict[str, Any] = linecache.cache
    found = set(cache)
    for name, entry in list(_read.items()):
        cache.setdefault(name, entry)
    try:
        yield
    finally:
        for name in set(cache) - found:
            if not name.startswith("<") and (entry := cache.pop(name, None)) is not None:
                _read[name] = entry
