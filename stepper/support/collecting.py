"""Work that Python's garbage collector would only look through again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Without collections: for what makes a million objects that are all kept, in a second."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            # The first collection would walk through all that is new. It is made old instead, as it
            # would be by then, unless others keep what is old set aside.
            aside = gc.get_freeze_count()
            gc.freeze()
            if not aside:
                gc.unfreeze()
            gc.enable()
