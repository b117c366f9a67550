"""Garbage is collected while nobody waits.

CPython's collector runs when enough objects have been made, that is in the middle of drawing, and a
full pass over the application and what is known of a large recording takes 20 to 40 ms: as long as
all the rest that happens between a key press and the painted screen. So as long as the application
runs, only short passes over the youngest objects are made by themselves. Full ones are made when
the hands rest; what has survived one is set aside (frozen), so that the next walks only what is
newer.
"""

from __future__ import annotations

import asyncio
import gc

REST = 0.5
"""Seconds without anything new to draw, after which a full pass is made."""

_THRESHOLDS = (5_000, 10, 1_000_000)
"""The youngest are looked through after so many new containers (2 ms); what survived that, after
ten such passes; all the rest, never.
"""

_EVERY = 50
"""After so many passes one walks through everything again: what was set aside may be garbage."""


class Collector:
    """Runs the garbage collector at times of rest."""

    def __init__(self) -> None:
        self._passes = 0
        self._rest: asyncio.TimerHandle | None = None
        self._usual = gc.get_threshold()

    def start(self) -> None:
        """Take over from the automatic collection, before the first picture is made."""
        gc.set_threshold(*_THRESHOLDS)

    def set_aside(self) -> None:
        """Have no pass walk through what there is now, which is here to stay."""
        gc.freeze()

    def stop(self) -> None:
        """Leave the collection to CPython again."""
        if self._rest is not None:
            self._rest.cancel()
        gc.unfreeze()
        gc.set_threshold(*self._usual)

    def busy(self) -> None:
        """Say that something is drawn, in the application's thread: there is no rest yet."""
        if self._rest is not None:
            self._rest.cancel()
        self._rest = asyncio.get_running_loop().call_later(REST, self._collect)

    def _collect(self) -> None:
        self._passes += 1
        if self._passes % _EVERY == 0:
            gc.unfreeze()
        gc.collect()
        gc.freeze()
