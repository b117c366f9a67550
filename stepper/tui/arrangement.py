"""Where each pane goes: a pure function of the terminal's size and of what the user adjusted.

Panes stand in *groups*: a bar of tabs, and under it the one pane of the group that is shown. A wide
terminal has columns of groups and the timeline along the bottom; a narrow one has the code above
and everything else in one group below it; the answer stands above all of it and has the rows that
it needs; a zoomed pane has everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from textual.geometry import Region

WIDE = 110
"""Columns from which panes stand side by side."""

_LOW = 16
"""Rows below which a narrow screen holds one group only."""

STRIP = 5
"""Rows of the timeline along the bottom of a wide screen."""

_ANSWER = 8
"""Rows that the answer has at most while the keyboard is elsewhere."""

_LEAST_HEIGHT = 3
_LEAST_WIDTH = 12


class Group(NamedTuple):
    """Panes that share a place on the screen."""

    name: str
    panes: tuple[str, ...]
    share: float = 1.0
    """How much of its column's height it gets, relative to the others."""


class Column(NamedTuple):
    """Groups on top of each other."""

    name: str
    groups: tuple[Group, ...]
    share: float = 1.0


class Placed(NamedTuple):
    """A group and where it stands. Without a bar when `bar` is empty."""

    group: Group
    bar: Region
    body: Region


_CODE = ("source", "bytecode", "cache")
_STATE = ("stack", "locals", "calls")
_MORE = (
    "graph",
    "guards",
    "effects",
    "symbols",
    "events",
    "frames",
    "output",
    "console",
    "result",
)

_WIDE_COLUMNS: tuple[Column, ...] = (
    Column(
        "code",
        (Group("source", ("source",), 1.0), Group("bytecode", ("bytecode", "cache"), 1.0)),
        1.3,
    ),
    Column(
        "state",
        (
            Group("stack", ("stack",), 1.0),
            Group("locals", ("locals",), 1.2),
            Group("calls", ("calls",), 0.7),
        ),
        1.1,
    ),
    Column("more", (Group("more", _MORE),), 1.1),
)
_WIDE_STRIP = Group("timeline", ("timeline",))
_TOP = Group("answer", ("answer",))

_NARROW_COLUMNS: tuple[Column, ...] = (
    Column(
        "all", (Group("code", _CODE, 0.9), Group("more", (*_STATE, *_MORE, "timeline"), 1.0)), 1.0
    ),
)
_LOW_COLUMNS: tuple[Column, ...] = (
    Column("all", (Group("all", (*_CODE, *_STATE, *_MORE, "timeline")),)),
)


def arrange(
    width: int,
    height: int,
    *,
    panes: Sequence[str],
    zoomed: str | None = None,
    shares: Mapping[str, float] | None = None,
    answer: int = 1,
    reads: bool = False,
) -> list[Placed]:
    """Place the groups of a screen.

    Args:
        width: columns there are.
        height: rows there are.
        panes: the panes that exist; others are left out of their groups.
        zoomed: the pane that has the whole screen.
        shares: factors by which the user made columns and groups larger, by name.
        answer: rows that the answer needs.
        reads: whether it has the keyboard.
    """
    shares = shares or {}
    if zoomed is not None:
        whole = Column("all", (Group("zoom", (zoomed,)),))
        return _columns(0, width, height, _existing([whole], panes), {})
    top = 0
    if "answer" in panes:
        top = max(1, min(answer, height // 2 if reads else min(_ANSWER, height // 3)))
    placed = [Placed(_TOP, Region(), Region(0, 0, width, top))] if top else []
    if width < WIDE:
        columns = _NARROW_COLUMNS if height >= _LOW else _LOW_COLUMNS
        placed += _columns(top, width, height - top, _existing(columns, panes), shares)
        return placed
    strip = STRIP if "timeline" in panes and height > 4 * STRIP else 0
    wide = _existing(_WIDE_COLUMNS, panes)
    placed += _columns(top, width, height - strip - top, wide, shares)
    if strip:
        body = Region(0, height - strip, width, strip)
        placed.append(Placed(_WIDE_STRIP, Region(), body))
    return placed


def _existing(columns: Sequence[Column], panes: Sequence[str]) -> list[Column]:
    """The columns and groups that are not empty."""
    found: list[Column] = []
    for column in columns:
        groups = tuple(
            group._replace(panes=kept)
            for group in column.groups
            if (kept := tuple(pane for pane in group.panes if pane in panes))
        )
        if groups:
            found.append(column._replace(groups=groups))
    return found


def _columns(
    above: int, width: int, height: int, columns: Sequence[Column], shares: Mapping[str, float]
) -> list[Placed]:
    """Columns side by side, under so many rows that are taken."""
    # Columns are kept apart by one blank column of the screen.
    widths = _divide(
        width - (len(columns) - 1),
        [column.share * shares.get(f"column {column.name}", 1.0) for column in columns],
        _LEAST_WIDTH,
    )
    placed: list[Placed] = []
    left = 0
    for column, own_width in zip(columns, widths, strict=True):
        heights = _divide(
            height,
            [group.share * shares.get(f"group {group.name}", 1.0) for group in column.groups],
            _LEAST_HEIGHT,
        )
        top = above
        for group, own_height in zip(column.groups, heights, strict=True):
            bar = Region(left, top, own_width, min(1, own_height))
            body = Region(left, top + 1, own_width, max(0, own_height - 1))
            placed.append(Placed(group, bar, body))
            top += own_height
        left += own_width + 1
    return placed


def _divide(total: int, shares: Sequence[float], least: int) -> list[int]:
    """Whole numbers in proportion to the shares, none below `least` if that is possible."""
    total = max(0, total)
    if total < least * len(shares):
        least = total // max(1, len(shares))
    spare = total - least * len(shares)
    whole = sum(shares)
    sizes: list[int] = []
    given = 0.0
    for share in shares:
        before, given = round(given), given + spare * share / whole
        sizes.append(least + round(given) - before)
    return sizes


def column_of(group: str, width: int, height: int, panes: Sequence[str]) -> str:
    """The column that a group stands in; empty when it stands in none."""
    if width >= WIDE:
        columns = _WIDE_COLUMNS
    else:
        columns = _NARROW_COLUMNS if height >= _LOW else _LOW_COLUMNS
    for column in _existing(columns, panes):
        if any(known.name == group for known in column.groups):
            return column.name
    return ""
