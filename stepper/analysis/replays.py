"""The program of a recording run again with changes, each once, and what was measured then."""

from __future__ import annotations

import time
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

from stepper.client.plan import Plan
from stepper.client.replay import SECONDS, Progress, replayed
from stepper.model.change import Change
from stepper.model.trace import EventKind
from stepper.recording.reader import Recording

Found = TypeVar("Found")


class Replay(NamedTuple, Generic[Found]):
    """What a run of the program came to."""

    found: Found
    seconds: float
    trouble: str = ""
    """Why it says little; empty: nothing went wrong."""


class Replays(Generic[Found]):
    """Runs the program of a recording with changes, each once."""

    def __init__(
        self,
        recording: Recording,
        plan: Plan,
        seconds: float = SECONDS,
        progress: Progress | None = None,
    ) -> None:
        """
        Args:
            recording: what the runs are compared with.
            plan: what is run; the user has agreed to it.
            seconds: how long each run may take.
            progress: where it is said what runs, and where it can be given up.
        """
        self._recording = recording
        self._plan = plan
        self._seconds = seconds
        self._progress = progress or Progress()
        self._known: dict[tuple[tuple[Change, ...], int], Replay[Found]] = {}

    def measure(self, recording: Recording) -> Found:
        """What is wanted of a run's recording, which is gone afterwards."""
        raise NotImplementedError

    @cached_property
    def recorded(self) -> Found:
        """The same of the recording itself."""
        return self.measure(self._recording)

    def after(self, changes: tuple[Change, ...], run: int = 1) -> Replay[Found]:
        """The program run again with some changes, or as it is.

        Args:
            changes: made at once; empty: as it is.
            run: 2 for a second run of the same, to see whether runs are alike.

        Raises:
            ReplayError: it cannot be.
        """
        found = self._known.get((changes, run))
        if found is None:
            self._progress.doing = f"with {told(changes)}" if changes else "as it is"
            began = time.monotonic()
            with replayed(self._plan, changes, seconds=self._seconds, progress=self._progress) as (
                again,
                trouble,
            ):
                notes = [event.text for event in again.events(kinds=(EventKind.NOTE,))]
                trouble = "; ".join(filter(None, (trouble, *notes[:1])))
                measured, spent = self.measure(again), time.monotonic() - began
                found = self._known[changes, run] = Replay(measured, spent, trouble)
        return found


def told(changes: tuple[Change, ...]) -> str:
    """Changes in words."""
    return "; ".join(map(str, changes))
