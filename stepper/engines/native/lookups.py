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
from types import CodeType, FrameType
from typing import Any, NamedTuple

from stepper import _C
from stepper.debuggee.engine import Recorder
from stepper.engines.common.choices import Choices
from stepper.engines.common.lookup_walk import (
    ENDS,
    ENTRY,
    EntryTrial,
    Row,
    died,
    record_lookup,
    rows,
    wants_lookups,
)
from stepper.engines.common.lookup_words import (
    backend_check,
    notes,
    time_text,
)
from stepper.engines.common.rebuildable import describe_whole
from stepper.engines.native.cache import BOOK
from stepper.engines.native.cache_watch import DIED
from stepper.engines.native.choices import Choice, Refused
from stepper.engines.native.code_table import CodeTable
from stepper.engines.native.entry_guards import ask, guard_rows, looked_at, source_of
from stepper.engines.native.guard_words import Said, checked, checked_guard
from stepper.model.cache import Verdict
from stepper.model.datum import Words
from stepper.model.lookup import BACKEND, INVALID, Check, CheckedGuard, RejectedEntry
from stepper.model.program import Code, PythonFrame
from stepper.model.trace import EventKind, Outcome, Phase
from stepper.native import config
from stepper.native.codegen.resume_info import info_of
from stepper.native.guards.guard import GuardPart
from stepper.native.runtime.backends import backend_name
from stepper.native.runtime.cache_entry import GuardedCode
from stepper.native.trace_rules import why_given_up


class _Call(NamedTuple):
    """A call that looks up; to be dropped with the lookup."""

    code: CodeType
    f_locals: dict[str, object]
    f_globals: dict[str, object]
    backend: object
    """None: any."""
    found: GuardedCode | None
    choice: Choice | None
    """What becomes of it, while that can be chosen."""
    by_hand: bool = False
    """Whether the user makes it at a stop: then nothing of it is an event of the program's."""


class LookupWatcher:
    """Tells lookups to the recorder."""

    def __init__(
        self,
        program_stack: Callable[[FrameType | None], tuple[PythonFrame, ...]],
        choices: Choices[Choice],
    ) -> None:
        self._program_stack = program_stack
        self._choices = choices
        self._recorder: Recorder
        self._codes: CodeTable
        self._listener: Callable[..., object]

    def install(self, recorder: Recorder, codes: CodeTable, watcher: Any) -> None:
        """Listen, if somebody wants to hear. `watcher`: whom `_C.Hook` tells of trouble."""
        self._recorder = recorder
        self._codes = codes
        self._listener = _C.Hook(self._heard, recorder.walks.lock, watcher)
        self.begin_if_wanted()

    def begin_if_wanted(self) -> None:
        """Listen, if that is wanted now, and else no more."""
        wanted = self.wanted or EventKind.MISS in self._recorder.controller.wanted
        _C.set_lookup_listener(self._listener if wanted else None)

    def uninstall(self) -> None:
        """Listen no more."""
        _C.set_lookup_listener(None)

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
            with self._choices.open(choice):
                self._record(_Call(code, f_locals, f_globals, backend, None, choice), ())

    @property
    def wanted(self) -> bool:
        """Whether lookups are to be told, those that hit too."""
        return wants_lookups(self._recorder)

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
        unserved = "" if found is not None or may_capture else _why_unserved(code)
        if found is not None or unserved:
            self._record(_Call(code, f_locals, f_globals, backend, found, None), entries, unserved)
            return
        choice = Choice(code, f_locals, f_globals, first=False)
        with self._choices.open(choice):
            self._record(_Call(code, f_locals, f_globals, backend, None, choice), entries)

    def by_hand(
        self,
        code: CodeType,
        f_locals: dict[str, object],
        f_globals: dict[str, object],
        winner: GuardedCode | None,
    ) -> None:
        """Tell a lookup that was made by hand, in which that entry has won."""
        entries: list[GuardedCode] = []
        for entry in _C.code_cache(code).entries:
            assert isinstance(entry, GuardedCode)
            entries.append(entry)
            if entry is winner:
                break
        backend = None if winner is None else winner.backend
        call = _Call(code, f_locals, f_globals, backend, winner, None, by_hand=True)
        self._record(call, entries, "" if winner is not None else _BY_HAND_ALONE)

    def _record(self, call: _Call, entries: Sequence[GuardedCode], unserved: str = "") -> None:
        caller = self._program_stack(sys._getframe(1))
        self._recorder.whole(self._record_walk, call, entries, unserved, caller)

    def _record_walk(
        self,
        call: _Call,
        entries: Sequence[GuardedCode],
        unserved: str,
        python_stack: tuple[PythonFrame, ...],
    ) -> None:
        labels = [_label(call.code, each) for each in entries]
        found: list[Row] = [(ENTRY, label, None) for label in labels]
        code = call.code
        listed = self._codes.lookup(code, code.co_name, code.co_qualname, rows((*found, *ENDS)))
        walk = self._recorder.begin_walk(
            Phase.LOOKUP,
            listed,
            name=code.co_qualname,
            python_stack=python_stack,
            resume_of=info_of(code).function,
            compile_id="" if call.found is None else _label(code, call.found),
            by_hand=call.by_hand,
            names=lambda frame: {"locals": call.f_locals, "L": call.f_locals, "G": call.f_globals},
        )
        arguments = {f"L[{name!r}]": describe_whole(value) for name, value in call.f_locals.items()}
        tries = self._tries(call, entries, labels)
        try:
            death = BOOK.death(code)
            gone = "" if death is None else str(death)
            record_lookup(
                walk, listed, code.co_qualname, arguments, tries,
                unserved=unserved, gone=gone,
            )  # fmt: skip
        finally:
            if walk.record.outcome is Outcome.RUNNING:
                walk.end(Outcome.MISS if call.found is None else Outcome.HIT)

    # -- entries -----------------------------------------------------------------------------

    def _tries(
        self, call: _Call, entries: Sequence[GuardedCode], labels: list[str]
    ) -> Iterator[EntryTrial]:
        for entry, label in zip(entries, labels, strict=True):
            yield self._try(call, entry, label)

    def _try(self, call: _Call, entry: GuardedCode, label: str) -> EntryTrial:
        if entry.reason is not None:
            return self._dead(call, str(entry.reason).removesuffix(DIED), label)
        listed = guard_rows(entry)
        parts = [part for part, _ in entry.manager.parts]
        report = entry.explain(call.f_locals, call.f_globals, call.backend)
        names = backend_name(entry.backend), backend_name(call.backend or entry.backend)
        guards = (
            CheckedGuard(BACKEND, "", (), Words(names[0])),
            *map(checked_guard, listed, parts),
        )
        matched = report.backend_matched
        checks = [backend_check(*names, Verdict.PASS if matched else Verdict.FAIL)]
        reason = "" if entry is call.found else _UNKNOWN if matched else _OTHER_BACKEND
        reports = report.guards if matched else ()
        refused = Refused(entry, None, "", (), _OTHER_BACKEND) if not matched else None
        for index, found in enumerate(reports):
            part, said = found.guard, _said(entry, found, call)
            check = checked(1 + index, part, said)
            checks.append(check)
            if not said.passed:
                reason = _refusal(guards[1 + index], check)
                refused = Refused(entry, index, part.name, check.differences, reason)
        if call.choice is not None and refused is not None:
            call.choice.refused(refused)
        ran = {}
        if reports:
            spent = sum(check.nanoseconds or 0 for check in checks)
            ran = {"guards": f"{len(reports)} of {len(listed)} run", "time": time_text(spent)}
        verdict = f"no match: {label}: {reason}" if reason else "match"
        return EntryTrial(
            label,
            self._rows(call.code, label, guards),
            guards,
            notes(entry=label, **ran, verdict=verdict),
            checks,
            len(reports),
            _behind(entry, call, len(reports)) if call.found is None else (),
            reason,
        )

    def _dead(self, call: _Call, dead: str, label: str) -> EntryTrial:
        why = died(dead)
        guards = (CheckedGuard(INVALID, dead, (why,)),)
        told = notes(entry=label, verdict=f"no match: {label}: {why}")
        check = Check(0, Verdict.FAIL, why=why)
        code = self._rows(call.code, label, guards)
        return EntryTrial(label, code, guards, told, (check,), 0, reason=why)

    def _rows(self, code: CodeType, label: str, guards: Sequence[CheckedGuard]) -> Code:
        name = f"guards of {label}"
        found = rows((guard.kind, guard.text, None) for guard in guards)
        return self._codes.lookup(code, name, name, found)


_BY_HAND_ALONE = "stepped by hand, so nothing is captured and it runs as it is"
_OTHER_BACKEND = "another backend"
_UNKNOWN = "its check failed, and none of its guards alone does"


def rejected(
    code: CodeType, f_locals: dict[str, object], f_globals: dict[str, object], backend: object
) -> Iterator[RejectedEntry]:
    """Why each entry of a code does not serve a call, in the order in which they are tried."""
    call = _Call(code, f_locals, f_globals, backend, None, None)
    for entry in _C.code_cache(code).entries:
        assert isinstance(entry, GuardedCode)
        report = entry.explain(f_locals, f_globals, backend)
        failing = next((each for each in report.guards if not each.passed), None)
        if not report.backend_matched:
            yield RejectedEntry(_label(code, entry), BACKEND, why=_OTHER_BACKEND)
        elif failing is not None:
            part = failing.guard
            check = checked(0, part, _said(entry, failing, call))
            why = "" if check.differences else check.why or "; ".join(part.code)
            label, source = _label(code, entry), source_of(part)
            yield RejectedEntry(label, part.kind, source, check.differences, why)


def _refusal(guard: CheckedGuard, check: Check) -> str:
    return f"{guard.kind} {guard.source}".rstrip() + f": {check.failure(guard)}"


def _said(entry: GuardedCode, report: Any, call: _Call) -> Said:
    if report.error is not None:
        why = f"{type(report.error).__name__}: {report.error}"
        return Said(report.passed, report.nanoseconds, why=why)
    return _with_value(entry, report.guard, Said(report.passed, report.nanoseconds), call)


def _with_value(entry: GuardedCode, part: GuardPart, said: Said, call: _Call) -> Said:
    value, known = looked_at(entry, part, call.f_locals, call.f_globals)
    return said._replace(value=value, reached=known)


def _behind(entry: GuardedCode, call: _Call, asked: int) -> tuple[Check, ...]:
    """The guards that would have failed, too, behind the one that did."""
    found = []
    for said in ask(entry, call.f_locals, call.f_globals):
        if said.guard >= asked and said.verdict is Verdict.FAIL:
            part, _ = entry.manager.parts[said.guard]
            found.append(
                checked(1 + said.guard, part, _with_value(entry, part, Said(False, None), call))
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
