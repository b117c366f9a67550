"""Why functions were compiled again, in words: for the command line, the console and the screen."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from stepper.analysis.advice import Advice, spelling_in
from stepper.analysis.autograd_captures import capture_lines
from stepper.analysis.break_places import left_to_python
from stepper.analysis.entryless import inlined_lines
from stepper.analysis.failures import failures
from stepper.analysis.failures import instead as failed_instead
from stepper.analysis.handed_on import Spelling, spelling
from stepper.analysis.line import Line
from stepper.analysis.reasons import FITS
from stepper.analysis.recompile_advice import advise
from stepper.analysis.recompile_series import TOLD, History, Series, histories
from stepper.analysis.recompiles import (
    Recompilation,
    Tried,
    failed_checks,
    failed_guards,
    made_by_another,
    recompilations,
)
from stepper.analysis.shape_lines import step_lines
from stepper.analysis.sources import spelled, unscoped
from stepper.analysis.trial_lines import Told, enough
from stepper.analysis.trial_lines import Tried as TriedWay
from stepper.analysis.unmet_guards import Failure
from stepper.analysis.unseen import so_far
from stepper.analysis.walks import compilations, interventions
from stepper.analysis.writers import set_elsewhere
from stepper.client.frame_names import common_name, compiled_name, event_text
from stepper.client.meant import is_meant
from stepper.client.names import brief_source
from stepper.client.text import (
    clip,
    instruction_text,
    line_text,
    one_line,
    place_text,
    plural,
    short_path,
    value_line,
    way_texts,
)
from stepper.model.datum import UNKNOWN, Datum, Many, text_of
from stepper.model.lookup import Aspect, Difference
from stepper.model.program import PythonFrame
from stepper.model.trace import EventKind, Outcome, Phase, Translation
from stepper.recording.reader import Recording

_TEXT = 120
_VALUE = 300
_CONDITIONS = 3
"""How many conditions that a guard can come from are shown."""
_ENTRIES = 64
"""Entries that are told of a recompilation, of those tried; and the nearest. By itself Dynamo lets
a function have eight, and without lookups fewer than these are asked."""
WHOLE = 4
"""Recompilations of a function that are told whole; of more only the first is, so that the answer
is seen at once."""
BRIEF_AT_AN_END = 6
"""Recompilations that are told at each end in the answer that is seen at once."""
_MANY = 3
"""Functions that are all told whole."""
_WHOLE_FUNCTIONS = 24
"""Functions that are told whole where they are many: those that took most time."""
_NAMED = 100
"""Functions that are named after those."""
_FEW = 2
"""Guards of an entry that are told one by one though they failed alike."""
_ALL = "each entry that was tried, and where its guards come from: --all"
_AT_AN_END = 16
"""Recompilations of a function that are told from the first on, and up to the last."""
_TEST_RUNNER = re.compile(r"[/\\](?:_pytest|pluggy)[/\\]")
_MOST_CALLS = 20
"""How many calls for which nothing was compiled, for one reason, are asked what did not serve."""

Trying = Callable[[History], Told]
"""Tries what can be done about a function."""


def _instead(recording: Recording, function: str, after: int) -> str:
    """What is recorded of functions that were not compiled again."""
    if failed := failed_instead(recording, function, after=after):
        return failed
    outcomes = {
        item.outcome
        for item in compilations(recording)
        if item.id > after and is_meant(recording, item, function)
    }
    if outcomes & {Outcome.RUNNING, Outcome.CUT_OFF}:
        return "; what is recorded ends in a compilation"
    if Outcome.COMPILED not in outcomes:
        why = ": why-break says why" if Outcome.SKIPPED in outcomes else ""
        return f"; none was compiled{why}"
    if not recording.lookups():
        return "; a call for which nothing was compiled is recorded only with --lookups"
    if any(_uncompiled(recording, function, after)):
        return ""
    return ": each call found an entry, or was the first"


def _uncompiled(recording: Recording, function: str, after: int) -> list[Translation]:
    """Calls of compiled functions that found no entry and that nothing was compiled for: they ran
    as they are, or were an error. As far as lookups were recorded."""
    return [
        item
        for item in recording.translations()
        if item.phase is Phase.LOOKUP
        and item.outcome is Outcome.SKIPPED
        and item.id > after
        and not item.by_hand
        and is_meant(recording, item, function)
    ]


def _uncompiled_lines(
    recording: Recording, function: str, after: int, told: set[str], every: bool
) -> Iterator[Line]:
    """Each function of which calls ran as it is or were an error, why, and what entries asked for
    that did not serve them. `told`: functions whose calls after a limit are counted already."""
    uncompiled = [item for item in _uncompiled(recording, function, after) if item.name not in told]
    if not uncompiled:
        return  # what follows reads much
    errors = {each.lookup.id for each in failures(recording, function) if each.lookup is not None}
    found: dict[tuple[str, str, str, str], list[Translation]] = {}
    for item in uncompiled:
        why = _why_skipped(recording, item) or compiled_name(recording, item)
        came = "failed" if item.id in errors else "ran uncompiled"
        found.setdefault((item.name, item.filename, came, why), []).append(item)
    for (_, _, came, why), calls in found.items():
        yield Line("")
        yield Line(f"{plural(len(calls), 'call')} {came}: {why}", role="title")
        unlike: dict[tuple[tuple[str, str, str], ...], Translation] = {}
        for call in calls[:_MOST_CALLS]:
            unlike.setdefault(failed_guards(recording, call), call)
        for call in unlike.values():
            if stack := callers_of(call):
                where = place_text(stack[-1], recording.facts.cwd)
                yield Line(f"  called by {where}", call.first_moment)
            unmet = list(failed_checks(recording, call))
            for tried in unmet:
                yield from tried_lines(recording, tried, set(), every=every)
            if not every and _some_alike(unmet):
                yield Line(f"  {_ALL}", role="dim")
        if len(calls) > _MOST_CALLS:
            yield Line(f"  as for the first {_MOST_CALLS} of these calls", role="dim")


def _why_skipped(recording: Recording, lookup: Translation) -> str:
    """Why nothing was compiled for a call; empty: it is not recorded."""
    at = lookup.last_moment
    if at is None:
        return ""
    # What is told at the same moment afterwards is about other calls.
    skips = recording.events(kinds=(EventKind.SKIP,), after=at - 1, before=at + 1)
    return event_text(recording, skips[0]) if skips else ""


def recompile_lines(
    recording: Recording,
    function: str = "",
    *,
    after: int = 0,
    trying: Trying | None = None,
    every: bool = False,
) -> Iterator[Line]:
    """The whole answer: a heading, then each function with its series, its recompilations and
    advice.

    Args:
        recording: what is asked.
        function: only functions with this in their name; empty: all.
        after: only compilations in walks after this one.
        trying: asked about each function; None: nothing is tried.
        every: whether each entry that was tried is told, however many there are, and each guard.
    """
    yield from inlined_lines(recording, function)
    found = recompilations(recording, function, after=after)
    if not found:
        which = f"no function with {function!r} in its name" if function else "no function"
        instead = _instead(recording, function, after)
        yield Line(f"{which} was compiled again{so_far(recording)}{instead}")
        yield from _uncompiled_lines(recording, function, after, set(), every)
        if not function:
            yield from capture_lines(recording, after)
        return
    by_function = histories(recording, found)
    refused = sum(each.limit is not None for each in by_function)
    failed = sum(each.failed for each in found)
    made = sum(each.result == "compiled" for each in found)
    left = sum(each.result == "skipped" for each in found)
    under_way = sum(each.result == "being compiled" for each in found)
    yield Line(
        f"{plural(len(by_function), 'function')} compiled again, {plural(made, 'recompilation')}"
        + (f"; {refused} given up at a limit" if refused else "")
        + (f"; {failed} failed: why-failed says why" if failed else "")
        + (f"; {left} skipped: why-break says why" if left else "")
        + (f"; {under_way} being compiled" if under_way else ""),
        role="title",
    )
    yield from interventions(recording)
    all_whole = bool(function) or every
    first, follow = _by_rank(recording, by_function, all_whole=all_whole)
    whole = first if all_whole else first[:_WHOLE_FUNCTIONS]
    for history in whole:
        yield Line("")
        yield from _function(recording, history, trying, every)
    yield from _named_only(recording, first[len(whole) :])
    if follow:
        yield Line("")
        yield Line(
            f"{plural(len(follow), 'more function')}, each compiled by itself because a graph "
            "breaks: why-break says how to be without; told whole by name, or all with --all",
            role="title",
        )
        for history in follow:
            yield from _heading(recording, history, "  ")
    limited = {history.name for history in by_function if history.calls_after_limit}
    yield from _uncompiled_lines(recording, function, after, limited, every)
    if not function:
        yield from capture_lines(recording, after)


def _by_rank(
    recording: Recording, every: list[History], *, all_whole: bool
) -> tuple[list[History], list[History]]:
    """The functions that are told whole, and those of which little is: of many, what a graph break
    leaves to Python is compiled again for what its caller is."""
    if all_whole or len(every) <= _MANY:
        return every, []
    first: list[History] = []
    follow: list[History] = []
    for each in every:
        left = all(left_to_python(recording, again.translation) for again in each.recompilations)
        (follow if left else first).append(each)
    return (first, follow) if first else (every, [])


def _named_only(recording: Recording, rest: list[History]) -> Iterator[Line]:
    """Functions that took less time than those that are told whole. What changed is not asked for:
    of thousands of functions that takes seconds, and nobody reads it."""
    if not rest:
        return
    yield Line("")
    yield Line(
        f"{plural(len(rest), 'more function')} that took less time: told whole by name, or all "
        "with --all",
        role="title",
    )
    for history in rest[:_NAMED]:
        yield Line(f"  {_what_it_took(recording, history)}")
    if len(rest) > _NAMED:
        yield Line(f"  … and {len(rest) - _NAMED:,} more", role="dim")


def _function(
    recording: Recording, history: History, trying: Trying | None, every: bool
) -> Iterator[Line]:
    yield from _heading(recording, history)
    spell = spelling(recording, history.recompilations[-1].translation)
    if len(history.series) > TOLD:
        more = plural(len(history.series) - TOLD, "more thing")
        yield Line(f"  … and {more} that changed with these", role="dim")
    for condition, times in _unmet(history).most_common(TOLD):
        text = clip(spell(one_line(condition)), _TEXT)
        yield Line(f"  {text} does not hold  ({times} of {len(history.recompilations)})")
    for text, times in Counter(_fitting(recording, history)).items():
        yield Line(f"  {text}  ({times} of {len(history.recompilations)})")
    limit = history.limit
    if limit is not None:
        yield Line(f"  {limit_text(history)}", limit.translation.first_moment)
    tried = [] if trying is None else (yield from trying(history))
    label = "advice" if trying is None else "advice, not proven"
    explained = False
    for advice in () if enough(tried) else advise(recording, history):
        if _has_been_tried(advice, tried):
            continue
        yield Line(f"  {label}: {(advice.again if explained else '') or advice.text}")
        explained = explained or bool(advice.again)
        yield Line(f"    since {advice.evidence}", role="dim")
    told: set[tuple[str, str, str]] = set()
    stack: tuple[PythonFrame, ...] = ()
    common = common_name(recording, history.walks)
    at_an_end = _AT_AN_END if every else BRIEF_AT_AN_END
    left_out = max(0, len(history.recompilations) - 2 * at_an_end)
    for at, each in enumerate(history.recompilations):
        if left_out and at == at_an_end:
            yield Line(
                f"  … {plural(left_out, 'more recompilation')}; stepper query has all of them, "
                "in its view recompilations",
                role="dim",
            )
        if not at_an_end <= at < at_an_end + left_out:
            if every or at == 0 or len(history.recompilations) <= WHOLE:
                yield from _recompilation(recording, each, stack, told, every, common)
            else:
                yield from _in_brief(recording, each, stack, told, common)
            stack = callers_of(each.translation)
    tried_ones = (tried for each in history.recompilations for tried in each.tried)
    if not every and (len(history.recompilations) > WHOLE or _some_alike(tried_ones)):
        yield Line(f"  {_ALL}", role="dim")


def _heading(recording: Recording, history: History, indent: str = "") -> Iterator[Line]:
    """Which function it is, and what changes."""
    yield Line(f"{indent}{_what_it_took(recording, history)}", role="title")
    for series in history.series[:TOLD]:
        spell = spelling_in(recording, history, series)
        yield Line(f"{indent}  {series_text(series, len(history.recompilations), spell)}")
        newest = history.recompilations[-1].translation
        if (found := set_elsewhere(recording, series.source, newest)) is not None:
            moment, line = found
            of_self = series.source.startswith("self.")
            who = "method sets that of its self" if of_self else "function sets it"
            where = line_text(line, recording.facts.cwd)
            yield Line(f"{indent}    a compiled {who}: {where}", moment, "dim")


def _what_it_took(recording: Recording, history: History) -> str:
    place = f"{short_path(history.filename, recording.facts.cwd)}:{history.line}"
    counted = sum(each.result == "compiled" for each in history.recompilations)
    name = common_name(recording, history.walks)
    return f"{name}  {place}  {plural(counted, 'recompilation')}, {history.seconds:.2f} s"


def _which(recording: Recording, found: Recompilation, common: str) -> str:
    """`0/1 compiled`, with the function's name behind it where that is not the `common` one."""
    item, name = found.translation, compiled_name(recording, found.translation)
    of = "" if name == common else f": {name}"
    return f"{item.compile_id or '-'} {found.result}{of}"


def _unmet(history: History) -> Counter[str]:
    """The conditions about several values that failed first, in so many recompilations."""
    nearest = [each.nearest for each in history.recompilations if each.nearest is not None]
    return Counter(unscoped(each.relation.text) for each in nearest if each.relation is not None)


def _fitting(recording: Recording, history: History) -> Iterator[str]:
    """What is to be said of each recompilation of which nothing was found to fail."""
    for each in history.recompilations:
        nearest = each.nearest
        if nearest is not None and nearest.fits:
            if made_by_another(recording, each.translation, nearest):
                yield "another thread made an entry that fits, while this call was on its way"
            else:
                yield (
                    f"the call found no entry, though all guards of {nearest.entry} held when they "
                    "were looked at once more, before it was compiled again: which one had failed "
                    "is not recorded"
                )


def _has_been_tried(advice: Advice, tried: list[TriedWay]) -> bool:
    """Whether what came of it is told already: something is proven against the same, or each of its
    changes was tried."""
    about = (advice.source, advice.aspect)
    if any(each.proven and about in each.way.about for each in tried):
        return True
    made = {change for each in tried for change in (*each.way.changes, *each.way.does)}
    return bool(advice.changes) and made.issuperset(advice.changes)


def series_text(series: Series, of: int, spell: Spelling = spelled) -> str:
    """`x.shape[0] grows: 4, 5, 6  (2 of 3)`; `of` is how many recompilations there are."""
    what = _named(series.source, series.aspect, spell) or series.kind
    if series.compares_strides:
        text = clip(spell(one_line(series.condition)), _TEXT)
        return f"{text} does not hold  ({series.times} of {of})"
    if series.missing:
        return f"{what} is not there  ({series.times} of {of})"
    if len(series.values) == 1:
        return f"{what} is no longer {text_of(series.values[0])}  ({series.times} of {of})"
    told = f": {series.seen}" if series.seen else ""
    if series.condition and not told:
        told = f": {clip(spell(one_line(series.condition)), _TEXT)} does not hold"
    also = f", and of {plural(len(series.likewise), 'other')}" if series.likewise else ""
    return f"{what} {series.trend}{told}{also}  ({series.times} of {of})"


def limit_text(history: History) -> str:
    """`recompile_limit reached at call 9: runs uncompiled from here`, of a history that has a
    limit; it is an error where the whole function has to be one graph."""
    if history.calls_until_limit is not None:
        at = f"at call {history.calls_until_limit}"
    else:
        at = f"after {plural(history.entries, 'entry')}"
    after = (
        f"; {plural(history.calls_after_limit, 'later call')} recorded"
        if history.calls_after_limit
        else ""
    )
    limit = history.limit
    comes = "is an error" if limit is not None and limit.failed else "runs uncompiled"
    name = (limit is not None and limit.limit_name) or "limit"
    return f"{name} reached {at}: {comes} from here{after}"


def _recompilation(
    recording: Recording,
    found: Recompilation,
    before: tuple[PythonFrame, ...],
    told: set[tuple[str, str, str]],
    every: bool,
    common: str,
) -> Iterator[Line]:
    """`before`: the stack of the recompilation before this one; told only where it is another, as
    is the function's name where that is not the `common` one."""
    item, cwd = found.translation, recording.facts.cwd
    moment = found.lookup.first_moment if found.lookup is not None else item.first_moment
    stack = callers_of(item)
    by = f"  called by {place_text(stack[-1], cwd)}" if stack else ""
    yield Line(f"  {_which(recording, found, common)}{by}", moment)
    if stack[:-1] != before[:-1]:
        for text in way_texts(reversed(stack[:-1]), cwd):
            yield Line(f"      from {text}", moment, "dim")
    nearest = found.nearest
    shown = [*found.tried[:_ENTRIES]]
    if nearest is not None and not any(tried is nearest for tried in shown):
        shown.append(nearest)
    asked = {entry.entry for entry in item.unmet}
    known = [tried for tried in shown if tried.failures or tried.entry in asked]
    why = ""
    if item.unmet:
        why = f" not asked: of so many the first {len(item.unmet)} are, and all with --lookups"
    elif len(shown) - len(known) > _FEW:
        why = ", not recorded why"
    if why:
        shown = known
    for tried in shown:
        yield from tried_lines(recording, tried, told, every=every)
    left_out = len(found.tried) - len(shown)
    if left_out:
        yield Line(f"    … and {plural(left_out, 'more entry')}{why}", role="dim")
    if nearest is not None and nearest.translation is not None:
        made = recording.translation(nearest.translation)
        which = "nearest of those" if left_out and item.unmet else "nearest"
        others = f"{which}: {nearest.entry}, " if len(found.tried) > 1 else f"{nearest.entry} was "
        callers = callers_of(made)
        if callers and callers != stack:
            apart = _where_apart(callers, stack)
            by = f"made for a call by {place_text(apart, cwd)}"
            yield Line(f"    {others}{by}", made.first_moment, "dim")
        elif len(found.tried) > 1:
            yield Line(f"    {others}made for a call from the same place", made.first_moment, "dim")


def _where_apart(stack: tuple[PythonFrame, ...], other: tuple[PythonFrame, ...]) -> PythonFrame:
    """The innermost frame of a stack that is not in the other: two calls of one line can be made by
    a function that is itself called from two."""
    for one, another in zip(reversed(stack), reversed(other), strict=False):
        if one != another:
            return one
    return stack[-1]


def _in_brief(
    recording: Recording,
    found: Recompilation,
    before: tuple[PythonFrame, ...],
    told: set[tuple[str, str, str]],
    common: str,
) -> Iterator[Line]:
    """In two lines: the call, where it is another one than before, and the nearest entry."""
    item = found.translation
    moment = found.lookup.first_moment if found.lookup is not None else item.first_moment
    stack = callers_of(item)
    by = f"  called by {place_text(stack[-1], recording.facts.cwd)}" if stack else ""
    by = "" if stack == before else by
    yield Line(f"  {_which(recording, found, common)}{by}", moment)
    nearest = found.nearest or next(iter(found.tried), None)
    if nearest is not None:
        yield from tried_lines(recording, nearest, told, origins=False)


def callers_of(item: Translation) -> tuple[PythonFrame, ...]:
    """The program's frames that led to a call, without those of pytest that led to the test."""
    stack = item.python_stack
    theirs = [at for at, frame in enumerate(stack) if _TEST_RUNNER.search(frame.filename)]
    return stack[theirs[-1] + 1 :] if theirs else stack


def tried_lines(
    recording: Recording,
    tried: Tried,
    told: set[tuple[str, str, str]],
    *,
    origins: bool = True,
    every: bool = False,
) -> Iterator[Line]:
    """An entry, the guards of it that failed, and where those come from. Of many that want the same
    of one value each, as one of each parameter, only the first is told whole.

    Args:
        recording: what is asked.
        tried: the entry.
        told: guards that were told before: only that they failed is told again.
        origins: whether it is told where guards come from.
        every: whether each guard is told whole.
    """
    cwd = recording.facts.cwd
    spell = spelling_of(recording, tried)
    if not tried.failures:
        on = clip(", ".join(map(spell, tried.unasked)), _TEXT)
        why = f": its guards on {on} cannot be asked again" if on else ""
        yield Line(f"    {tried.entry}  not recorded why{why}")
    label, inner = f"{tried.entry}  ", " " * (len(tried.entry) + 2)
    for failure, *likewise in alike_failures(tried.failures, every=every):
        yield Line(f"    {label}{failure_text(failure, spell)}{how_known(failure)}", failure.moment)
        label = inner
        if text := _likewise_text(failure, likewise, spell):
            yield Line(f"    {label}{text}", likewise[0].moment)
        key = (tried.entry, failure.kind, failure.source)
        if origins and key not in told:
            told.add(key)
            indent = f"{inner}      "
            if conditions := failure.conditions:
                for step in conditions[-_CONDITIONS:]:
                    for line in step_lines(recording, step):
                        yield line._replace(text=f"{indent}{line.text}", role="dim")
                continue
            for line in origin_lines(failure, cwd):
                yield line._replace(text=f"{indent}{line.text}", role="dim")


def alike_failures(failures: tuple[Failure, ...], *, every: bool = False) -> list[list[Failure]]:
    """The guards that failed, those together that want the same of one value each and found the
    same there, or found none, unless they are few; with `every` each by itself."""
    found: dict[object, list[Failure]] = {}
    missing: set[str] = set()
    for at, failure in enumerate(failures):
        if failure.missing and not every:
            if failure.source in missing:
                continue  # what is not there can have several guards
            missing.add(failure.source)
        wants = tuple(map(str, failure.differences))
        alike = () if failure.missing and not wants else (failure.kind, wants)
        key = at if every or not (wants or failure.missing) else alike
        found.setdefault(key, []).append(failure)
    return [
        group
        for together in found.values()
        for group in ([together] if len(together) > _FEW else [[each] for each in together])
    ]


def _some_alike(entries: Iterable[Tried]) -> bool:
    """Whether some guards of entries that failed are not told by themselves."""
    return any(
        len(together) > 1 for tried in entries for together in alike_failures(tried.failures)
    )


def _likewise_text(first: Failure, likewise: list[Failure], spell: Spelling) -> str:
    """`likewise of 5 others: b.enabled, c.enabled, …  (would fail too)`; empty: there are none, as
    a value that is not there can have several guards."""
    about = dict.fromkeys((each.source, _aspect(each)) for each in likewise)
    names = [_named(*each, spell) for each in about if each != (first.source, _aspect(first))]
    if not names:
        return ""
    listed = ", ".join(names[:_FEW]) + ("" if len(names) <= _FEW else ", …")
    known = how_known(likewise[0]) if len({map(how_known, likewise)}) == 1 else ""
    return f"likewise of {plural(len(names), 'other')}: {clip(listed, _VALUE)}{known}"


def _aspect(failure: Failure) -> Aspect:
    return failure.differences[0].aspect if failure.differences else Aspect("")


def spelling_of(recording: Recording, tried: Tried) -> Spelling:
    """How what an entry guards is written."""
    made = tried.translation
    return spelled if made is None else spelling(recording, recording.translation(made))


def how_known(failure: Failure) -> str:
    """What is to be said of a failure that the compiler has not seen itself."""
    if failure.unguarded:
        return "  (no guard is on it)"
    return "  (would fail too)" if failure.behind else ""


def failure_text(failure: Failure, spell: Spelling) -> str:
    """`x.shape[0]: expected 4, actual 5  TENSOR_MATCH L['x']`."""
    guard = f"{failure.kind} {brief_source(failure.source)}".strip()
    return f"{differing_text(failure, spell)}  {guard}".rstrip()


def differing_text(failure: Failure, spell: Spelling) -> str:
    """`x.shape[0]: expected 4, actual 5`."""
    differences = [_difference(failure.source, each, spell) for each in failure.differences]
    text = "; ".join(differences)
    if not text and failure.missing and not failure.kind:
        text = f"{spell(failure.source)} is not there"
    if failure.text == FITS:
        return FITS
    if not text:
        text = f"fails: {clip(spell(one_line(failure.text)), _TEXT)}"
        text += f", with {seen_text(failure.saw, spell)}" if failure.saw != UNKNOWN else ""
    return text


def seen_text(saw: Datum, spell: Spelling = unscoped) -> str:
    """What a condition on sizes has seen: `5`, or `x.shape[0] = 10, y.shape[1] = 60`."""
    if isinstance(saw, Many) and saw.kind == "dict":
        pairs = zip(saw.items[::2], saw.items[1::2], strict=True)
        return ", ".join(
            f"{spell(name)} = {_shown(value)}" for name, value in pairs if isinstance(name, str)
        )
    return _shown(saw)


def _difference(source: str, difference: Difference, spell: Spelling) -> str:
    what = _named(source, difference.aspect, spell)
    expected, actual = difference.expected, difference.actual
    if expected == UNKNOWN:
        return f"{what} differs"
    found = "" if actual == UNKNOWN else f", actual {_shown(actual)}"
    return f"{what}: expected {_shown(expected)}{found}"


def _shown(value: Datum) -> str:
    return clip(one_line(text_of(value)), _VALUE)


def _named(source: str, aspect: Aspect, spell: Spelling) -> str:
    name = spell(source)
    if aspect.what == "value" and name:
        return name
    return aspect.of(name)


def origin_lines(failure: Failure, cwd: str, *, because: bool = True) -> Iterator[Line]:
    """Where a guard comes from; the line because of which it is there only with `because`."""
    origin = failure.origin
    line = failure.user_line or (origin.line if origin is not None else None)
    if line is not None and because:
        yield Line(f"because of {line_text(line, cwd)}", failure.moment)
    if origin is not None and origin.called_from is not None:
        yield Line(f"called from {line_text(origin.called_from, cwd)}", origin.moment)
    if origin is not None and origin.instruction is not None:
        value = f", for {value_line(origin.value)}" if origin.value is not None else ""
        text = f"guard {origin.guard} installed by {instruction_text(origin.instruction)}{value}"
        yield Line(text, origin.moment)
