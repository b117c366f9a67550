"""A lookup told as a walk: the entries in the order in which they were tried, and for each the
guards that were run.

An engine says what was tried (`EntryTrial`), one entry at a time and not before its turn comes: a
lookup stands still between two of them, for as long as the user looks. How an engine knows what the
lookup found is its own affair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType, MappingProxyType
from typing import Any, Generic, NamedTuple

import torch

from stepper._C import shortened
from stepper.debuggee.described import Described
from stepper.debuggee.engine import Recorder
from stepper.debuggee.occurrence import Subject
from stepper.debuggee.told_again import ToldLookup
from stepper.debuggee.walks import Walk, WalkFrame
from stepper.engines.common.choices import AnyChoice, CallChoice, Choices
from stepper.engines.common.lookup_words import MAX_TEXT, behind_note, check_notes, time_note
from stepper.engines.common.lookup_words import notes as notes_of
from stepper.engines.common.python_stack import ProgramStack
from stepper.engines.common.rebuildable import describe_whole
from stepper.model.cache import Verdict
from stepper.model.lookup import Check, CheckedGuard, TriedEntry
from stepper.model.method_names import Owner, owner_of
from stepper.model.program import Code, Instruction, PythonFrame
from stepper.model.trace import EventKind, MomentId, Outcome, Phase
from stepper.support.words import class_name, is_subclass
from stepper.support.wrapping import wrapped

ASKED_AGAIN = 16
"""Entries that are asked again at a miss whose lookup is not told: twice as many as Dynamo lets a
function have, unless its limit was raised. With four times as many a program of 70 entries would
take a fifth longer."""
HIT = "HIT"
MISS = "MISS"
ENTRY = "ENTRY"
REGION = "REGION"

Row = tuple[str, str, int | None]
"""A row of a lookup: what it is, in words, and the line of the program that it is about."""
ENDS: tuple[Row, ...] = (
    (MISS, "no entry matches", None),
    (HIT, "run the code of the entry that matches", None),
)
"""The last rows of a lookup: how it can end."""


LOOKUP_EVENTS = frozenset({EventKind.LOOKUP, EventKind.GUARD_FAIL, EventKind.HIT})
"""Occurrences for which lookups are to be told, when a breakpoint waits for one."""


def died(object: str) -> str:
    """Why an entry is not valid that can be met in a lookup; `object` is what its guards call what
    has died, empty where that is not known."""
    return f"an object that it depends on has died{f': {object}' if object else ''}"


class Call(NamedTuple):
    """A call that looks for an entry; to be dropped with the lookup."""

    code: CodeType
    f_locals: dict[str, Any]
    f_globals: dict[str, Any]
    backend: Any
    """None: any, or that of the winner."""
    winner: Any
    """The entry that serves it, as the engine's lookup has it; None: none does."""
    python_stack: tuple[PythonFrame, ...] = ()
    choice: CallChoice[Any, Any] | None = None
    """What becomes of the call, when it is a miss."""
    by_hand: bool = False
    """Whether the user makes it at a stop: then nothing of it is an event of the program's."""


class LookupWatcher(Generic[AnyChoice]):
    """Tells lookups to the recorder, from `install` on."""

    _recorder: Recorder

    def __init__(self, program_stack: ProgramStack, choices: Choices[AnyChoice]) -> None:
        self._program_stack = program_stack
        self._choices = choices

    @property
    def wanted(self) -> bool:
        """Whether lookups are to be told, those that hit too."""
        recorder = self._recorder
        return Phase.LOOKUP in recorder.walks.asked or not LOOKUP_EVENTS.isdisjoint(
            recorder.controller.wanted
        )


Told = dict[int, tuple[CheckedGuard, Check, dict[str, Described]]]
"""What was told of rows of an entry, by their places: most say the same at the next lookup."""


class EntryTrial(NamedTuple):
    """An entry that a lookup has tried."""

    label: str
    code: Code
    """Its instructions are its rows."""
    guards: Sequence[CheckedGuard]
    """What the rows check, in the same order."""
    notes: dict[str, Described]
    """The locals of the moment before it."""
    checks: Sequence[Check]
    """The rows that were asked, in order; their moments are not known yet."""
    executed: int
    """How many of its guards were run."""
    behind: Sequence[Check] = ()
    """Rows that would have failed behind the one that did."""
    reason: str = ""
    """Why it does not match; empty: it does."""
    nanoseconds: int | None = None
    """How long the compiler takes for all its guards, where it matches."""
    region: Mapping[str, Described] = MappingProxyType({})
    """The locals of the moment before its region, where there is a row for that."""
    told: Told | None = None
    """What was told of the entry before; None: nothing is remembered."""


def rows(found: Iterable[Row]) -> tuple[Instruction, ...]:
    """The rows of a lookup, or of an entry, as instructions."""
    return tuple(
        Instruction(
            index=index,
            opname=opname,
            argrepr=shortened(text, MAX_TEXT),
            line=line,
        )
        for index, (opname, text, line) in enumerate(found)
    )


def record_lookup(
    recorder: Recorder,
    call: Call,
    code: Code,
    tries: Iterable[EntryTrial],
    *,
    resume_of: str,
    winner: str,
    unserved: str = "",
    gone: str = "",
    keep: Callable[[ToldLookup], None] | None = None,
) -> int:
    """Tell a lookup, moment by moment; the last of `tries` has matched, or none has.

    Args:
        code: its instructions are the entries, and how it can end.
        resume_of: the name of the function that the called one continues; empty: it is none such.
        winner: the compile id of the entry that serves the call; empty: none does.
        unserved: why nothing is compiled although nothing matches; empty: it is.
        gone: which entry was there before, and why it is no more; empty: none is known.
        keep: takes the lookup, to be told again, if it hits and can be kept.

    Returns:
        The lookup's number.
    """
    f_locals = call.f_locals
    walk = recorder.begin_walk(
        Phase.LOOKUP,
        code,
        name=call.code.co_qualname,
        python_stack=call.python_stack,
        resume_of=resume_of,
        compile_id=winner,
        by_hand=call.by_hand,
        names=lambda frame: {"locals": f_locals, "L": f_locals, "G": call.f_globals},
        owner=_owner(f_locals.get("self")),
        wraps=wrapped(call.code, f_locals),
    )
    if keep is not None:
        walk.keep()
    try:
        _record(walk, call, code, tries, unserved, gone)
    finally:
        if walk.record.outcome is Outcome.RUNNING:
            walk.end(Outcome.MISS if call.winner is None else Outcome.HIT)
    if keep is not None and walk.record.outcome is Outcome.HIT:
        told = walk.kept(_hit_text(call.code.co_qualname, walk.record.reason))
        if told is not None:
            keep(told)
    return walk.record.id


def _owner(value: object) -> Owner | None:
    """The module whose method is called, by its `self`."""
    kind = type(value)
    return owner_of("", class_name(kind), module=is_subclass(torch.nn.Module, kind))


def _hit_text(function: str, summary: str) -> str:
    return f"{function}: {summary}"


def _record(
    walk: Walk, call: Call, code: Code, tries: Iterable[EntryTrial], unserved: str, gone: str
) -> None:
    function, by_hand = call.code.co_qualname, call.by_hand
    arguments = {f"L[{name!r}]": describe_whole(value) for name, value in call.f_locals.items()}
    frame = walk.enter(code)
    instructions = iter(code.instructions)
    reasons: list[str] = []
    executed = 0
    winner: EntryTrial | None = None
    for trial in tries:
        row = next(instructions)
        if row.opname == REGION:
            walk.moment(frame, row.index, locals={**trial.region, **arguments})
            row = next(instructions)
        executed += trial.executed
        notes = dict(trial.notes)
        if trial.behind:
            notes["also fail"] = behind_note(trial.guards, trial.behind)
        walk.moment(frame, row.index, locals=notes | arguments)
        _record_entry(walk, frame, trial, "" if by_hand else function)
        if not trial.reason:
            winner = trial
            break
        reasons.append(f"{trial.label}: {trial.reason}")
    end = next(row for row in instructions if row.opname == (MISS if winner is None else HIT))
    if winner is not None:
        summary = f"{winner.label}, {executed} guards run"
        walk.moment(frame, end.index, locals=notes_of(entry=summary) | arguments)
        if not by_hand:
            walk.occurred(EventKind.HIT, _hit_text(function, summary))
        walk.leave(frame)
        walk.end(Outcome.HIT, summary)
        return
    why = "; ".join(reasons) or gone or "nothing is compiled for this code yet"
    if unserved:
        why = f"{unserved}; {why}"
    walk.moment(frame, end.index, locals=notes_of(because=why) | arguments)
    if unserved and not by_hand:
        walk.occurred(EventKind.SKIP, f"{function}: {unserved}")
    elif reasons and not by_hand:
        walk.occurred(EventKind.MISS, f"{function}: {why}")
    if call.choice is not None and call.choice.told:
        why = f"{why}; the user chose: {call.choice.told}"
    walk.leave(frame)
    walk.end(Outcome.SKIPPED if unserved else Outcome.MISS, why)


def _record_entry(walk: Walk, parent: WalkFrame, trial: EntryTrial, function: str) -> None:
    """`function`: whose call it is, for the events; empty: there are none."""
    before = parent.last_moment
    frame = walk.enter(trial.code, parent)
    told = {} if trial.told is None else trial.told
    moments: list[MomentId] = []
    if walk.unheard:
        notes = ((each.place, _notes_again(trial, each, told)) for each in trial.checks)
        moments = walk.unheard_moments(frame, notes)
    elif not walk.idle:
        for check in trial.checks:
            walk.moment(frame, check.place, locals=_notes_again(trial, check, told))
            moments.append(frame.last_moment)
    checks = [each.at(moment) for each, moment in zip(trial.checks, moments, strict=False)]
    # First, for who stands still at the guard that fails asks what it wants.
    if before:
        tried = TriedEntry(
            before, walk.attempt, trial.label, trial.code.id, not trial.reason,
            tuple(each for each in checks if each.moment), tuple(trial.behind),
            trial.nanoseconds,
        )  # fmt: skip
        walk.tried(tried, trial.guards)
    for check in trial.checks[-1:]:
        guard = trial.guards[check.place]
        if check.verdict is Verdict.FAIL and function:
            what = f"{guard.kind} {guard.source}".strip()
            walk.occurred(
                EventKind.GUARD_FAIL,
                f"{what} of {trial.label}: {check.failure(guard)}",
                subject=Subject(kind=guard.kind, source=guard.source, name=function),
            )
    walk.leave(frame)


def _notes_again(trial: EntryTrial, check: Check, told: Told) -> dict[str, Described]:
    """The locals of the moment before a guard is asked; as they were before, but for the time,
    where all else is as it was."""
    before, guard = told.get(check.place), trial.guards[check.place]
    if before is None or before[0] is not guard or not check.says_the_same(before[1]):
        notes = check_notes(guard, check)
        told[check.place] = guard, check, notes
    elif check.nanoseconds is None or check.nanoseconds == before[1].nanoseconds:
        notes = before[2]
    else:
        notes = before[2].copy()
        notes["time"] = time_note(check.nanoseconds)
    return notes
