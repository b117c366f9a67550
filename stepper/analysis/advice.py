"""Advice on a function that is compiled again, and the facts that it may rest on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise

import msgspec

from stepper.analysis.conditions import holds, in_python
from stepper.analysis.handed_on import Spelling, spelling
from stepper.analysis.left_on_stack import has_computed, slots
from stepper.analysis.recompile_series import History, Series
from stepper.analysis.shapes import Size, in_sources, same, size_of, symbols_at
from stepper.analysis.sites import called_at, made_at, program_line, site_at, way_to
from stepper.analysis.sources import path_of, unscoped
from stepper.analysis.walks import own_cells
from stepper.analysis.wanted import Wanted, symbolic, wanted_by
from stepper.analysis.writers import key_set, stored_at
from stepper.client.text import place_text, plural, short_name
from stepper.model.change import Change
from stepper.model.datum import UNKNOWN, Datum, Many, text_of
from stepper.model.lookup import Aspect
from stepper.model.shapes import ShapeStepKind
from stepper.model.trace import MomentId, Outcome, Phase, SideEffect, Translation
from stepper.recording.reader import Recording
from stepper.support.pythons_own import is_installed

_NAMED = 2
"""Others of which the same changes that are named; of more only their number is told."""


class Advice(msgspec.Struct, frozen=True):
    """Something to change, and what speaks for it."""

    text: str
    evidence: str
    """What the recording shows; nobody has tried the change."""
    source: str = ""
    aspect: Aspect = Aspect("")
    """What of it changes."""
    condition: str = ""
    """Which condition on it, where it is about one."""
    changes: tuple[Change, ...] = ()
    """Each a way to try it; empty: it is about the program's own text."""
    together: bool = False
    """They are one way, made at once."""
    first: bool = False
    """Whether without it the others leave every compilation."""
    rule: str = ""
    """The name of the rule that gives it."""
    asked_at: MomentId = 0
    """The moment at which the value is asked for that is to be done without; 0: it is about
    something else."""
    again: str = ""
    """The advice in short, for one who has read why a size of 0 or 1 has an entry of its own;
    empty: it is about something else."""


class Entries(msgspec.Struct, frozen=True, dict=True):
    """What a function has been compiled to."""

    recording: Recording
    history: History

    @cached_property
    def made(self) -> list[Translation]:
        """The compilations that made its entries, in order."""
        return [
            item
            for item in self.recording.translations_of(self.history.code)
            if item.phase is Phase.TRANSLATE and item.outcome is Outcome.COMPILED
        ]

    @cached_property
    def wanted(self) -> list[tuple[str, Wanted]]:
        """The compile id of those that were made again, and what they want, the newest first."""
        return [
            (each.translation.compile_id, each.find_made())
            for each in reversed(self.history.recompilations)
            if each.translation.outcome is Outcome.COMPILED
        ]


_SIZES_OF_DICTS = ("length", "dictionary", "keys")


def _calls_of(*methods: str) -> frozenset[str]:
    """How Dynamo's trackers of methods are written, and the native engine's changes."""
    return frozenset(f".{name}{call}" for name in methods for call in ("", "(…)"))


_PUT_ONE_IN = _calls_of("add", "append", "appendleft", "insert")
_PUT_IN = _PUT_ONE_IN | _calls_of("extend", "setdefault", "update")
_TAKE_AWAY = _calls_of("clear", "discard", "pop", "popleft", "remove")
"""Methods by which a container only becomes longer, and only shorter."""
_STORES_ITEM = "STORE_SUBSCR"
_UNEQUAL = re.compile(r"Ne\((\w+), (-?[\d.]+(?:e-?\d+)?)\)")
_MEASURED = re.compile(r"(?P<tensor>.+)\.(?P<what>size|stride)\(\)\[(?P<at>\d+)\]")
_LEFT = re.compile(r"___stack\d+\b")
"""Dynamo's names for what stands on the stack where a graph breaks."""


class Changing(msgspec.Struct, frozen=True, dict=True):
    """One thing that changes from call to call, and what the recording shows of it."""

    entries: Entries
    series: Series

    @property
    def recording(self) -> Recording:
        """What is asked."""
        return self.entries.recording

    @property
    def history(self) -> History:
        """What is recorded of the function's compilations."""
        return self.entries.history

    @cached_property
    def spell(self) -> Spelling:
        """How its user would write a source."""
        return spelling_in(self.recording, self.history, self.series)

    @cached_property
    def name(self) -> str:
        """The thing, as its user would write it."""
        return self.spell(self.series.source)

    @property
    def left_by(self) -> str:
        """The function in which the graph breaks at the call that has returned it, or behind the
        line that has computed it; empty: it is something else, as what the function has read itself
        before it breaks."""
        path = path_of(self.series.source) if self.history.resume_of else None
        if path is not None and has_computed(self.recording, self.newest, path.root):
            return short_name(self.history.resume_of)
        left = _LEFT.match(self.series.source) if self.goes_on_with else None
        if left is not None and any(
            each.name == left[0] and each.source for each in slots(self.recording, self.newest)
        ):
            return ""
        return self.goes_on_with

    @property
    def goes_on_with(self) -> str:
        """The function that has left it, or what it is a part of, on the stack where its graph
        breaks; empty: it is something else."""
        left = _LEFT.match(self.series.source) and self.history.resume_of
        return short_name(self.history.resume_of) if left else ""

    @property
    def wraps(self) -> bool:
        """Whether it is another function that the compiled one, a decorator's, wraps."""
        return any(
            failure.decides and unscoped(failure.source) == self.series.source
            for each in self.history.recompilations
            if each.nearest is not None
            for failure in each.nearest.failures
        )

    @property
    def what(self) -> str:
        """What of it changes."""
        return self.series.aspect.what

    @property
    def what_changes(self) -> str:
        """What of it changes, with its name: `x.shape[0]`."""
        return self.series.aspect.of(self.name)

    @property
    def dim(self) -> int | None:
        """Which size or stride it is."""
        return self.series.aspect.at

    @property
    def newest(self) -> Translation:
        """What the compiler did last."""
        return self.history.recompilations[-1].translation

    @cached_property
    def sizes(self) -> list[Size]:
        """What is known of a tensor's size in each entry, the newest last."""
        return self.sizes_of(f"{self.series.source}.size()[{self.dim}]")

    @property
    def sizes_until_it_changed(self) -> list[Size]:
        """`sizes`, without the entries that were made for other reasons after it last changed."""
        newest = self.history.recompilations[self.series.newest].translation.id
        return [size for size in self.sizes if size.translation.id <= newest]

    @cached_property
    def changed_inside(self) -> SideEffect | None:
        """How the compiled function itself changes it, or sets an attribute that it is a part of;
        None: it does not."""
        path = path_of(self.series.source)
        if path is None:
            return None
        for effect in self._effects:
            changed = path_of(effect.name)
            if changed is None or effect.kind == "hook":
                continue
            of_more = effect.kind == "mutation" and changed.steps != path.steps
            if of_more or not changed.leads_to(path):
                continue
            if self.what in _SIZES_OF_DICTS and _has_the_key(self.recording, effect):
                continue
            if not self._goes_otherwise(effect):
                return effect
        return None

    def _goes_otherwise(self, effect: SideEffect) -> bool:
        """Whether a change takes elements away, and there are more from entry to entry, or puts
        some in, and there are fewer: it is not what makes the difference."""
        counts = [count for value in self.series.values if (count := _count(value)) is not None]
        more = [after > before for before, after in pairwise(counts)]
        unknown = len(counts) < len(self.series.values)
        if effect.kind != "mutation" or not more or unknown:
            return False
        method = _method(self.recording, effect)
        puts_in = method in _PUT_IN or _stores_item(self.recording, effect)
        return (method in _TAKE_AWAY and all(more)) or (puts_in and not any(more))

    @property
    def grows_by_more(self) -> bool:
        """Whether there is more from entry to entry than the compiled function puts in, as long as
        it does that one by one."""
        path = path_of(self.series.source)
        counts = [count for value in self.series.values if (count := _count(value)) is not None]
        if path is None or len(counts) < 2:
            return False
        changed = (effect for effect in self._effects if effect.kind == "mutation")
        inside = [each for each in changed if (of := path_of(each.name)) and same(of, path)]
        times = Counter(effect.attempt for effect in inside)
        one_by_one = all(_method(self.recording, each) in _PUT_ONE_IN for each in inside)
        return one_by_one and all(
            after - before > max(times.values(), default=0) for before, after in pairwise(counts)
        )

    @cached_property
    def kept_inside(self) -> SideEffect | None:
        """How the compiled function itself puts it into a container, under a constant key or as an
        element that was not there at first; None: it does not."""
        path = path_of(self.series.source)
        if path is None:
            return None
        for effect in self._effects:
            of = path_of(effect.name) if effect.kind == "mutation" else None
            if of is None or not of.same_root(path):
                continue
            stored = stored_at(self.recording, effect)
            if stored is not None and same(stored, path):
                return effect
            if path.steps and same(of, path.before) and self._is_put_later:
                return effect
        return None

    @property
    def _is_put_later(self) -> bool:
        """Whether it is an element that the first entry does not look at, as it would one that was
        there when nothing had been compiled."""
        if not self.entries.made or not self.series.source.endswith("]"):
            return False
        first = wanted_by(self.recording, self.entries.made[0])
        return all(source != self.series.source for source, _ in first)

    @property
    def replaced_inside(self) -> SideEffect | None:
        """How the compiled function itself puts another in its place; None: it does not."""
        effect = self.changed_inside
        return self.kept_inside if effect is None or effect.kind == "mutation" else effect

    @property
    def _effects(self) -> Iterator[SideEffect]:
        """The changes that the compiled code makes itself and that the next call finds: it has
        other cells for what is the function's own."""
        for item in self.entries.made:
            own = own_cells(self.recording.code(item.code))
            for attempt in self.recording.attempts(item.id)[-1:]:
                for effect in self.recording.side_effects(None, attempt=attempt.id):
                    if effect.kind != "cell" or effect.name not in own:
                        yield effect

    def place_inside(self, effect: SideEffect) -> str:
        """The program's line that makes a change, with what is before it; empty: not recorded."""
        line = program_line(self.recording, effect.moment)
        return f" at {place_text(line.place, self.recording.facts.cwd)}" if line else ""

    def call_that_changes(self, effect: SideEffect) -> str:
        """`place_inside` where the line that makes the change is a library's, so that nobody does
        it otherwise, but calls it elsewhere; empty: it is the program's own."""
        way = way_to(self.recording, made_at(self.recording, effect.moment))
        own = next((each for each in way if not is_installed(each.line.place.filename)), None)
        # What sets an attribute of a module leads through a method of torch's, too.
        called = own is not None and "CALL" in own.instruction.opname
        by_a_library = called and own is not way[0]
        return self.place_inside(effect) if by_a_library else ""

    def sizes_of(self, source: str) -> list[Size]:
        """What is known of any size or number in each entry."""
        path = path_of(source)
        if path is None:
            return []
        found = (size_of(self.recording, item, path) for item in self.entries.made)
        return [size for size in found if size is not None]

    @cached_property
    def as_symbol(self) -> tuple[str, str]:
        """What the newest entry has that has no constant there, and its compile id; empty: none."""
        source, aspect = self.series.source, self.series.aspect
        for compile_id, wants in self.entries.wanted:
            has = wants.get((source, aspect), UNKNOWN)
            if aspect.what == "value":
                known = _is_input(wants, source) and has == UNKNOWN
                found = "an input" if known or self._is_expression else ""
            else:
                found = text_of(has) if has != UNKNOWN and symbolic(has) else ""
            if found:
                return found, compile_id
        for size in reversed(self.sizes) if aspect.what == "size" else ():
            if size.symbol is not None and not size.value:  # of a tensor that the graph has not
                return size.symbol.name, size.translation.compile_id
        return "", ""

    @cached_property
    def unmet(self) -> str:
        """A condition that the first value does not meet, of the entries that have a symbol there:
        as a symbol from the beginning it would take as many. Empty: none is known, or one meets
        it."""
        first = self.series.values[0] if self.series.values else UNKNOWN
        if not isinstance(first, int | float) or isinstance(first, bool):
            return ""
        found = ""
        for size in self.sizes_of(_written(self.series)):
            if size.symbol is not None and not size.value:
                with_it = {**self._in_the_first(size), **self._changed_with_it(size)}
                values = {**with_it, size.symbol.name: first}
                asked = (
                    each for each in size.symbol.conditions if each.kind is ShapeStepKind.GUARD
                )
                unmet = (each for each in asked if holds(each.expression, values) is False)
                step = next(unmet, None)
                if step is None:
                    return ""
                unequal = _UNEQUAL.fullmatch(step.written)
                if unequal is not None and unequal[1] == size.symbol.name:
                    found = f"{self.changing} != {unequal[2]}"
                    continue
                found = self._with_sources(step.written, size)
        return found

    @property
    def changing(self) -> str:
        """What changes, as an expression."""
        return self.name if self.what == "value" else self.what_changes

    def _with_sources(self, condition: str, size: Size) -> str:
        """A condition with what its symbols stand for in their places."""
        known = symbols_at(self.recording, size.symbol.born.attempt) if size.symbol else {}
        return in_python(in_sources(condition, known, self.spell))

    def _in_the_first(self, size: Size) -> dict[str, float]:
        """What other symbols of an entry stand for, in the first entry, if that has the first
        value: each number that is known there."""
        made = self.entries.made
        wants = wanted_by(self.recording, made[0]) if made else {}
        had = wants.get((self.series.source, self.series.aspect), UNKNOWN)
        if size.symbol is None or had == UNKNOWN or had != self.series.values[0]:
            return {}
        found: dict[str, float] = {}
        for name, symbol in symbols_at(self.recording, size.symbol.born.attempt).items():
            source, aspect = measured(unscoped(symbol.born.source))
            value = wants.get((source, aspect), UNKNOWN)
            if type(value) is int:
                found[name] = value
        return found

    def _changed_with_it(self, size: Size) -> dict[str, float]:
        """What other symbols of an entry stand for that changed in the same calls: the value that
        each had when this had its first."""
        found: dict[str, float] = {}
        for series in self.history.series:
            first = series.values[0] if series.values else UNKNOWN
            together = (series.times, series.newest) == (self.series.times, self.series.newest)
            if type(first) is int and together:
                for each in self.sizes_of(_written(series)):
                    if each.translation.id == size.translation.id and each.symbol is not None:
                        found[each.symbol.name] = first
        return found

    @cached_property
    def _is_expression(self) -> bool:
        """Whether a number is a symbol in the newest entry, or made of other symbols."""
        found = self.sizes_of(self.series.source)
        if not found or found[-1].translation.id != self.entries.made[-1].id:
            return False
        return found[-1].symbol is not None and not found[-1].value

    @property
    def refused(self) -> bool:
        """Whether nothing was compiled again, since that was an error, or one too many: so nothing
        has become a symbol by itself."""
        refused = self.history.limit is not None or self.newest.outcome is Outcome.FAILED
        return refused and not self.entries.wanted

    def all_are(self, *kinds: type) -> bool:
        """Whether all values that were seen are of a type."""
        return all(type(value) in kinds for value in self.series.values)

    @property
    def evidence(self) -> str:
        """What the recording shows of how it changes."""
        return seen(self.series, self.name)

    def one_more(self, entry: str) -> Advice:
        """Advice where the first value takes an entry of its own, `entry` being of the others."""
        first = text_of(self.series.values[0])
        return self.advise(
            f"{self.changing} is a symbol by now, and {first} takes an entry of its own all the "
            f"same: that of the others requires {self.unmet}. Keep it on one side of this "
            "condition, or accept one more.",
            f"{entry} has a symbol there",
        )

    def advise(self, text: str, evidence: str = "", changes: tuple[Change, ...] = ()) -> Advice:
        """Advice on it; `evidence`: what is known besides how it changes."""
        since = "; ".join(filter(None, (evidence, self.evidence)))
        series = self.series
        return Advice(text, since, series.source, series.aspect, series.condition, changes)

    @property
    def and_others(self) -> str:
        """`, and likewise of x`, where the same changes of others."""
        others = self.series.likewise
        if not others:
            return ""
        if len(others) > _NAMED:
            return f", and likewise of {plural(len(others), 'other')}"
        return f", and likewise of {' and '.join(map(self.spell, others))}"


Rule = Callable[[Changing], Advice | None]
"""Advises where the recording shows what it is about, and else is silent."""


def spelling_in(recording: Recording, history: History, series: Series) -> Spelling:
    """How its user would write what changes: by the names that it had for the entry that was not
    for the newest of these calls, as another one may have inlined another function there."""
    newest = history.recompilations[series.newest]
    made = None if newest.nearest is None else newest.nearest.translation
    return spelling(recording, newest.translation if made is None else recording.translation(made))


def _method(recording: Recording, effect: SideEffect) -> str:
    """The method whose call is a change, as its engine writes it; empty: it is no call of one, or
    that is not recorded."""
    if effect.how in _PUT_IN | _TAKE_AWAY:
        return effect.how
    site = site_at(recording, effect.moment)
    called = site and called_at(recording.state(effect.moment), site.instruction)
    return called.text if called else ""


def _stores_item(recording: Recording, effect: SideEffect) -> bool:
    """Whether a change is made by an assignment to an item."""
    site = site_at(recording, effect.moment)
    return site is not None and site.instruction.opname == _STORES_ITEM


def _count(value: Datum) -> int | None:
    """How many elements there are, by a length or by a set as a whole; None: it is neither."""
    if isinstance(value, Many):
        return len(value.items)
    return value if isinstance(value, int) else None


def _has_the_key(recording: Recording, effect: SideEffect) -> bool:
    """Whether a change of a dictionary is that of a key which it has: another value."""
    key = key_set(recording, effect)
    listed = (f"list(dict.keys({effect.name}))", f"list({effect.name})")  # Dynamo's, and native's
    return bool(key) and any(
        key in part.partition(" == ")[2].strip("[]").split(", ")
        for guard in recording.guards(None, attempt=effect.attempt)
        for part in guard.code
        if part.startswith(listed)
    )


def _is_input(wants: Wanted, source: str) -> bool:
    return (source, Aspect("type")) in wants


def measured(expression: str) -> tuple[str, Aspect]:
    """What a symbol stands for, as a guard is on it: a size of a tensor, or a number."""
    match = _MEASURED.fullmatch(expression)
    if match is None:
        return expression, Aspect("value")
    return match["tensor"], Aspect(match["what"], int(match["at"]))


def _written(series: Series) -> str:
    """What changes, as an expression of Python."""
    aspect = series.aspect
    at = "" if aspect.what == "value" else f".{aspect.what}()[{aspect.at}]"
    return f"{series.source}{at}"


def compiler(history: History, *, begins: bool = True) -> str:
    """What the compiler is called; `begins`: at the beginning of a sentence."""
    if history.capabilities.dynamo_config:
        return "Dynamo"
    return "The compiler" if begins else "the compiler"


def seen(series: Series, name: str) -> str:
    """What the recording shows of how something changes."""
    if series.likewise:
        others = plural(len(series.likewise), "other")
        return f"{_seen_alone(series, name)}; likewise of {others}"
    return _seen_alone(series, name)


def _seen_alone(series: Series, name: str) -> str:
    if len(series.values) == 1:
        return f"{_what(series, name)} is no longer {text_of(series.values[0])}"
    if series.compares_strides:
        return f"{series.condition} did not hold {plural(series.times, 'time')}"
    if not series.seen:
        return f"{_what(series, name)} differed {plural(series.times, 'time')}"
    return f"{_what(series, name)} was {series.seen}"


def _what(series: Series, name: str) -> str:
    return series.aspect.of(name)
