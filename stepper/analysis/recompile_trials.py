"""Remedies against recompilations, tried: the program runs again with each, and its compilations
are counted.

A count is of one function: how often Dynamo compiled it, in a whole run. It stands beside that of
one more run as it is and, where no two runs are alike, beside that of the recording.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from stepper.analysis.line import Line
from stepper.analysis.recompile_remedies import ways_for
from stepper.analysis.recompile_series import History
from stepper.analysis.regions import ways_for as regions_for
from stepper.analysis.replays import AS_IT_IS, Function, Replays, RunFacts, Way, together
from stepper.analysis.trial_lines import MOST, Left, Told, Tried, counted, trial_lines, try_all
from stepper.client.plan import ReplayError
from stepper.client.text import plural

CANNOT = "not tried: no change is known that could be tried"


class RecompileTrials(Replays):
    """Tries remedies for functions that are compiled again."""

    def lines(self, history: History) -> Told:
        """What came of the remedies for a function."""
        about = ways_for(self.recording, self.files, history)
        ways = [way for some in about for way in some]
        again = [each.translation for each in history.recompilations]
        regions = list(regions_for(self.recording, self.files, again))
        if not (ways or regions):
            yield Line(f"  {CANNOT}", role="dim")
            return []
        place = (history.name, history.filename, history.line)
        left = partial(_left, place)
        yield from self._otherwise(place)
        tried = list(try_all(self, ways[:MOST], left))
        if several := _all_at_once([each for each in tried if isinstance(each, Tried)], about):
            tried += try_all(self, [several], left)
        tried += try_all(self, regions, partial(_left_of_a_region, place))
        judged = yield from trial_lines(self, tried, "  ")
        if len(ways) > MOST:
            yield Line(f"  {plural(len(ways) - MOST, 'more way')} not tried", role="dim")
        return judged

    def _otherwise(self, place: Function) -> Iterator[Line]:
        """Warn that the program, run again as it is, does something else than was recorded."""
        try:
            usual = self.after(AS_IT_IS)
        except ReplayError:
            return  # each way says so
        was, recorded = usual.found.compiled[place], self.recorded.compiled[place]
        counts = f"{plural(was, 'compilation')} instead of {recorded}" if was != recorded else ""
        if counts or usual.trouble:
            how = "; ".join(filter(None, (counts, usual.trouble)))
            yield Line(f"  run again as it is: {how}", role="dim")


def _left(place: Function, was: RunFacts, now: RunFacts) -> Left:
    left, usual = now.compiled[place], was.compiled[place]
    # What is not compiled at all is not compiled again either.
    helps = 0 < left < usual and now.compilations < was.compilations and now.breaks <= was.breaks
    words = counted(usual, left, "compilation")
    if now.breaks > was.breaks:
        words += f", {counted(was.breaks, now.breaks, 'graph break')}"
    return Left((left,), words, helps, left == 1)


def _left_of_a_region(place: Function, was: RunFacts, now: RunFacts) -> Left:
    counts = counted(was.compiled[place], now.compiled[place], "compilation")
    instructions = counted(was.instructions, now.instructions, "instruction")
    same = now.compiled[place] == was.compiled[place] and now.breaks <= was.breaks
    helps = same and now.instructions < was.instructions
    return Left((now.compiled[place],), f"{counts}, {instructions} interpreted", helps, False)


def _all_at_once(tried: list[Tried], about: list[list[Way]]) -> Way | None:
    """Where several things change, and one remedy alone leaves calls that differ in another: the
    best for each; None: one is enough, or there are not several."""
    if any(each.proven and each.left.counts[0] == 1 for each in tried):
        return None
    chosen = []
    for some in about:
        ranked = [each for each in tried if each.way in some and not each.verdict.trouble]
        chosen += [each.way for each in sorted(ranked, key=lambda each: each.rank)[:1]]
    return together(chosen) if len(chosen) > 1 else None
