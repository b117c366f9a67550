"""What many recordings have in common, and where they part, in words."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stepper.analysis.collective_lines import collective_lines, waiting_lines
from stepper.analysis.collectives import Compared
from stepper.analysis.compare_recordings import FrameDiff
from stepper.analysis.graph_collectives import first_unlike
from stepper.analysis.line import Line
from stepper.analysis.ranks import Class, Ranks, first_divergence
from stepper.client.frame_names import compiled_title
from stepper.client.text import (
    clip,
    function_name,
    instruction_text,
    one_line,
    place_text,
    plural,
    short_name,
    source_line,
)
from stepper.model.trace import MomentId, Translation
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from stepper.recording.session_folder import Process

WIDTH = 118
MOST = 12
"""Classes that are compared with the largest, unless all are asked for."""
_ROWS = 4
_HEAD = 40


def rank_lines(found: Ranks, *, everything: bool = False) -> Iterator[Line]:
    """The classes, and for each that deviates its first divergence from the largest."""
    count = sum(len(each.processes) for each in found.classes)
    if not found.classes:
        yield Line("no recording can be compared", role="title")
    elif len(found.classes) == 1:
        one = found.classes[0]
        same = f"all {plural(count, 'recording')} did the same" if count > 1 else "1 recording"
        yield Line(f"{same}: {_size(one)}", role="title")
        yield Line(f"  {members(one.processes)}")
    else:
        title = f"{plural(count, 'recording')} in {plural(len(found.classes), 'class')}"
        yield Line(f"{title} that did the same", role="title")
        for number, each in enumerate(found.classes, 1):
            yield Line(clip(f"  {number}  {members(each.processes)}: {_size(each)}", WIDTH))
    for process, why in found.unreadable:
        yield Line(clip(f"  not compared: {_name(process)}: {why}", WIDTH))
    for process in found.unfinished:
        yield Line(
            f"  {_name(process)} {_without_end(process)}: what it did after that is not recorded"
        )
    for process in found.unrecorded:
        yield Line(f"  {_name(process)}: no recording, since nothing of it was compiled")
    if len(found.classes) > 1:
        yield from _deviations(found, everything=everything)
    others = found.classes[1:] if everything else found.classes[1 : 1 + MOST]
    told = [process for each in others for process in each.processes]
    yield from collective_lines(found.collectives, told, members)
    if found.classes:
        yield Line("")
        yield Line(_not_recorded(found), role="dim")


def _not_recorded(found: Ranks) -> str:
    calls = "calls that compiled nothing (--lookups records those that an entry serves)"
    waits = "" if found.collectives.known else "collectives in which ranks may wait, and "
    return f"Not recorded, so not told: {waits}{calls}."


def _deviations(found: Ranks, *, everything: bool) -> Iterator[Line]:
    usual, *others = found.classes
    shown = others if everything else others[:MOST]
    for number, other in enumerate(shown, 2):
        yield Line("")
        yield from _deviation(number, usual, other, found.collectives)
        yield from waiting_lines(found.collectives, other.processes, members)
    if len(shown) < len(others):
        yield Line("")
        yield Line(f"and {plural(len(others) - len(shown), 'more class')}: --all compares them")


def members(processes: Sequence[Process]) -> str:
    """`ranks 0-2, 5`, or the numbers of processes where they have no rank."""
    ranks = [each.rank for each in processes if each.rank is not None]
    if len(ranks) == len(processes) == len(set(ranks)):
        return ranks_text(sorted(ranks))
    return ", ".join(map(_name, processes))


def ranks_text(numbers: Sequence[int]) -> str:
    """`ranks 0-2, 5`, of ranks in their order."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    ranges = ", ".join("-".join(map(str, part)) for part in parts)
    return f"rank{'s' * (len(numbers) != 1)} {ranges}"


def _name(process: Process) -> str:
    rank = "" if process.rank is None else f"rank {process.rank}, "
    return f"{rank}process {process.pid}"


def _without_end(process: Process) -> str:
    return {"running": "still runs", "killed": "was killed"}.get(process.state, "left no end")


def _size(each: Class) -> str:
    return f"{plural(each.frames, 'compilation')}, {plural(each.moments, 'moment')}"


def _deviation(number: int, usual: Class, other: Class, collectives: Compared) -> Iterator[Line]:
    mine, theirs = other.processes[0], usual.processes[0]
    yield Line(
        f"class {number}, {members(other.processes)}: against {_who(theirs)} of class 1",
        role="title",
    )
    with contextlib.ExitStack() as stack:
        try:
            a, b = (
                stack.enter_context(contextlib.closing(Recording.open(each.recording)))
                for each in (theirs, mine)
            )
            first = first_divergence(a, b)
            sides = (_Side(_who(theirs), a), _Side(_who(mine), b))
            if first is None:
                yield Line("  comparing these two shows no difference in what was interpreted")
            elif isinstance(first, FrameDiff):
                yield from _frame(first, sides)
            else:
                yield from _alone(first, sides)
            if not collectives.partings:
                yield from _waiting(sides)
        except RecordingError as error:
            yield Line(clip(f"  {error}", WIDTH))


def _waiting(sides: tuple[_Side, _Side]) -> Iterator[Line]:
    """Who waits for whom, as far as the collectives are in graphs."""
    found = first_unlike(*(side.recording for side in sides))
    if found is not None:
        number, *unlike = found
        yield Line(f"  collective {number} of the graphs: who runs it waits there for the other")
        texts = [
            f"{each.name} in {compiled_title(side.recording, each.of)}" if each else "has no more"
            for side, each in zip(sides, unlike, strict=True)
        ]
        yield from _both(sides, texts)


class _Side(NamedTuple):
    """One of two recordings that part."""

    name: str
    recording: Recording


def _who(process: Process) -> str:
    return f"rank {process.rank}" if process.rank is not None else f"process {process.pid}"


def _frame(found: FrameDiff, sides: tuple[_Side, _Side]) -> Iterator[Line]:
    """Both have compiled a frame, and differently."""
    items = (found.a, found.b)
    title = compiled_title(sides[0].recording, found.a)
    if found.a.compile_id != found.b.compile_id:
        title += f", there {found.b.compile_id}"
    yield Line(f"  first divergence: {title}")
    callers = [_caller(item) for item in items]
    if callers[0] != callers[1]:
        yield from _both(sides, [f"was called {caller}" for caller in callers])
    if found.a.cache_size != found.b.cache_size:
        entries = [f"had {plural(item.cache_size, 'entry')} before" for item in items]
        yield Line("  another state of the cache")
        yield from _both(sides, entries)
    yield from _again(items, sides)
    # What was guarded when the frame began is a cause of what came of it, unless the way parts
    # before anything else is different.
    if found.parted:
        yield from _way(found, sides)
    for name, mine, theirs in found.facts:
        if name != "compiled again because":
            yield Line(f"  {name}")
            yield from _both(sides, [mine or "none", theirs or "none"])
    yield from _broken(items, sides)
    for title, rows in (("guard", found.guards), ("graph", found.nodes)):
        if not rows or (title == "graph" and found.parted):
            continue
        yield Line(f"  {plural(len(rows), f'different {title}' if title == 'guard' else 'node')}")
        # What follows from an input that is guarded otherwise says nothing more.
        for row in rows[: 1 if title == "graph" and found.guards else _ROWS]:
            yield from _both(sides, _around_the_difference(*row))


def _alone(item: Translation, sides: tuple[_Side, _Side]) -> Iterator[Line]:
    """Only one of them has compiled a frame."""
    has = 0 if any(each is item for each in sides[0].recording.translations()) else 1
    mine, other = sides[has], sides[1 - has]
    yield Line(
        f"  first divergence: only {mine.name} compiles {compiled_title(mine.recording, item)}"
    )
    yield Line(clip(f"    {mine.name} was called {_caller(item)}", WIDTH), item.first_moment)
    if item.recompile_reason:
        yield Line(clip(f"    {mine.name} compiled again: {_reason(item)}", WIDTH))
    elif item.cache_size:
        yield Line(f"    {mine.name} had {plural(item.cache_size, 'entry')} that did not serve it")
    yield Line(
        f"    {other.name} compiled nothing there: whether it made the call, and an entry served "
        "it, is not recorded" + ("" if other.recording.lookups() else " (--lookups records it)")
    )


def _both(sides: tuple[_Side, _Side], texts: Sequence[str]) -> Iterator[Line]:
    wide = max(len(side.name) for side in sides)
    for side, text in zip(sides, texts, strict=True):
        yield Line(clip(f"    {side.name:<{wide}}  {one_line(short_name(text))}", WIDTH))


def _around_the_difference(mine: str | None, theirs: str | None) -> list[str]:
    """Two texts that differ, each cut where what both begin with is long."""
    if mine is None or theirs is None:
        return [text or "has none" for text in (mine, theirs)]
    texts = [one_line(mine), one_line(theirs)]
    pairs = enumerate(zip(*texts, strict=False))
    alike = next((at for at, (one, other) in pairs if one != other), min(map(len, texts)))
    start = texts[0].rfind(", ", 0, alike) + 2
    if start > _HEAD:
        return [f"{text[:_HEAD].rstrip()} … {text[start:]}" for text in texts]
    return texts


def _caller(item: Translation) -> str:
    if not item.python_stack:
        return "from a place that is not recorded"
    return f"at {place_text(item.python_stack[-1])}"


def _reason(item: Translation) -> str:
    return one_line(item.recompile_reason.partition("  #")[0].partition("\n")[0])


def _again(items: tuple[Translation, Translation], sides: tuple[_Side, _Side]) -> Iterator[Line]:
    reasons = [_reason(item) for item in items]
    if reasons[0] != reasons[1]:
        yield Line("  compiled again because")
        yield from _both(sides, [reason or "it was the first time" for reason in reasons])


def _way(found: FrameDiff, sides: tuple[_Side, _Side]) -> Iterator[Line]:
    """Where the symbolic interpreter went another way, and what decided it."""
    yield Line(f"  alike for {plural(found.common, 'instruction')}, then")
    before, after = (found.before_a, found.before_b), (found.at_a, found.at_b)
    decided = [_decided(side.recording, at) for side, at in zip(sides, before, strict=True)]
    if all(decided):
        yield from _both(sides, decided)
    yield from _both(
        sides, [_place(side.recording, at) for side, at in zip(sides, after, strict=True)]
    )


def _decided(recording: Recording, moment: MomentId | None) -> str:
    """The value on which a conditional jump decided; empty: the instruction is none."""
    if moment is None:
        return ""
    found = recording.moment(moment)
    code = recording.code(recording.frame(found.frame).code)
    instruction = code.instructions[found.ip]
    if "JUMP" not in instruction.opname or "_IF_" not in instruction.opname:
        return ""
    state = recording.state(moment)
    if not state.top.stack:
        return ""
    value = state.values.get(state.top.stack[-1])
    line = "" if instruction.line is None else f", line {instruction.line}"
    text = source_line(code, instruction.line)
    what = "a value that is not recorded"
    if value is not None:
        what = value.constant or value.brief
        if value.source:
            what = f"{value.source}, which is {what}"
    return f"decides by {what}{line}: {text}"


def _place(recording: Recording, moment: MomentId | None) -> str:
    if moment is None:
        return "is over"
    found = recording.moment(moment)
    code = recording.code(recording.frame(found.frame).code)
    instruction = code.instructions[found.ip]
    if instruction.opname == "NOT_TAKEN":  # of a jump before it, with the line of that
        instruction = code.instructions[found.ip + 1]
    line = "" if instruction.line is None else f", line {instruction.line}"
    text = source_line(code, instruction.line)
    return f"goes to {function_name(code.label)}{line}: {text or instruction_text(instruction)}"


def _broken(items: tuple[Translation, Translation], sides: tuple[_Side, _Side]) -> Iterator[Line]:
    """The breaks of a frame, where only one side has any."""
    for item, side in zip(items, sides, strict=True):
        other = items[1] if item is items[0] else items[0]
        if item.graph_breaks and not other.graph_breaks:
            breaks = [
                each
                for attempt in side.recording.attempts(item.id)
                for each in side.recording.graph_breaks(attempt.id)
            ]
            for each in breaks[-1:]:
                where = place_text(each.user_stack[-1]) if each.user_stack else ""
                text = f"    {side.name} breaks the graph at {where}: {one_line(each.reason)}"
                yield Line(clip(text, WIDTH), each.moment)
