"""Recompilations of one function read together: what changes from one to the next, and how.

"The batch size grows: 7 of 8" says more than eight reasons. A *series* is one thing that differs
from the nearest entry in several recompilations of a function: a source and what of it, with the
values that it had, in order.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from stepper.analysis.conditions import LEAVES
from stepper.analysis.recompiles import STRIDE, Recompilation, changes_of
from stepper.analysis.sites import in_compiler
from stepper.analysis.sources import unscoped
from stepper.analysis.unmet_guards import Failure
from stepper.analysis.walks import compilations, lookups_by_function
from stepper.client.text import ELLIPSIS, clip, one_line
from stepper.model.capabilities import Capabilities
from stepper.model.datum import UNKNOWN, Datum, alike, text_of
from stepper.model.lookup import INVALID, Aspect
from stepper.model.method_names import Owner
from stepper.model.program import PythonFrame
from stepper.model.trace import Outcome, Translation
from stepper.recording.reader import Recording

_VALUES = 9
"""Values of a series that are told: as many as entries under Dynamo's own limit, and one."""
TOLD = 8
"""Series of a function that are told, and for which advice is given."""
_TEXT = 120
"""Columns of each."""


class Series(msgspec.Struct, frozen=True):
    """One thing that changed, over the recompilations of a function."""

    source: str
    """Without `L[…]` around the names of locals; empty for global state."""
    aspect: Aspect
    """What of it."""
    kind: str
    """The leaf guard that failed, of the first."""
    values: tuple[Datum, ...]
    """What was expected at first, then what was there each time; repeats in a row are left out."""
    times: int
    """In how many recompilations it differed from the nearest entry."""
    likewise: tuple[str, ...] = ()
    """Other sources of which the same changed, from and to the same, in the same recompilations."""
    condition: str = ""
    """What did not hold of it, of the first, where that is an expression."""
    newest: int = 0
    """The place of the newest of these recompilations among all of the function."""
    missing: bool = False
    """Whether it could not be got to in any of them: there is no such value."""

    @property
    def seen(self) -> str:
        """The values in one line; of many the first ones and the last."""
        values = [clip(one_line(text_of(value)), _TEXT) for value in self.values]
        if len(values) > _VALUES:
            values[_VALUES - 2 : -1] = [ELLIPSIS]
        return ", ".join(values)

    @property
    def compares_strides(self) -> bool:
        """Whether it is a condition on how strides and sizes go together, which no size is to
        blame for."""
        return not self.values and STRIDE in self.condition

    @property
    def trend(self) -> str:
        """`grows`, `shrinks`, `changes`, or `dies`."""
        if self.kind == INVALID:
            return "dies"
        numbers = [value for value in self.values if type(value) is int]
        if len(numbers) < len(self.values):
            return "changes"
        pairs = list(itertools.pairwise(numbers))
        if len(pairs) > 1 and all(a < b for a, b in pairs):
            return "grows"
        if len(pairs) > 1 and all(a > b for a, b in pairs):
            return "shrinks"
        return "changes"


class History(msgspec.Struct, frozen=True, dict=True):
    """A function that was compiled more than once."""

    name: str
    filename: str
    line: int
    code: int
    """Id of the original code."""
    recompilations: tuple[Recompilation, ...]
    entries: int
    """Entries that were made in all."""
    seconds: float
    """Spent in recompilations."""
    capabilities: Capabilities
    """What the compiler can do."""
    resume_of: str = ""
    """The function that it goes on with after a graph break; empty: it is none of those."""
    calls_until_limit: int | None = None
    """The number of the call at which a limit was reached; None: none was, or lookups were not
    recorded."""
    calls_after_limit: int = 0
    """Calls after that which ran uncompiled, as far as lookups were recorded."""

    @property
    def walks(self) -> list[Translation]:
        """What was compiled again."""
        return [each.translation for each in self.recompilations]

    @cached_property
    def series(self) -> tuple[Series, ...]:
        """What changed, the most frequent first. Found when it is first asked for, so that what is
        told of a function is read together."""
        return tuple(_series(self.recompilations))

    def computed(self, series: Series) -> bool | None:
        """Whether a tensor that requires grad in one call has gradients to hand back to what has
        computed it; None: that is not known."""
        found = [
            change.by.computed
            for each in self.recompilations
            if each.nearest is not None
            for change in changes_of(each.nearest)
            if (unscoped(change.source), change.by.aspect) == (series.source, series.aspect)
        ]
        return any(found) if any(each is not None for each in found) else None

    @property
    def limit(self) -> Recompilation | None:
        """The recompilation that was refused, if any."""
        return next((each for each in self.recompilations if each.limit), None)


def histories(recording: Recording, found: Iterable[Recompilation]) -> list[History]:
    """Each function that was compiled again; what took most time comes first, behind what the same
    line calls before it, as a function that is given what another returns."""
    by_code: dict[tuple[int, Owner | None], list[Recompilation]] = {}
    for each in found:
        item = each.translation
        # Dynamo has one code that hands on to all functions that it wraps.
        wrapped = recording.owners.of_walk(item) if in_compiler(item.filename) else None
        by_code.setdefault((item.code, wrapped), []).append(each)
    lookups = lookups_by_function(recording) if recording.lookups() else {}
    made = Counter(
        item.code for item in compilations(recording) if item.outcome is Outcome.COMPILED
    )
    histories = []
    for (code, _), again in by_code.items():
        first = again[0].translation
        calls = lookups.get((first.name, first.filename), [])
        history = _history(again, calls, made[code], recording.facts.capabilities)
        histories.append(history)
    begun: dict[int, int] = {}
    for item in compilations(recording):
        begun.setdefault(item.code, item.id)
    return _behind_their_leaders(sorted(histories, key=lambda each: -each.seconds), begun)


def _behind_their_leaders(histories: list[History], begun: dict[int, int]) -> list[History]:
    """The functions, each behind the one whose recompilations its own follow, in calls of one line
    of the program: not where that calls one function after the other in a loop.

    Args:
        begun: the first compilation of each code.
    """
    happened = sorted(
        (each.translation.id, at, each.translation.python_stack[-1:])
        for at, history in enumerate(histories)
        for each in history.recompilations
    )
    before: list[set[int]] = [set() for _ in histories]
    newest: dict[PythonFrame, tuple[int, int]] = {}
    for translation, at, callers in happened:
        for caller in callers:
            again, leader = newest.get(caller, (0, at))
            before[at].add(leader if again > begun.get(histories[at].code, translation) else at)
            newest[caller] = translation, at
    found: dict[int, History] = {}
    for at in range(len(histories)):
        chain = [at]
        while len(before[chain[-1]]) == 1 and chain[-1] not in before[chain[-1]]:
            chain.extend(before[chain[-1]])
        found.update((each, histories[each]) for each in reversed(chain) if each not in found)
    return [*found.values()]


def _history(
    found: list[Recompilation], calls: list[Translation], entries: int, can: Capabilities
) -> History:
    first = found[0].translation
    limit = next((each.translation.id for each in found if each.limit), None)
    return History(
        name=first.name,
        filename=first.filename,
        line=first.line,
        code=first.code,
        recompilations=tuple(found),
        entries=entries,
        seconds=sum(each.translation.seconds or 0.0 for each in found),
        capabilities=can,
        resume_of=first.resume_of,
        calls_until_limit=(
            sum(item.id < limit for item in calls) if calls and limit is not None else None
        ),
        calls_after_limit=sum(
            limit is not None and item.id > limit and item.outcome is Outcome.SKIPPED
            for item in calls
        ),
    )


def _series(found: Sequence[Recompilation]) -> list[Series]:
    kinds: dict[_Key, str] = {}
    conditions: dict[_Key, str] = {}
    values: dict[_Key, list[Datum]] = {}
    where: dict[_Key, list[int]] = {}
    there: set[_Key] = set()
    for at, each in enumerate(found):
        nearest = each.nearest
        if nearest is None:
            continue
        about = "" if nearest.relation is None else unscoped(nearest.relation.text)
        for source, difference, failure in changes_of(nearest):
            if not source and not difference.what:
                continue  # words of the compiler's that do not say what differs
            if not difference.what and unscoped(source) in about:
                continue  # another condition on what the first one is about
            key = _Key(unscoped(source), difference.aspect, _asking(failure))
            kinds.setdefault(key, failure.kind)
            if not failure.missing or failure.kind == INVALID:
                there.add(key)
            if failure.kind in LEAVES and not failure.differences:
                conditions.setdefault(key, unscoped(failure.text))
            if at not in where.setdefault(key, []):
                where[key].append(at)
            expected, actual = difference.expected, difference.actual
            seen = values.setdefault(key, [expected] if expected != UNKNOWN else [])
            if actual != UNKNOWN and not (seen and alike(seen[-1], actual)):
                seen.append(actual)
    # A check of a part of what is known to have changed in the same calls says nothing more.
    told = {(key.source, *calls) for key, calls in where.items() if values[key]}
    where = {
        key: calls
        for key, calls in where.items()
        if values[key] or key.aspect.what or (key.source, *calls) not in told
    }
    # What changed in the same calls and in the same way is one thing: the weights of a model, say.
    same: dict[object, list[_Key]] = {}
    for key in where:
        shown = tuple(map(text_of, values[key]))
        same.setdefault((key.aspect, kinds[key], shown, *where[key]), []).append(key)
    series = []
    for first, *others in same.values():
        likewise = tuple(each.source for each in others if each.source != first.source)
        series.append(
            Series(
                first.source, first.aspect, kinds[first], tuple(values[first]), len(where[first]),
                likewise, conditions.get(first, ""), where[first][-1], first not in there,
            )
        )  # fmt: skip
    # What is known by its values says more than what only fails because of it, and what is alone in
    # the way of a call more than what comes with others.
    beside = Counter(at for firsts in same.values() for at in where[firsts[0]])
    ranks = [
        (not each.values, -each.times, min(beside[at] for at in where[first]), place)
        for place, (each, (first, *_)) in enumerate(zip(series, same.values(), strict=True))
    ]
    return [series[at] for *_, at in sorted(ranks)]


class _Key(NamedTuple):
    """What recompilations are counted by."""

    source: str
    aspect: Aspect
    asking: str
    """For a condition on sizes, who asks for it."""


def _asking(failure: Failure) -> str:
    """The line of the program that asks for a condition on sizes, or the condition where none is
    known: what two lines ask of a size are two causes."""
    if failure.differences or failure.kind not in LEAVES:
        return ""
    return failure.text if failure.asking is None else str(failure.asking.program_stack[-1])
