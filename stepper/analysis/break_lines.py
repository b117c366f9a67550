"""Why graphs broke, in words: for the command line, the console and the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from stepper.analysis.breaks import Cause, Occurrence, causes
from stepper.analysis.entryless import inlined_lines
from stepper.analysis.failures import instead as failed_instead
from stepper.analysis.handed_on import spelled_inside
from stepper.analysis.left_on_stack import of_the_stack, with_names
from stepper.analysis.line import Line
from stepper.analysis.rebuilt import Rebuilt
from stepper.analysis.sites import own_frame
from stepper.analysis.skipped_frames import Skipped, skipped
from stepper.analysis.trial_lines import Told, enough, in_vain
from stepper.analysis.unseen import so_far
from stepper.analysis.walks import interventions, nothing_to_ask_about
from stepper.client.frame_names import compiled_title
from stepper.client.meant import is_meant, is_named
from stepper.client.text import (
    clip,
    function_name,
    instruction_text,
    place_text,
    plural,
    short_name,
    short_path,
    value_line,
    way_texts,
    without_addresses,
)
from stepper.model.program import PythonFrame
from stepper.model.trace import GraphBreak, Outcome, Translation, headline
from stepper.recording.reader import Recording
from stepper.support.pythons_own import is_installed

_STACK = 4
"""Values of the symbolic stack that are shown."""
_FEW = 3
"""Functions of libraries that were skipped for one reason and are all told."""
_TEXT = 300
_WHOLE = 6
"""Breaks of one cause that are all told; of more the first of them are."""
_OF_MANY = 4
_RUN_UNCOMPILED = "1 frame run uncompiled, for what the break leaves to be made anew"
_NOTHING_AFTER = " (no graph is split by it: what follows it runs uncompiled)"
_NO_FEWER = " (no fewer graphs: all that is computed lies on one side of the break)"


Trying = Callable[[Cause], Told]
"""Says what came of forcing a cause away."""


def break_lines(
    recording: Recording, function: str = "", *, after: int = 0, trying: Trying | None = None
) -> Iterator[Line]:
    """The whole answer: a heading, each cause, then the frames that were skipped without a break.

    Args:
        recording: what is asked.
        function: only what happened in functions with this in their name; empty: all.
        after: only what happened in walks after this one.
        trying: tries each cause; None: nothing is tried.
    """
    every = causes(recording, after=after)
    found = [each for each in every if _about(recording, each, function)]
    if not found:
        yield from inlined_lines(recording, function)
        found = [each for each in every if _in_what_is_meant(recording, each, function)]
    given_up = [
        each for each in skipped(recording, after=after) if function.lower() in each.name.lower()
    ]
    if not found and not given_up:
        where = f" in a function with {function!r} in its name" if function else ""
        why = failed_instead(recording, function, after=after)
        instead = f"{so_far(recording)}{why or nothing_to_ask_about(recording)}"
        yield Line(f"no graph break and no skipped frame{where}{instead}")
        yield from interventions(recording)
        return
    if found:
        times = sum(len(each.occurrences) for each in found)
        splits = sum(each.splits for each in found)
        frames = sum(each.given_up for each in found)
        failed = sum(each.failed for each in found)
        came = [f"{plural(splits, 'graph')} split"] if splits else []
        came += [f"{plural(frames, 'frame')} given up"] if frames else []
        came += [f"{plural(failed, 'compilation')} failed"] if failed else []
        came = came or ["no graph split"]
        yield Line(
            f"{plural(times, 'graph break')} of {plural(len(found), 'cause')}: {', '.join(came)}",
            role="title",
        )
    yield from interventions(recording)
    numbers = {
        each.found.id: number for number, cause in enumerate(found, 1) for each in cause.occurrences
    }
    for number, cause in enumerate(found, 1):
        yield Line("")
        yield from _cause(recording, cause, number, numbers, trying)
        told = cause.occurrences
        if len(told) > _WHOLE and not function:
            told = told[:_OF_MANY]
        for occurrence in told:
            yield from _occurrence(recording, occurrence, numbers)
        if more := len(cause.occurrences) - len(told):
            yield Line(
                f"   … and {more} more, of each function by its name: why-break FILE FUNCTION",
                role="dim",
            )
    if given_up:
        yield Line("")
        yield Line("skipped without a graph break", role="title")
        of_libraries: dict[str, list[Skipped]] = {}
        for each in given_up:
            if not function and is_installed(each.filename) and each.change is None:
                of_libraries.setdefault(each.reason, []).append(each)
            else:
                yield from _skipped(each)
        for alike in of_libraries.values():
            yield from _skipped_alike(alike)


def _about(recording: Recording, cause: Cause, function: str) -> bool:
    return function.lower() in place_text(cause.place).lower() or any(
        is_named(recording, each.translation, function) for each in cause.occurrences
    )


def _in_what_is_meant(recording: Recording, cause: Cause, function: str) -> bool:
    return any(is_meant(recording, each.translation, function) for each in cause.occurrences)


def _cause(
    recording: Recording,
    cause: Cause,
    number: int,
    numbers: Mapping[int, int],
    trying: Trying | None,
) -> Iterator[Line]:
    cwd = recording.facts.cwd
    times = f"{len(cause.occurrences)}×  " if len(cause.occurrences) > 1 else ""
    place = place_text(cause.place, cwd)
    then = f", then {cause.then}" if cause.then else ""
    item = cause.occurrences[0].translation
    kind = with_names(recording, item, cause.kind)
    yield Line(f"{number}. {times}{kind}{then}  {place}", cause.moment, "title")
    if cause.source:
        yield Line(f"     {cause.source}", cause.moment)
    if asked := _asked_by(cause):
        yield Line(f"   called by {place_text(asked, cwd)}", cause.moment)
    if cause.comes_of is not None:
        yield Line(f"   {_comes_of(cause, numbers, cwd)}", cause.moment)
    if cause.rebuilt is not None and (not_made := rebuilt_text(cause.rebuilt, cwd)):
        yield Line(f"   {not_made}", cause.moment)
    yield Line(f"   cost: {cost_text(cause)}", cause.moment)
    tried = [] if trying is None else (yield from trying(cause))
    proven, change = enough(tried), cause.change
    if not proven and change is not None and (left := change.without(in_vain(tried))) is not None:
        label = "change" if trying is None else "change, not proven"
        but = _NO_FEWER if cause.resume_functions else _NOTHING_AFTER
        but = but if cause.splits_none else ""
        yield Line(f"   {label}: {left}{but}", cause.moment)
    elif _unreached(cause) and not proven:
        first = cause.occurrences[0].translation
        caller = own_frame(first.python_stack)
        by = f", called by {place_text(caller, cwd)}" if caller else ""
        yield Line(
            f"   the line is a library's, and so is what is compiled{by}: no change is known",
            cause.moment,
        )
    if cause.explanation:
        explanation = without_addresses(with_names(recording, item, cause.explanation))
        yield Line(f"   {clip(explanation, _TEXT)}", cause.moment, "dim")
    if cause.context:
        yield Line(
            f"   context: {clip(without_addresses(cause.context), _TEXT)}", cause.moment, "dim"
        )
    for hint in cause.hints:
        if hint != str(change):
            yield Line(f"   hint: {clip(hint, _TEXT)}", cause.moment, "dim")
    if cause.page:
        yield Line(f"   see {cause.page}", cause.moment, "dim")
    if cause.instruction is not None:
        yield Line(f"   at {instruction_text(cause.instruction)}", cause.moment)
        yield from _stack(recording, cause)


def _comes_of(cause: Cause, numbers: Mapping[int, int], cwd: str) -> str:
    """`comes of 2: what is needed after that break is made anew for the rest`."""
    earlier = cause.comes_of
    assert earlier is not None
    by = str(numbers.get(earlier.id, "")) or f"a break at {_leading(earlier, cwd)}"
    return f"comes of {by}: what is needed after that break is made anew for the rest"


def _leading(found: GraphBreak, cwd: str) -> str:
    """The line of the compiled function that breaks, or leads there."""
    at = found.user_stack[0]
    return f"{short_path(at.filename, cwd)}:{at.line}"


def rebuilt_text(rebuilt: Rebuilt, cwd: str) -> str:
    """`what cannot be made: h (RemovableHandleVariable), from net.py:7: h = …`."""
    what = rebuilt.name or rebuilt.what
    if not what:
        return ""
    of = f" ({rebuilt.what})" if rebuilt.name else ""
    made = rebuilt.made
    if made is None:
        return f"what cannot be made: {what}{of}"
    line = made.line
    at = f"{short_path(line.place.filename, cwd)}:{line.place.line}"
    return f"what cannot be made: {what}{of}, from {at}: {clip(line.text.strip(), _TEXT)}"


def _unreached(cause: Cause) -> bool:
    """Whether nothing of the program's leads there, be it by an earlier break."""
    return cause.facts.unreached and all(each.left_by is None for each in cause.occurrences)


def _asked_by(cause: Cause) -> PythonFrame | None:
    """The program's own line that led to a break in a library; None: the break is in the
    program."""
    if cause.place is None or not is_installed(cause.place.filename):
        return None
    return own_frame(cause.occurrences[0].found.user_stack)


def cost_text(cause: Cause) -> str:
    """`2 graphs split, 31 instructions interpreted for nothing`."""
    parts = []
    if cause.splits:
        parts.append(f"{plural(cause.splits, 'graph')} split")
    elif cause.splits_none:
        under_way = any(each.under_way for each in cause.occurrences)
        parts.append("nothing is computed before it" if under_way else "no graph split")
    if cause.given_up:
        parts.append(f"{plural(cause.given_up, 'frame')} run uncompiled")
    if cause.failed:
        parts.append(f"{plural(cause.failed, 'compilation')} failed")
    if cause.wasted:
        parts.append(f"{plural(cause.wasted, 'instruction')} interpreted for nothing")
    resumed = cause.resume_functions
    if resumed:
        functions = len({item.code for item in resumed})
        inside = sum(item.instructions for item in resumed)
        parts.append(
            f"{plural(functions, 'resume function')} made, with {plural(inside, 'instruction')}"
        )
    if not parts:  # the break could be gone on after, but not with what the frame has by then
        ended = {each.translation.outcome for each in cause.occurrences}
        parts.append(_RUN_UNCOMPILED if Outcome.SKIPPED in ended else "none")
    return ", ".join(parts)


def _stack(recording: Recording, cause: Cause) -> Iterator[Line]:
    state = recording.state(cause.moment)
    stack = state.top.stack
    item = cause.occurrences[0].translation
    for at in range(len(stack) - 1, max(-1, len(stack) - 1 - _STACK), -1):
        value = state.values.get(stack[at])
        if value is not None and of_the_stack(value.source):
            written = spelled_inside(recording, item, value.source)
            value = msgspec.structs.replace(value, source=written)
        yield Line(f"     [{at}] {value_line(value)}", cause.moment, "dim")
    if len(stack) > _STACK:
        yield Line(f"     … {plural(len(stack) - _STACK, 'more value')}", cause.moment, "dim")


def _occurrence(
    recording: Recording, found: Occurrence, numbers: Mapping[int, int]
) -> Iterator[Line]:
    name, cwd = compiled_title(recording, found.translation), recording.facts.cwd
    moment = found.found.moment
    if found.found.resumes and not found.splits:
        yield Line(f"   would split {name}, which {_ended(found.translation)}", moment)
    else:
        what = "splits" if found.splits else "fails" if found.failed else "gives up"
        yield Line(f"   {what} {name}", moment)
    if found.left_by is not None:
        number = numbers.get(found.left_by.id)
        by = "a break" if number is None else str(number)
        left = "what calls it"
        if found.left_by.resumes:
            left = f"the call at {_leading(found.left_by, cwd)}"
        yield Line(f"     compiled by itself since {by} leaves {left} to Python", moment)
    for text in map(short_name, way_texts(found.found.user_stack, cwd)):
        yield Line(f"     {text}", moment, "dim")
    if found.resumed:
        first, *more = found.resumed
        name = compiled_title(recording, first)
        others = f", compiled {plural(len(more), 'more time')}" if more else ""
        yield Line(f"     goes on in {name}{others}", first.first_moment, "dim")


def _ended(item: Translation) -> str:
    """What became of a frame that nothing split."""
    if item.outcome is Outcome.FAILED:
        return "failed"
    why = f": {without_addresses(headline(item.reason))}" if item.reason else ""
    return f"is given up{why}"


def _skipped_alike(found: list[Skipped]) -> Iterator[Line]:
    """Functions of libraries that were skipped for one reason."""
    if len(found) <= _FEW:
        for each in found:
            yield from _skipped(each)
        return
    wasted = _for_nothing(sum(each.wasted for each in found))
    text = f"  {plural(len(found), 'function')} of libraries: {found[0].reason}{wasted}"
    yield Line(text, found[0].moment or None)
    first = ", ".join(function_name(each.name) for each in found[:_FEW])
    yield Line(
        f"    {first} and {len(found) - _FEW} more, each by its name: why-break FILE FUNCTION",
        role="dim",
    )


def _skipped(found: Skipped) -> Iterator[Line]:
    times = f"{found.times}×  " if found.times > 1 else ""
    place = f"{short_path(found.filename)}:{found.line}"
    moment = found.moment or None
    wasted = _for_nothing(found.wasted)
    yield Line(f"  {times}{function_name(found.name)}  {place}: {found.reason}{wasted}", moment)
    if found.change is not None:
        yield Line(f"    change: {found.change}", moment)


def _for_nothing(instructions: int) -> str:
    told = plural(instructions, "instruction")
    return f"  ({told} interpreted for nothing)" if instructions else ""
