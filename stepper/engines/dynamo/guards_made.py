"""How long Dynamo takes to make each guard of an entry, from the set that tracing has left.

It makes one after the other, so one is made until the next begins, or until all of them are put
together. Where the program has a `guard_filter_fn`, they are made twice, and in between the filter
is asked: how long the last one took before that is not known.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from stepper.debuggee.engine import Recorder
from stepper.debuggee.mirror import LiveAttempt
from stepper.debuggee.phase_times import Begun
from stepper.engines.dynamo.guards_set import withdraw_filtered
from stepper.model.timing import GUARD_MADE
from stepper.uncompiled import keep_out


class GuardsMade:
    """Hears when a guard is about to be made, and when all are."""

    def __init__(self, attempt: Callable[[], LiveAttempt | None]) -> None:
        """`attempt` is what the guards are of, and tells those that it has not told yet."""
        self._attempt = attempt
        self._recorder: Recorder
        self._translation = 0
        self._numbers: dict[int, int] = {}
        """By their ids, of the guards that tracing has left."""
        self._made: set[int] = set()
        """Likewise, those that were made."""
        self._begun: list[Begun] = []
        """The guards that are made since the first; told when all are, since there are many."""

    def begin(self, recorder: Recorder) -> None:
        """Report to a recorder from now on."""
        self._recorder = recorder

    def on_guard_made(self, guard: Any) -> None:
        """See `versions`: it is about to be."""
        anew = id(guard) in self._made
        if anew or not self._begun:
            if (attempt := self._attempt()) is None:
                return
            if anew and self._begun:
                self._begun.pop()
                self._over()
            told = attempt.translation.guards
            self._translation = attempt.translation.id
            self._numbers = dict(zip(map(id, told.values()), told, strict=True))
            self._made.clear()
        number = self._numbers.get(id(guard))
        if number is None:
            return  # it is a part of the one that is being made
        self._made.add(id(guard))
        make = guard.create_fn
        kind = (make.func if isinstance(make, functools.partial) else make).__name__
        if (mark := self._recorder.phase_mark()) is not None:
            self._begun.append((f"{GUARD_MADE}{kind}", mark, number))

    def on_guards_chosen(self, guards_out: list[Any]) -> None:
        """See `versions`: all are made, and these are kept."""
        self._over()
        self._made.clear()
        if (attempt := self._attempt()) is not None:
            withdraw_filtered(self._recorder, attempt, guards_out)

    def left(self) -> None:
        """No more are made: where an exception has ended that, none of them has a time."""
        self._begun.clear()
        self._made.clear()

    def _over(self) -> None:
        """The guard that began last is made."""
        if self._begun:
            self._recorder.phases_took(self._begun, self._translation)
            self._begun.clear()


keep_out()
