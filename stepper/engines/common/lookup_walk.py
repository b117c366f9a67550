"""A lookup told as a walk: the entries in the order in which they were tried, and for each the
guards that were run.

An engine says what was tried (`TriedEntry`), one entry at a time and not before its turn comes: a
lookup stands still between two of them, for as long as the user looks. How an engine knows what the
lookup found is its own affair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from stepper.debuggee.engine import Subject
from stepper.debuggee.in_view import Described
from stepper.debuggee.walks import Walk, WalkFrame
from stepper.engines.common.lookup_words import MAX_TEXT, entry_told
from stepper.model.program import Code, Instruction
from stepper.model.trace import EventKind, Outcome

HIT = "HIT"
MISS = "MISS"
ENTRY = "ENTRY"
REGION = "REGION"
BACKEND = "BACKEND"
INVALID = "INVALID"

Row = tuple[str, str, int | None]
"""A row of a lookup: what it is, in words, and the line of the program that it is about."""
ENDS: tuple[Row, ...] = (
    (MISS, "no entry matches", None),
    (HIT, "run the code of the entry that matches", None),
)
"""The last rows of a lookup: how it can end."""


def died(object: str) -> str:
    """Why an entry is not valid that can be met in a lookup; `object` is what its guards call what
    has died, empty where that is not known."""
    return f"an object that it depends on has died{f': {object}' if object else ''}"


class Failed(NamedTuple):
    """Why a row of an entry says no."""

    kind: str
    source: str
    text: str


class Asked(NamedTuple):
    """A row of an entry, about to be asked."""

    row: int
    told: dict[str, Described]
    """The locals of its moment."""
    failed: Failed | None = None


class TriedEntry(NamedTuple):
    """An entry that a lookup has tried."""

    label: str
    code: Code
    """Its instructions are its rows."""
    told: dict[str, Described]
    """The locals of the moment before it."""
    asked: tuple[Asked, ...]
    executed: int
    """How many of its guards were run."""
    reason: str = ""
    """Why it does not match; empty: it does."""
    region: Mapping[str, Described] = MappingProxyType({})
    """The locals of the moment before its region, where there is a row for that."""


def rows(found: Iterable[Row]) -> tuple[Instruction, ...]:
    """The rows of a lookup, or of an entry, as instructions."""
    return tuple(
        Instruction(
            index=index,
            opname=opname,
            argrepr=text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…",
            line=line,
        )
        for index, (opname, text, line) in enumerate(found)
    )


def tell_lookup(
    walk: Walk,
    code: Code,
    function: str,
    arguments: dict[str, Described],
    tries: Iterable[TriedEntry],
    *,
    unserved: str = "",
    gone: str = "",
    chosen: Callable[[], str] = str,
    by_hand: bool = False,
) -> None:
    """Tell a lookup, moment by moment; the last of `tries` has matched, or none has.

    Args:
        code: its instructions are the entries, and how it can end.
        function: whose call it is.
        arguments: the call's, as they are shown beside the entries.
        unserved: why nothing is compiled although nothing matches; empty: it is.
        gone: which entry was there before, and why it is no more; empty: none is known.
        chosen: at its end, what the user has chosen to become of the call; empty: to go on.
        by_hand: the user makes it at a stop: nothing of it is an event of the program's.
    """
    frame = walk.enter(code)
    instructions = iter(code.instructions)
    reasons: list[str] = []
    executed = 0
    winner: TriedEntry | None = None
    subject = Subject(name=function)
    for tried in tries:
        row = next(instructions)
        if row.opname == REGION:
            walk.moment(frame, row.index, locals={**tried.region, **arguments})
            row = next(instructions)
        executed += tried.executed
        walk.moment(frame, row.index, locals=tried.told | arguments)
        _tell_entry(walk, frame, tried, "" if by_hand else function)
        if not tried.reason:
            winner = tried
            break
        reasons.append(f"{tried.label}: {tried.reason}")
    end = next(row for row in instructions if row.opname == (MISS if winner is None else HIT))
    if winner is not None:
        summary = f"{winner.label}, {executed} guards run"
        walk.moment(frame, end.index, locals=entry_told({"entry": summary}) | arguments)
        if not by_hand:
            walk.occurred(EventKind.HIT, f"{function}: {summary}")
        walk.leave(frame)
        walk.end(Outcome.HIT, summary)
        return
    why = "; ".join(reasons) or gone or "nothing is compiled for this code yet"
    if unserved:
        why = f"{unserved}; {why}"
    walk.moment(frame, end.index, locals=entry_told({"because": why}) | arguments)
    if unserved and not by_hand:
        walk.occurred(EventKind.SKIP, f"{function}: {unserved}", subject=subject)
    elif reasons and not by_hand:
        walk.occurred(EventKind.MISS, f"{function}: {why}", subject=subject)
    if told := chosen():
        why = f"{why}; the user chose: {told}"
    walk.leave(frame)
    walk.end(Outcome.SKIPPED if unserved else Outcome.MISS, why)


def _tell_entry(walk: Walk, parent: WalkFrame, tried: TriedEntry, function: str) -> None:
    """`function`: whose call it is, for the events; empty: there are none."""
    frame = walk.enter(tried.code, parent)
    for asked in tried.asked:
        walk.moment(frame, asked.row, locals=asked.told)
        if asked.failed is not None and function:
            kind, source, text = asked.failed
            walk.occurred(
                EventKind.GUARD_FAIL,
                f"{' '.join(filter(None, (kind, source)))} of {tried.label}: {text}",
                subject=Subject(kind=kind, source=source, name=function),
            )
    walk.leave(frame)
