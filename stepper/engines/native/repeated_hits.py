"""Hits of the native engine that find what an earlier hit of the same entry has found.

See `stepper.engines.dynamo.repeated_hits`, which says what this is for. Here a lookup is one that
others repeat when the first entry that it tries is hit. Guards are asked in the order in which the
entry has them, always. A guard that passes is not asked again, and what it looks at only where that
may be something else of which it says the same. Nothing here holds a guard: what one wants may lead
back to its entry.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from types import CodeType, FunctionType, ModuleType

from stepper.debuggee.engine import Recorder
from stepper.debuggee.threads import thread_name
from stepper.debuggee.told_again import ToldLookup
from stepper.engines.common.kept_lookups import (
    ONE_VALUE,
    KeptLookups,
    comparable,
    is_about_sizes,
    occasion_of,
)
from stepper.engines.common.lookup_walk import Call
from stepper.engines.common.shape_conditions import SHAPE_ENV
from stepper.engines.native.entry_guards import source_of
from stepper.engines.native.guard_words import Said, checked, with_value
from stepper.model.datum import UNKNOWN
from stepper.model.lookup import Check
from stepper.native.guards.guard import GuardPart
from stepper.native.runtime.backends import backend_name
from stepper.native.runtime.cache_entry import GuardedCode
from stepper.support.words import one_of
from stepper.uncompiled import keep_out

_LEAVE_NO_CHOICE = frozenset({"TYPE_MATCH", "LIST_LENGTH"})
"""Kinds of which all that is told of a value is what they ask for."""
_VALUES = frozenset({"CONSTANT_MATCH", "EQUALS_MATCH"})
_NAMED: frozenset[type] = frozenset({type, type(len), FunctionType, CodeType, ModuleType})
"""Types of objects that are told by a name that they always have."""

_Varying = tuple[int, Check]
"""A guard's place among the entry's, and what it found."""


class RepeatedHits(KeptLookups[GuardedCode, _Varying]):
    """Tells hits again, and finds out which can be."""

    def keep_if_alike(self, call: Call, checks: Sequence[Check], told: ToldLookup) -> None:
        """Keep a lookup that was told in full, without times; `checks`: those of its guards."""
        entry: GuardedCode = call.winner
        known, kept = self.entries.get(entry), comparable(call, told)
        if known is None or kept is None:
            return
        settled = frozenset(kept.tensors())
        varying = tuple(
            (place, check)
            for place, ((part, _), check) in enumerate(
                zip(entry.manager.parts, checks, strict=True)
            )
            if not _leaves_no_choice(entry, part, check, call, settled)
        )
        if _see_the_same(entry, varying, call):
            self.keep(known, _occasion(call), kept._replace(varying=varying))

    def tell(self, recorder: Recorder, call: Call, began: int) -> int | None:
        """Tell a hit again, if it has found just what another one has; returns the lookup's number.

        Args:
            recorder: whom to tell.
            call: which has hit the first entry that it tried.
            began: when, by `time.perf_counter_ns`.
        """
        known = self.entries.get(call.winner)
        kept = None if known is None else known.find(_occasion(call), call.f_locals)
        if known is None or kept is None or not _see_the_same(call.winner, kept.varying, call):
            return None
        return known.tell_again(recorder, kept, began)


def _occasion(call: Call) -> Hashable:
    # Which backend was asked for is told of a lookup.
    asked = None if call.backend is None else backend_name(call.backend)
    return asked, occasion_of(thread_name(), call.python_stack, call.f_locals)


def _see_the_same(entry: GuardedCode, varying: Sequence[_Varying], call: Call) -> bool:
    """Whether the guards that may see something else have seen what they saw."""
    parts = entry.manager.parts
    return all(
        checked(found.place, parts[place][0], _seen(entry, parts[place][0], call)).says_the_same(
            found
        )
        for place, found in varying
    )


def _seen(entry: GuardedCode, part: GuardPart, call: Call) -> Said:
    return with_value(entry, part, Said(True, None), call)


def _leaves_no_choice(
    entry: GuardedCode, part: GuardPart, found: Check, call: Call, settled: frozenset[str]
) -> bool:
    """Whether a guard that passes has always seen the same, and all that is told of it is so;
    `settled`: the tensors of which all that is told is looked at anyway."""
    if part.kind == SHAPE_ENV:
        return not found.why and is_about_sizes(part.name, settled)
    return not found.why and (
        part.kind in _LEAVE_NO_CHOICE
        or found.actual == UNKNOWN
        or source_of(part) in settled
        or (part.kind in _VALUES and one_of(type(found.actual), ONE_VALUE))
        or (part.kind not in _VALUES and one_of(type(_seen(entry, part, call).value), _NAMED))
    )


keep_out()
