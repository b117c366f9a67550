"""What may make compiling shorter, or guards at calls, tried: the program runs again with each
change, and what it took then stands beside one more run as it is.

Clocks vary from run to run, so a shorter time alone proves nothing. Of compiling, less must have
been interpreted or compiled; of guards, fewer must have been asked; and the time must be less by
more than a twentieth. Each run begins with empty caches of the compiler.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import ClassVar

from stepper.analysis.compile_times import CompileTimes
from stepper.analysis.line import Line
from stepper.analysis.replays import Function, Replays, RunFacts
from stepper.analysis.run_costs import CallCost, Served, brief, served
from stepper.analysis.slow_remedies import compile_ways, guard_ways
from stepper.analysis.trial_lines import MOST, Left, counted, trial_lines, try_all
from stepper.client.text import first_names, function_name, plural, time_words

CANNOT = "not tried: no change is known that could be tried"
NOT_TIMED = "not tried: the compiler's times are not recorded"
_LESS = 0.95
"""What is left of a time at most for the change to count."""
_LONG_RUN = 1_000_000
"""Nanoseconds of a run beside which it does not matter that recording a lookup makes the run after
it longer."""
_LEAST_SHARE = 0.01
"""Part of a call with such a run that guards are at least for them to be looked at."""
_ENTRIES = 2
"""Entries whose guards are looked at, those that cost most."""
_NAMED = 3
"""Guards that are named of those that a change leaves out."""


class SlowTrials(Replays):
    """Tries to have compiling, and calls of what was compiled, take less."""

    timed: ClassVar[bool] = True

    def lines(self, times: CompileTimes) -> Iterator[Line]:
        """What came of it."""
        yield Line("")
        yield Line("what may make compiling shorter, tried", role="title")
        ways = compile_ways(times, self.files)
        if not times.roots:
            yield Line(f"  {NOT_TIMED}", role="dim")
        elif not ways:
            yield Line(f"  {CANNOT}", role="dim")
        else:
            yield from trial_lines(self, try_all(self, ways[:MOST], _left), "  ")
        if len(ways) > MOST:
            yield Line(f"  {plural(len(ways) - MOST, 'more way')} not tried", role="dim")
        names = {item.name for item in times.translations.values()}
        found = [each for each in served(self.recording) if each.name in names and each.guards]
        found.sort(key=lambda each: -sum(each.guards))
        for entry in found[:_ENTRIES]:
            yield from self._guards(entry)

    def _guards(self, entry: Served) -> Iterator[Line]:
        """What leaves less of an entry's guards."""
        yield Line("")
        name = function_name(entry.name)
        yield Line(f"what may make the guards of {name} shorter at calls, tried", role="title")
        if entry.run > _LONG_RUN and entry.share < _LEAST_SHARE:
            yield Line(f"  not tried: guards are {entry.share:.1%} of a call", role="dim")
            return
        ways = guard_ways(self.recording, self.files, entry)
        if not ways:
            yield Line(f"  {CANNOT}", role="dim")
            return
        left = partial(_left_of_guards, entry.place)
        yield from trial_lines(self, try_all(self, ways, left), "  ")


def _left(was: RunFacts, now: RunFacts) -> Left:
    parts = [counted(was.instructions, now.instructions, "instruction") + " interpreted"]
    if now.compilations != was.compilations:
        parts.append(counted(was.compilations, now.compilations, "compilation"))
    if now.thrown_away != was.thrown_away:
        parts.append(f"{plural(was.thrown_away, 'attempt')} thrown away → {now.thrown_away}")
    if now.breaks != was.breaks:
        parts.append(counted(was.breaks, now.breaks, "graph break"))
    if was.compiling is None or now.compiling is None:
        return Left((0,), ", ".join(parts), False, False)
    parts.append(f"{time_words(was.compiling)} of compiling → {time_words(now.compiling)}")
    less = now.instructions < was.instructions or now.compilations < was.compilations
    # What is not compiled takes no time either.
    same = now.compilations > 0 and now.breaks <= was.breaks and now.graphs > 0
    helps = less and same and now.compiling < _LESS * was.compiling
    return Left((now.compiling,), ", ".join(parts), helps, False)


_NONE = CallCost(0, 0, 0, frozenset())


def _left_of_guards(place: Function, was: RunFacts, now: RunFacts) -> Left:
    before, after = (each.served.get(place, _NONE) for each in (was, now))
    parts = [
        f"{before.guards:.0f} guards at a call → {after.guards:.0f}",
        f"{brief(round(before.nanoseconds))} → {brief(round(after.nanoseconds))}",
    ]
    if after.calls != before.calls:
        parts.append(counted(before.calls, after.calls, "call") + " that found an entry")
    fewer = after.guards < before.guards and 0 < after.calls >= before.calls
    helps = (
        fewer
        and now.compilations <= was.compilations
        and after.nanoseconds < _LESS * before.nanoseconds
    )
    gone = sorted(before.names - after.names)
    details = (f"no longer asked: {first_names(gone, _NAMED)}",) if gone else ()
    return Left((round(after.nanoseconds),), ", ".join(parts), helps, False, details)
