"""Hits that find what an earlier hit of the same entry has found.

A program calls what it has compiled over and over. Of such a call it is known that the entry was
hit: that all its guards have passed. Most guards leave no choice of what they have seen then: a
number that equals 3 is 3. Only what the others see (a size that may be any, how many names a
dictionary has) and the arguments of the call are looked at again. If nothing differs from a lookup
that was told in full, the lookup is told by saying so (`stepper.debuggee.told_again`). An argument
can be another one of which the same is said, as the tensors of each step of a training, or the list
that they are handed over in: which objects two lookups have is told of neither, only which of one
are the same object. Sizes differ from call to call where a server generates, and come again with
the next request, so lookups are kept by them.

It is known which entries were tried, and in which order, as long as none was made: the one that
was hit last is tried first. How long guards take is measured at the first, the second, the fourth,
the eighth … hit of an entry, and told of these alone.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import msgspec

from stepper.debuggee.engine import Recorder
from stepper.debuggee.threads import thread_name
from stepper.debuggee.told_again import ToldLookup
from stepper.engines.common.kept_lookups import (
    ONE_VALUE,
    TENSORS,
    KeptLookups,
    comparable,
    is_about_sizes,
    occasion_of,
)
from stepper.engines.common.lookup_walk import Call
from stepper.engines.dynamo.guard_tree import Check as LiveCheck
from stepper.engines.dynamo.lookup_programs import EVERYBODY, Candidate
from stepper.engines.dynamo.lookup_tries import Tried
from stepper.engines.dynamo.lookup_words import checked
from stepper.engines.dynamo.safe_reader import (
    OF_A_DICT,
    OF_SEVERAL,
    OF_THE_COMPILER,
    SafeReader,
)
from stepper.model.cache import Verdict
from stepper.model.datum import UNKNOWN, Tensor
from stepper.model.lookup import Check, CheckedGuard
from stepper.model.program import PythonFrame
from stepper.support.per_object import PerCode
from stepper.support.words import one_of
from stepper.uncompiled import keep_out

_LEAVE_NO_CHOICE = frozenset(
    {
        "TYPE_MATCH", "NONE_MATCH", "TRUE_MATCH", "FALSE_MATCH", "DICT_MANAGER",
        "TUPLE_ITERATOR_LEN", "RANGE_ITERATOR_MATCH",
    }
)  # fmt: skip
"""Kinds of which all that is told of a value is what they ask for."""
_TOLD_BY_NAME = frozenset({"DICT_CONTAINS", "ID_MATCH"})
"""Kinds of which it is told what the value is called, and no more."""
_LENGTHS = frozenset({"LENGTH_CHECK", "DICT_LENGTH"})
_NAMED: frozenset[type] = frozenset(
    {type, type(len), FunctionType, CodeType, ModuleType, bool, type(None)}
)
"""Types of objects that are told by name, or by a value that they always have."""
_Varying = tuple[LiveCheck, Check, CheckedGuard]


class _First(NamedTuple):
    """The entry that a lookup tries first."""

    code: weakref.ref[CodeType]
    """Its transformed code."""
    order: Sequence[int]
    """The places of all entries of the code, as they are tried."""


class RepeatedHits(KeptLookups[CodeType, _Varying]):
    """Tells hits again, and finds out which can be; an entry is known by its transformed code."""

    def __init__(self) -> None:
        super().__init__()
        self._first: PerCode[_First] = PerCode()
        """By a code, what its next lookup tries."""

    def clear(self) -> None:
        """Forget all."""
        super().clear()
        self._first.clear()

    # -- the order of entries ------------------------------------------------------------------

    def changed(self, code: CodeType) -> None:
        """Its entries are others now, or in another order."""
        self._first.pop(code)

    def looked_up(
        self,
        code: CodeType,
        candidates: Sequence[Candidate],
        winner: Candidate | None,
        order: Sequence[int],
    ) -> None:
        """A lookup has been told in full; `order`: the places of the code's entries, as the next
        one tries them."""
        self.changed(code)
        for each in candidates:
            if each is winner:
                break
            known = None if each.code is None else self.entries.get(each.code)
            if known is not None and known.order is not each.memory.order:
                known.lookups.clear()  # in its tree, what failed moves ahead
        if winner is not None and winner.code is not None and all(map(_is_ordinary, candidates)):
            self._first.set(code, _First(weakref.ref(winner.code), order))

    def can_be_kept(self, candidates: Sequence[Candidate], winner: Candidate | None) -> bool:
        """Whether a lookup can be one that others repeat: only one entry is tried."""
        first = winner is not None and candidates[0] is winner and winner.code is not None
        return first and all(map(_is_ordinary, candidates))

    # -- lookups -------------------------------------------------------------------------------

    def keep_if_alike(
        self,
        call: Call,
        tried: Tried,
        order: Sequence[int],
        reader: SafeReader,
        told: ToldLookup,
    ) -> None:
        """Keep a lookup that was told in full, if all that it found can be compared; `order`: the
        places of the code's entries."""
        entry = self.entries.get(call.winner)
        candidate = tried.candidate
        if entry is None or candidate.memory.kept_order is None:
            return
        kept = comparable(call, told)
        if kept is None:
            return
        own = len(tried.checks) - len(candidate.checks)
        asked = [*zip(candidate.checks, tried.checks[own:], strict=True)]
        settled = {live.row.source for live, found in asked if _settles(live, found, reader)}
        known = frozenset(settled | {*kept.tensors()})
        # Of those that would be told the same, whatever is there, one is looked at.
        varying = {
            _what_is_told(live, found): (
                live._replace(leaf=None), _without_leaf(found), tried.guards[found.place],
            )
            for live, found in asked
            if not _leaves_no_choice(live, found, reader, known)
        }  # fmt: skip
        kept = kept._replace(varying=tuple(varying.values()))
        if _sees_the_same(kept.varying, reader):
            if entry.order is not candidate.memory.order or entry.entries != order:
                entry.lookups.clear()
                entry.order, entry.entries = candidate.memory.order, order
            occasion = occasion_of(told.record.thread, call.python_stack, call.f_locals)
            self.keep(entry, occasion, kept)

    def tell(
        self,
        recorder: Recorder,
        code: CodeType,
        transformed: CodeType,
        f_locals: dict[str, Any],
        f_globals: dict[str, Any],
        python_stack: tuple[PythonFrame, ...],
        began: int,
    ) -> int | None:
        """Tell a hit again, if it has found just what another one has; returns the lookup's number.

        Args:
            recorder: whom to tell.
            code: what was called.
            transformed: the code of the entry that was hit.
            f_locals: the call's arguments.
            f_globals: its globals.
            python_stack: the program's frames that led to it.
            began: when, by `time.perf_counter_ns`.
        """
        entry, first = self.entries.get(transformed), self._first.get(code)
        if (
            entry is None or first is None or first.code() is not transformed
            or first.order != entry.entries
        ):  # fmt: skip
            return None
        kept = entry.find(occasion_of(thread_name(), python_stack, f_locals), f_locals)
        if kept is None:
            return None
        if kept.varying and not _sees_the_same(kept.varying, SafeReader(f_locals, f_globals)):
            return None
        return entry.tell_again(recorder, kept, began)


def _is_ordinary(candidate: Candidate) -> bool:
    """Whether an entry is everybody's, and all its guards are asked as the compiler made them."""
    return not (candidate.precompiled or candidate.asks_few or candidate.edited) and (
        candidate.region == EVERYBODY
    )


def _sees_the_same(varying: Sequence[_Varying], reader: SafeReader) -> bool:
    """Whether the guards that may see something else have seen what they saw."""
    return all(
        checked(found.place, live, reader.look(live), Verdict.PASS, guard).says_the_same(found)
        for live, found, guard in varying
    )


def _leaves_no_choice(
    live: LiveCheck, found: Check, reader: SafeReader, settled: frozenset[str]
) -> bool:
    """Whether a guard that passes has always seen the same, and all that is told of it is so;
    `settled`: the tensors of which all that is told is looked at anyway."""
    row = live.row
    if found.why:
        return found.why in (OF_THE_COMPILER, OF_SEVERAL) and found.actual == UNKNOWN
    if live.condition:
        return is_about_sizes(row.code[0], settled)
    if not row.source:
        return found.actual == UNKNOWN
    if row.kind in _LENGTHS:
        return type(found.actual) is int
    if row.kind == "EQUALS_MATCH":
        return one_of(type(found.actual), ONE_VALUE)
    if row.kind == "ID_MATCH":
        return one_of(type(reader.reach(row.source)), _NAMED)
    return row.kind in _LEAVE_NO_CHOICE or row.source in settled


def _what_is_told(live: LiveCheck, found: Check) -> Hashable:
    """What decides about all that is told of a guard that passes."""
    row = live.row
    if row.kind in _TOLD_BY_NAME and not found.why:
        return row.source
    return row.kind, row.source, row.code


def _without_leaf(found: Check) -> Check:
    """What a guard has found, as it is found where the compiler's own part of it is not asked."""
    return msgspec.structs.replace(found, why="") if found.why == OF_A_DICT else found


def _settles(live: LiveCheck, found: Check, reader: SafeReader) -> bool:
    """Whether a guard asks for all that is told of a tensor. It asks for a device by its number and
    by its kind; there is one CPU, without a number."""
    row, actual = live.row, found.actual
    wanted = row.wants if row.kind == "TENSOR_MATCH" else None
    if wanted is None or not isinstance(actual, Tensor) or wanted.shape is None:
        return False
    known = (*wanted.shape, *(wanted.stride or ("?",) * len(wanted.shape)))
    device = wanted.device != "None" or actual.meta.device == "cpu"
    return device and "?" not in known and one_of(type(reader.reach(row.source)), TENSORS)


keep_out()
