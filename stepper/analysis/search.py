"""One search over a whole recording: reasons, output, source, instructions, nodes, guards, values.

What is cheap is looked through first. Values are many, so of their descriptions only those are
decoded that have the text in their bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from stepper.client.names import brief_function
from stepper.client.text import one_line, plural
from stepper.model.program import Code
from stepper.model.trace import EventKind, MomentId
from stepper.recording.reader import Recording

MOST = 200
"""Hits of one sort that are listed."""

_NODES = (EventKind.NODE,)
_GUARDS = (EventKind.GUARD,)
_CALLS = (EventKind.INLINE, EventKind.RETURN)
_REASONS = tuple(kind for kind in EventKind if kind not in (*_NODES, *_GUARDS, *_CALLS))


class Hit(NamedTuple):
    """A place in the recording where the text stands."""

    text: str
    moment: MomentId | None = None
    """None: that of the first instruction below, which is looked for when somebody goes there."""
    code: int = 0
    instructions: frozenset[int] = frozenset()


class Found(NamedTuple):
    """The hits of one sort."""

    sort: str
    hits: list[Hit]
    more: bool
    """Whether there are more than are listed."""

    @property
    def heading(self) -> str:
        """What stands over them."""
        more = ", the first of more" if self.more else ""
        return f"{self.sort}: {plural(len(self.hits), 'hit')}{more}"


def search(recording: Recording, text: str) -> list[Found]:
    """Everything with `text` in it, in any case, in groups; groups without a hit are left out."""
    wanted = text.strip().casefold()
    if not wanted:
        return []
    in_one = "" if " " in wanted else wanted  # an instruction's text is made of two strings
    sorts: tuple[tuple[str, Iterator[Hit]], ...] = (
        ("what happened, and reasons", _reasons(recording, wanted)),
        ("output", _output(recording, wanted)),
        ("source", _source(recording.codes(wanted), wanted)),
        ("instructions", _instructions(recording.codes(in_one), wanted)),
        ("nodes", _events(recording, _NODES, wanted)),
        ("guards", _events(recording, _GUARDS, wanted)),
        ("calls", _events(recording, _CALLS, wanted)),
        ("values", _values(recording, wanted)),
    )
    found: list[Found] = []
    for sort, hits in sorts:
        listed = list(islice(hits, MOST + 1))
        if listed:
            found.append(Found(sort, listed[:MOST], len(listed) > MOST))
    return found


def moment_of(recording: Recording, hit: Hit) -> MomentId | None:
    """The moment to go to; None: what was found was never interpreted."""
    if hit.moment is not None:
        return hit.moment if recording.has(hit.moment) else None
    walk = recording.walk(0, 1, codes={hit.code})
    return next((each.id for each in walk if each.ip in hit.instructions), None)


def _reasons(recording: Recording, wanted: str) -> Iterator[Hit]:
    for found in recording.graph_breaks():
        lines = (found.gb_type, *(found.explanation or found.reason).splitlines(), *found.hints)
        yield from (
            Hit(f"{EventKind.GRAPH_BREAK}  {one_line(line)}", found.moment)
            for line in dict.fromkeys(lines)
            if wanted in line.casefold()
        )
    kinds = [kind for kind in _REASONS if kind is not EventKind.GRAPH_BREAK]
    for translation in recording.translations():
        for reason in (translation.recompile_reason, translation.reason):
            if wanted in reason.casefold():
                name = brief_function(translation.name)
                text = f"{translation.compile_id or translation.outcome} {name}  {one_line(reason)}"
                yield Hit(text.strip(), translation.first_moment)
    yield from _events(recording, kinds, wanted)


def _events(recording: Recording, kinds: Iterable[EventKind], wanted: str) -> Iterator[Hit]:
    for event in recording.events(kinds=[*kinds], text=wanted, limit=MOST + 1):
        # What happens before the first instruction belongs to the moment before.
        yield Hit(f"{event.kind}  {one_line(event.text)}", max(event.moment, recording.oldest))


def _output(recording: Recording, wanted: str) -> Iterator[Hit]:
    for piece in recording.output():
        for line in piece.data.splitlines():
            if wanted in line.casefold():
                yield Hit(one_line(line), max(piece.moment, recording.oldest))


def _source(codes: Iterable[Code], wanted: str) -> Iterator[Hit]:
    seen: set[tuple[str, int]] = set()
    for code in codes:
        for number, line in enumerate(code.source, code.source_first_line):
            if wanted in line.casefold() and (code.filename, number) not in seen:
                there = frozenset(each.index for each in code.instructions if each.line == number)
                if there:
                    seen.add((code.filename, number))
                    place = f"{os.path.basename(code.filename)}:{number}"
                    yield Hit(f"{place}  {line.strip()}", None, code.id, there)


def _instructions(codes: Iterable[Code], wanted: str) -> Iterator[Hit]:
    for code in codes:
        same: dict[str, set[int]] = {}
        for each in code.instructions:
            text = f"{each.opname} {each.argrepr}".rstrip()
            if wanted in text.casefold():
                place = f"{brief_function(code.label)}:{each.line or code.first_line}"
                same.setdefault(f"{text}  {place}", set()).add(each.index)
        for text, instructions in same.items():
            yield Hit(text, None, code.id, frozenset(instructions))


def _values(recording: Recording, wanted: str) -> Iterator[Hit]:
    seen: set[str] = set()
    for moment, value in recording.descriptions_with(wanted):
        facts = (value.brief, value.cls, value.type, value.source, value.node)
        text = one_line("  ".join(dict.fromkeys(filter(None, facts))))
        if wanted in text.casefold() and text not in seen:
            seen.add(text)
            yield Hit(text, moment)
