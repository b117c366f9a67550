"""How long Dynamo takes to make the bytecode of each side effect that it replays.

It goes through what was changed, one object after the other, and of an object through its
attributes; so one is made until the next begins, or until all are. What stores them stands behind
them all, and belongs to none.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stepper._C import fields as fields_of
from stepper.debuggee.engine import Recorder
from stepper.debuggee.mirror import LiveAttempt
from stepper.engines.dynamo import versions
from stepper.engines.dynamo.mutations import CELL
from stepper.model.timing import EFFECT_MADE
from stepper.uncompiled import keep_out

if TYPE_CHECKING:
    from stepper.debuggee.phase_times import PhaseMark


class EffectsMade:
    """Hears of each value for which bytecode is made, while side effects are replayed."""

    def __init__(self, attempt: Callable[[], LiveAttempt | None]) -> None:
        """`attempt` is the one that is under way."""
        self._attempt = attempt
        self._recorder: Recorder
        self._of: LiveAttempt | None = None
        """The attempt whose side effects are replayed; None: none are."""
        self._effect = 0
        """The number of the one that is made; 0: none is."""
        self._mark: PhaseMark | None = None

    def begin(self, recorder: Recorder) -> None:
        """Report to a recorder from now on."""
        self._recorder = recorder

    def entered(self) -> None:
        """The replay is about to be made."""
        self._of = self._attempt()

    def on_value_made(self) -> None:
        """See `versions`: bytecode for a value is about to be."""
        if self._of is None:
            return
        # This hook, then what makes the value.
        replayed = versions.replayed(sys._getframe(1))
        if replayed is None:
            return
        effect = _number(self._of, *replayed)
        if effect != self._effect:
            self._over()
            self._effect = effect
            if effect:
                self._mark = self._recorder.phase_mark()

    def left(self) -> None:
        """All of them are made, or given up."""
        self._over()
        self._of = None

    def _over(self) -> None:
        if self._mark is not None and self._of is not None:
            self._recorder.phase_took(
                EFFECT_MADE, self._mark, self._of.translation.id, side_effect=self._effect
            )
        self._effect, self._mark = 0, None


def _number(attempt: LiveAttempt, changed: Any, attribute: str) -> int:
    """The last one of an object, or of an attribute of it; 0: none is recorded."""
    base = fields_of(changed).get("_base_vt")  # what a subclass of a container holds
    keys = (id(changed), attribute), (id(changed), ""), (id(changed), CELL), (id(base), "")
    return next(filter(None, map(attempt.side_effects.get, keys)), 0)


keep_out()
