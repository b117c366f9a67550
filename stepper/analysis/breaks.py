"""Why graphs broke, and what that cost, over a whole run.

One cause often breaks more than once: a `print` in a helper breaks the frame that inlines it, then
the helper when it is compiled by itself, and again in each resume function that reaches it. What
breaks at one instruction's line for one reason is one *cause*, told once with how often. Where that
line is a library's, each line of the program that leads to it is a cause of its own: it is what one
can change.

What a cause costs is counted in instructions, which the recording has exactly: those of attempts
that were thrown away and of frames that were given up (interpreted for nothing), and those of the
resume functions that exist because of it. Causes are ranked by their sum.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

import msgspec

from stepper.analysis.break_changes import Remedy
from stepper.analysis.break_facts import explanation, facts_of
from stepper.analysis.break_places import Places, is_split
from stepper.analysis.break_rules import advised
from stepper.analysis.broken import Broken
from stepper.analysis.rebuilt import Rebuilt, comes_of, is_not_rebuilt, not_rebuilt
from stepper.analysis.split_graphs import SplitGraphs
from stepper.client.text import one_line
from stepper.model.break_words import HANDLING, context_of, kinds_of
from stepper.model.program import Instruction, PythonFrame
from stepper.model.trace import Attempt, GraphBreak, MomentId, Outcome, Translation
from stepper.recording.reader import Recording

_PAGE = re.compile(r"https://meta-pytorch\.github\.io/compile-graph-break-site/gb/gb\d+\.html")
_LEFT = "___stack"
"""How the names begin for what stands on the stack where a graph breaks."""


class Occurrence(msgspec.Struct, frozen=True):
    """A graph break, and what came of it."""

    found: GraphBreak
    translation: Translation
    wasted: int
    """Instructions that were interpreted for nothing: of the attempt, when it was thrown away or
    the frame was given up."""
    resumed: tuple[Translation, ...]
    """Compilations of the resume function that goes on after it."""
    left_by: GraphBreak | None
    """The earlier break that leaves a call to Python, by which the function that breaks is run, so
    that it is compiled by itself; None: none is known, or the function is called by the program."""

    lies_between: bool
    """Whether there are graphs on more than one side of it."""

    @property
    def splits(self) -> bool:
        """Whether the frame is compiled in parts because of it."""
        return is_split(self.found, self.translation)

    @property
    def splits_graph(self) -> bool:
        """Whether these parts have more than one graph."""
        return self.splits and self.lies_between

    @property
    def under_way(self) -> bool:
        """Whether the compilation that it is in has not ended, so that more may come of it."""
        return self.translation.outcome is Outcome.RUNNING

    @property
    def failed(self) -> bool:
        """Whether it is an error here."""
        return not self.found.resumes and self.translation.outcome is Outcome.FAILED


class Cause(msgspec.Struct, frozen=True):
    """Breaks at one line for one reason; where it is a library's, at one of the program's that
    leads there."""

    kind: str
    """Dynamo's name for the kind, or the first line of its message."""
    then: str
    """The kind of break that came of handling it; empty: none."""
    explanation: str
    context: str
    """Which method of what, with which arguments, as Dynamo says it; empty: it does not."""
    hints: tuple[str, ...]
    page: str
    """Dynamo's documentation of the kind; empty when the message names none."""
    facts: Broken
    """What advice on it may rest on."""
    place: PythonFrame | None
    """Where the instruction is; None when it is not recorded."""
    source: str
    """The line's text."""
    moment: MomentId
    """The moment of the first one."""
    instruction: Instruction | None
    occurrences: tuple[Occurrence, ...]

    comes_of: GraphBreak | None
    """The break that was being handled when the first one came about; None: it is by itself."""
    rebuilt: Rebuilt | None
    """What could not be made for the rest of the function; None: it is not for that."""

    @property
    def change(self) -> Remedy | None:
        """The nearest change that avoids it; None where none is known."""
        return advised(self.facts)

    @property
    def splits(self) -> int:
        """How many graphs it split in two."""
        return sum(each.splits_graph for each in self.occurrences)

    @property
    def splits_none(self) -> bool:
        """Whether all graphs are on one side of it, each time: there are no fewer without it."""
        return all(each.splits and not each.lies_between for each in self.occurrences)

    @property
    def given_up(self) -> int:
        """How many frames run uncompiled because of it."""
        return sum(not each.found.resumes and not each.failed for each in self.occurrences)

    @property
    def failed(self) -> int:
        """How many compilations failed of it, since a graph break is an error there."""
        return sum(each.failed for each in self.occurrences)

    @property
    def wasted(self) -> int:
        """Instructions interpreted for nothing."""
        return sum(each.wasted for each in self.occurrences)

    @property
    def resume_functions(self) -> tuple[Translation, ...]:
        """The compilations of resume functions that exist because of it, each once."""
        every = {item.id: item for each in self.occurrences for item in each.resumed}
        return tuple(every[id] for id in sorted(every))

    @property
    def cost(self) -> int:
        """Instructions: those wasted, and those of the resume functions."""
        return self.wasted + sum(item.instructions for item in self.resume_functions)


def causes(recording: Recording, *, after: int = 0) -> list[Cause]:
    """Every cause of graph breaks, in walks after the one given, the most expensive first, and
    before it the one without which it would not be there."""
    return [*(_causes_after(recording, after) if after else recording.derived(_causes_after))]


def _causes_after(recording: Recording, after: int = 0) -> Iterable[Cause]:
    reader, places = recording.derived(_Reader), recording.derived(Places)
    groups: dict[tuple[object, ...], list[GraphBreak]] = {}
    for each in recording.graph_breaks():
        if recording.attempt(each.attempt).translation <= after:
            continue
        key = (kinds_of(each)[0], places.place_of(each), places.asked_at(each))
        groups.setdefault(key, []).append(each)
    found = [reader.cause(group) for group in groups.values()]
    found.sort(key=lambda cause: (-cause.cost, cause.moment))
    made_by = {each.found.id: cause for cause in found for each in cause.occurrences}
    ordered: dict[MomentId, Cause] = {}
    for cause in found:
        for of_chain in reversed(_chain(places, cause, made_by)):
            ordered.setdefault(of_chain.moment, of_chain)
    return ordered.values()


def _chain(places: Places, cause: Cause, made_by: dict[int, Cause]) -> list[Cause]:
    """A cause, and each without which the one before it would not be there."""
    chain = {cause.moment: cause}
    while True:
        left_by = _left_by(places, cause)
        earlier = None if left_by is None else made_by.get(left_by.id)
        if earlier is None or earlier.moment in chain:
            return [*chain.values()]
        cause = chain[earlier.moment] = earlier


def _left_by(places: Places, cause: Cause) -> GraphBreak | None:
    """The break without which a cause would not be there: each of its own is in a function that is
    compiled by itself because of an earlier one, calls a method of what that has left, or came
    about when that was handled."""
    if cause.comes_of is not None:
        return cause.comes_of
    if _LEFT in cause.facts.called:
        return places.break_before(cause.occurrences[0].translation)
    if any(each.left_by is None for each in cause.occurrences):
        return None
    return cause.occurrences[0].left_by


def cause_of_one(recording: Recording, found: GraphBreak) -> Cause:
    """The cause of one break, as if it had happened this once."""
    return recording.derived(_Reader).cause([found])


class _Reader:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._places = recording.derived(Places)

    def cause(self, group: list[GraphBreak]) -> Cause:
        first = next(filter(self._places.at_its_place, group), group[0])
        kinds = kinds_of(first)
        row = self._places.shown(first) if self._places.at_its_place(first) else None
        pages = _PAGE.findall(first.reason)
        facts = facts_of(self._recording, first)
        earlier = comes_of(self._recording, first) if facts.comes_of_another else None
        unmade = earlier is not None or is_not_rebuilt(first)
        return Cause(
            kind=kinds[0],
            then=kinds[1] if len(kinds) > 1 else "",
            explanation=explanation(first),
            context=one_line(context_of(first)),
            hints=_hints(first, kinds),
            page=pages[0] if pages else "",
            facts=facts,
            place=row[1] if row else self._places.place_of(first),
            source=row[2] if row else self._places.source_of(first),
            moment=self._places.blamed(first),
            instruction=row[0] if row else None,
            occurrences=tuple(self._occurrence(each) for each in group),
            comes_of=earlier,
            rebuilt=not_rebuilt(self._recording, first) if unmade else None,
        )

    def _occurrence(self, found: GraphBreak) -> Occurrence:
        recording = self._recording
        attempt = recording.attempt(found.attempt)
        item = recording.translation(attempt.translation)
        thrown_away = bool(attempt.restart_reason) or not found.resumes
        resumed: Iterable[Translation] = ()
        places, code = self._places, self._places.resume_code(found)
        if code is not None:
            resumed = (each for each in places.resuming if each.code == code and each.id > item.id)
        wasted = self._length(attempt) if thrown_away else 0
        left_by = places.left_by(item)
        # A helper that breaks where it is inlined breaks by itself for the same reason.
        while left_by is not None and places.place_of(left_by) == places.place_of(found):
            left_by = places.left_by(
                recording.translation(recording.attempt(left_by.attempt).translation)
            )
        lies_between = self._graphs.lies_between(found, item)
        return Occurrence(found, item, wasted, tuple(resumed), left_by, lies_between)

    @cached_property
    def _graphs(self) -> SplitGraphs:
        places = self._places
        return SplitGraphs(self._recording, places.break_before, places.resume_code, places.left_by)

    def _length(self, attempt: Attempt) -> int:
        """How many instructions an attempt has; other threads may have interpreted meanwhile."""
        recording = self._recording
        frames = {frame.id for frame in recording.frames(attempt.id)}
        last = recording.newest if attempt.last_moment is None else attempt.last_moment
        return sum(
            frame in frames
            for run in recording.runs(attempt.first_moment, last)
            for frame in run.frames
        )


def _hints(found: GraphBreak, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Dynamo's hints on what happened first; those on the rest are about the rest."""
    if len(kinds) == 1:
        return tuple(map(one_line, found.hints))
    first = HANDLING.split(found.reason)[0]
    return tuple(
        line.strip().removeprefix("Hint: ")
        for line in first.splitlines()
        if line.strip().startswith("Hint: ")
    )
