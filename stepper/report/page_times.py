"""Where compile time went, on the page: the phases, and a flame graph that needs no script.

The graph is as wide as the page, so nothing in it is text, as in the timeline: what a box is stands
in its title.
"""

from __future__ import annotations

from stepper.analysis.run_costs import brief
from stepper.analysis.slow_lines import NOT_RECORDED, phase_text
from stepper.client.text import time_words
from stepper.report.contents import CallCost, CompileTimes, FlameBox
from stepper.report.linking import code, section, table
from stepper.report.markup import Html, element

_ROW = 14
_COLUMNS = 10_000


def times_section(times: CompileTimes | None) -> Html:
    """The sum, the phases as a table, and the graph."""
    title = "Compile time"
    if times is None:
        return section("times", title, element("p", f"{NOT_RECORDED.partition(':')[0]}."))
    rows = [
        (
            None,
            (
                code(f"{'  ' * each.depth}{phase_text(each.name)}"),
                str(each.count),
                time_words(each.nanoseconds),
                time_words(each.own),
            ),
        )
        for each in times.phases
    ]
    intro = (
        f"{time_words(times.nanoseconds)} of compiling. The graph shows the phases that the "
        "compiler times, below them the functions it traced and their lines; the wider, the longer "
        "it took."
    )
    columns = ("phase", "times", "in all", "own")
    drawn = _drawn(times.flames)
    phases = table(columns, rows, numbers=frozenset(columns[1:]))
    return section("times", title, element("p", intro), drawn, phases, *_calls(times.calls))


def _calls(calls: tuple[CallCost, ...]) -> tuple[Html, ...]:
    if not calls:
        return ()
    columns = ("function", "entry", "calls", "guards", "transformed code", "graphs")
    rows = [
        (
            None,
            (
                code(each.name),
                code(each.entry),
                str(each.calls),
                *("–" if ns is None else brief(ns) for ns in _parts(each)),
            ),
        )
        for each in calls
    ]
    intro = (
        "What calls of compiled functions cost, entry by entry: the median of the calls whose "
        "lookups were recorded. Recording them makes what runs right after it longer, by up to "
        "some tenths of a millisecond."
    )
    return element("p", intro), table(columns, rows, numbers=frozenset(columns[2:]))


def _parts(call: CallCost) -> tuple[int | None, ...]:
    return call.guards, call.transformed, call.graphs


def _drawn(flames: tuple[FlameBox, ...]) -> Html:
    height = (max((box.depth for box in flames), default=0) + 1) * _ROW
    return element(
        "svg",
        element("title", "Where compile time went"),
        *map(_box, flames),
        class_="timeline",
        role="img",
        viewBox=f"0 0 {_COLUMNS} {height}",
        preserveAspectRatio="none",
        height=height,
    )


def _box(box: FlameBox) -> Html:
    own = f", own {time_words(box.own)}" if box.own != box.nanoseconds else ""
    return element(
        "g",
        element("title", f"{box.kind} {box.name}: {time_words(box.nanoseconds)}{own}"),
        element(
            "rect",
            x=int(box.left * _COLUMNS),
            y=box.depth * _ROW,
            width=max(1, int(box.width * _COLUMNS)),
            height=_ROW - 1,
            class_={"phase": "depth-5", "frame": "depth-1", "line": "depth-3"}[box.kind],
        ),
    )
