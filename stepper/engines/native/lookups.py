"""Lookups in the cache of `stepper._C`, told as walks.

The frame hook tells its listener of each lookup when it is over and nothing of the program has run
since (`_C.set_lookup_listener`): which entries there were, in the order in which they were tried,
and which one was found. What each of their guards said the verbose lookup of an entry says: it asks
them once more, one by one up to the first that fails. Guards read what their values hold and run no
code of the program, so asking again changes nothing.

A call of code that has no entry yet looks nothing up; that there was nothing to find is told when
its translation begins. While nobody asks for lookups there is no listener, and nothing costs
anything.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter_ns
from types import CodeType, FrameType
from typing import Any, NamedTuple

from stepper import _C
from stepper.debuggee.engine import Recorder
from stepper.engines.common import lookup_walk
from stepper.engines.common.choices import Refusal
from stepper.engines.common.lookup_walk import (
    ASKED_AGAIN,
    ENDS,
    ENTRY,
    Call,
    EntryTrial,
    Row,
    died,
    record_lookup,
    rows,
)
from stepper.engines.common.lookup_words import (
    OTHER_BACKEND,
    backend_check,
    entry_notes,
    refusal_text,
)
from stepper.engines.native.cache import BOOK, KnownEntry
from stepper.engines.native.cache_watch import DIED
from stepper.engines.native.choices import Choice
from stepper.engines.native.code_table import CodeTable
from stepper.engines.native.entry_guards import (
    GuardReport,
    ask,
    explain,
    guard_rows,
)
from stepper.engines.native.guard_words import Said, checked, checked_guard, with_value
from stepper.engines.native.repeated_hits import RepeatedHits
from stepper.model.cache import GuardRow, Verdict
from stepper.model.datum import Words
from stepper.model.lookup import BACKEND, INVALID, Check, CheckedGuard, UnmetEntry
from stepper.model.program import Code
from stepper.model.trace import EventKind
from stepper.native import config
from stepper.native.codegen.resume_info import info_of
from stepper.native.runtime.backends import backend_name
from stepper.native.runtime.cache_entry import GuardedCode
from stepper.native.trace_rules import why_given_up


class LookupWatcher(lookup_walk.LookupWatcher[Choice]):
    """Tells lookups to the recorder."""

    _codes: CodeTable
    _listener: Callable[..., object]
    _repeated: RepeatedHits

    def install(self, recorder: Recorder, codes: CodeTable, watcher: Any) -> None:
        """Listen, if somebody wants to hear. `watcher`: whom `_C.Hook` tells of trouble."""
        self._recorder = recorder
        self._codes = codes
        self._repeated = RepeatedHits()
        self._listener = _C.Hook(self._heard, recorder.walks.lock, watcher)
        self.begin_if_wanted()

    def begin_if_wanted(self) -> None:
        """Listen, if that is wanted now, and else no more."""
        wanted = self.wanted or EventKind.MISS in self._recorder.controller.wanted
        _C.set_lookup_listener(self._listener if wanted else None)

    def uninstall(self) -> None:
        """Listen no more."""
        _C.set_lookup_listener(None)
        self._repeated = RepeatedHits()  # what is kept goes

    def nothing_there(
        self,
        code: CodeType,
        f_locals: dict[str, object],
        f_globals: dict[str, object],
        backend: object,
    ) -> None:
        """A call is going to be captured whose code has no entries. Blocks while the program stands
        still."""
        if self.wanted:
            choice = Choice(code, f_locals, f_globals, first=True)
            stack = self._program_stack(sys._getframe(0))
            with self._choices.open(choice):
                self._record(Call(code, f_locals, f_globals, backend, None, stack, choice), ())

    def _heard(
        self,
        code: CodeType,
        tried: tuple[object, ...],
        f_locals: dict[str, object],
        f_globals: dict[str, object],
        backend: object,
        found: Any,
        may_capture: bool,
    ) -> None:
        if found is not None and not self.wanted:
            return
        entries = [each for each in tried if isinstance(each, GuardedCode)]
        began = perf_counter_ns()
        stack = self._program_stack(sys._getframe(0))
        call = Call(code, f_locals, f_globals, backend, found, stack)
        if entries == [found] and self._repeated.tell(self._recorder, call, began) is not None:
            return
        unserved = "" if found is not None or may_capture else _why_unserved(code)
        if found is not None or unserved:
            self._record(call, entries, unserved)
            return
        choice = Choice(code, f_locals, f_globals, first=False)
        with self._choices.open(choice):
            self._record(call._replace(choice=choice), entries)

    def by_hand(
        self,
        code: CodeType,
        f_locals: dict[str, object],
        f_globals: dict[str, object],
        known: KnownEntry | None,
        caller: FrameType | None,
    ) -> None:
        """Tell a lookup that was made by hand, in which that entry has won."""
        winner = None if known is None else known.ref()
        entries: list[GuardedCode] = []
        for entry in _C.code_cache(code).entries:
            assert isinstance(entry, GuardedCode)
            entries.append(entry)
            if entry is winner:
                break
        backend = None if winner is None else winner.backend
        stack = self._program_stack(sys._getframe(0))
        call = Call(code, f_locals, f_globals, backend, winner, stack, by_hand=True)
        self._record(call, entries, "" if winner is not None else _BY_HAND_ALONE)

    def _record(self, call: Call, entries: Sequence[GuardedCode], unserved: str = "") -> None:
        self._recorder.whole(self._record_walk, call, entries, unserved)

    def _record_walk(self, call: Call, entries: Sequence[GuardedCode], unserved: str) -> None:
        labels = [_label(call.code, each) for each in entries]
        found: list[Row] = [(ENTRY, label, None) for label in labels]
        code, death = call.code, BOOK.death(call.code)
        first = not call.by_hand and len(entries) == 1 and entries[0] is call.winner
        timed = not first or self._repeated.measures(entries[0])
        asked: list[Check] = []
        record_lookup(
            self._recorder,
            call,
            self._codes.lookup(code, code.co_name, code.co_qualname, rows((*found, *ENDS))),
            self._tries(call, entries, labels, asked, timed=timed),
            resume_of=info_of(code).function,
            winner="" if call.winner is None else _label(code, call.winner),
            unserved=unserved,
            gone="" if death is None else str(death),
            keep=None if timed else lambda told: self._repeated.keep_if_alike(call, asked, told),
        )

    # -- entries -----------------------------------------------------------------------------

    def _tries(
        self,
        call: Call,
        entries: Sequence[GuardedCode],
        labels: list[str],
        asked: list[Check],
        *,
        timed: bool,
    ) -> Iterator[EntryTrial]:
        """`asked`: takes what the guards of the last one said."""
        for entry, label in zip(entries, labels, strict=True):
            trial = self._try(call, entry, label, timed=timed)
            asked[:] = trial.checks[1:]
            yield trial

    def _try(self, call: Call, entry: GuardedCode, label: str, *, timed: bool) -> EntryTrial:
        if entry.reason is not None:
            return self._dead(call, str(entry.reason).removesuffix(DIED), label)
        listed = guard_rows(entry)
        guards, checks, behind, matched = _asked(entry, call, listed, timed=timed)
        reason = "" if entry is call.winner else _UNKNOWN if matched else OTHER_BACKEND
        refused = Refusal(entry, None, (), OTHER_BACKEND) if not matched else None
        reports = checks[1:]
        for index, check in enumerate(reports):
            if check.verdict is Verdict.FAIL:
                reason = refusal_text(guards[1 + index], check)
                refused = Refusal(entry, listed[index], check.differences, reason)
        if call.choice is not None and refused is not None:
            call.choice.refused(refused)
        asked, of = checks if reports else None, len(listed)
        return EntryTrial(
            label,
            self._rows(call.code, label, guards),
            guards,
            entry_notes(label, reason, asked, len(reports), of),
            checks,
            len(reports),
            behind,
            reason,
        )

    def _dead(self, call: Call, dead: str, label: str) -> EntryTrial:
        why = died(dead)
        guards, check = (CheckedGuard(INVALID, dead, (why,)),), Check(0, Verdict.FAIL, why=why)
        told = entry_notes(label, why)
        code = self._rows(call.code, label, guards)
        return EntryTrial(label, code, guards, told, (check,), 0, reason=why)

    def _rows(self, code: CodeType, label: str, guards: Sequence[CheckedGuard]) -> Code:
        name = f"guards of {label}"
        found = rows((guard.kind, guard.text, None) for guard in guards)
        return self._codes.lookup(code, name, name, found)


_BY_HAND_ALONE = "stepped by hand, so nothing is captured and it runs as it is"
_UNKNOWN = "its check failed, and none of its guards alone does"


def unmet(
    code: CodeType, f_locals: dict[str, object], f_globals: dict[str, object], backend: object
) -> Iterator[UnmetEntry]:
    """The entries of a code that do not serve a call, in the order in which they are tried, with
    what failed; where there are none, the newest if it is gone since an object died."""
    call = Call(code, f_locals, f_globals, backend, None)
    entries = _C.code_cache(code).entries
    for entry in entries[:ASKED_AGAIN]:
        assert isinstance(entry, GuardedCode)
        asked = _asked(entry, call, guard_rows(entry))
        yield UnmetEntry.of(_label(code, entry), asked.guards, (*asked.checks, *asked.behind))
    if not entries and (death := BOOK.death(code)) is not None:
        yield death


class _Asked(NamedTuple):
    """An entry whose guards were asked."""

    guards: tuple[CheckedGuard, ...]
    checks: list[Check]
    behind: tuple[Check, ...]
    backend_matched: bool


def _asked(
    entry: GuardedCode, call: Call, listed: tuple[GuardRow, ...], *, timed: bool = True
) -> _Asked:
    """`timed`: whether guards of which it is known that they pass are asked how long they take."""
    parts = [part for part, _ in entry.manager.parts]
    names = backend_name(entry.backend), backend_name(call.backend or entry.backend)
    guards = (CheckedGuard(BACKEND, "", (), Words(names[0])), *map(checked_guard, listed, parts))
    if not timed and entry is call.winner:
        seen = (with_value(entry, part, Said(True, None), call) for part in parts)
        found = map(checked, range(1, len(parts) + 1), parts, seen)
        return _Asked(guards, [backend_check(*names, Verdict.PASS), *found], (), True)
    report = explain(entry, call.f_locals, call.f_globals, call.backend)
    matched = report.backend_matched
    checks = [backend_check(*names, Verdict.PASS if matched else Verdict.FAIL)]
    reports = report.guards if matched else ()
    for place, each in enumerate(reports, 1):
        checks.append(checked(place, each.guard, _said(entry, each, call)))
    behind = _behind(entry, call, len(reports)) if call.winner is None else ()
    return _Asked(guards, checks, behind, matched)


def _said(entry: GuardedCode, report: GuardReport, call: Call) -> Said:
    if report.error:
        return Said(report.passed, report.nanoseconds, why=report.error)
    return with_value(entry, report.guard, Said(report.passed, report.nanoseconds), call)


def _behind(entry: GuardedCode, call: Call, asked: int) -> tuple[Check, ...]:
    """The guards that would have failed, too, behind the one that did."""
    found = []
    for said in ask(entry, call.f_locals, call.f_globals):
        if said.guard >= asked and said.verdict is Verdict.FAIL:
            part, _ = entry.manager.parts[said.guard]
            found.append(
                checked(1 + said.guard, part, with_value(entry, part, Said(False, None), call))
            )
    return tuple(found)


def _label(code: CodeType, entry: GuardedCode) -> str:
    known = BOOK.recognize(BOOK.know(code), entry)
    return known.facts.compile_id or f"entry {known.id}"


def _why_unserved(code: CodeType) -> str:
    """Why a call runs the code as it is that none of its entries serves."""
    if _C.get_skip(code) != "capture":
        return "only entries that exist are used now, so nothing is captured"
    if len(_C.code_cache(code)) >= config.cache_size_limit:
        return "the cache size limit was reached, so nothing is captured any more"
    return f"its translation was given up ({why_given_up(code)})"
