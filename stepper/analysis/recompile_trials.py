"""Advice that is tried: the program runs again with the change, and its compilations are counted.

A count is of one function: how often Dynamo compiled it, in a whole run. It stands beside that of
the recording and, since no two runs need be alike, beside that of one more run as it is. Only what
can be changed from outside of the program is tried; most advice is about the program's own text.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import msgspec

from stepper.analysis.line import Line
from stepper.analysis.recompile_advice import Advice
from stepper.analysis.recompile_series import History
from stepper.analysis.walks import compilations
from stepper.client.replay import SECONDS, Progress, ReplayError, replayed
from stepper.client.text import plural
from stepper.model.change import Change
from stepper.model.trace import EventKind, Outcome
from stepper.recording.reader import Recording

CANNOT = "not tried: it is a change of the program itself"


class Trial(msgspec.Struct, frozen=True):
    """What a run of the program came to."""

    counts: dict[tuple[str, str, int], int]
    """Compilations by function: name, file and first line."""
    seconds: float
    trouble: str = ""
    """Why the counts say little; empty: nothing went wrong."""


class Trials:
    """Runs the program of a recording with changes, each once."""

    def __init__(
        self,
        recording: Recording,
        seconds: float = SECONDS,
        progress: Progress | None = None,
    ) -> None:
        """
        Args:
            recording: of which program.
            seconds: how long each run may take.
            progress: where it is said what runs, and where it can be given up.
        """
        self._recording = recording
        self._seconds = seconds
        self._progress = progress or Progress()
        self._known: dict[tuple[Change, ...], Trial] = {}
        self._recorded = _counts(recording)

    def as_it_is(self) -> Trial:
        """The program run again without a change.

        Raises:
            ReplayError: it cannot be.
        """
        return self._try(())

    def lines(self, history: History, advice: Advice) -> Iterator[Line]:
        """What became of a piece of advice on a function."""
        if not advice.changes:
            yield Line(f"    {CANNOT}", role="dim")
        for change in advice.changes:
            yield Line(f"    {self._told(history, change)}")

    def _told(self, history: History, change: Change) -> str:
        place = (history.name, history.filename, history.line)
        try:
            before, trial = self.as_it_is(), self._try((change,))
        except ReplayError as error:
            return f"not tried: {error}"
        recorded, usual = self._recorded.get(place, 0), before.counts.get(place, 0)
        as_it_is = f"{recorded} as recorded"
        if usual != recorded or before.trouble:
            as_it_is += f", {usual} when it ran again as it is"
            as_it_is += f" ({before.trouble})" if before.trouble else ""
        found = plural(trial.counts.get(place, 0), "compilation")
        told = f"tried: {change} leaves {found} (instead of {as_it_is}; {trial.seconds:.1f} s)"
        return f"{told}, but {trial.trouble}" if trial.trouble else told

    def _try(self, changes: tuple[Change, ...]) -> Trial:
        found = self._known.get(changes)
        if found is None:
            self._progress.doing = f"with {changes[0]}" if changes else "as it is"
            began = time.monotonic()
            with replayed(
                self._recording, changes, seconds=self._seconds, progress=self._progress
            ) as (again, trouble):
                notes = [event.text for event in again.events(kinds=(EventKind.NOTE,))]
                trouble = "; ".join(filter(None, (trouble, *notes[:1])))
                spent = time.monotonic() - began
                found = self._known[changes] = Trial(_counts(again), spent, trouble)
        return found


def _counts(recording: Recording) -> dict[tuple[str, str, int], int]:
    found: dict[tuple[str, str, int], int] = {}
    for item in compilations(recording):
        if item.outcome is Outcome.COMPILED:
            place = (item.name, item.filename, item.line)
            found[place] = found.get(place, 0) + 1
    return found
