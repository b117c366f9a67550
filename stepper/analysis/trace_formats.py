"""Where compile time went, for the viewers that people have: as pieces of a file's text.

`perfetto` is Chrome's trace event format, which ui.perfetto.dev and chrome://tracing read: a
process for each recording, with tracks for the phases, the frames that were traced, their lines,
and what happened. `speedscope` is that of speedscope.app, `folded` what flame graphs are drawn
from: one line for each stack, with nanoseconds. In both a stack leads from phases to frames to
lines.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from stepper.analysis.spans import Span, SpanKind, spans, walk
from stepper.client.text import function_name, short_path
from stepper.model.trace import EventKind
from stepper.recording.reader import Recording

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_TOLD = frozenset(
    {
        EventKind.TRANSLATION, EventKind.GRAPH_BREAK, EventKind.RESTART, EventKind.SKIP,
        EventKind.RECOMPILE, EventKind.CACHE_LIMIT, EventKind.EXCEPTION, EventKind.MISS,
        EventKind.SPECIALIZE, EventKind.END,
    }
)  # fmt: skip
"""What of all that happened has a mark; guards and nodes are too many to be seen."""


class Traced(NamedTuple):
    """A recording that goes into a file, as one process."""

    pid: int
    name: str
    recording: Recording


def perfetto(traced: Iterable[Traced]) -> Iterator[str]:
    """Chrome's trace event format: an object with a list of events, one on each line."""
    yield '{"displayTimeUnit":"ms","traceEvents":['
    comma = "\n"
    for process in traced:
        for event in _events_of(process):
            yield comma + json.dumps(event)
            comma = ",\n"
    yield "\n]}\n"


def _events_of(process: Traced) -> Iterator[dict[str, Any]]:
    pid, recording = process.pid, process.recording
    yield _name_of(pid, 0, "process_name", process.name)
    tracks = [(thread, roots) for thread, roots in spans(recording).items()]
    for number, (thread, roots) in enumerate(tracks):
        edges = list(_edges(walk(roots)))
        for at, kind in enumerate(SpanKind):
            found = [(begins, span) for begins, span in edges if span.kind is kind]
            if found:
                track = number * len(SpanKind) + at + 1
                yield _name_of(pid, track, "thread_name", f"{thread or 'main thread'}: {kind}s")
                yield from _begun_and_ended(recording, found, {"pid": pid, "tid": track})
    yield from _marks(recording, {"pid": pid, "tid": len(tracks) * len(SpanKind) + 1})


def _name_of(pid: int, tid: int, what: str, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": _text(name)}}


def _begun_and_ended(
    recording: Recording, edges: Iterable[tuple[bool, Span]], track: dict[str, int]
) -> Iterator[dict[str, Any]]:
    for begins, span in edges:
        event: dict[str, Any] = {"ph": "B" if begins else "E", "name": _label(recording, span)}
        event |= {"ts": (span.began if begins else span.ended) / 1000} | track
        if begins:
            event["cat"] = str(span.kind)
            event["args"] = {"moment": span.moment}
            if span.file:
                event["args"]["at"] = _text(f"{span.file}:{span.line}")
        yield event


def _edges(whole: Iterable[tuple[int, Span]]) -> Iterator[tuple[bool, Span]]:
    """Each span of whole trees as it begins and as it ends, outer ones first. (Of some of them it
    could not be told which lie within each other: a deeper one need not.)"""
    around: list[tuple[int, Span]] = []
    for depth, span in whole:
        while around and around[-1][0] >= depth:
            yield False, around.pop()[1]
        yield True, span
        around.append((depth, span))
    while around:
        yield False, around.pop()[1]


def _marks(recording: Recording, track: dict[str, int]) -> Iterator[dict[str, Any]]:
    events = recording.events(kinds=_TOLD)
    if not events:
        return
    yield _name_of(track["pid"], track["tid"], "thread_name", "events")
    # What happens at a moment happens before the next one, and many have the same moment.
    at: dict[int, int] = {}
    for moment in sorted({event.moment for event in events if recording.has(event.moment)}):
        at.update(zip([moment], recording.instants(moment, moment), strict=False))
    for event in events:
        if event.moment in at:
            name = _text(f"{event.kind}: {event.text}" if event.text else event.kind)
            args = {"moment": event.moment}
            yield {"ph": "i", "s": "t", "name": name, "ts": at[event.moment] / 1000} | track | {
                "cat": "event", "args": args,
            }  # fmt: skip


def speedscope(traced: Iterable[Traced]) -> Iterator[str]:
    """A profile for each thread of each recording."""
    frames: dict[tuple[str, str, int], int] = {}
    profiles = []
    for process in traced:
        for thread, roots in spans(process.recording).items():
            events = []
            for begins, span in _edges(walk(roots)):
                key = _label(process.recording, span), _text(span.file), span.line
                number = frames.setdefault(key, len(frames))
                at = span.began if begins else span.ended
                events.append({"type": "O" if begins else "C", "frame": number, "at": at})
            name = " ".join(filter(None, (process.name, thread)))
            profiles.append(
                {
                    "type": "evented",
                    "name": _text(name),
                    "unit": "nanoseconds",
                    "startValue": roots[0].began,
                    "endValue": max(root.ended for root in roots),
                    "events": events,
                }
            )
    shared = [
        {"name": name} | ({"file": file, "line": line} if file else {})
        for name, file, line in frames
    ]
    whole = {"$schema": _SCHEMA, "exporter": "stepper", "shared": {"frames": shared}}
    yield json.dumps(whole | {"profiles": profiles})
    yield "\n"


def folded(traced: Iterable[Traced]) -> Iterator[str]:
    """A line for each stack, with the nanoseconds in which it was the whole stack."""
    processes = list(traced)
    for process in processes:
        spent: Counter[tuple[str, ...]] = Counter()
        first = [process.name] * (len(processes) > 1)
        for thread, roots in spans(process.recording).items():
            stack = [*first, *filter(None, [thread])]
            bottom = len(stack)
            for depth, span in walk(roots):
                del stack[bottom + depth :]
                stack.append(_label(process.recording, span))
                spent[tuple(stack)] += span.own
        for names, nanoseconds in spent.items():
            if nanoseconds:
                # A semicolon is what parts the names.
                told = ";".join(_text(name).replace(";", ",") for name in names)
                yield f"{told} {nanoseconds}\n"


def _label(recording: Recording, span: Span) -> str:
    if span.kind is SpanKind.PHASE:
        return _text(span.name)
    place = f"{short_path(span.file, recording.facts.cwd)}:{span.line}"
    name = function_name(span.name)
    return _text(f"{name} ({place})" if span.kind is SpanKind.FRAME else f"line {place}")


def _text(text: str) -> str:
    """On one line, and encodable: a recording can hold any name."""
    return " ".join(text.split()).encode(errors="replace").decode()


FORMATS: dict[str, tuple[str, Callable[[Iterable[Traced]], Iterator[str]]]] = {
    "perfetto": (".perfetto.json", perfetto),
    "speedscope": (".speedscope.json", speedscope),
    "folded": (".folded", folded),
}
"""How a file of each is called, and what writes it."""
