"""How long Dynamo takes to make each guard of an entry, from the set that tracing has left.

It makes one after the other, so one is made until the next begins, or until all of them are put
together. Where the program has a `guard_filter_fn`, they are made twice, and in between the filter
is asked: how long the last one took before that is not known.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from stepper._C import Steps
from stepper.debuggee.engine import Recorder
from stepper.debuggee.mirror import FrameMirror, LiveAttempt
from stepper.debuggee.phase_times import GuardsBegun
from stepper.engines.dynamo.guards_set import withdraw_filtered
from stepper.uncompiled import keep_out

_VALUES = 3
"""How many `Steps.take_made` gives for each guard."""


class GuardsMade:
    """Has each guard marked that is about to be made, and hears when all are."""

    def __init__(self, attempt: Callable[[], LiveAttempt | None]) -> None:
        """`attempt` is what the guards are of, and tells those that it has not told yet."""
        self._attempt = attempt
        self._recorder: Recorder
        self._steps: Steps[FrameMirror]

    def begin(self, recorder: Recorder) -> None:
        """Report to a recorder from now on."""
        self._recorder, self._steps = recorder, recorder.steps

    def entered(self) -> None:
        """Guards are about to be made."""
        self._steps.times_guards = True

    def on_guards_chosen(self, guards_out: list[Any]) -> None:
        """See `versions`: all are made, and these are kept."""
        over = self._steps.clock(), self._steps.away
        made = self._steps.take_made()
        if (attempt := self._attempt()) is not None:
            self._tell(attempt, made, over)
            withdraw_filtered(self._recorder, attempt, guards_out)

    def left(self) -> None:
        """No more are made: where an exception has ended that, none of them has a time."""
        self._steps.times_guards = False
        self._steps.take_made()

    def _tell(self, attempt: LiveAttempt, made: list[Any], over: tuple[int, int]) -> None:
        """`over` is when the last of them was made."""
        translation = attempt.translation
        told = translation.guards
        numbers = dict(zip(map(id, told.values()), told, strict=True))
        begun = GuardsBegun([], [], [], [])
        met: set[int] = set()
        for guard, clock, away in zip(*[iter(made)] * _VALUES, strict=True):
            number = numbers.get(id(guard))
            if number is None:
                continue  # it is a part of the one that is being made
            if number in met:
                # How long the last one took is not known, so the others end where it begins.
                del begun.kinds[-1], begun.numbers[-1]
                self._recorder.guards_made(begun, translation.id)
                begun = GuardsBegun([], [], [], [])
                met.clear()
            met.add(number)
            make = guard.create_fn
            kind = (make.func if isinstance(make, functools.partial) else make).__name__
            begun.kinds.append(kind)
            begun.numbers.append(number)
            begun.clock.append(clock)
            begun.away.append(away)
        begun.clock.append(over[0])
        begun.away.append(over[1])
        self._recorder.guards_made(begun, translation.id)


keep_out()
