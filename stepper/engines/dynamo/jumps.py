"""Jumps of the user's in a translation of Dynamo's, which are made again in each further attempt.

At a graph break Dynamo begins the frame anew, and expects to come by the same places in the same
order up to there. So whatever it was had to leave out once it has to leave out again, or it ends in
an error. A place is known by how many moments of the attempt are before it: which instruction comes
as the n-th depends on nothing that changes from one attempt to the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from stepper.engines.common.jumps import NOT_TRACED, Landing, landing
from stepper.engines.dynamo import versions
from stepper.model.trace import EventKind
from stepper.uncompiled import keep_out

if TYPE_CHECKING:
    from stepper.debuggee.engine import Recorder
    from stepper.debuggee.mirror import FrameMirror, LiveAttempt


class _Jump(NamedTuple):
    moments: int
    """How many of the attempt are before the one at which it is made."""
    code: int
    ip: int
    to: Landing


class Jumps:
    """Those of one translation."""

    def __init__(self) -> None:
        self.made: list[_Jump] = []
        self._whole = False
        """Whether all moments of the attempt are recorded."""
        self._due: list[_Jump] = []
        self._attempt: LiveAttempt

    def attempt_begins(self, recorder: Recorder, attempt: LiveAttempt) -> None:
        """What was done in the one before is to be done again."""
        self._attempt, self._whole = attempt, recorder.everything
        self._due = list(self.made)
        self._recorder = recorder
        if self._due:  # else it may be one within another that looks out
            recorder.controller.before_each(self._again)

    def make(self, recorder: Recorder, line: int) -> str:
        """See `Engine.jump`."""
        frame = recorder.current
        if frame is None or frame.attempt is not self._attempt:
            raise LookupError(NOT_TRACED)
        if not self._whole:
            raise LookupError(
                "not all of this attempt is recorded, so a jump could not be made again where the "
                "compiler begins anew: with --detail all it can"
            )
        tx = frame.key
        if versions.is_in_prologue(tx):
            raise LookupError(
                "the function is not yet where it goes on after the graph break: step on to its "
                "first line (line), then jump"
            )
        covering, bound = versions.handlers(tx), versions.variables_set(tx)
        to = landing(frame.code, frame.ip, line, covering, len(tx.stack), bound)
        if self._due:
            self.made = [each for each in self.made if each not in self._due]
            self._due.clear()
            recorder.controller.before_each(None)
        before = recorder.moment - self._attempt.first_moment
        self.made.append(_Jump(before, frame.code.id, frame.ip, to))
        versions.go_on_at(tx, to.to, to.depth)
        versions.forget_attempts_before(tx)
        return to.told

    def _again(self) -> bool:
        recorder, jump = self._recorder, self._due[0]
        frame: FrameMirror | None = recorder.current
        before = recorder.moment - self._attempt.first_moment
        if frame is None or frame.attempt is not self._attempt or before < jump.moments:
            return False
        due = self._due.pop(0)
        if not self._due:
            recorder.controller.before_each(None)
        if before != due.moments or (frame.code.id, frame.ip) != (due.code, due.ip):
            recorder.note(f"this attempt goes another way: it does not {due.to.words}")
            return False
        recorder.occurred(EventKind.NOTE, f"again in this attempt: {due.to.words}", None)
        versions.go_on_at(frame.key, due.to.to, due.to.depth)
        recorder.step(frame.key)
        return True


keep_out()
