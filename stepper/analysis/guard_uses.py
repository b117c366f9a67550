"""One guard: what it is there for, where it came from, what it costs, and whether it is needed.

What is said of its cost comes from recorded lookups: how often it was run and failed, and its part
of the time that the guards of its entry took. Those times are of asking each guard once more from
Python; they compare guards with each other, and are longer than Dynamo's own.

A guard is *implied* when another guard of the same entry cannot pass unless this one would. Only
what follows from what the kinds check is said, by the rules below; whether it is needed at all only
an experiment could tell.
"""

from __future__ import annotations

import fnmatch
from typing import NamedTuple

import msgspec

from stepper.analysis.guard_kinds import KINDS, Kind, leaves_of
from stepper.analysis.recompiles import Origin, origin_of
from stepper.analysis.sources import path_of, unscoped
from stepper.analysis.walks import Check, compilations, lookup_checks
from stepper.analysis.wanted import Wanted, wanted_by
from stepper.model.trace import Guard, Outcome, Phase, Translation
from stepper.recording.reader import Recording

_TYPED = frozenset(
    {"TENSOR_MATCH", "EQUALS_MATCH", "CONSTANT_MATCH", "BOOL_MATCH", "NONE_MATCH",
     "SEQUENCE_LENGTH", "DICT_KEYS_MATCH", "RANGE_ITERATOR_MATCH", "TUPLE_ITERATOR_LEN"}
)  # fmt: skip
"""Kinds that pass for values of one type only."""
_CONSTANTS = frozenset({"EQUALS_MATCH", "CONSTANT_MATCH"})


class Implied(msgspec.Struct, frozen=True):
    """Another guard that cannot pass unless this one would."""

    by: Guard
    why: str


class Matched(NamedTuple):
    """A guard that was asked for, and the translation that made its entry."""

    guard: Guard
    translation: Translation


class GuardUse(msgspec.Struct, frozen=True):
    """A guard of a cache entry, and all that is known of it."""

    guard: Guard
    translation: Translation
    """That made the entry."""
    kind: Kind | None
    """None: a kind that the table does not have yet."""
    origin: Origin
    implied: Implied | None
    checks: tuple[str, ...] = ()
    """What it checks, in the compiler's words as far as it gives them away."""
    runs: int = 0
    """How often it was run in recorded lookups."""
    failures: int = 0
    nanoseconds: int = 0
    """Its checks in all those lookups together."""
    of_nanoseconds: int = 0
    """All guards of the entry in those lookups together."""
    lookups: bool = False
    """Whether lookups of its entry are in the recording."""


def entries(recording: Recording) -> list[Translation]:
    """The compilations that made cache entries, in order."""
    return [item for item in compilations(recording) if item.outcome is Outcome.COMPILED]


def guards_of(recording: Recording, entry: Translation) -> list[Guard]:
    """The guards of an entry."""
    attempts = recording.attempts(entry.id)
    return recording.guards(None, attempt=attempts[-1].id) if attempts else []


def matching(recording: Recording, wanted: str, entry: str = "") -> list[Matched]:
    """The guards that somebody means.

    Args:
        recording: what is asked.
        wanted: a guard's number; a kind, e.g. `TENSOR_MATCH`; an expression, as Dynamo or a person
            writes it; or `KIND:EXPRESSION`. A kind and an expression may have `*` and `?`.
        entry: compile id of the only entry to look at; empty: all.
    """
    return [
        Matched(guard, item)
        for item in entries(recording)
        if not entry or item.compile_id == entry
        for guard in guards_of(recording, item)
        if _means(wanted.strip(), guard)
    ]


def _means(wanted: str, guard: Guard) -> bool:
    if wanted.isdecimal():
        return guard.id == int(wanted)
    kind, colon, source = wanted.partition(":")
    if kind.upper() == kind and fnmatch.fnmatchcase(guard.kind, kind):
        return not colon or _same_source(source, guard.source)
    return not colon and _same_source(wanted, guard.source)


def _same_source(wanted: str, source: str) -> bool:
    if wanted in (source, unscoped(source)):
        return True
    if any(sign in wanted for sign in "*?"):
        pattern = wanted.replace("[", "[[]")  # an index, and no choice of letters
        return bool(source) and any(
            fnmatch.fnmatchcase(text, pattern) for text in (source, unscoped(source))
        )
    one, other = path_of(wanted), path_of(source)
    return one is not None and other is not None and one.leads_to(other) and other.leads_to(one)


class Uses:
    """Finds out what is known of guards; what those of one entry have in common is read once."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._checks: dict[int, list[list[Check]]] = {}
        self._wants: dict[int, Wanted] = {}

    def of(self, matched: Matched) -> GuardUse:
        """All that is known of a guard."""
        guard, entry = matched
        recording = self._recording
        if entry.id not in self._checks:
            self._checks[entry.id] = _checks(recording, entry)
            self._wants[entry.id] = wanted_by(recording, entry)
        checks = self._checks[entry.id]
        runs = failures = spent = of = 0
        for lookup in checks:
            mine = [check for check in lookup if _is_of(check, guard)]
            if not mine:
                continue
            runs += 1
            failures += any(check.verdict == "FAIL" for check in mine)
            spent += sum(check.nanoseconds or 0 for check in mine)
            of += sum(check.nanoseconds or 0 for check in lookup)
        return GuardUse(
            guard=guard,
            translation=entry,
            kind=KINDS.get(guard.kind),
            origin=origin_of(recording, guard),
            implied=implied_by(guard, guards_of(recording, entry)),
            checks=checked(guard, self._wants[entry.id]),
            runs=runs,
            failures=failures,
            nanoseconds=spent,
            of_nanoseconds=of,
            lookups=bool(checks),
        )


def _checks(recording: Recording, entry: Translation) -> list[list[Check]]:
    """The checks of an entry, by lookup."""
    found: list[list[Check]] = []
    for item in recording.translations():
        if (
            item.phase is Phase.LOOKUP
            and (item.name, item.filename) == (entry.name, entry.filename)
            and item.id > entry.id
        ):
            mine = [
                check for check in lookup_checks(recording, item) if check.entry == entry.compile_id
            ]
            if mine:
                found.append(mine)
    return found


def checked(guard: Guard, wants: Wanted) -> tuple[str, ...]:
    """What a guard of an entry checks: its code; of one on a tensor also what the entry wants of
    it, and in short that no dimension is marked."""
    marks = [part for part in guard.code if part.startswith("hasattr(") and "'_dynamo_" in part]
    others = [part for part in guard.code if part not in marks]
    if guard.kind == "TENSOR_MATCH":
        source = unscoped(guard.source)
        told = [
            f"{what} {value}" for (of, what), value in wants.items()
            if of == source and what not in ("type", "value", "length")
        ]  # fmt: skip
        others = [*([", ".join(told)] if told else []), *others]
    if marks:
        others.append(f"no mark on its dimensions ({len(marks)} attributes)")
    return tuple(others)


def _is_of(check: Check, guard: Guard) -> bool:
    """Whether a check of a lookup is of this guard."""
    if check.kind not in leaves_of(guard.kind):
        return False
    if any(part and part in check.text for part in guard.code):
        return True
    source = f"{guard.source}.__code__" if guard.kind == "CLOSURE_MATCH" else guard.source
    return check.source in (source, guard.source) and check.kind != "LAMBDA_GUARD"


def implied_by(guard: Guard, guards: list[Guard]) -> Implied | None:
    """Another guard of the entry that cannot pass unless this one would; None: none is known."""
    for other in guards:
        if other.id == guard.id:
            continue
        why = _why_implied(guard, other)
        if why:
            return Implied(other, why)
    return None


def _why_implied(guard: Guard, other: Guard) -> str:
    same = bool(guard.source) and other.source == guard.source
    if not leaves_of(guard.kind) and other.kind == "GLOBAL_STATE":
        return "it checks nothing itself: the global state has it"
    if (other.kind, other.source, other.code) == (guard.kind, guard.source, guard.code):
        return "it is the same check, installed before" if other.id < guard.id else ""
    if same and guard.kind == "TYPE_MATCH" and other.kind in _TYPED:
        return "it passes for this type only"
    if same and guard.kind in ("NOT_NONE_MATCH", "WEAKREF_ALIVE") and other.kind in _TYPED:
        return "" if other.kind == "NONE_MATCH" else "None does not pass it"
    if same and guard.kind == "SEQUENCE_LENGTH" and other.kind in (*_CONSTANTS, "DICT_KEYS_MATCH"):
        return "what passes it has this length"
    return _why_reached(guard, other)


def _why_reached(guard: Guard, other: Guard) -> str:
    """A guard on a part reaches it through the attribute or the key that this one is about."""
    for part in guard.code:
        if guard.kind == "HASATTR" and part.startswith("hasattr("):
            name = part.removesuffix(")").rpartition(", ")[2].strip("'\"")
            if other.source == f"{guard.source}.{name}":
                return "it cannot be reached without that attribute"
        if guard.kind == "DICT_CONTAINS" and part.startswith("___dict_contains("):
            key = part.removeprefix("___dict_contains(").partition(f", {guard.source}")[0]
            if other.source == f"{guard.source}[{key}]":
                return "it cannot be reached without that key"
    return ""
