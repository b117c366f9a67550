"""What to change so that a function is compiled less often: the rules by which it is advised.

Each rule names what in the recording speaks for it, and is silent without. Whether it helps can be
tried where the change can be made (`stepper.analysis.recompile_trials`); whether the program may be
changed so is for its author to say.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import msgspec

from stepper.analysis.advice import Advice, Changing, Entries, Rule, compiler
from stepper.analysis.called_apart import CALLED_APART, called_apart
from stepper.analysis.conditions import LEAVES
from stepper.analysis.handed_on import Spelling, spelling
from stepper.analysis.kind_rules import KIND_RULES
from stepper.analysis.recompile_savings import Changed, Savings
from stepper.analysis.recompile_series import TOLD, History, Series, histories
from stepper.analysis.recompiles import (
    Change,
    apart,
    changes_of,
    made_by_another,
    recompilation,
)
from stepper.analysis.size_rules import SIZE_RULES, one_side, were_equal
from stepper.analysis.sources import CODE, path_of, spelled, unscoped
from stepper.analysis.value_rules import VALUE_RULES
from stepper.analysis.walks import compiled_again
from stepper.client.meant import is_meant
from stepper.client.text import one_line, place_text, plural
from stepper.model.change import Dynamic, MarkSize, Setting
from stepper.model.datum import text_of
from stepper.model.failure import OUTSIDE, FailedStage
from stepper.model.lookup import Aspect
from stepper.model.trace import Translation
from stepper.recording.reader import Recording

_DUCK = Setting("use_duck_shape", False, "torch.fx.experimental._config")

_UNSURE = frozenset({"0/1", "0/1 condition"})
"""Rules whose advice is for one entry, and does not suit all that operators do."""
_SIZE_MADE = "size made dynamic"
_LEFT = "left by a break"
_AT_ONCE = "all at once"
_FOR_ONE = frozenset(
    {"number made dynamic", "number, dynamic later", _SIZE_MADE, "size, dynamic later"}
)
"""Rules whose advice saves the entry for the first value, if nothing else needs it."""
_OF_ELEMENTS = frozenset({"length", "keys"})
"""Rules by which a container is to have the same elements in each call."""
_KEPT = _FOR_ONE | {"value"}
"""Rules whose advice leaves an entry for each value, or for each side of a condition."""
_DONE_WITHOUT = frozenset({"number needed", "constant needed"})
"""Rules by which a number is not to be asked for, so that it may change."""
REFUSED = frozenset({"FailOnRecompileLimitHit", "RecompileError"})
"""Torch's errors that a function is compiled once more."""

RULES: dict[str, Rule] = {
    CALLED_APART: called_apart, **SIZE_RULES, **VALUE_RULES, **KIND_RULES
}  # fmt: skip
"""Those about one thing that changes, in the order in which they are asked: the first that applies
advises."""


def advise(recording: Recording, history: History) -> list[Advice]:
    """Advice on a function, on what changes most often first."""
    entries = Entries(recording, history)
    found: list[Advice] = []
    failed = {
        each.translation
        for each in recording.failures()
        if each.stage not in {FailedStage.LOOKUP, *OUTSIDE} and each.exception not in REFUSED
    }
    if all(each.translation.id in failed for each in history.recompilations):
        return []  # what they failed of is not that they were made
    for series in history.series[:TOLD]:
        found += [each for each in _on(Changing(entries, series)) if not _told(found, each)]
    saved = _Saved(history)
    sure = [
        each
        for each in found
        if each.rule not in _FOR_ONE | _UNSURE or (each.rule in _FOR_ONE and not each.changes)
    ]
    free = [each for each in found if each.changes or each.rule in _DONE_WITHOUT]
    needed = saved.needed([each for each in found if each in free or each not in sure])
    possible = saved.needed([each for each in needed if each.rule not in _DONE_WITHOUT])
    # What saves an entry only if another number is done without is told behind that.
    after = [each for each in needed if each.rule in _FOR_ONE and each not in possible]
    beside = [each for each in found if each not in sure and (each not in needed or each in after)]
    told_beside = [*_beside(entries, saved, [each for each in sure if each in found], beside)]
    beside = [
        each
        for each in beside
        if each not in after or any(_about(one, each) for one in told_beside)
    ]
    # What saves an entry only if a size of 0 or 1 is no number, either, is told together with that.
    alone = saved.needed([each for each in needed if each.rule not in _UNSURE])
    only_together = [each for each in needed if each.rule in _FOR_ONE and each not in alone]
    found = [each for each in found if each not in beside and each not in only_together]
    found = _made_symbols_at_once(entries, found)
    found.sort(key=lambda each: (each.rule in _UNSURE, not saved.alone(each)))
    found = _first_asked_first(entries, found)
    for name, rule in RULES_OF_ALL.items():
        known = [*only_together, *found]
        found += [msgspec.structs.replace(each, rule=name) for each in rule(entries, known)]
    found += told_beside
    found.sort(key=lambda each: not each.first)
    found = _said_once(entries, found)
    return list({each.text: each for each in reversed(found)}.values())[::-1]


def _said_once(entries: Entries, found: list[Advice]) -> list[Advice]:
    """All advice, with what is said of several values in the same words as one."""
    spell = spelling(entries.recording, entries.history.recompilations[-1].translation)
    alike: dict[object, list[tuple[str, Advice]]] = {}
    for each in found:
        alone = spell(each.source) if each.source else ""
        name = each.aspect.of(alone) if alone else ""
        name = next((one for one in (name, alone) if one in each.text), "")
        words = each.text.replace(name, "") if name else each.text
        alike.setdefault((each.changes, words), []).append((name, each))
    return [
        first if not others else _with_others(first, name, others)
        for (name, first), *others in alike.values()
    ]


def _with_others(first: Advice, name: str, others: list[tuple[str, Advice]]) -> Advice:
    names = [*dict.fromkeys(other for other, _ in others if other and other != name)]
    likewise = f" Likewise of {', '.join(names)}." if names else ""
    evidence = "; ".join([first.evidence, *(each.evidence for _, each in others)])
    return msgspec.structs.replace(
        first, text=f"{first.text}{likewise}", evidence=evidence if name else first.evidence
    )


def _made_symbols_at_once(entries: Entries, found: list[Advice]) -> list[Advice]:
    """All advice, with that on sizes which became symbols by themselves for one call as one: a mark
    on one of them alone saves nothing, and is refused where it has to equal another."""
    history = entries.history
    dynamic = Dynamic(history.capabilities.compile)
    for again in history.recompilations:
        changed = [] if again.nearest is None else changes_of(again.nearest)
        alike = [
            each
            for each in found
            if each.rule == _SIZE_MADE
            and each.changes[-1:] == (dynamic,)
            and any(_is(change, each) for change in changed)
        ]
        if len(alike) < 2:
            continue
        spell = Changing(entries, history.series[0]).spell
        names = [each.aspect.of(spell(each.source)) for each in alike]
        marks = [
            _named(entries, mark, [one for one in history.series if _about(one, each)])
            for each in alike
            for mark in each.changes[:-1]
            if isinstance(mark, MarkSize)
        ]
        together = "; ".join(f"torch._dynamo.{mark}" for mark in marks)
        marked = f", or all of these before the first call: {together}"
        one = msgspec.structs.replace(
            alike[0],
            text=f"{compiler(history)} has made {', '.join(names[:-1])} and {names[-1]} symbols by "
            f"itself. To save the entry for their first sizes: {dynamic}"
            f"{marked if len(marks) == len(alike) else ''}.",
            evidence="; ".join(each.evidence for each in alike),
            changes=(dynamic,),
        )
        found = [one if each is alike[0] else each for each in found if each not in alike[1:]]
    return found


def _beside(
    entries: Entries, saved: _Saved, found: list[Advice], beside: list[Advice]
) -> Iterator[Advice]:
    """On sizes and numbers of which a symbol saved nothing as something else changed whenever they
    did, of which it is advised not to. Where that never changes without them, it alone saves as
    little."""
    about = {(each.source, each.aspect): Changing(entries, each) for each in entries.history.series}

    def of(advice: Advice) -> Iterator[Advice]:
        return (each for each in found if each.source == advice.source)  # its keys and its length

    useless = [each for each in found if each.rule not in _KEPT and not saved.needed([each])]
    alike: dict[tuple[str, str], list[Advice]] = {}
    for each in beside:
        it = about[each.source, each.aspect]
        first = next((one for one in useless if each in saved.needed([*of(one), *beside])), None)
        if first is None or not each.changes or (first.rule == _LEFT and it.left_by):
            continue  # without the break the function that goes on is given neither of the two
        if first.rule == CALLED_APART:
            continue  # without it the two are sizes of different calls in one graph
        ways = " or ".join(_worded(entries, change, beside) for change in each.changes)
        alike.setdefault((about[first.source, first.aspect].changing, ways), []).append(each)
    for (changing, ways), same in alike.items():
        *before, last = (about[each.source, each.aspect].changing for each in same)
        names = f"{', '.join(before)} and {last} change" if before else f"{last} changes"
        yield msgspec.structs.replace(
            same[0],
            text=f"{names} whenever {changing} does, so that what is advised there saves nothing "
            f"alone: do this, too, before the first call: {ways}.",
            evidence="; ".join(each.evidence for each in same),
            changes=(),
            rule=_AT_ONCE,
        )


class _Saved:
    """What following advice leaves of a function's recompilations."""

    def __init__(self, history: History) -> None:
        self._savings = Savings(history.recompilations)
        self._series = history.series
        self._likewise = {(each.source, each.aspect): each.likewise for each in history.series}

    def needed(self, advice: list[Advice]) -> list[Advice]:
        """The part of some advice without which the rest saves less than all of it."""
        left = [*advice]
        for each in reversed(advice):
            if not self._savings.needed(
                self._about(each), itertools.chain(*map(self._about, left))
            ):
                left.remove(each)
        return left

    def alone(self, advice: Advice) -> bool:
        """Whether it saves something by itself, or does not say so."""
        return advice.rule in _KEPT or bool(self.needed([advice]))

    def _about(self, advice: Advice) -> set[Changed]:
        """What never changes where it is followed."""
        sources = advice.source, *self._likewise.get((advice.source, advice.aspect), ())
        found = {(source, advice.aspect) for source in sources}
        if advice.rule in _UNSURE:  # neither a number, nor a symbol that is 2 or more
            found |= {(f"{source}.size()[{advice.aspect.at}]", Aspect("")) for source in sources}
            found |= {(each.source, each.aspect) for each in self._series if _size(each) in sources}
        return found


def _is(change: Change, advice: Advice) -> bool:
    return (unscoped(change.source), change.by.aspect) == (advice.source, advice.aspect)


def _first_asked_first(entries: Entries, found: list[Advice]) -> list[Advice]:
    """In the same order, but of sizes that change alike first that which is asked for first: of the
    others it may be only the consequence."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for at, each in enumerate(found):
        series = next((one for one in entries.history.series if _about(one, each)), None)
        if each.asked_at and series is not None:
            alike.setdefault(tuple(map(text_of, series.values)), []).append(at)
    ordered = [*found]
    for places in alike.values():
        asked = sorted((found[at] for at in places), key=lambda each: each.asked_at)
        for at, each in zip(places, asked, strict=True):
            ordered[at] = each
    return ordered


def _about(one: Series | Advice, advice: Advice) -> bool:
    return (one.source, one.aspect) == (advice.source, advice.aspect)


def histories_with(recording: Recording, item: Translation) -> list[History]:
    """The functions of which a translation is a recompilation: one, or none."""
    again = [
        recompilation(recording, each)
        for each in compiled_again(recording)
        if each.code == item.code and is_meant(recording, each, item.name)
    ]
    return [
        history
        for history in histories(recording, again)
        if any(each.translation.id == item.id for each in history.recompilations)
    ]


def advice_against(recording: Recording, item: Translation) -> list[Advice]:
    """Advice on the function that was compiled once more."""
    return [
        advice
        for history in histories_with(recording, item)
        for advice in advise(recording, history)
    ]


def _told(found: list[Advice], advice: Advice) -> bool:
    """Whether a condition on a size is advised on that is 0 or 1, and the size itself has been; or
    a stride, and another one of the tensor has been; or a break that has been; or an element that
    is missing, and the number of the elements has been; or that number, where the whole is a
    constant that has been; or what a function's code is, where that it
    has one has been, or the other way round."""
    if advice.rule == "left by a break":
        return any(each.rule == advice.rule for each in found)
    if advice.rule == "length" and any(_is_value(each, advice.source) for each in found):
        return True
    if advice.source.endswith(CODE) and any(each.source == advice.source for each in found):
        return True
    if advice.rule == "not there":
        path = path_of(advice.source)
        whole = {path_of(each.source) for each in found if each.rule in _OF_ELEMENTS}
        return path is not None and bool(path.steps) and path.before in whole
    if advice.aspect.what == "stride":
        return any((each.source, each.rule) == (advice.source, advice.rule) for each in found)
    return advice.rule == "0/1 condition" and any(
        each.rule == "0/1" and advice.source == _size(each) for each in found
    )


def _is_value(advice: Advice, source: str) -> bool:
    return (advice.rule, advice.source) == ("value", source)


def _size(of: Advice | Series) -> str:
    """The size that changes, as conditions have it."""
    return f"{of.source}.size()[{of.aspect.at}]"


def _on(it: Changing) -> Iterator[Advice]:
    for name, rule in RULES.items():
        advice = rule(it)
        if advice is not None:
            yield msgspec.structs.replace(advice, rule=name)
            return


def _shared(entries: Entries, _: list[Advice]) -> Iterator[Advice]:
    """Sizes that had one value when an entry was made, and have two."""
    for step, entry, asked in were_equal(entries):
        if asked is None:
            yield Advice(
                "Sizes that have the same value when an entry is made are one symbol of it (duck "
                f"shaping): {_DUCK} before the first call, or make the entry with sizes that "
                "differ.",
                f"{step.symbol} stands for them in the entry; {entry} has a symbol for each, and "
                "asks for no relation between them that would not have held",
                changes=(_DUCK,),
            )
        else:
            stack, cwd = asked.program_stack, entries.recording.facts.cwd
            where = f" at {place_text(stack[-1], cwd)}" if stack else ""
            yield Advice(
                "Sizes that were one symbol, because they had one value, differ; a symbol for each "
                "would not save the entry: keep them equal or different in all calls, or do "
                "without what asks.",
                f"{entry} has a symbol for each, and requires {asked.expression}{where}",
            )


def _relations(entries: Entries, _: list[Advice]) -> Iterator[Advice]:
    """Conditions about several values at once, that do not hold."""
    equal = {step.id for step, *_ in were_equal(entries)}
    for each in entries.history.recompilations:
        first = None if each.nearest is None else each.nearest.relation
        if first is None or first.kind not in LEAVES:
            continue
        if equal.isdisjoint(step.id for step in first.conditions):
            spell = spelling(entries.recording, each.translation)
            if found := one_side(entries.recording, first, spell):
                yield Advice(*found)


def _made_meanwhile(entries: Entries, _: list[Advice]) -> Iterator[Advice]:
    """Threads compile one function: each has looked before the entry of the other was there."""
    recording = entries.recording
    for each in entries.history.recompilations:
        nearest, item = each.nearest, each.translation
        first = "" if nearest is None else made_by_another(recording, item, nearest)
        if first and nearest is not None:
            yield Advice(
                "Threads call it at one time, and each compiles what another has under way: call "
                "it before they begin, with each kind of input that they have.",
                f"{first} made {nearest.entry} while {item.thread} called, whom it fits",
            )
            return


def _at_once(entries: Entries, found: list[Advice]) -> Iterator[Advice]:
    """One thing that is left as it was is enough for a compilation."""
    recompilations = entries.history.recompilations
    nearest = (each.nearest for each in recompilations)
    several = sum(each is not None and apart(changes_of(each)) > 1 for each in nearest)
    changes = list(dict.fromkeys(each.changes[-1] for each in found if each.changes))
    if several and len(changes) > 1:
        told = [_worded(entries, each, found) for each in changes]
        ways = [*told, *(left := [*_left_over(entries, found)])]
        yield Advice(
            f"Change all of it: {'; '.join(ways)}. One alone leaves calls that differ in something "
            "else.",
            f"{several} of {plural(len(recompilations), 'recompilation')} differ from the "
            "nearest entry in more than one thing",
            changes=tuple(changes),
            together=True,
            first=several == len(recompilations) and not left,
        )


def _worded(entries: Entries, change: object, found: list[Advice]) -> str:
    """A change with what it is for; of a mark, which names that, with what else is marked
    likewise."""
    about = [each for each in found if change in each.changes[-1:]]
    series = [one for one in entries.history.series if any(_about(one, each) for each in about)]
    if not isinstance(change, MarkSize):
        names = [one.aspect.of(Changing(entries, one).spell(one.source)) for one in series]
        return f"{change} (for {_some(names)})" if any(names) else str(change)
    return _named(entries, change, series)


def _named(entries: Entries, mark: MarkSize, series: list[Series]) -> str:
    """A mark on what changes, by the user's name for that, with what else is marked likewise."""
    about = Changing(entries, series[0]) if series else None
    unsure = ", where nothing takes its value" if mark.how == "mark_unbacked" else ""
    spell, others = (spelled, "") if about is None else (about.spell, about.and_others)
    return f"{msgspec.structs.replace(mark, source=spell(mark.source))}{others}{unsure}"


def _left_over(entries: Entries, found: list[Advice]) -> Iterator[str]:
    """What changes besides, and only the program itself can keep as it is."""
    changed = {(each.source, each.aspect) for each in found if each.changes}
    changed |= {(_size(each), Aspect("")) for each in found if each.rule == "0/1"}
    left = [each for each in entries.history.series if (each.source, each.aspect) not in changed]
    if left:
        spell = Changing(entries, left[0]).spell
        names = _some([_left_name(each, spell) for each in left])
        yield " ".join(["and what else changes", *([f"({names})"] if names else [])])


def _left_name(series: Series, spell: Spelling) -> str:
    if series.condition and not series.values:
        return f"whether {spell(one_line(series.condition))}"
    return series.aspect.of(spell(series.source))


def _some(names: list[str]) -> str:
    return ", ".join(filter(None, dict.fromkeys(names[:TOLD])))


def _limit(entries: Entries, _: list[Advice]) -> Iterator[Advice]:
    """A limit was reached, which looks as if it was the cause."""
    history = entries.history
    if history.limit is None:
        return
    limited_by = history.capabilities.limit(history.limit.limit_name) or "the limit"
    calls = history.calls_after_limit
    yield Advice(
        f"Remove the cause rather than raise {limited_by}: a higher limit lets the same calls "
        "compile more entries, and each call tries them in turn.",
        f"{plural(history.entries, 'entry')} made before the limit"
        + (f", {plural(calls, 'call')} run uncompiled after it" if calls else ""),
    )


RULES_OF_ALL: dict[str, Callable[[Entries, list[Advice]], Iterator[Advice]]] = {
    "duck shaping": _shared,
    "relation": _relations,
    "made meanwhile": _made_meanwhile,
    _AT_ONCE: _at_once,
    "limit": _limit,
}
"""Those about all that changes of a function; they are given what the others advise."""
