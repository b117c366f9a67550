"""One guard: what it is there for, where it came from, what it costs, and whether it is needed.

What is said of its cost comes from recorded lookups: how often it was run and failed, and its part
of the time that the guards of its entry took. Those times are without getting to the value.

A guard is *implied* when another guard of the same entry cannot pass unless this one would. Only
what follows from what the kinds check is said, by the rules below; whether it is needed at all only
an experiment could tell.
"""

from __future__ import annotations

import fnmatch
import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from stepper.analysis.check_index import CheckIndex, whose_key, whose_tensor
from stepper.analysis.conditions import SHAPE_ENV, each_condition, same_condition
from stepper.analysis.guard_kinds import KINDS, Kind, leaves_of
from stepper.analysis.origins import Origin, origin_of
from stepper.analysis.reasons import parse_check
from stepper.analysis.shapes import same
from stepper.analysis.sources import Path, path_of, unscoped
from stepper.analysis.walks import (
    LookedUp,
    compilations,
    expressions_in,
    lookup_checks,
    lookups_by_function,
)
from stepper.analysis.wanted import Wanted, wanted_by
from stepper.model.cache import Verdict
from stepper.model.datum import UNKNOWN, Datum, text_of
from stepper.model.lookup import INVALID, CheckedGuard
from stepper.model.trace import Guard, Outcome, Translation
from stepper.recording.reader import Recording

_TYPED = frozenset(
    {"TENSOR_MATCH", "EQUALS_MATCH", "CONSTANT_MATCH", "BOOL_MATCH", "NONE_MATCH",
     "SEQUENCE_LENGTH", "DICT_KEYS_MATCH", "RANGE_ITERATOR_MATCH", "TUPLE_ITERATOR_LEN"}
)  # fmt: skip
"""Kinds that pass for values of one type only."""
_IDENTITY = "ID_MATCH"
_CONSTANTS = frozenset({"EQUALS_MATCH", "CONSTANT_MATCH"})
_WORDED_OTHERWISE = frozenset({"TENSOR_MATCH", "TYPE_MATCH", "DICT_MANAGER"})
"""Checks whose words in a lookup are others than those of the guard that makes them: it has hints,
or is told of nothing but the marks of a tensor."""
_NO_TYPES: Mapping[str, str] = MappingProxyType({})
_CLASS_NAME = re.compile(r"type=<class '(?:[^']*\.)?(\w+)'>")
"""How a guard on a type names it."""


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
    """The compilation that made the entry."""
    kind: Kind | None
    """None: a kind that the table does not have yet."""
    origin: Origin
    implied: Implied | None
    checks: tuple[str, ...] = ()
    """What it checks, in the compiler's words as far as it gives them away."""
    runs: int = 0
    """How often it was run in recorded lookups."""
    failures: int = 0
    died: int = 0
    """In how many more its object had died, so that the entry was of no use."""
    refused: tuple[Datum, ...] = ()
    """What was there when it failed, one for each time, as far as that was recorded."""
    timed: int = 0
    """In how many of them its time is recorded."""
    nanoseconds: int = 0
    """Its checks in all those together."""
    of_nanoseconds: int = 0
    """All guards of the entry in those lookups together."""
    lookups: bool = False
    """Whether lookups of its entry are in the recording."""
    recorded: bool = False
    """Whether any lookup is."""


def entries(recording: Recording) -> list[Translation]:
    """The compilations that made cache entries, in order."""
    return [item for item in compilations(recording) if item.outcome is Outcome.COMPILED]


def guards_of(recording: Recording, entry: Translation) -> list[Guard]:
    """The guards of an entry, each condition on sizes as one of its own."""
    attempts = recording.attempts(entry.id)
    if not attempts:
        return []
    last = attempts[-1].id
    return [*each_condition(recording, entry, recording.guards(None, attempt=last), last)]


def matching(recording: Recording, wanted: str, entry: str = "") -> list[Matched]:
    """The guards that somebody means.

    Args:
        recording: what is asked.
        wanted: a guard's number; a kind, e.g. `TENSOR_MATCH`; an expression, as Dynamo or a person
            writes it; or `KIND:EXPRESSION`. A kind and an expression may have `*` and `?`.
        entry: compile id of the only entry to look at; empty: all.
    """
    found = []
    path = path_of(wanted)
    for item in entries(recording):
        if entry and item.compile_id != entry:
            continue
        guards = guards_of(recording, item)
        mine = [guard for guard in guards if _means(wanted.strip(), guard)]
        # What a lookup checks has names of its own, and those are told of what failed.
        mine = mine or [guard for guard in guards if _by_leaf(wanted.strip(), guard)]
        if not mine and path is not None and (instance := of_class(path, guards)) is not None:
            mine = [guard for guard in guards if _leads_to(instance[0], guard)]
        found += [Matched(guard, item) for guard in mine]
    return found


def of_class(
    path: Path, guards: Sequence[Guard], types: Mapping[str, str] = _NO_TYPES
) -> tuple[Path, str] | None:
    """A path that begins at a class by its name, e.g. `Model.scale`, by way of the first value that
    must be an instance of it, and that value; None: no guard asks for one. `types`: the classes of
    values by their sources, as recorded."""
    for guard in guards:
        instance = path_of(guard.source) if guard.kind == "TYPE_MATCH" else None
        names = (_CLASS_NAME.search(part) for part in guard.code)
        named = any(each is not None and each[1] == path.root for each in names)
        if instance is not None and (named or types.get(guard.source) == path.root):
            steps = (*instance.steps, "type()", *path.steps)
            return Path(instance.root, steps, instance.globally), guard.source
    return None


def _leads_to(path: Path, guard: Guard) -> bool:
    found = path_of(guard.source)
    return found is not None and same(path, found)


def _by_leaf(wanted: str, guard: Guard) -> bool:
    leaf, colon, source = wanted.partition(":")
    of = any(fnmatch.fnmatchcase(each, leaf) for each in leaves_of(guard.kind))
    return of and leaf.upper() == leaf and (not colon or _same_source(source, guard.source))


def _means(wanted: str, guard: Guard) -> bool:
    if wanted.isdecimal():
        return guard.id == int(wanted)
    kind, colon, source = wanted.partition(":")
    sources: Iterable[str] = (guard.source,)
    if guard.kind == SHAPE_ENV:
        sources = (each for part in guard.code for each in (part, *expressions_in(part)))
    if kind.upper() == kind and fnmatch.fnmatchcase(guard.kind, kind):
        return not colon or any(_same_source(source, each) for each in sources)
    return not colon and any(_same_source(wanted, each) for each in sources)


def _same_source(wanted: str, source: str) -> bool:
    if wanted in (source, unscoped(source)):
        return True
    if any(sign in wanted for sign in "*?"):
        pattern = wanted.replace("[", "[[]")  # an index, and no choice of letters
        return bool(source) and any(
            fnmatch.fnmatchcase(text, pattern) for text in (source, unscoped(source))
        )
    one, other = path_of(wanted), path_of(source)
    return one is not None and other is not None and same(one, other)


class _Entry(NamedTuple):
    """What the guards of an entry have in common."""

    lookups: list[CheckIndex]
    """Its checks, lookup by lookup."""
    wants: Wanted
    """Without the sizes that a condition compares."""
    implications: Implications


class _Cost(NamedTuple):
    """What recorded lookups say of a guard; see `GuardUse`."""

    runs: int
    failures: int
    died: int
    refused: tuple[Datum, ...]
    timed: int
    nanoseconds: int
    of_nanoseconds: int


class _Lookup(NamedTuple):
    """The checks of a recorded lookup."""

    walk: int
    by_entry: dict[str, list[LookedUp]]
    """By the entry's compile id."""


class Uses:
    """Finds out what is known of guards; what those of one entry have in common is read once."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._entries: dict[int, _Entry] = {}
        self._lookups: dict[tuple[str, str], list[_Lookup]] = {}

    def cost(self, matched: Matched) -> tuple[int, int]:
        """How often recorded lookups have failed at a guard, and the nanoseconds of its checks."""
        cost = self._cost(matched)
        return cost.failures, cost.nanoseconds

    def _cost(self, matched: Matched) -> _Cost:
        guard, translation = matched
        runs = failures = died = timed = spent = of = 0
        knows_it = _IDENTITY in leaves_of(guard.kind)
        refused: list[Datum] = []
        for lookup in self._entry(translation).lookups:
            near = lookup.candidates(guard)
            mine = [
                each
                for each in near
                if is_of(each.guard, guard) or lookup.is_of_dict(each.guard, guard)
            ]
            died += knows_it and any(each.guard.kind == INVALID for each in near)
            if not mine:
                continue
            runs += 1
            failed = [each.check for each in mine if each.check.verdict is Verdict.FAIL]
            failures += bool(failed)
            refused += [each.actual for each in failed if each.actual != UNKNOWN]
            times = [each.check.nanoseconds for each in mine]
            timed += any(time is not None for time in times)
            spent += sum(time or 0 for time in times)
            of += lookup.nanoseconds
        return _Cost(runs, failures, died, tuple(refused), timed, spent, of)

    def of(self, matched: Matched) -> GuardUse:
        """All that is known of a guard."""
        guard, translation = matched
        entry, cost = self._entry(translation), self._cost(matched)
        return GuardUse(
            guard=guard,
            translation=translation,
            kind=KINDS.get(guard.kind),
            origin=origin_of(self._recording, guard),
            implied=entry.implications.of(guard),
            checks=checked(guard, entry.wants, self._tensor_of(entry, guard)),
            lookups=bool(entry.lookups),
            recorded=bool(self._recording.lookups()),
            runs=cost.runs,
            failures=cost.failures,
            died=cost.died,
            refused=cost.refused,
            timed=cost.timed,
            nanoseconds=cost.nanoseconds,
            of_nanoseconds=cost.of_nanoseconds,
        )

    def _tensor_of(self, entry: _Entry, guard: Guard) -> Datum:
        """What a guard on a tensor compares, as a lookup has it: what the graph has no input of
        shows nothing else."""
        if guard.kind == "TENSOR_MATCH":
            for lookup in entry.lookups:
                for each in lookup.candidates(guard):
                    if each.guard.kind == guard.kind and is_of(each.guard, guard):
                        return each.guard.expected
        return UNKNOWN

    def _entry(self, translation: Translation) -> _Entry:
        found = self._entries.get(translation.id)
        if found is None:
            recording = self._recording
            guards = guards_of(recording, translation)
            conditions = (
                each for guard in guards if guard.kind == SHAPE_ENV for each in guard.code
            )
            compared = (parse_check(unscoped(each)) for each in conditions)
            fixed = {each[0] for each in compared if each is not None}
            found = self._entries[translation.id] = _Entry(
                [CheckIndex(checks) for checks in self.checks(translation)],
                {
                    (source, aspect): value
                    for (source, aspect), value in wanted_by(recording, translation).items()
                    if f"{source}.{aspect.what}()[{aspect.at}]" not in fixed
                },
                Implications(guards),
            )
        return found

    def checks(self, entry: Translation) -> list[list[LookedUp]]:
        """The checks of an entry, by lookup."""
        key = (entry.name, entry.filename)
        if key not in self._lookups:
            self._lookups[key] = [
                _looked_up(self._recording, item)
                for item in lookups_by_function(self._recording).get(key, ())
            ]
        return [
            lookup.by_entry[entry.compile_id]
            for lookup in self._lookups[key]
            if entry.id < lookup.walk < self._next(entry) and entry.compile_id in lookup.by_entry
        ]

    def _next(self, entry: Translation) -> float:
        """The next entry of the function with this compile id: a reset begins to count anew."""
        key = (entry.name, entry.filename, entry.compile_id)
        ids = self._recording.derived(_by_compile_id).get(key, [])
        later = bisect_right(ids, entry.id)
        return ids[later] if later < len(ids) else math.inf


def _by_compile_id(recording: Recording) -> dict[tuple[str, str, str], list[int]]:
    """The entries of each function with each compile id, in order."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for each in entries(recording):
        found.setdefault((each.name, each.filename, each.compile_id), []).append(each.id)
    return found


def _looked_up(recording: Recording, lookup: Translation) -> _Lookup:
    found = _Lookup(lookup.id, {})
    for check in lookup_checks(recording, lookup):
        found.by_entry.setdefault(check.entry, []).append(check)
    return found


def checked(guard: Guard, wants: Wanted, tensor: Datum | None = None) -> tuple[str, ...]:
    """What a guard of an entry checks: its code; of one on a tensor also what the entry wants of
    it, or `tensor`, and in short that no dimension is marked. (Where the program filters guards,
    Dynamo builds them twice, and has their code twice.)"""
    code = list(dict.fromkeys(guard.code))
    marks = [part for part in code if part.startswith("hasattr(") and "'_dynamo_" in part]
    others = [part for part in code if part not in marks]
    if guard.kind == "TENSOR_MATCH":
        source = unscoped(guard.source)
        told = [
            f"{aspect} {text_of(value)}" for (of, aspect), value in wants.items()
            if of == source and aspect.what not in ("type", "value", "length")
        ]  # fmt: skip
        if not told and tensor is not None:
            unknown = "the tensor itself: what of it, is not recorded"
            told = [unknown if tensor == UNKNOWN else text_of(tensor)]
        others = [*([", ".join(told)] if told else []), *others]
    if marks:
        others.append(f"no mark on its dimensions ({len(marks)} attributes)")
    return tuple(others)


def is_of(check: CheckedGuard, guard: Guard) -> bool:
    """Whether what a lookup has checked is this guard: it has the guard's words, or, where those of
    the two are never the same, it is of a kind that such a guard makes, on the guard's value."""
    # What a lookup of the native engine checks is the guard itself, and has its kind.
    of_its_kind = check.kind == guard.kind or check.kind in leaves_of(guard.kind)
    if guard.kind == SHAPE_ENV:
        return of_its_kind and same_condition(guard, check.code)
    if set(guard.code) & set(check.code):
        return True
    if guard.kind == "DICT_KEYS_MATCH" and whose_key(check.source) == guard.source:
        return True
    if guard.code and check.kind not in _WORDED_OTHERWISE:
        return False
    source = f"{guard.source}.__code__" if guard.kind == "CLOSURE_MATCH" else guard.source
    return of_its_kind and whose_tensor(check) in (source, guard.source)


class Implications:
    """Which guards of an entry cannot pass unless another one would.

    What can imply a guard looks at the same value, at a part of it, or at the global state; so only
    those are compared.
    """

    def __init__(self, guards: Sequence[Guard]) -> None:
        self._by_source: dict[str, list[Guard]] = {}
        self._order = {guard.id: at for at, guard in enumerate(guards)}
        self._global = [guard for guard in guards if guard.kind == "GLOBAL_STATE"]
        for guard in guards:
            self._by_source.setdefault(guard.source, []).append(guard)

    def of(self, guard: Guard) -> Implied | None:
        """The first other guard that cannot pass unless this one would; None: none is known."""
        sources = dict.fromkeys((guard.source, *_parts_reached(guard)))
        others = [other for each in sources for other in self._by_source.get(each, ())]
        if not leaves_of(guard.kind):
            others += self._global
        for other in sorted(others, key=lambda other: self._order[other.id]):
            why = _why_implied(guard, other) if other.id != guard.id else ""
            if why:
                return Implied(other, why)
        return None


def _why_implied(guard: Guard, other: Guard) -> str:
    same = bool(guard.source) and other.source == guard.source
    if not leaves_of(guard.kind) and other.kind == "GLOBAL_STATE":
        return "it checks nothing itself: the global state has it"
    alike = (other.source, other.code) == (guard.source, guard.code)
    if alike and (guard.code or other.kind == guard.kind):
        return "it is the same check, installed before" if other.id < guard.id else ""
    if same and guard.kind == "TYPE_MATCH" and other.kind in _TYPED:
        return "it passes for this type only"
    if same and guard.kind in ("NOT_NONE_MATCH", "WEAKREF_ALIVE") and other.kind in _TYPED:
        return "" if other.kind == "NONE_MATCH" else "None does not pass it"
    if same and guard.kind == "SEQUENCE_LENGTH" and other.kind in (*_CONSTANTS, "DICT_KEYS_MATCH"):
        return "what passes it has this length"
    return _parts_reached(guard).get(other.source, "")


def _parts_reached(guard: Guard) -> dict[str, str]:
    """The sources that cannot be reached unless a guard on an attribute or a key would pass, each
    with why."""
    found: dict[str, str] = {}
    for part in guard.code:
        if guard.kind == "HASATTR" and part.startswith("hasattr("):
            name = part.removesuffix(")").rpartition(", ")[2].strip("'\"")
            found[f"{guard.source}.{name}"] = "it cannot be reached without that attribute"
        if guard.kind == "DICT_CONTAINS" and part.startswith("___dict_contains("):
            key = part.removeprefix("___dict_contains(").partition(f", {guard.source}")[0]
            found[f"{guard.source}[{key}]"] = "it cannot be reached without that key"
    return found
