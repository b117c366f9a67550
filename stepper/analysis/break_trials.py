"""Graph breaks forced away, as a trial: the program runs again without each, and the whole run is
compared with one as it is: graph breaks, graphs and instructions that were interpreted."""

from __future__ import annotations

from stepper.analysis.break_remedies import ways_for
from stepper.analysis.breaks import Cause
from stepper.analysis.line import Line
from stepper.analysis.replays import Replays, RunFacts
from stepper.analysis.trial_lines import MOST, Left, Told, counted, trial_lines, try_all

CANNOT = "not tried: no function can be left out or taken whole here"


class BreakTrials(Replays):
    """Tries to force graph breaks away."""

    def lines(self, cause: Cause) -> Told:
        """What became of forcing a cause away."""
        ways = ways_for(self.recording, self.files, cause)
        if not ways:
            yield Line(f"   {CANNOT}", role="dim")
        return (yield from trial_lines(self, try_all(self, ways[:MOST], _left), "   "))


def _left(was: RunFacts, now: RunFacts) -> Left:
    parts = [
        counted(was.breaks, now.breaks, "graph break"),
        counted(was.graphs, now.graphs, "graph"),
        counted(was.instructions, now.instructions, "instruction"),
    ]
    # Where nothing is compiled, nothing breaks either.
    helps = now.breaks < was.breaks and now.graphs > 0
    return Left((now.breaks,), ", ".join(parts), helps, helps)
