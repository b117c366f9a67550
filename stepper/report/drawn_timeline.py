"""The timeline as SVG: frames as bars by depth, the rare events as marks above.

It is as wide as the page, whatever that is, so nothing in it is text: the names are in the bars'
titles and in the table of frames. Only the bars of compilations can be reached with the keyboard;
thousands of inlined frames would be as many stops.
"""

from __future__ import annotations

from stepper.report.contents import Bar, Marks, Timeline
from stepper.report.markup import Html, element, joined

_ROW = 16
_GAP = 2
_GOOD = frozenset({"compiled", "hit", "returned"})
_BAD = frozenset({"failed", "raised", "graph-break", "guard-fail", "cache-limit", "invalidate"})


def mood(kind: str) -> str:
    """The colour of how a walk ended, or of what happened."""
    return "good" if kind in _GOOD else "bad" if kind in _BAD else "warn"


def drawn_timeline(timeline: Timeline, outcomes: dict[int, str], link: dict[int, str]) -> Html:
    """The drawing.

    Args:
        timeline: what to draw.
        outcomes: how each walk ended, by its id.
        link: where a bar leads, by its walk; it may be missing.
    """
    rows: list[Html] = []
    top = _GAP
    for marks in timeline.marks:
        rows.append(_marks(marks, top))
        top += _ROW // 2
    rows += [
        _linked(bar, top, f"told {mood(outcomes.get(bar.walk, ''))}", link)
        for bar in timeline.attempts
    ]
    top += _ROW
    for depth, bars in enumerate(timeline.depths):
        rows.extend(_bar(bar, top, f"depth-{depth % 6}") for bar in bars)
        top += _ROW // 2 if depth else _ROW
    return element(
        "svg",
        element("title", "Frames along the moments of the run"),
        joined(rows),
        class_="timeline",
        role="group",
        viewBox=f"0 0 {timeline.columns} {top + _GAP}",
        preserveAspectRatio="none",
        height=top + _GAP,
    )


def _linked(bar: Bar, top: int, kind: str, link: dict[int, str]) -> Html:
    drawn = _bar(bar, top, kind)
    href = link.get(bar.walk)
    return element("a", drawn, href=href, aria_label=_title(bar)) if href else drawn


def _bar(bar: Bar, top: int, kind: str) -> Html:
    return element(
        "g",
        element("title", _title(bar)),
        element(
            "rect",
            x=bar.first,
            y=top,
            width=bar.last - bar.first,
            height=(_ROW if kind.startswith(("told", "depth-0")) else _ROW // 2) - _GAP,
            class_=kind,
        ),
    )


def _title(bar: Bar) -> str:
    more = f" and {bar.number - 1} more" if bar.number > 1 else ""
    return f"{bar.name}{more}, from moment {bar.moment}"


def _marks(marks: Marks, top: int) -> Html:
    path = "".join(f"M{column} {top}h2v{_ROW // 2 - 1}h-2z" for column in marks.columns)
    return element(
        "g",
        element("title", f"{marks.kind}: {sum(marks.columns.values())}"),
        element("path", d=path, class_=f"told {mood(marks.kind)}"),
    )
