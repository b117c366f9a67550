"""Advice that is tried: the program runs again with the change, and its compilations are counted.

A count is of one function: how often Dynamo compiled it, in a whole run. It stands beside that of
the recording and, since no two runs need be alike, beside that of one more run as it is. Only what
can be changed from outside of the program is tried; most advice is about the program's own text.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepper.analysis.advice import Advice
from stepper.analysis.line import Line
from stepper.analysis.recompile_series import History
from stepper.analysis.replays import Replays, told
from stepper.analysis.walks import compilations
from stepper.client.plan import ReplayError
from stepper.client.text import plural
from stepper.model.change import Change
from stepper.model.trace import Outcome
from stepper.recording.reader import Recording

CANNOT = "not tried: it is a change of the program itself"


Counts = dict[tuple[str, str, int], int]
"""Compilations by function: name, file and first line."""


class RecompileTrials(Replays[Counts]):
    """Tries advice on recompilations."""

    def measure(self, recording: Recording) -> Counts:
        found: Counts = {}
        for item in compilations(recording):
            if item.outcome is Outcome.COMPILED:
                place = (item.name, item.filename, item.line)
                found[place] = found.get(place, 0) + 1
        return found

    def lines(self, history: History, advice: Advice) -> Iterator[Line]:
        """What became of a piece of advice on a function."""
        if not advice.changes:
            yield Line(f"    {CANNOT}", role="dim")
        ways = [advice.changes] if advice.together else [(change,) for change in advice.changes]
        for way in filter(None, ways):
            yield Line(f"    {self._told(history, way)}")

    def _told(self, history: History, changes: tuple[Change, ...]) -> str:
        place = (history.name, history.filename, history.line)
        try:
            before, trial = self.after(()), self.after(changes)
        except ReplayError as error:
            return f"not tried: {error}"
        recorded, usual = self.recorded.get(place, 0), before.found.get(place, 0)
        as_it_is = f"{recorded} as recorded"
        if usual != recorded or before.trouble:
            as_it_is += f", {usual} when it ran again as it is"
            as_it_is += f" ({before.trouble})" if before.trouble else ""
        found = plural(trial.found.get(place, 0), "compilation")
        text = (
            f"tried: {told(changes)} leaves {found} (instead of {as_it_is}; {trial.seconds:.1f} s)"
        )
        return f"{text}, but {trial.trouble}" if trial.trouble else text
