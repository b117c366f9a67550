"""Why functions were compiled again.

A call finds no entry: each entry has a guard that fails. Which, what each wanted and what was
there, and what would have failed besides is recorded with the lookup, or else with the compilation.
Where it is not, of some entries of a function that has very many, there are at most Dynamo's words
on the entry that it tried first.

Recompilations of one function are read together: what differed from the *nearest* entry, the one
with the fewest things in its way, is what a series is made of.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from operator import attrgetter
from typing import NamedTuple, overload

import msgspec

from stepper.analysis.bases import with_bases
from stepper.analysis.conditions import (
    LEAVES,
    SHAPE_ENV,
    as_installed,
    is_condition,
)
from stepper.analysis.origins import Origin, origin_of
from stepper.analysis.reasons import (
    A_TENSOR,
    FITS,
    MARKED,
    METADATA,
    NEXT,
    OF_A_DEVICE,
    SPEC,
    Reason,
    parse_check,
    reasons_in,
    reasons_of,
)
from stepper.analysis.sites import in_compiler
from stepper.analysis.sources import CODE, FROM_NUMPY, Path, path_of, unscoped
from stepper.analysis.unmet_guards import (
    AUTOCAST,
    GRADIENT_KEYS,
    Failure,
    conditions_behind,
    explained,
    failure_at,
    installed,
    said_failure,
    under_a_mode,
    with_state,
)
from stepper.analysis.walks import (
    Calls,
    compilations,
    compiled_again,
    expressions_in,
    free_variables,
)
from stepper.analysis.wanted import (
    Wanted,
    Wants,
    symbolic,
    wants_by,
)
from stepper.client.meant import is_meant
from stepper.model.cache import Verdict
from stepper.model.datum import UNKNOWN, Datum, Many, Tensor, Words, alike
from stepper.model.lookup import INVALID, Aspect, Check, CheckedGuard, Difference
from stepper.model.trace import (
    EventKind,
    Guard,
    MomentId,
    Outcome,
    Translation,
    limit_named,
)
from stepper.recording.reader import Recording
from stepper.recording.recent import Recent

_SIZE = re.compile(r"\b[LG]\['[^()]*\.size\(\)\[\d+\]")
"""A size of a tensor in a condition, as Dynamo words it."""

_METHOD = ".__func__"
_OF_DYNAMO = ((), (_METHOD,), (CODE,), (_METHOD, CODE))
"""How guards look at what a function of Dynamo's own wraps, which can be a bound method."""
_SIZES = ("size", "stride")
_MADE_BY = {METADATA: METADATA, SPEC: SPEC, MARKED: "TENSOR_MATCH"}
"""Leaf guards of which the compiler does not say what they look at, by Dynamo's guards that make
them."""
_REFUSED = "RecompileError"
STRIDE = ".stride()"

_A_TENSOR = Words(A_TENSOR)
_OF_NUMPY = Words("a value of numpy")
"""An array or a number: Dynamo takes both as tensors, and has one guard for them."""
_NONE = Words("NoneType")
_NUMBERS = (int, float)
_FEW = 8
"""Entries of which all are looked into for the nearest: as many as Dynamo lets a function have."""
_WANTED = 512
"""Compilations of which it is kept what they want: functions are told one after the other."""


class Tried(msgspec.Struct, frozen=True, dict=True):
    """An entry that did not match."""

    entry: str
    """Its compile id."""
    translation: int | None
    """The translation that made it, when it was recorded."""
    failures: tuple[Failure, ...]
    """Empty: it is not known why."""
    unasked: tuple[str, ...] = ()
    """On what it has guards that cannot be asked again, where nothing that was asked has failed."""

    @cached_property
    def changes(self) -> list[Change]:
        return changes_of(self)  # once, since each later call is compared with these

    @property
    def relation(self) -> Failure | None:
        """The condition about several values that failed first; None: something else did."""
        first = self.failures[0] if self.failures else None
        if first is None or first.differences or first.source or not first.text or self.fits:
            return None
        return first

    @property
    def fits(self) -> bool:
        """Whether nothing fails by the time that the compiler looks for what has."""
        return bool(self.failures) and self.failures[0].text == FITS


def made_by_another(recording: Recording, item: Translation, fitting: Tried) -> str:
    """The thread that made an entry which fits by the time that a call has one more compiled, where
    it is another than the call's; empty: it is the same, or not recorded."""
    made = fitting.translation if fitting.fits else None
    thread = "" if made is None else recording.translation(made).thread
    return thread if thread != item.thread else ""


class Entries(Sequence[Tried]):
    """Entries that were tried, each looked into when somebody wants it: a function that was
    compiled a thousand times has been compared with tens of thousands, and few of them are told."""

    def __init__(self, looks: Sequence[Callable[[], Tried]]) -> None:
        self._looks = looks
        self._seen: dict[int, Tried] = {}

    def __len__(self) -> int:
        return len(self._looks)

    @overload
    def __getitem__(self, at: int) -> Tried: ...
    @overload
    def __getitem__(self, at: slice) -> list[Tried]: ...
    def __getitem__(self, at: int | slice) -> Tried | list[Tried]:
        places = range(len(self))[at]
        return self._at(places) if isinstance(places, int) else [*map(self._at, places)]

    def _at(self, at: int) -> Tried:
        if at not in self._seen:
            self._seen[at] = self._looks[at]()
        return self._seen[at]


Asked = tuple[CheckedGuard, Check]
"""A guard of an entry, and what came of asking it again."""

Met = set[tuple[str, str, Difference]]
"""Entries, each with a source and in what a call differed from it."""


_RESULTS = {
    Outcome.SKIPPED: "skipped",
    Outcome.RUNNING: "being compiled",
    Outcome.CUT_OFF: "cut off",
}


class Recompilation(msgspec.Struct, frozen=True, dict=True):
    """A call that no entry fitted, so that its function was compiled again, or given up."""

    translation: Translation
    lookup: Translation | None
    """None: lookups were not recorded."""
    find_tried: Callable[[], Sequence[Tried]]
    limit: str = ""
    """Dynamo's words, when it would not compile any more."""
    find_wanted: Callable[[], list[Wanted]] = list
    """What the entries want that were made before."""
    find_made: Callable[[], Wanted] = dict
    """What the entry wants that it made."""
    find_met: Callable[[], Met] = set
    """What calls before this one did not pass of an entry, and for which one was made."""

    @cached_property
    def tried(self) -> Sequence[Tried]:
        """The entries, in the order in which they were tried, as far as that is known."""
        return self.find_tried()

    @property
    def limit_name(self) -> str:
        """The name of the setting that is the limit; empty: the words do not say it."""
        return limit_named(self.limit)

    @property
    def failed(self) -> bool:
        """Whether the call was an error instead."""
        return self.translation.outcome is Outcome.FAILED

    @property
    def result(self) -> str:
        """What became of it: `compiled`, `failed`, `given up`; `skipped`: the compiler did not take
        the frame this time; `being compiled` or `cut off`: that is not known yet, or never was."""
        if self.failed:
            return "failed"
        if self.limit:
            return "given up"
        return _RESULTS.get(self.translation.outcome, "compiled")

    @cached_property
    def nearest(self) -> Tried | None:
        """The entry with the fewest things in its way, of those where one is new: what another
        entry was made for is not why one more is, nor is another function that is wrapped, and an
        entry for another type is not the one where there is one for this. What changes alike is one
        thing, and of two entries with as many the one is nearer that was made for the same types,
        then the one that lets the call come further into a value."""
        wanted = self.find_wanted() if len(self.tried) > 1 else []
        met = self.find_met() if 1 < len(self.tried) <= _FEW else set()
        found: Tried | None = None
        least = (True, 0, 0, 0, 0)
        for each in self.tried:
            if not (changes := each.changes):
                continue
            known = all((each.entry, change.source, change.by) in met for change in changes)
            known = known or any(failure.decides for failure in each.failures)
            served = _served(changes, wanted)
            distance = (
                known or len(served) == len(changes),
                sum(map(_is_of_a_type, served)),
                apart(changes),
                sum(map(_is_of_a_type, changes)),
                -min(map(_depth, changes)),
            )
            if found is None or distance < least:
                found, least = each, distance
            if least[:3] == (False, 0, 1) and len(self.tried) > _FEW:
                break
        return found


def apart(changes: list[Change]) -> int:
    """How many changes there are, those that are alike as one, and the strides of one tensor."""
    return len({source if by.what in ("", "stride") else str(by) for source, by, _ in changes})


def _is_of_a_type(change: Change) -> bool:
    """Whether another type was there, or None where something was, or the other way round."""
    by = change.by
    of_none = by.what == "value" and (by.expected is None) != (by.actual is None)
    return by.what == "type" or of_none


def _depth(change: Change) -> int:
    """How many steps lead to what changes."""
    path = path_of(change.source)
    return 0 if path is None else len(path.steps)


def _served(changes: list[Change], wanted: list[Wanted]) -> list[Change]:
    """In what the call differs from an entry and an entry was made for it, as far as that is
    known."""
    return [
        change
        for change in changes
        if change.by.actual != UNKNOWN
        and any(
            _serves(each, (unscoped(change.source), change.by.aspect), change.by.actual)
            for each in wanted
        )
    ]


def _serves(wanted: Wanted, what: tuple[str, Aspect], actual: Datum) -> bool:
    """Whether an entry is for a value: for this one, or, as a symbol, for any."""
    source, aspect = what
    known = wanted.get(what, UNKNOWN)
    if aspect.what in _SIZES and known != UNKNOWN and symbolic(known):
        return True
    if aspect.what == "value" and known == UNKNOWN and type(actual) in (Words, Many, Tensor):
        # Of what is more than a plain value an entry wants the type, or something of its parts.
        return (source, Aspect("type")) in wanted or (source, Aspect("length")) in wanted
    if aspect.what == "value" and known == UNKNOWN and type(actual) in _NUMBERS:
        kind = wanted.get((source, Aspect("type")))  # a number that is a symbol: of its type only
        return kind == Words(type(actual).__name__)
    if (aspect.what, actual) == ("type", _NONE):
        return wanted.get((source, Aspect("value")), UNKNOWN) is None
    return alike(known, actual)


class Change(NamedTuple):
    """A source and in what it differs."""

    source: str
    by: Difference
    failure: Failure


def changes_of(tried: Tried) -> list[Change]:
    """Everything in which the call differs from what an entry wants. Strides that follow from
    another size are left out, dispatch keys that follow from a device, inference mode or autocast,
    conditions on strides that are known to differ, and whatever differs of another function that a
    wrapper wraps, or within what is of another type or another object."""
    found: list[Change] = []
    decisive = [each for each in tried.failures if each.decides]
    every = {(each.source, by.what) for each in tried.failures for by in each.differences}
    laid_out = any(what in _SIZES for _, what in every)
    cast = any(what in AUTOCAST for _, what in every)
    for each in decisive or tried.failures:
        if laid_out and not each.differences and each.kind in LEAVES and STRIDE in each.text:
            continue
        if each.differences:
            resized = any(difference.what == "size" for difference in each.differences)
            found += [
                Change(each.source, difference, each)
                for difference in each.differences
                if not (resized and difference.what == "stride")
                and difference.what != GRADIENT_KEYS
                and not (cast and difference.what == "dispatch keys")
                and not ((each.source, "device") in every and difference.what in OF_A_DEVICE)
            ]
        else:
            found.append(Change(each.source, Difference(""), each))
    others = [path_of(each.source) for each in found if each.by.what in ("type", "object")]
    found = [each for each in found if not _within(path_of(each.source), others)]
    return [each for each in found if not each.failure.missing or not _follows(each, found)]


def _follows(missing: Change, found: list[Change]) -> bool:
    """Whether a value is not there because what it is taken from is another, or is not there."""
    path = path_of(missing.source)
    known = [_members_of(each.source) for each in found if each is not missing]
    return _within(path, known)


def _members_of(source: str) -> Path | None:
    """A path to what holds members: the dictionary of a module's submodules is the module's."""
    path = path_of(source)
    return path.before if path is not None and path.steps[-1:] == ("._modules",) else path


def _within(path: Path | None, others: list[Path | None]) -> bool:
    """Whether one of the others leads to what is a part of it."""
    return path is not None and any(
        each is not None and each != path and each.leads_to(path) for each in others
    )


def recompilations(
    recording: Recording, function: str = "", *, after: int = 0
) -> list[Recompilation]:
    """Recompilations, in order, with all that is known of why.

    Args:
        recording: what is asked.
        function: only of functions with this in their name; empty: all.
        after: only those in walks after this one.
    """
    return [
        recompilation(recording, item)
        for item in compiled_again(recording)
        if item.id > after and is_meant(recording, item, function)
    ]


def recompilation(recording: Recording, item: Translation) -> Recompilation:
    """All that is known of why a compilation was made where there were entries already."""
    return recording.derived(_Reader).read(item)


def failed_check(recording: Recording, lookup: Translation, moment: MomentId) -> Tried | None:
    """The guard that a recorded lookup found to fail at a moment, and its entry."""
    return recording.derived(_Reader).failed_check(lookup, moment)


def failed_checks(recording: Recording, lookup: Translation) -> Iterator[Tried]:
    """Each entry that a recorded lookup found not to fit, with its first guard that failed."""
    reader = recording.derived(_Reader)
    for entry in recording.tried(lookup.id):
        failed = next((each for each in entry.checks if each.verdict is Verdict.FAIL), None)
        found = None if failed is None else reader.failed_check(lookup, failed.moment)
        if found is not None:
            yield found


def failed_guards(recording: Recording, lookup: Translation) -> tuple[tuple[str, str, str], ...]:
    """The guards that failed at a recorded lookup, each by its entry, kind and source."""
    return tuple(
        (tried.entry, failure.kind, failure.source)
        for tried in failed_checks(recording, lookup)
        for failure in tried.failures
    )


class _Reader:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._wanted: Recent[dict[int, Wants]] = Recent(_WANTED)
        self._installed: dict[tuple[int, str, str, str], Guard | None] = {}
        self._origins: dict[int, Origin] = {}
        self._calls = Calls(recording)
        self._read: dict[int, Recompilation] = {}
        """By translation: those that follow ask for it again."""
        self._by_code: dict[int, list[Translation]] = {}
        self._by_id: dict[str, list[Translation]] = {}
        self._made: dict[int, list[Translation]] = {}
        for item in compilations(recording):
            self._by_code.setdefault(item.code, []).append(item)
            if item.outcome is Outcome.COMPILED:
                self._by_id.setdefault(item.compile_id, []).append(item)
                if item.compile_id:
                    self._made.setdefault(item.code, []).append(item)
        self._limits = {
            event.ref for event in recording.events(kinds=(EventKind.CACHE_LIMIT,)) if event.ref
        }

    def _refused(self, item: Translation) -> list[Reason]:
        """What an error says that was raised because it would have been compiled again."""
        return [
            reason
            for failure in self._recording.failures()
            if failure.translation == item.id and failure.exception == _REFUSED
            for reason in reasons_in(failure.message)
        ]

    def read(self, item: Translation) -> Recompilation:
        found = self._read.get(item.id)
        if found is None:
            found = self._read[item.id] = self._new(item)
        return found

    def _new(self, item: Translation) -> Recompilation:
        lookup = self._calls.before(item)
        return Recompilation(
            item, lookup, partial(self._entries, item, lookup),
            item.reason if item.id in self._limits else "", partial(self._wanted_before, item),
            lambda: self._wants(item.code)[item.id].all, partial(self._met_before, item),
        )  # fmt: skip

    def _entries(self, item: Translation, lookup: Translation | None) -> Sequence[Tried]:
        said = reasons_of(item) or self._refused(item)
        tried = () if lookup is None else tuple(self._looked_up(item, lookup, said))
        return tried or self._asked_again(item, said)

    def _met_before(self, item: Translation) -> Met:
        made = (each for each in self._made.get(item.code, []) if each.id < item.id)
        return {
            (tried.entry, change.source, change.by)
            for before in itertools.islice(made, _FEW)
            if before.cache_size
            for tried in self.read(before).tried
            for change in tried.changes
        }

    # From a recorded lookup

    def failed_check(self, lookup: Translation, moment: MomentId) -> Tried | None:
        for entry in self._recording.tried(lookup.id):
            for check in entry.checks:
                if check.moment == moment and check.verdict is Verdict.FAIL:
                    guard = self._recording.guard_program(entry.code)[check.place]
                    failure = failure_at(guard, check, entry.entry, [], behind=False)
                    return self._tried(lookup, entry.entry, [failure])
        return None

    def _looked_up(
        self, item: Translation, lookup: Translation, said: list[Reason]
    ) -> Iterator[Tried]:
        for entry in self._recording.tried(lookup.id):
            guards = self._recording.guard_program(entry.code)
            checks = *entry.checks, *entry.behind
            asked = [(guards[check.place], check) for check in checks]
            yield self._asked(item, entry.entry, asked, said)

    def _asked(
        self, item: Translation, entry: str, asked: list[Asked], said: list[Reason]
    ) -> Tried:
        """An entry of which the guards were asked again, in order."""
        new, old = self._wants(item.code)[item.id].call, self._wanted_by(item, entry)
        failures: list[Failure] = []
        told: list[CheckedGuard] = []
        for guard, check in asked:
            if check.verdict is Verdict.FAIL and guard not in told:  # some are installed twice
                told.append(guard)
                failure = failure_at(guard, check, entry, said, behind=bool(failures))
                failures.append(explained(self._compares(item, failure), old, new))
        unknown = {
            unscoped(guard.source) for guard, check in asked if check.verdict is Verdict.UNKNOWN
        }
        # What could not be asked again, of that the compiler's words are left: it has.
        words = [each for each in said if each.entry == entry]
        words = [each for each in words if not failures or each.source in unknown]
        if words:
            failures = [*(said_failure(each, new, old) for each in words), *failures]
        return self._tried(item, entry, failures, () if failures else sorted(filter(None, unknown)))

    def _compares(self, item: Translation, failure: Failure) -> Failure:
        """With what the value was and is, where the guard is an expression that compares it with a
        number: one that was a symbol until it was fixed; or with a constant, where only the thread
        that runs can see the value."""
        unseen = failure.kind == "EQUALS_MATCH" and not failure.missing
        if failure.differences or not (unseen or failure.kind in LEAVES):
            return failure
        compared = parse_check(unscoped(failure.text))
        if compared is None:
            sizes = set(_SIZE.findall(failure.text))
            source = failure.source or (sizes.pop() if len(sizes) == 1 else "")
            return msgspec.structs.replace(failure, source=source)
        source, what, expected = compared
        wanted = self._wants(item.code)[item.id].call.get((source, Aspect(what)), UNKNOWN)
        actual = wanted if failure.saw == UNKNOWN or what == NEXT else failure.saw
        return msgspec.structs.replace(
            failure, source=source, differences=(Difference(what, expected, actual),)
        )

    # Without one

    def _asked_again(self, item: Translation, said: list[Reason]) -> Entries:
        """The entries that were asked just before a compilation, and those that were not as far as
        the compiler has words on them."""
        made = self._made.get(item.code, [])
        end = bisect_left(made, item.id, key=attrgetter("id"))
        # The newest stands first. More were made than are there after a reset, or an object died.
        died = any(each.kind == INVALID for each in said)
        count = min(item.cache_size or (1 if died else end), end)
        entries = [each.compile_id for each in made[end - count : end]][::-1]
        newest = entries[0] if entries else ""
        about = {words.entry or newest: words for words in said}
        asked = {
            unmet.entry: [(unmet.guards[check.place], check) for check in unmet.checks]
            for unmet in item.unmet
        }
        looks = [partial(self._asked, item, entry, checks, said) for entry, checks in asked.items()]
        others = [entry for entry in dict.fromkeys((*about, *entries)) if entry not in asked]
        looks += [partial(self._said, item, entry, about.get(entry)) for entry in others]
        return Entries(looks)

    def _said(self, item: Translation, entry: str, words: Reason | None) -> Tried:
        """An entry that was not asked, with what the compiler has said of it."""
        new, old = self._wants(item.code)[item.id].call, self._wanted_by(item, entry)
        said = [] if words is None else [said_failure(words, new, old)]
        return self._tried(item, entry, said)

    def _wanted_by(self, item: Translation, entry: str) -> Wanted:
        """What an entry wants that was there before a compilation of the same function."""
        made = self._entry_of(item, entry)
        wants = self._wants(item.code)
        return {} if made is None or made.id not in wants else wants[made.id].all

    def _wants(self, code: int) -> dict[int, Wants]:
        """What each compilation of a function wants, by its id."""
        found = self._wanted.get(code)
        if found is None:
            items = self._by_code[code]
            found = {item.id: wants_by(self._recording, item) for item in items}
            self._wanted.keep(code, found, len(found))
        return found

    def _wanted_before(self, item: Translation) -> list[Wanted]:
        wants = self._wants(item.code)
        return [wants[each.id].all for each in self._made.get(item.code, []) if each.id < item.id]

    # Where guards came from

    def _tried(
        self, item: Translation, entry: str, failures: list[Failure], unasked: Sequence[str] = ()
    ) -> Tried:
        made = self._entry_of(item, entry)
        if made is not None:
            failures = with_bases(self._recording, made, failures)
            named = [self._of_one(made, each) for each in failures]
            stated = [with_state(made, item, each) for each in named]
            told = under_a_mode(made, item, stated)
            failures = [self._with_origin(made, each) for each in told]
        failures = [self._wrapping(item, each) for each in failures]
        return Tried(entry, made.id if made else None, tuple(failures), tuple(unasked))

    def _entry_of(self, item: Translation, entry: str) -> Translation | None:
        """The compilation that made an entry which was there before another one."""
        # A reset begins to count anew: the last one before is meant.
        candidates = (each for each in self._by_id.get(entry, ()) if each.id < item.id)
        return max(candidates, key=lambda each: each.id, default=None)

    def _of_one(self, made: Translation, failure: Failure) -> Failure:
        """With the tensor of which the compiler does not say which it is, where no other comes into
        question; and with the only value that a condition is about."""
        if not failure.kind and is_condition(self._recording, made, failure.text):
            failure = msgspec.structs.replace(failure, kind=SHAPE_ENV)
        if failure.source or failure.kind not in {*_MADE_BY, *LEAVES}:
            return failure
        if failure.kind in LEAVES:
            sources = expressions_in(as_installed(self._recording, made, failure.text))
        else:
            attempts = self._recording.attempts(made.id)
            guards = self._recording.guards(None, attempt=attempts[-1].id) if attempts else []
            kind = _MADE_BY[failure.kind]
            sources = {each.source for each in guards if each.kind == kind}
            if len(sources) > 1:
                sources &= self._checked_by(made, failure.text)
        if len(sources) != 1:
            return failure
        return msgspec.structs.replace(failure, source=unscoped(sources.pop()))

    def _checked_by(self, made: Translation, text: str) -> set[str]:
        """What the guards of an entry look at that are worded so, in a lookup that was recorded."""
        for lookup in reversed(self._recording.lookups()):
            for entry in self._recording.tried(lookup.id):
                if entry.entry == made.compile_id:
                    guards = self._recording.guard_program(entry.code)
                    return {guard.source for guard in guards if text in guard.code}
        return set()

    def _wrapping(self, item: Translation, failure: Failure) -> Failure:
        path = path_of(failure.source)
        ways = _OF_DYNAMO if in_compiler(item.filename) else ((CODE,),)
        if path is None or path.steps not in ways:
            return failure
        free = free_variables(self._recording.code(item.code))
        return msgspec.structs.replace(failure, decides=path.root in free)

    def _with_origin(self, made: Translation, failure: Failure) -> Failure:
        failure = msgspec.structs.replace(
            failure, find_conditions=partial(conditions_behind, self._recording, made, failure)
        )
        key = (made.id, failure.kind, failure.source, failure.words)
        if key not in self._installed:
            attempts = self._recording.attempts(made.id)
            guards = (
                self._recording.guards(None, attempt=attempts[-1].id)
                if attempts and failure.source
                else []
            )
            self._installed[key] = installed(guards, failure)
        guard = self._installed[key]
        if guard is None:
            return failure
        if any(each.expected == _A_TENSOR for each in failure.differences):
            failure = self._of_type(failure, guard)
        origin, source = partial(self._origin, guard), unscoped(failure.source)
        scoped = next(
            (each for each in (guard.source, guard.source + CODE) if unscoped(each) == source),
            failure.source,
        )
        return msgspec.structs.replace(failure, find_origin=origin, source=scoped)

    def _of_type(self, failure: Failure, guard: Guard) -> Failure:
        """With the type of the tensor that the entry was made for."""
        if failure.source.startswith(FROM_NUMPY):
            type_ = _OF_NUMPY
        else:
            value = self._origin(guard).value
            if value is None or not value.type:
                return failure
            type_ = Words(value.type)
        differences = tuple(
            msgspec.structs.replace(each, expected=type_) if each.expected == _A_TENSOR else each
            for each in failure.differences
        )
        return msgspec.structs.replace(failure, differences=differences)

    def _origin(self, guard: Guard) -> Origin:
        found = self._origins.get(guard.id)
        if found is None:
            found = self._origins[guard.id] = origin_of(self._recording, guard)
        return found
