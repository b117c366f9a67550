"""From the exceptions by which Dynamo gives up on an instruction to the graph break that the user
sees.

Dynamo raises `Unsupported` in the instruction that it cannot trace, often deep in an inlined call,
and catches it where it can do something: restart with a break there, or skip the frame. Many are
caught and forgotten, so the raise is not yet a graph break; and where it is caught, the instruction
is no longer known. So raises are noted with their moment, and looked up when Dynamo says that it
breaks. The exceptions are not held: that would hold the frames in their tracebacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepper._C import shortened
from stepper.engines.dynamo.failures import user_stack
from stepper.model.trace import GraphBreak, MomentId
from stepper.support.per_object import PerObject

MAX_REASON = 20_000

_Raise = tuple[MomentId, str, str, tuple[str, ...]]


class BreakTracker:
    """Notes raises, and makes graph breaks of those that Dynamo acts upon."""

    def __init__(self) -> None:
        self._announced: tuple[str, str, tuple[str, ...], MomentId | None] | None = None
        self._raised: PerObject[BaseException, _Raise] = PerObject()

    def announced(
        self, gb_type: str, explanation: str, hints: Sequence[str], from_exc: Any
    ) -> None:
        """Dynamo is about to raise, in these words. A break that was caused by another is where
        that one was."""
        earlier = self._raised.get(from_exc)
        self._announced = (
            gb_type,
            explanation,
            tuple(map(str, hints)),
            earlier[0] if earlier else None,
        )

    def words(self) -> str:
        """What Dynamo is about to raise, in a line; empty: it has not said so."""
        kind, explanation, *_ = self._announced or ("", "")
        return ": ".join(filter(None, (kind, " ".join(explanation.split()))))

    def raised(self, error: BaseException, moment: MomentId) -> None:
        """Dynamo raises `error` while it interprets the instruction of `moment`."""
        gb_type, explanation, hints, cause = self._announced or ("", "", (), None)
        self._announced = None
        moment = cause if cause is not None else moment
        self._raised.set(error, (moment, gb_type, explanation, hints))

    def confirm(self, error: Any, reason: str, *, resumes: bool) -> GraphBreak:
        """Dynamo acts upon `error`. The break's moment is 0 when its raise was not seen."""
        moment, gb_type, explanation, hints = self._raised.pop(error) or (0, "", "", ())
        return GraphBreak(
            id=0,
            attempt=0,
            moment=moment,
            reason=shortened(reason, MAX_REASON),
            gb_type=gb_type or str(getattr(error, "gb_type", "") or type(error).__name__),
            explanation=explanation,
            hints=hints,
            user_stack=user_stack(error),
            resumes=resumes,
        )

    def pending(self, error: BaseException) -> bool:
        """Whether `error` was raised and nothing has come of it yet."""
        return self._raised.get(error) is not None

    def clear(self) -> None:
        """Forget all raises."""
        self._raised.clear()
        self._announced = None
