"""Watches the set of guards that an attempt has installed.

Dynamo's set is not what was ever added to it. Of two guards of one kind on one source, told from
one user line, it keeps the first. It takes guards back: those on a parameter that the graph makes
itself, and the TYPE_MATCH of a lazy constant when a CONSTANT_MATCH takes its place. And it empties
the set of an attempt that is over. So nothing is concluded from what is added: when something was,
the set itself is looked at, as far as it is new (csrc/record/guard_marks.c), or, when that is not
enough, whole.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from stepper.debuggee.engine import Recorder
from stepper.debuggee.mirror import GuardMarks, GuardWords, LiveAttempt
from stepper.engines.common.versions import source_name
from stepper.engines.dynamo.versions import guards_in
from stepper.model.trace import EventKind

_NOT_PRESENT = "NOT_PRESENT_IN_GENERIC_DICT"
"""The method of GuardBuilder whose code is not kept."""


def record_guards(recorder: Recorder) -> None:
    """Report the guards that were marked since they were told last."""
    steps = recorder.steps
    attempt = steps.guards_of
    try:
        taken = steps.take_guards()
        width = len(GuardMarks._fields)
        _record(recorder, attempt, GuardMarks(*(taken[column::width] for column in range(width))))
    except (RecursionError, MemoryError):
        steps.guards_lost = True  # the look at the whole set finds what was not told
        raise


def look_at_guards(recorder: Recorder, attempt: LiveAttempt, output: Any) -> None:
    """Report what is new or withdrawn in the whole set of an OutputGraph."""
    record_guards(recorder)
    inner = guards_in(output)
    told = attempt.translation.guards
    if told and not inner:
        return  # the attempt is over; what it found stays said
    numbers = dict(zip(map(id, told.values()), told, strict=True))
    there = set(map(id, inner))
    for key in numbers.keys() - there:
        recorder.guard_withdrawn(attempt, numbers[key])
    missing = there - numbers.keys()
    fresh = list(itertools.compress(inner, map(missing.__contains__, map(id, inner))))
    recorder.steps.guards_seen(inner)
    try:
        _record(recorder, attempt, recorder.marked_now(attempt, fresh))
    except (RecursionError, MemoryError):
        recorder.steps.guards_lost = True
        raise


def withdraw_filtered(recorder: Recorder, attempt: LiveAttempt, chosen: list[Any]) -> None:
    """Report as withdrawn what a `guard_filter_fn` of the program has left out.

    Args:
        recorder: is told.
        attempt: that is being made into an entry.
        chosen: the guards that the entry checks.
    """
    told = attempt.translation.guards
    kept = set(map(id, chosen))
    left_out = [number for number, guard in told.items() if id(guard) not in kept]
    if len(left_out) == len(told) - len(kept):  # else they are not the same objects
        for number in left_out:
            recorder.guard_withdrawn(attempt, number)


def _record(recorder: Recorder, attempt: LiveAttempt, marked: GuardMarks) -> None:
    """Report guards in the order in which they came."""
    if not marked.guards:
        return
    if EventKind.GUARD not in recorder.controller.wanted:
        recorder.guards(attempt, marked, _in_words(marked.guards))
        return
    told = attempt.translation.guards
    count = len(told)
    for guard, moment, frame, code, ip in zip(*marked, strict=True):
        if len(told) != count:
            return  # a stop at an earlier one has reported the rest
        line = None if code is None else recorder.user_line(code, ip)
        [words] = zip(*_in_words([guard]), strict=True)
        recorder.guard(attempt, guard, *words, moment, frame or None, line)
        count += 1


def code_of(guard: Any) -> Sequence[str]:
    """What a guard checks, as Dynamo words it. It gives no code away for the attributes that must
    not appear; that one is made as GuardBuilder makes it, and as a lookup says it."""
    found: list[str] | None = guard.code_list
    make = guard.create_fn
    if not found and isinstance(make, functools.partial) and make.func.__name__ == _NOT_PRESENT:
        attribute = make.keywords.get("attr")
        if type(attribute) is str:
            dictionary = f"{source_name(guard.originating_source)}.__dict__"
            return (f"not ___dict_contains({attribute!r}, {dictionary})",)
    return found or ()


def _in_words(guards: Iterable[Any]) -> GuardWords:
    """What guards are. There are thousands, so they are asked for their fields and not for their
    properties."""
    kinds, sources, scopes = words = GuardWords([], [], [])
    for guard in guards:
        origin, make = guard.originating_source, guard.create_fn
        kind = (make.func if isinstance(make, functools.partial) else make).__name__
        try:
            scope = _lower(origin.guard_source._name_)
        except NotImplementedError:  # a source of no scope
            scope = ""
        kinds.append(kind)
        sources.append(source_name(origin))
        scopes.append(scope)
    return words


_lower = functools.cache(str.lower)
