"""Why a moment is worth a look: what happens there, the line to blame, what to do, what led to it.

The same answers as those to whole runs, about one moment. What happens at a moment is an event that
its instruction causes; of several the one that costs most is told. Where there is none, what led to
the attempt is told: the break that it was begun again for, the guards for which it was compiled
again.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from stepper.analysis.break_lines import cost_text, rebuilt_text
from stepper.analysis.break_places import break_before
from stepper.analysis.breaks import cause_of_one
from stepper.analysis.conditions import LEAVES
from stepper.analysis.failed_lines import blamed_lines, failed_headline
from stepper.analysis.failure_changes import change_of
from stepper.analysis.failures import failure_at
from stepper.analysis.handed_on import Spelling, spelled_inside
from stepper.analysis.line import Line
from stepper.analysis.needed import needed_by
from stepper.analysis.reasons import reasons_of
from stepper.analysis.recompile_advice import advice_against
from stepper.analysis.recompile_lines import (
    callers_of,
    differing_text,
    failure_text,
    how_known,
    origin_lines,
    seen_text,
    spelling_of,
)
from stepper.analysis.recompiles import (
    Recompilation,
    Tried,
    changes_of,
    failed_check,
    failed_checks,
    recompilation,
)
from stepper.analysis.shape_lines import size_lines, step_lines
from stepper.analysis.shapes import cause_of, sizes
from stepper.analysis.sites import Site, site_at, text_at, way_to
from stepper.analysis.sources import unscoped
from stepper.analysis.unmet_guards import Failure
from stepper.analysis.walks import Calls, compiled_again
from stepper.client.frame_names import (
    brief_compiled_name,
    compiled_title,
    frame_name,
    walk_title,
    with_shown_names,
)
from stepper.client.names import brief_function
from stepper.client.text import (
    clip,
    columns_of,
    instruction_text,
    line_text,
    one_line,
    place_text,
    plural,
    short_name,
    short_path,
    translation_summary,
    walk_name,
)
from stepper.model.datum import UNKNOWN
from stepper.model.program import PythonFrame, UserLine
from stepper.model.trace import Event, EventKind, MomentId, Outcome, Phase, Translation, headline
from stepper.recording.reader import Recording

_RANKED = (
    EventKind.EXCEPTION,
    EventKind.GRAPH_BREAK,
    EventKind.CACHE_LIMIT,
    EventKind.RECOMPILE,
    EventKind.MISS,
    EventKind.GUARD_FAIL,
    EventKind.SPECIALIZE,
    EventKind.DATA_DEPENDENT,
    EventKind.INVALIDATE,
    EventKind.EVICT,
    EventKind.SKIP,
    EventKind.HIT,
    EventKind.END,
)
"""Kinds of events that a moment is about, the one that is told of several first."""
_RANKS = {kind: rank for rank, kind in enumerate(_RANKED)}
_BY_THE_INSTRUCTION = frozenset(
    {EventKind.GRAPH_BREAK, EventKind.SPECIALIZE, EventKind.DATA_DEPENDENT}
)
"""For these the moment's own instruction is to blame. Others only have its number, because it was
the newest then."""
_RAISED_BY_OPERATOR = re.compile(r""": got (\w+)\((['"])(.*?)\2,?\)$""")
"""How Dynamo ends what it says of an operator that fails on fake tensors."""
_TEXT = 300
_ENDS = (EventKind.INVALIDATE, EventKind.EVICT)
OF_THE_CACHE = frozenset({EventKind.MISS, EventKind.GUARD_FAIL, *_ENDS})
"""What comes of these is recorded later, if at all: no question about a run is about them."""
_CALLERS = 4
_CONDITIONS = 3
_FAILURES = 4


class Culprit(msgspec.Struct, frozen=True):
    """A line of the program, and the part of it that is meant."""

    place: PythonFrame
    text: str = ""
    """What stands there; empty: it is not recorded."""
    start: int = 0
    end: int = 0
    """The characters that are meant; none: that is not known."""
    moment: MomentId | None = None
    """Where its instruction is interpreted."""


class Here(msgspec.Struct, frozen=True):
    """What a moment is about."""

    headline: str
    kind: EventKind | None = None
    """What happens there; None: its instruction, and nothing else."""
    culprit: Culprit | None = None
    remedy: str = ""
    """The nearest change; empty: none is known."""
    leads: tuple[Line, ...] = ()
    """What led to it, each to be gone to; or what else is known."""
    whole: bool = True
    """Whether this is all; else only what is found at once."""


def glimpse(recording: Recording, moment: MomentId) -> Here:
    """What is found at once, however long the recording is."""
    event = event_at(recording, moment)
    site = site_at(recording, moment)
    culprit = None if site is None else _at_site(recording, site)
    if event is not None:
        at_it = event.kind in _BY_THE_INSTRUCTION
        return Here(_said(recording, event), event.kind, culprit if at_it else None, whole=False)
    return Here(_doing(recording, site), None, culprit, whole=False)


def why_here(recording: Recording, moment: MomentId) -> Here:
    """All that is known of what a moment is about."""
    event = event_at(recording, moment)
    if event is None:
        return _instruction(recording, moment)
    answer = _ANSWERS.get(event.kind, _told)
    return answer(recording, event)


def here_lines(recording: Recording, moment: MomentId) -> Iterator[Line]:
    """The answer, as lines."""
    here = why_here(recording, moment)
    yield Line(here.headline, None, "title")
    if (culprit := here.culprit) is not None:
        yield Line(f"  {place_text(culprit.place, recording.facts.cwd)}", culprit.moment)
        if culprit.text:
            yield Line(f"    {culprit.text}", culprit.moment)
        if culprit.end > culprit.start:
            sign = "^" * (culprit.end - culprit.start)
            yield Line(f"    {' ' * culprit.start}{sign}", culprit.moment)
    if here.remedy:
        yield Line(f"  change: {here.remedy}")
    for line in here.leads:
        yield line._replace(text=f"  {line.text}")


def event_at(recording: Recording, moment: MomentId) -> Event | None:
    """What a moment is about; None: nothing that is worth more than its instruction."""
    found = recording.events(kinds=_RANKED, after=moment - 1, before=moment + 1)
    if not found and (item := recording.translation_at(moment)) is not None:
        # That it is compiled again is told before it has a moment of its own.
        again = recording.events(kinds=(EventKind.RECOMPILE,), after=moment - 2, before=moment)
        found = [each for each in again if each.ref == item.id and item.first_moment == moment]
    return min(found, key=lambda event: _RANKS[event.kind], default=None)


def ending_at(recording: Recording, moment: MomentId) -> Event | None:
    """The end of a cache entry that has a moment's number; the moment's frames are not those in
    which it happened."""
    found = recording.events(kinds=_ENDS, after=moment - 1, before=moment + 1)
    return next(iter(found), None)


# Where that is


def _at_site(recording: Recording, site: Site) -> Culprit:
    code = recording.code(recording.frame(recording.moment(site.moment).frame).code)
    start, end = columns_of(code, site.instruction)
    line = site.instruction.line
    index = -1 if line is None else line - code.source_first_line
    raw = code.source[index] if 0 <= index < len(code.source) else ""
    indent = len(raw) - len(raw.lstrip())
    start, end = max(0, start - indent), min(max(0, end - indent), len(site.line.text))
    return Culprit(site.line.place, site.line.text, start, end, site.moment)


def _at_moment(recording: Recording, moment: MomentId) -> Culprit | None:
    site = site_at(recording, moment)
    return None if site is None else _at_site(recording, site)


def _at_line(line: UserLine | None, moment: MomentId | None) -> Culprit | None:
    return None if line is None else Culprit(line.place, line.text, moment=moment)


def _callers(recording: Recording, moment: MomentId) -> Iterator[Line]:
    """The calls that led into an inlined function."""
    for site in itertools.islice(way_to(recording, moment), 1, 1 + _CALLERS):
        yield _called_from(recording, site)


def _called_from(recording: Recording, site: Site) -> Line:
    """A call on the way, by the name that its frame is shown by."""
    name = brief_function(frame_name(recording, recording.moment(site.moment).frame))
    place = msgspec.structs.replace(site.line.place, function=name)
    line = msgspec.structs.replace(site.line, place=place)
    return Line(f"called from {line_text(line, recording.facts.cwd)}", site.moment)


# What it is about


def _said(recording: Recording, event: Event) -> str:
    """An event in a line."""
    text = one_line(short_name(headline(event.text)))
    text = clip(with_shown_names(recording, text), _TEXT)
    kind = str(event.kind).replace("-", " ")
    return text if event.kind is EventKind.END else f"{kind}: {text}"


def _unindented(line: Line) -> Line:
    return line._replace(text=line.text.strip())


def _told(recording: Recording, event: Event) -> Here:
    at_it = event.kind in _BY_THE_INSTRUCTION
    return Here(
        _said(recording, event), event.kind, _at_moment(recording, event.moment) if at_it else None
    )


def _broken(recording: Recording, event: Event) -> Here:
    found = recording.graph_break_at(event.moment)
    if found is None:
        return _told(recording, event)
    cause = cause_of_one(recording, found)
    then = f", then {cause.then}" if cause.then else ""
    leads = [Line(f"cost: {cost_text(cause)}")]
    remedy = "" if cause.change is None else str(cause.change)
    if not remedy:
        leads += [Line(clip(cause.explanation, _TEXT))] if cause.explanation else []
        leads += [Line(f"hint: {clip(hint, _TEXT)}") for hint in cause.hints[:2]]
    if cause.rebuilt is not None and (unmade := rebuilt_text(cause.rebuilt, recording.facts.cwd)):
        leads.append(Line(unmade))
    leads += _callers(recording, found.moment)
    for item in cause.resume_functions[:1]:
        name = f"{walk_name(item)} {brief_compiled_name(recording, item)}"
        leads.append(Line(f"goes on in {name}", item.first_moment))
    culprit = _at_moment(recording, found.moment)
    if cause.place is not None and (culprit is None or culprit.place != cause.place):
        # The program's line that calls what Dynamo has for a function of Python's own, say.
        culprit = Culprit(cause.place, cause.source, moment=found.moment)
    return Here(f"graph break: {cause.kind}{then}", event.kind, culprit, remedy, (*leads,))


def _failed(recording: Recording, event: Event) -> Here:
    failed = failure_at(recording, event)
    if failed is None:
        return _told(recording, event)
    culprit = _at_site(recording, failed.sites[0]) if failed.sites and failed.certain else None
    if culprit is None and failed.place is not None:
        culprit = Culprit(failed.place)
    change = change_of(recording, failed)
    message = failed.failure.message.strip().splitlines()[1:]
    leads = [Line(_explained(text)) for line in message if (text := line.strip())][:1]
    leads += map(_unindented, blamed_lines(recording, failed))
    if failed.certain:
        leads += [_called_from(recording, site) for site in failed.sites[1:]]
    # At a stop there it is not known yet what comes of it.
    item = failed.translation
    goes_on = item is not None and item.outcome is Outcome.RUNNING
    return Here(
        _said(recording, event) if goes_on else one_line(failed_headline(failed)),
        event.kind,
        culprit,
        "" if change is None else str(change),
        (*leads,),
    )


def _explained(text: str) -> str:
    """A line of Dynamo's explanation; of an operator that failed, what it said, which stands behind
    all of its arguments."""
    said = _RAISED_BY_OPERATOR.search(text)
    return f"{said[1]}: {said[3]}" if said is not None else text.removeprefix("Explanation: ")


def _compiled_again(recording: Recording, event: Event) -> Here:
    if event.ref is None:
        return _told(recording, event)
    return _recompiled(recording, recording.translation(event.ref), event)


def _missed(recording: Recording, event: Event) -> Here:
    """A lookup that found no entry: why, as of the compilation that it led to."""
    place = recording.place(event.moment) if recording.has(event.moment) else None
    lookup = None if place is None else recording.attempt(place.attempt).translation
    calls = Calls(recording)
    for item in compiled_again(recording):
        before = calls.before(item)
        if before is not None and before.id == lookup:
            return _recompiled(recording, item, event)
    # What it leads to is still to come.
    walk = None if lookup is None else recording.translation(lookup)
    tried = [] if walk is None else list(failed_checks(recording, walk))
    if walk is None or not tried:
        return Here(_said(recording, event), event.kind)
    name = brief_compiled_name(recording, walk)
    why, culprit, leads = _entry(recording, tried[0])
    for each in tried[1:_FAILURES]:
        other, _, _ = _entry(recording, each)
        leads.append(Line(f"{each.entry} {other}", each.failures[0].moment))
    said = f"{name}: no entry fits: {tried[0].entry} {why}"
    return Here(said, event.kind, culprit, leads=(*leads,))


def _recompiled(recording: Recording, item: Translation, event: Event) -> Here:
    found = recompilation(recording, item)
    name = compiled_title(recording, item)
    what = "no entry fits" if event.kind is EventKind.MISS else "compiled again"
    result = "" if found.result == "compiled" else f", {found.result}"
    tried = found.nearest or next((each for each in found.tried if each.failures), None)
    if tried is None:
        words = one_line(item.recompile_reason) or "not recorded why"
        said = clip(f"{name} {what}{result}: {words}", _TEXT)
        died = ending_at(recording, event.moment)
        return Here(said, event.kind) if died is None else _with_death(recording, said, event, died)
    why, culprit, leads = _entry(recording, tried)
    others = len(found.tried) - 1
    more = f"  ({plural(others, 'other entry')} tried)" if others else ""
    if stack := callers_of(item):
        leads.append(Line(f"called by {place_text(stack[-1], recording.facts.cwd)}"))
    if event.kind is not EventKind.MISS and found.lookup is not None:
        leads.append(Line("the lookup that found no entry", found.lookup.first_moment))
    return Here(
        f"{name} {what}{result}: {tried.entry} {why}{more}",
        event.kind,
        culprit,
        _advice(recording, found),
        (*leads,),
    )


def _advice(recording: Recording, found: Recompilation) -> str:
    """What to change against this recompilation; of what made others it says nothing."""
    nearest = found.nearest
    known = advice_against(recording, found.translation)
    changed = [] if nearest is None else changes_of(nearest)
    if known and known[0].first:
        return known[0].text
    # What the headline says was otherwise comes first.
    for source, by, failure in changed:
        about = [
            each for each in known if (each.source, each.aspect) == (unscoped(source), by.aspect)
        ]
        asked = [each for each in about if each.condition == unscoped(failure.text)]
        for advice in asked or about:
            return advice.text
    return next((each.text for each in known if not changed or not each.source), "")


def _entry(recording: Recording, tried: Tried) -> tuple[_Unfit, Culprit | None, list[Line]]:
    """Why an entry did not fit, the line because of which it asks, and what led to that."""
    failure, spell = tried.failures[0], spelling_of(recording, tried)
    culprit: Culprit | None = None
    for step in failure.conditions[-1:]:
        culprit = _at_moment(recording, step.moment)
    origin = failure.origin
    if culprit is None and origin is not None and origin.instruction is not None:
        culprit = _at_moment(recording, origin.moment)
        if culprit is not None and origin.line is not None and origin.line.place != culprit.place:
            culprit = _at_line(origin.line, origin.moment)
    if culprit is None:
        line = failure.user_line or (origin.line if origin is not None else None)
        culprit = _at_line(line, failure.moment)
    leads = [
        Line(f"{failure_text(each, spell)}{how_known(each)}", each.moment)
        for each in tried.failures[1:_FAILURES]
    ]
    steps = failure.conditions[-_CONDITIONS:]
    for step in steps:
        leads += map(_unindented, step_lines(recording, step))
    if not steps:
        leads += origin_lines(failure, recording.facts.cwd, because=False)
    if tried.translation is not None:
        made = recording.translation(tried.translation)
        leads.append(Line(f"{tried.entry} was compiled there", made.first_moment))
    return _unfit(failure, spell), culprit, leads


class _Unfit(NamedTuple):
    """Why a call did not fit an entry."""

    how: str
    """`wants`, or that it does not fit."""
    why: str
    """What the entry wants, and what there was; or the compiler's words on it."""

    def __str__(self) -> str:
        return " ".join(self)


def _unfit(failure: Failure, spell: Spelling) -> _Unfit:
    if failure.differences:
        wanted = any(each.expected != UNKNOWN for each in failure.differences)
        return _Unfit("wants" if wanted else "does not fit:", differing_text(failure, spell))
    if failure.missing and not failure.kind:
        return _Unfit("does not fit:", differing_text(failure, spell))
    text = clip(spell(one_line(failure.text)), _TEXT)
    if failure.kind not in LEAVES:
        return _Unfit("does not fit:", text)
    actual = "" if failure.saw == UNKNOWN else f", actual {seen_text(failure.saw, spell)}"
    return _Unfit("wants", f"{text}{actual}")


def _guard_failed(recording: Recording, event: Event) -> Here:
    place = recording.place(event.moment) if recording.has(event.moment) else None
    if place is None:
        return _told(recording, event)
    lookup = recording.translation(recording.attempt(place.attempt).translation)
    tried = failed_check(recording, lookup, event.moment)
    if tried is None:
        return Here(_said(recording, event), event.kind)
    unfit, culprit, leads = _entry(recording, tried)
    return Here(f"a guard of {tried.entry} fails: {unfit.why}", event.kind, culprit, "", (*leads,))


def _specialized(recording: Recording, event: Event) -> Here:
    steps = (
        [
            (attempt, step)
            for attempt in {
                recording.place(event.moment).attempt,
                *_begun_at(recording, event.moment),
            }
            for step in recording.shape_steps(None, attempt=attempt)
            if step.id == event.ref
        ]
        if recording.has(event.moment)
        else []
    )
    for attempt, step in steps:
        item = recording.translation(recording.attempt(attempt).translation)
        for size in sizes(recording, item, attempt):
            same = size.symbol is not None and size.symbol.name == step.symbol
            if not (same or (size.number is not None and size.number.id == step.id)):
                continue
            title, *lines = size_lines(recording, size)
            cause = cause_of(size)
            remedy = ""
            if cause is not None and size.symbol is not None:
                name = spelled_inside(recording, item, size.source)
                remedy = needed_by(recording, size, cause, name)[0]
            leads = tuple(map(_unindented, lines))
            culprit = _at_moment(recording, step.moment if cause is None else cause.moment)
            return Here(title.text, event.kind, culprit, remedy, (*leads,))
    return _told(recording, event)


def _begun_at(recording: Recording, moment: MomentId) -> Iterator[int]:
    """The attempt that begins behind a moment: what comes before its first instruction carries this
    moment's number."""
    if recording.has(moment + 1):
        yield recording.place(moment + 1).attempt


def _with_death(recording: Recording, said: str, event: Event, died: Event) -> Here:
    """A recompilation for which the death of an entry is to blame."""
    death = _died(recording, died)
    leads = (Line(death.headline), *death.leads)
    return Here(said, event.kind, death.culprit, leads=leads)


def _died(recording: Recording, event: Event) -> Here:
    there = recording.events(kinds=(event.kind,), after=event.moment - 1, before=event.moment + 1)
    leads = [Line(_said(recording, each)) for each in there[1:]]
    if (made := _made(recording, event.ref)) is not None:
        text = with_shown_names(recording, one_line(made.text))
        leads.insert(0, Line(f"made: {text}", made.moment))
    place = recording.place_of_end(there[0])
    if place is None:
        leads.insert(0, Line("no line of the program is recorded that did it"))
    culprit = None if place is None else Culprit(place, text_at(recording, place))
    return Here(_said(recording, there[0]), event.kind, culprit, leads=(*leads,))


def _made(recording: Recording, entry: int | None) -> Event | None:
    """The event of an entry that was made; None: it is not recorded."""
    if entry is None:
        return None
    kinds = (EventKind.ENTRY,)
    # Entries are numbered as they are made: where each is recorded, its number is its place.
    likely = recording.events(kinds=kinds, offset=entry - 1, limit=1)
    found = likely if likely and likely[0].ref == entry else recording.events(kinds=kinds)
    return next((made for made in found if made.ref == entry), None)


def _ended(recording: Recording, event: Event) -> Here:
    if event.ref is None:
        return _told(recording, event)
    item = recording.translation(event.ref)
    text = f"{walk_title(recording, item)} {translation_summary(item)}"
    return Here(text, event.kind, leads=(Line("it begins there", item.first_moment),))


_ANSWERS: dict[EventKind, Callable[[Recording, Event], Here]] = {
    EventKind.EXCEPTION: _failed,
    EventKind.GRAPH_BREAK: _broken,
    EventKind.CACHE_LIMIT: _compiled_again,
    EventKind.RECOMPILE: _compiled_again,
    EventKind.MISS: _missed,
    EventKind.GUARD_FAIL: _guard_failed,
    EventKind.SPECIALIZE: _specialized,
    EventKind.INVALIDATE: _died,
    EventKind.EVICT: _died,
    EventKind.END: _ended,
}


# A moment of which there is nothing else to say


def _doing(recording: Recording, site: Site | None) -> str:
    """An instruction, and whose it is."""
    if site is None:
        return "nothing is recorded here"
    place = site.line.place
    where = f"{short_path(place.filename, recording.facts.cwd)}:{place.line}"
    what = instruction_text(site.instruction)
    return f"{what}  {where} in {brief_function(place.function)}"


def _instruction(recording: Recording, moment: MomentId) -> Here:
    site = site_at(recording, moment)
    leads: list[Line] = []
    if site is None:
        return Here(_doing(recording, None))
    attempt = recording.attempt(recording.place(moment).attempt)
    item = recording.translation(attempt.translation)
    before = [each for each in recording.attempts(item.id) if each.number == attempt.number - 1]
    for each in before:
        reason = one_line(headline(each.restart_reason)) or "not recorded why"
        text = f"attempt {each.number} was thrown away: {reason}"
        leads.append(Line(clip(text, _TEXT), each.last_moment))
    if item.phase is Phase.TRANSLATE:
        if (item.recompile_reason or item.cache_size) and item.first_moment > 1:
            text = "; ".join(each.text for each in reasons_of(item)) or "not recorded why"
            leads.append(Line(clip(f"compiled again: {text}", _TEXT), item.first_moment - 1))
        broken = break_before(recording, item)
        if broken is not None:
            kind = broken.gb_type or headline(broken.reason)
            leads.append(Line(f"goes on after a graph break: {kind}", broken.moment))
    leads += _callers(recording, moment)
    return Here(_doing(recording, site), None, _at_site(recording, site), "", (*leads,))
