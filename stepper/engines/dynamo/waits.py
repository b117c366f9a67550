"""What a thread waits for while it has something compiled: Dynamo's lock, and locks of files.

Dynamo compiles in one thread at a time; the others wait at its door. Inductor takes locks of files
in its caches, which other processes take, too. For compile workers torch times the wait itself
(`async_compile.wait`). Heard is when a lock is asked for and when it was got; one that nobody had
is got in less than is told.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from collections.abc import Callable

from stepper._C import Hook
from stepper.debuggee.engine import Recorder
from stepper.debuggee.phase_times import PhaseMark
from stepper.engines.common.placed_probes import Probes
from stepper.engines.common.probe_points import UnsupportedTorch
from stepper.engines.dynamo import versions
from stepper.engines.dynamo.versions.points import late_points
from stepper.model.timing import COMPILE_LOCK, FILE_LOCK
from stepper.uncompiled import keep_out

_LEAST = 1_000_000
"""Nanoseconds of a wait that is told."""


class Waits:
    """Hears of them; see `versions.points`."""

    def __init__(self, translation: Callable[[], int | None]) -> None:
        """`translation` gives the number of the innermost that is under way in this thread."""
        self._translation = translation
        self._recorder: Recorder
        self._safely: Callable[[Callable[..., None]], Hook]
        self._asked: dict[tuple[int, str], PhaseMark] = {}
        """When this thread has asked for a lock, by its kind."""
        self._probes = Probes()
        self._placed: set[str] = set()

    def __bool__(self) -> bool:
        """Whether something is heard that is to be left."""
        return bool(self._probes)

    def begin(self, recorder: Recorder, safely: Callable[[Callable[..., None]], Hook]) -> None:
        """Report to a recorder from now on; `safely` makes a hook that the compiler can call."""
        self._recorder, self._safely = recorder, safely

    def leave(self) -> None:
        """Hear nothing any more."""
        self._probes.remove()
        self._placed.clear()
        self._asked.clear()

    def listen(self) -> None:
        """Listen to what is imported late, if it is by now."""
        for meaning, point in late_points().items():
            if meaning not in self._placed and point.module in sys.modules:
                self._placed.add(meaning)
                try:
                    self._probes.place(point, self._safely(getattr(self, f"on_{meaning}")))
                except UnsupportedTorch:
                    continue  # its waits are in what waits

    def on_lock_wanted(self) -> None:
        if versions.others_compile():
            self._ask(COMPILE_LOCK, self._recorder.phase_mark(alone=True))

    def on_lock_got(self) -> None:
        self._got(COMPILE_LOCK, None)

    on_lock_got_for_graph = on_lock_got

    on_backward_wants_lock = on_lock_wanted
    on_backward_got_lock = on_lock_got

    def on_file_lock_wanted(self) -> None:
        """See `versions`: that of any file; told is what a phase waits for."""
        self._ask(FILE_LOCK, self._recorder.phase_mark())

    def on_file_lock_got(self) -> None:
        self._got(FILE_LOCK, self._translation())

    def _ask(self, kind: str, mark: PhaseMark | None) -> None:
        if mark is not None:
            self._asked[get_ident(), kind] = mark

    def _got(self, kind: str, translation: int | None) -> None:
        mark = self._asked.pop((get_ident(), kind), None)
        if mark is not None:
            self._recorder.phase_took(kind, mark, translation, least=_LEAST)


keep_out()
