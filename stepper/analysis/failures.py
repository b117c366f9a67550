"""Where a run came to grief."""

from __future__ import annotations

from stepper.analysis.walks import compilations
from stepper.model.trace import Outcome, Translation
from stepper.recording.reader import Recording


def last_failure(recording: Recording) -> Translation | None:
    """The last compilation that failed; None when all that began succeeded or were skipped."""
    failed = [item for item in compilations(recording) if item.outcome is Outcome.FAILED]
    return failed[-1] if failed else None


def last_moment(recording: Recording, item: Translation) -> int:
    """The moment at which a compilation ended, the nearest recorded one."""
    at = item.last_moment or item.first_moment
    return max(recording.oldest, min(at, recording.newest))
