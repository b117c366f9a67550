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
from stepper.debuggee.recorder import Recorder
from stepper.debuggee.threads import thread_name
from stepper.engines.common.lookup_walk import (
    BACKEND,
    ENDS,
    ENTRY,
    INVALID,
    Asked,
    Failed,
    Row,
    TriedEntry,
    died,
    rows,
    tell_lookup,
)
from stepper.engines.common.lookup_words import (
    also_told,
    backend_told,
    checks_text,
    entry_told,
    time_text,
)
from stepper.engines.common.rebuildable import describe_whole
from stepper.engines.native import config
from stepper.engines.native.backends import backend_name
from stepper.engines.native.cache import BOOK
from stepper.engines.native.cache_watch import DIED
from stepper.engines.native.choices import CHOICES, Choice, Refused
from stepper.engines.native.code_book import CodeBook
from stepper.engines.native.convert_frame import GuardedCode, why_given_up
from stepper.engines.native.entry_guards import ask, guard_rows
from stepper.engines.native.guard_words import Said, differences, expected_text, in_words, told
from stepper.engines.native.guards import GuardPart
from stepper.engines.native.resume_execution import info_of
from stepper.model.cache import GuardRow, Verdict
from stepper.model.program import Code, PythonFrame
from stepper.model.trace import BY_HAND, EventKind, Outcome, Phase

_EVENTS = (EventKind.LOOKUP, EventKind.GUARD_FAIL, EventKind.HIT)


class _Call(NamedTuple):
    """A call that looks up; to be dropped with the lookup."""

    code: CodeType
    f_locals: dict[str, Any]
    f_globals: dict[str, Any]
    backend: Any
    """None: any."""
    found: GuardedCode | None
    choice: Choice | None
    """What becomes of it, while that can be chosen."""
    by_hand: bool = False
    """Whether the user makes it at a stop: then nothing of it is an event of the program's."""


class LookupWatcher:
    """Tells lookups to the recorder."""

    def __init__(
        self, program_stack: Callable[[FrameType | None], tuple[PythonFrame, ...]]
    ) -> None:
        self._program_stack = program_stack
        self._recorder: Recorder
        self._codes: CodeBook
        self._listener: Callable[..., Any]

    def install(self, recorder: Recorder, codes: CodeBook, watcher: Any) -> None:
        """Listen, if somebody wants to hear. `watcher`: whom `_C.Hook` tells of trouble."""
        self._recorder = recorder
        self._codes = codes
        self._listener = _C.Hook(self._heard, recorder.walks.turn, watcher)
        self.begin_if_wanted()

    def begin_if_wanted(self) -> None:
        """Listen, if that is wanted now, and else no more."""
        wanted = self.wanted or EventKind.MISS in self._recorder.judge.wanted
        _C.set_lookup_listener(self._listener if wanted else None)

    def uninstall(self) -> None:
        """Listen no more."""
        _C.set_lookup_listener(None)

    def nothing_there(
        self, code: CodeType, f_locals: dict[str, Any], f_globals: dict[str, Any], backend: Any
    ) -> None:
        """A call is going to be captured whose code has no entries. Blocks while the program stands
        still."""
        if self.wanted:
            choice = Choice(code, f_locals, f_globals, first=True)
            with CHOICES.open(choice):
                self._tell(_Call(code, f_locals, f_globals, backend, None, choice), ())

    @property
    def wanted(self) -> bool:
        """Whether lookups are to be told, those that hit too."""
        recorder = self._recorder
        return Phase.LOOKUP in recorder.walks.asked or any(
            map(recorder.judge.wanted.__contains__, _EVENTS)
        )

    def _heard(
        self,
        code: CodeType,
        tried: tuple[Any, ...],
        f_locals: dict[str, Any],
        f_globals: dict[str, Any],
        backend: Any,
        found: Any,
        may_capture: bool,
    ) -> None:
        if found is not None and not self.wanted:
            return
        entries = [each for each in tried if isinstance(each, GuardedCode)]
        unserved = "" if found is not None or may_capture else _why_unserved(code)
        if found is not None or unserved:
            self._tell(_Call(code, f_locals, f_globals, backend, found, None), entries, unserved)
            return
        choice = Choice(code, f_locals, f_globals, first=False)
        with CHOICES.open(choice):
            self._tell(_Call(code, f_locals, f_globals, backend, None, choice), entries)

    def by_hand(
        self,
        code: CodeType,
        f_locals: dict[str, Any],
        f_globals: dict[str, Any],
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
        self._tell(call, entries, "" if winner is not None else _BY_HAND_ALONE)

    def _tell(self, call: _Call, entries: Sequence[GuardedCode], unserved: str = "") -> None:
        labels = [_label(call.code, each) for each in entries]
        found: list[Row] = [(ENTRY, label, None) for label in labels]
        code = call.code
        listed = self._codes.lookup(code, code.co_name, code.co_qualname, rows((*found, *ENDS)))
        walk = self._recorder.begin_walk(
            Phase.LOOKUP,
            listed,
            name=f"{code.co_qualname}{BY_HAND}" if call.by_hand else code.co_qualname,
            thread=thread_name(),
            python_stack=self._program_stack(sys._getframe(1)),
            resume_of=info_of(code).function,
            compile_id="" if call.found is None else _label(code, call.found),
            names=lambda frame: {"locals": call.f_locals, "L": call.f_locals, "G": call.f_globals},
        )
        arguments = {f"L[{name!r}]": describe_whole(value) for name, value in call.f_locals.items()}
        tries = self._tries(call, entries, labels)
        try:
            gone = BOOK.death(code)
            tell_lookup(
                walk, listed, code.co_qualname, arguments, tries,
                unserved=unserved, gone=gone, by_hand=call.by_hand,
            )  # fmt: skip
        finally:
            if walk.record.outcome is Outcome.RUNNING:
                walk.end(Outcome.MISS if call.found is None else Outcome.HIT)

    # -- entries -----------------------------------------------------------------------------

    def _tries(
        self, call: _Call, entries: Sequence[GuardedCode], labels: list[str]
    ) -> Iterator[TriedEntry]:
        for entry, label in zip(entries, labels, strict=True):
            yield self._try(call, entry, label)

    def _try(self, call: _Call, entry: GuardedCode, label: str) -> TriedEntry:
        listed = guard_rows(entry)
        if entry.reason is not None:
            dead = str(entry.reason).removesuffix(DIED)
            why = died(dead)
            code = self._rows(call.code, label, [(INVALID, why, None)])
            told_there = entry_told({"entry": label, "verdict": f"no match: {label}: {why}"})
            asked = Asked(0, entry_told({"verdict": "FAIL"}), Failed(INVALID, dead, why))
            return TriedEntry(label, code, told_there, (asked,), 0, why)
        report = entry.explain(call.f_locals, call.f_globals, call.backend)
        names = backend_name(entry.backend), backend_name(call.backend or entry.backend)
        verdict = Verdict.PASS if report.backend_matched else Verdict.FAIL
        refused = None if report.backend_matched else Failed(BACKEND, "", _OTHER_BACKEND)
        asked_rows = [Asked(0, backend_told(*names, verdict), refused)]
        reason = "" if entry is call.found else _UNKNOWN
        spent = 0
        reports = report.guards if report.backend_matched else ()
        if call.choice is not None and not report.backend_matched:
            call.choice.refused(Refused(entry, None, "", (), _OTHER_BACKEND))
        for index, found in enumerate(reports):
            part, said = found.guard, _said(entry, found, call)
            spent += said.nanoseconds
            failed = None
            if not said.passed:
                failed = Failed(part.kind, listed[index].source, in_words(part, said))
                reason = _refusal(part, said)
                if call.choice is not None:
                    differs = differences(part, said)
                    call.choice.refused(Refused(entry, index, part.name, differs, reason))
            asked_rows.append(Asked(1 + index, told(part, said), failed))
        if not report.backend_matched:
            reason = _OTHER_BACKEND
        heading = {
            "entry": label,
            "guards": f"{len(reports)} of {len(listed)} run" if reports else "",
            "time": time_text(spent) if reports else "",
            "verdict": f"no match: {label}: {reason}" if reason else "match",
        }
        told_there = entry_told(heading)
        if call.found is None and (also := _also(entry, call, len(reports))):
            told_there["also fail"] = also_told(also)
        found_rows: list[Row] = [(BACKEND, names[0], None)]
        found_rows += [
            (row.kind, checks_text(row, expected_text(part)), None)
            for row, (part, _) in zip(listed, entry.manager.parts, strict=True)
        ]
        code = self._rows(call.code, label, found_rows)
        return TriedEntry(label, code, told_there, tuple(asked_rows), len(reports), reason)

    def _rows(self, code: CodeType, label: str, found: list[Row]) -> Code:
        name = f"guards of {label}"
        return self._codes.lookup(code, name, name, rows(found))


_BY_HAND_ALONE = "stepped by hand, so nothing is captured and it runs as it is"
_OTHER_BACKEND = "another backend"
_UNKNOWN = "its check failed, and none of its guards alone does"


def refusals(
    code: CodeType, f_locals: dict[str, Any], f_globals: dict[str, Any], backend: Any
) -> Iterator[str]:
    """Why each entry of a code does not serve a call, in the order in which they are tried."""
    call = _Call(code, f_locals, f_globals, backend, None, None)
    for entry in _C.code_cache(code).entries:
        assert isinstance(entry, GuardedCode)
        report = entry.explain(f_locals, f_globals, backend)
        failing = next((each for each in report.guards if not each.passed), None)
        if not report.backend_matched:
            yield f"{_label(code, entry)}: {_OTHER_BACKEND}"
        elif failing is not None:
            said = _said(entry, failing, call)
            yield f"{_label(code, entry)}: {_refusal(failing.guard, said)}"


def _refusal(part: GuardPart, said: Said) -> str:
    return f"{part.kind} {part.name}".rstrip() + f": {in_words(part, said)}"


def _said(entry: GuardedCode, report: Any, call: _Call) -> Said:
    if report.error is not None:
        why = f"{type(report.error).__name__}: {report.error}"
        return Said(report.passed, report.nanoseconds, why=why)
    return _with_value(entry, report.guard, Said(report.passed, report.nanoseconds), call)


def _with_value(entry: GuardedCode, part: GuardPart, said: Said, call: _Call) -> Said:
    if not part.reachable:
        return said
    value = entry.manager.reach(part.name, call.f_locals, call.f_globals)
    return said._replace(value=value, reached=True)


def _also(entry: GuardedCode, call: _Call, asked: int) -> tuple[tuple[GuardRow, str], ...]:
    """The guards that would have failed, too, behind the one that did."""
    found = []
    for row, check in zip(
        guard_rows(entry), ask(entry, call.f_locals, call.f_globals), strict=True
    ):
        if row.index >= asked and check.verdict is Verdict.FAIL:
            part, _ = entry.manager.parts[row.index]
            said = _with_value(entry, part, Said(False, 0), call)
            found.append((row, in_words(part, said)))
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
