"""Spans, and the formats of traces, held to what the viewers' authors have published."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from stepper.analysis import trace_formats
from stepper.analysis.compile_times import unnumbered
from stepper.analysis.flame import Flame, flames
from stepper.analysis.slow_lines import slow_lines
from stepper.analysis.slow_tree import calls
from stepper.analysis.spans import Span, SpanKind, spans, walk
from stepper.analysis.trace_formats import Traced
from stepper.model.timing import TRACING
from tests import ready
from tests.conftest import ROOT, clean_environment
from tests.timings import programs
from tests.timings.conftest import Ran

SLEEP = int(programs.SLEEP * 1e9)


def test_spans_lie_within_each_other_and_side_by_side(ran: Ran) -> None:
    for roots in spans(ran.recording).values():
        around: list[tuple[int, int]] = []
        before = 0
        for depth, span in walk(roots):
            del around[depth:]
            begin, end = around[-1] if around else (0, span.ended)
            assert begin <= span.began <= span.ended <= end
            assert span.own >= 0
            assert span.began >= before
            before = span.began
            around.append((span.began, span.ended))


def test_spans_have_all_of_tracing_and_of_the_phases(ran: Ran) -> None:
    main = spans(ran.recording)[""]
    assert sum(root.total for root in main) == ran.times.total
    lines = sum(
        span.own + sum(child.total for child in span.children if child.kind is SpanKind.PHASE)
        for _, span in walk(main)
        if span.kind is SpanKind.LINE
    )
    assert 0.9 * ran.times.spent({TRACING}) <= lines


def test_calls_are_a_tree_of_the_programs_lines(ran: Ran) -> None:
    rows = [row for row in calls(ran.times, 0) if row.file == programs.__file__]
    at = next(n for n, row in enumerate(rows) if row.name == "profiled" and row.total > SLEEP)
    outer, *inner = rows[at : at + 3]
    assert outer.depth == 0
    assert {(row.depth, row.name) for row in inner} == {(1, "twice"), (1, "once")}
    assert outer.total >= sum(row.total for row in inner) >= 3 * SLEEP
    planted = next(row for row in rows if row.name == "helper")
    # The line that calls it is left out unless the machine was busy there.
    assert planted.depth + planted.through == 1
    assert "calls while tracing" in [line.text for line in slow_lines(ran.recording)]


def test_functions_take_as_long_as_torchs_profiler_says(ran: Ran) -> None:
    """By their order: the profiler's frames begin before the first instruction."""
    if not ran.functions:
        pytest.skip("this torch has no profiler of tracing")
    theirs: Counter[str] = Counter()
    for name, nanoseconds in ran.functions:
        theirs[name] += nanoseconds
    ours: Counter[str] = Counter()
    for _, span in walk(spans(ran.recording)[""]):
        if span.kind is SpanKind.FRAME:
            ours[span.name] += span.total
    names = {"profiled", "twice", "once"}
    longest, found = ([n for n, _ in each.most_common() if n in names] for each in (theirs, ours))
    assert set(found) == names
    assert found == longest


def exported(recording: Path, kind: str, folder: Path) -> bytes:
    """A file that the command has written."""
    file = folder / "out"
    command = ready.stepper("export", "--format", kind, "-o", file, recording)
    subprocess.run(command, env=clean_environment(), cwd=ROOT, check=True, capture_output=True)
    return file.read_bytes()


class TraceEvent(msgspec.Struct, forbid_unknown_fields=True):
    """Of the Trace Event Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU"""

    ph: Literal["B", "E", "i", "M"]
    name: str
    pid: int
    tid: int
    ts: float | None = None
    cat: str = ""
    s: Literal["t", "p", "g"] | None = None
    args: dict[str, str | int] = {}


class Trace(msgspec.Struct, forbid_unknown_fields=True):
    traceEvents: list[TraceEvent]
    displayTimeUnit: Literal["ms", "ns"]


def test_perfettos_events_begin_and_end_in_order_on_each_track(ran: Ran, tmp_path: Path) -> None:
    trace = in_order(exported(ran.file, "perfetto", tmp_path))
    named = {each.tid: each.args["name"] for each in trace.traceEvents if each.ph == "M"}
    assert {"main thread: phases", "main thread: frames", "main thread: lines", "events"} <= set(
        named.values()
    )
    marks = [each for each in trace.traceEvents if each.ph == "i"]
    assert all(named[each.tid] == "events" for each in marks)
    assert any(mark.name.startswith("graph-break: ") for mark in marks)


def in_order(written: bytes) -> Trace:
    """A trace, in which each track goes forwards, and what begins last ends first."""
    trace = msgspec.json.decode(written, type=Trace)
    around: dict[int, list[str]] = {}
    at: dict[int, float] = {}
    for each in trace.traceEvents:
        if each.ph == "M":
            continue
        assert each.ts is not None
        if each.ph == "i":
            continue
        assert each.ts >= at.get(each.tid, 0)
        at[each.tid] = each.ts
        stack = around.setdefault(each.tid, [])
        if each.ph == "B":
            stack.append(each.name)
        else:
            assert stack.pop() == each.name
    assert not any(around.values())
    return trace


def test_a_phase_deeper_in_another_line_begins_after_one_has_ended(
    ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As garbage does, which is collected anywhere: here first in a line, then in a call."""
    phase, frame, line = SpanKind
    rows = [
        (0, phase, 0, 90), (1, frame, 0, 90), (2, line, 0, 30), (3, phase, 10, 20),
        (2, line, 30, 90), (3, frame, 40, 90), (4, line, 40, 90), (5, phase, 50, 60),
    ]  # fmt: skip
    around: list[Span] = []
    for depth, kind, began, ended in rows:
        del around[depth:]
        span = Span(kind, f"{kind} {began}", began, ended, 1, ("f.py", began))
        if around:
            around[-1].children.append(span)
        around.append(span)
    monkeypatch.setattr(trace_formats, "spans", lambda _: {"": around[:1]})
    trace = in_order("".join(trace_formats.perfetto([Traced(1, "it", ran.recording)])).encode())
    named = next(
        each.tid for each in trace.traceEvents if each.args.get("name") == "main thread: phases"
    )
    phases = [(each.ph, each.ts) for each in trace.traceEvents if each.tid == named and each.ts]
    assert phases == [("B", 0.01), ("E", 0.02), ("B", 0.05), ("E", 0.06), ("E", 0.09)]


def test_a_session_folder_is_one_trace_with_several_processes(ran: Ran, tmp_path: Path) -> None:
    folder = tmp_path / "ranks"
    folder.mkdir()
    for pid in 11, 12:
        (folder / f"{pid}.stepper").symlink_to(ran.file)
        entry = {"pid": pid, "rank": pid - 11, "recording": f"{pid}.stepper"}
        (folder / f"{pid}.json").write_bytes(msgspec.json.encode(entry))
    trace = msgspec.json.decode(exported(folder, "perfetto", tmp_path), type=Trace)
    named = {
        each.pid: each.args["name"] for each in trace.traceEvents if each.name == "process_name"
    }
    assert named == {11: "rank 0 process 11", 12: "rank 1 process 12"}
    assert {each.pid for each in trace.traceEvents if each.ph == "B"} == {11, 12}


class Place(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    file: str = ""
    line: int = 0
    col: int = 0


class Shared(msgspec.Struct, forbid_unknown_fields=True):
    frames: list[Place]


class Edge(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["O", "C"]
    frame: int
    at: int


class Evented(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["evented"]
    name: str
    unit: Literal["bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"]
    startValue: int
    endValue: int
    events: list[Edge]


class Speedscope(msgspec.Struct, forbid_unknown_fields=True):
    """Of https://www.speedscope.app/file-format-schema.json, as far as evented profiles go."""

    schema: Literal["https://www.speedscope.app/file-format-schema.json"] = msgspec.field(
        name="$schema"
    )
    shared: Shared
    profiles: list[Evented]
    exporter: str = ""


def test_speedscopes_frames_open_and_close_in_order(ran: Ran, tmp_path: Path) -> None:
    whole = msgspec.json.decode(exported(ran.file, "speedscope", tmp_path), type=Speedscope)
    assert len(whole.profiles) == 3  # the main thread, and two that helped the backend
    for profile in whole.profiles:
        stack: list[int] = []
        at = profile.startValue
        for edge in profile.events:
            assert at <= edge.at <= profile.endValue
            at = edge.at
            if edge.type == "O":
                stack.append(edge.frame)
            else:
                assert stack.pop() == edge.frame
        assert not stack
    names = [place.name for place in whole.shared.frames]
    assert any(name.startswith("helper (tests/timings/programs.py:") for name in names)


def test_folded_stacks_add_up(ran: Ran, tmp_path: Path) -> None:
    rows = exported(ran.file, "folded", tmp_path).decode().splitlines()
    spent = [int(row.rpartition(" ")[2]) for row in rows]
    assert sum(spent) == ran.times.total + sum(root.total for root in ran.times.beside)
    stacks = [row.rpartition(" ")[0].split(";") for row in rows]
    assert any(
        stack[0] == "dynamo" and any(name.startswith("helper (") for name in stack)
        for stack in stacks
    )


def test_a_flame_is_as_long_as_its_spans_together(ran: Ran) -> None:
    """Two ways to add up the same: moment by moment, and once for equal stacks."""
    spent: Counter[tuple[str, ...]] = Counter()
    stack: list[str] = []
    for depth, span in walk(spans(ran.recording)[""]):
        stack[depth:] = [f"{span.kind} {unnumbered(span.name)} {span.file} {span.line}"]
        spent[tuple(stack)] += span.total
    waiting: list[tuple[tuple[str, ...], Flame]] = [((), each) for each in flames(ran.times)]
    found: Counter[tuple[str, ...]] = Counter()
    while waiting:
        way, flame = waiting.pop()
        way = (*way, f"{flame.kind} {flame.name} {flame.file} {flame.line}")
        found[way] = flame.total
        waiting += [(way, each) for each in flame.children.values()]
    assert +found == +spent
