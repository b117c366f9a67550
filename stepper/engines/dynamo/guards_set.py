"""Watches the set of guards that an attempt has installed.

Dynamo's set is not what was ever added to it. Of two guards of one kind on one source, told from
one user line, it keeps the first. It takes guards back: those on a parameter that the graph makes
itself, and the TYPE_MATCH of a lazy constant when a CONSTANT_MATCH takes its place. And it empties
the set of an attempt that is over. So nothing is concluded from what is added: when something was,
and at the end of a frame, the set itself is looked at.
"""

from __future__ import annotations

import functools
from typing import Any

from stepper.debuggee.mirror import LiveAttempt
from stepper.debuggee.recorder import Recorder
from stepper.engines.dynamo.versions import guards_in, source_name


class GuardsWatcher:
    """Knows the guards that were reported and not withdrawn since."""

    def __init__(self) -> None:
        self._output: Any = None
        self._live: dict[int, int] = {}
        """By id: a guard's number. The translation holds the guard, so that its id stays its own.
        (No tuple of both: thousands of them would wake the garbage collector.)"""

    def begin(self, output: Any) -> None:
        """Watch the set of an OutputGraph."""
        self._output = output

    def reset(self) -> None:
        """Forget the guards: another attempt begins."""
        self._output = None
        self._live.clear()

    def sync(self, recorder: Recorder, attempt: LiveAttempt) -> None:
        """Report what is new or withdrawn since the last look."""
        if self._output is None:
            return
        live = self._live
        inner = guards_in(self._output)
        fresh: list[Any] = []
        for guard in reversed(inner):  # it is ordered: what is new is behind what was there
            if id(guard) in live:
                break
            fresh.append(guard)
        if len(fresh) + len(live) != len(inner):
            if not inner:
                return  # the attempt is over; what it found stays said
            there = set(map(id, inner))
            for key in live.keys() - there:
                recorder.guard_withdrawn(attempt, live.pop(key))
            fresh = [guard for guard in inner if id(guard) not in live]
        else:
            fresh.reverse()
        for guard in fresh:
            if id(guard) in live:  # a stop at an earlier one has reported it
                continue
            number = live[id(guard)] = next(recorder.guard_ids)
            try:
                kind = guard.inner_create_fn().__name__
                source = source_name(guard.originating_source)
                recorder.guard(attempt, number, guard, kind, source, _scope_of(guard))
            except (RecursionError, MemoryError):
                del live[id(guard)]  # the next look finds it again
                raise


def _scope_of(guard: Any) -> str:
    try:
        return _lower(guard.source)
    except NotImplementedError:
        return ""


@functools.cache
def _lower(source: Any) -> str:
    """The name of a GuardSource: what an enumeration answers slowly."""
    return str(source.name).lower()
