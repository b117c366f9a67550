"""What guards are there for, in words; and of values and nodes, on which guards they depend."""

from __future__ import annotations

from collections.abc import Iterator

from stepper.analysis.dependence import (
    IDLE,
    Purpose,
    Purposed,
    depends_on,
    nodes_that_need,
    purpose_of,
    purposes,
)
from stepper.analysis.guard_uses import entries
from stepper.analysis.line import Line
from stepper.client.text import first_names, function_name, instruction_text, plural, short_name
from stepper.model.ranges import Ranges
from stepper.model.trace import Guard
from stepper.recording.reader import Recording

_MOST = 40
_MOST_NODES = 8

_WORDS = {
    Purpose.OUTPUT: "the output depends on it",
    Purpose.CHOICE: "a way was chosen by it",
    Purpose.WAY: "it lies on the way to what the output, or a choice, depends on",
    Purpose.FRAME: "it is about no value: it is there for all that was captured",
    Purpose.NOTHING: "it is there for nothing: no value of the output carries it, and no way was "
    "chosen by it",
    Purpose.UNKNOWN: "no recorded value carries it: what it is there for is not known",
}

_CAUTION = (
    "for nothing, as far as values carry their guards: an operator may still refuse what such a "
    "guard keeps out; witness tries it"
)


def purpose_lines(recording: Recording, guard: Guard) -> Iterator[Line]:
    """What a guard is there for; nothing where its engine cannot tell."""
    item = recording.translation(recording.attempt(guard.attempt).translation)
    if item.dependence is None or guard.withdrawn is not None:
        return
    found = purpose_of(guard, item.dependence)
    yield _purpose(recording, found)
    nodes = nodes_that_need(recording, guard)
    if nodes:
        yield Line(f"  nodes that depend on it: {first_names(nodes, _MOST_NODES)}")


def _purpose(recording: Recording, found: Purposed) -> Line:
    words = _WORDS[found.purpose]
    if found.chosen is None:
        return Line(f"  {words}")
    if not 1 <= found.chosen <= recording.newest:  # with detail `stops` it was not recorded
        return Line(f"  {words}")
    place = recording.moment(found.chosen)
    at = recording.code(recording.frame(place.frame).code).instructions[place.ip]
    return Line(f"  {words}: {instruction_text(at)} in line {at.line}", found.chosen)


def idle_lines(recording: Recording, entry: str = "") -> Iterator[Line]:
    """The guards on which no output depends, entry by entry.

    Args:
        recording: what is asked.
        entry: compile id of the only entry to look at; empty: all.
    """
    known = False
    for item in entries(recording):
        if item.dependence is None or (entry and item.compile_id != entry):
            continue
        known = True
        found = purposes(recording, item)
        idle = [each for each in found if each.purpose in IDLE]
        name = f"{item.compile_id} {function_name(item.name)}"
        counts = ", ".join(
            f"{count} {_COUNTED[purpose]}"
            for purpose in Purpose
            if (count := sum(each.purpose is purpose for each in found))
        )
        yield Line(f"{name}: {plural(len(found), 'guard')}: {counts}", item.first_moment, "title")
        for each in idle[:_MOST]:
            unknown = "  (carried by no value)" if each.purpose is Purpose.UNKNOWN else ""
            yield Line(
                f"  {named(each.guard)}  (guard {each.guard.id}){unknown}", each.guard.moment
            )
        if len(idle) > _MOST:
            yield Line(f"  … {len(idle) - _MOST} more", role="dim")
        if any(each.purpose is Purpose.NOTHING for each in idle):
            yield Line(f"  {_CAUTION}", role="dim")
    if not known:
        yield Line(
            f"no entry {entry} is recorded whose values carry their guards" if entry
            else "no entry is recorded whose values carry their guards: that takes --engine native"
        )  # fmt: skip


_COUNTED = {
    Purpose.OUTPUT: "of the output",
    Purpose.CHOICE: "of choices",
    Purpose.WAY: "on the way to these",
    Purpose.FRAME: "about no value",
    Purpose.NOTHING: "for nothing",
    Purpose.UNKNOWN: "unknown",
}


def dependence_lines(
    recording: Recording, attempt: int, name: str, ranges: Ranges
) -> Iterator[Line]:
    """On which guards a value or node depends, and what else these are there for."""
    found = depends_on(recording, attempt, ranges)
    item = recording.translation(recording.attempt(attempt).translation)
    if not found:
        yield Line(f"{name} depends on no guard")
        return
    yield Line(f"{name} depends on {plural(len(found), 'guard')}", role="title")
    for guard in found:
        yield Line(f"  {named(guard)}  (guard {guard.id})", guard.moment)
        if item.dependence is not None and guard.withdrawn is None:
            line = _purpose(recording, purpose_of(guard, item.dependence))
            yield Line(f"  {line.text}", line.moment, "dim")


def named(guard: Guard) -> str:
    """A guard by kind and source."""
    return f"{guard.kind} {short_name(guard.source)}".rstrip()
