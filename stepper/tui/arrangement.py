"""Where each pane goes: a pure function of the terminal's size, of the preset, of what the panes
need and of what the user adjusted.

Panes stand in *groups*: a bar of tabs, and under it the one pane of the group that is shown. A wide
terminal has columns of groups and the timeline along the bottom; a narrow one has two or three
groups on top of each other; the answer stands above all of it and has the rows that it needs; a
zoomed pane has everything. No group gets more rows than its pane needs as long as another one
needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from textual.geometry import Region

from stepper.tui.presets import PRESETS, Column, Group, Preset

WIDE = 110
"""Columns from which panes stand side by side."""

BROAD = 150
"""Columns from which there are as many columns of panes as a preset has: with less, a third one
leaves none of them room for a line of code or a row of a table."""

_LOW = 16
"""Rows below which a narrow screen holds one group only."""

_TALL = 26
"""Rows from which it holds three."""

_SPARE = 4
"""Rows that are worth one more group where the others do not need them."""

_ANSWER = 8
"""Rows that the answer has at most while the keyboard is elsewhere and others need theirs."""

_LEAST_HEIGHT = 3
_LEAST_WIDTH = 12

Needs = Callable[[Group], int]
"""How many rows the pane needs that a group shows; 0: it has nothing to show, and nobody has asked
for it."""


class Placed(NamedTuple):
    """A group and where it stands. Without a bar when `bar` is empty."""

    group: Group
    bar: Region
    body: Region


_STRIP = Group("timeline", ("timeline",))
_STRIP_ROWS = 6
_TOP = Group("answer", ("answer",))


def _without_end(group: Group) -> int:
    """What a pane needs of which nothing is known: whatever there is."""
    return 10_000


def arrange(
    width: int,
    height: int,
    *,
    panes: Sequence[str],
    preset: Preset = PRESETS[0],
    zoomed: str | None = None,
    shares: Mapping[str, float] | None = None,
    needs: Needs = _without_end,
    answer: int = 1,
    reads: bool = False,
) -> list[Placed]:
    """Place the groups of a screen.

    Args:
        width: columns there are.
        height: rows there are.
        panes: the panes that exist; others are left out of their groups.
        preset: which panes stand together.
        zoomed: the pane that has the whole screen.
        shares: factors by which the user made columns and groups larger, by name.
        needs: how many rows groups need.
        answer: rows that the answer needs.
        reads: whether it has the keyboard.
    """
    shares = shares or {}
    if zoomed is not None:
        whole = Column("all", (Group("zoom", (zoomed,)),))
        return _columns(0, width, height, [whole], {}, _without_end)
    top = 0
    if "answer" in panes:
        top = max(1, min(answer, height // 2 if reads else min(_ANSWER, height // 3)))
    strip = min(_strip(width, height, panes), max(_LEAST_HEIGHT, needs(_STRIP)))
    columns = columns_of(width, height, panes, preset, strip=bool(strip))
    if width < WIDE and len(columns[0].groups) == 2:
        # Two panes that leave so much have a third one below them, as where there are more rows.
        spare = height - top - sum(needs(group) + 1 for group in columns[0].groups)
        if spare > _SPARE:
            columns = columns_of(width, _TALL, panes, preset, strip=False)
    if top:
        # What no pane needs is the answer's.
        spare = min(
            height
            - strip
            - top
            - sum(max(needs(each) + 1, _LEAST_HEIGHT) for each in column.groups)
            for column in columns
        )
        top += max(0, min(answer - top, spare))
    placed = [Placed(_TOP, Region(), Region(0, 0, width, top))] if top else []
    placed += _columns(top, width, height - strip - top, columns, shares, needs)
    if strip:
        placed.append(Placed(_STRIP, Region(), Region(0, height - strip, width, strip)))
    return placed


def _strip(width: int, height: int, panes: Sequence[str]) -> int:
    return _STRIP_ROWS if width >= WIDE and "timeline" in panes and height > 4 * _STRIP_ROWS else 0


def columns_of(
    width: int, height: int, panes: Sequence[str], preset: Preset, *, strip: bool
) -> list[Column]:
    """The columns of a screen, with every pane in one of the groups.

    Args:
        width: columns of the terminal.
        height: rows of the terminal.
        panes: the panes that exist.
        preset: which panes stand together.
        strip: whether the timeline has a place of its own.
    """
    others = [name for name in panes if name not in ("answer", "timeline" if strip else "")]
    if width >= WIDE:
        columns = preset.columns if width >= BROAD else preset.pair or preset.columns
    else:
        rest = tuple(name for name in others if name not in preset.above + preset.below)
        if height < _LOW:
            groups = [Group("all", preset.above + preset.below + rest)]
        elif height < _TALL:
            groups = [Group("code", preset.above, 0.9), Group("more", preset.below + rest)]
        else:
            groups = [
                Group("code", preset.above),
                Group("state", preset.below),
                Group("more", rest),
            ]
        columns = (Column("all", tuple(groups)),)
    named = {name for column in columns for group in column.groups for name in group.panes}
    left_over = tuple(name for name in others if name not in named)
    found: list[Column] = []
    for at, column in enumerate(columns):
        groups = [
            group._replace(panes=tuple(name for name in group.panes if name in others))
            for group in column.groups
        ]
        if at == len(columns) - 1:
            groups[-1] = groups[-1]._replace(panes=groups[-1].panes + left_over)
        if groups := [group for group in groups if group.panes]:
            found.append(column._replace(groups=tuple(groups)))
    return found


def _columns(
    above: int,
    width: int,
    height: int,
    columns: Sequence[Column],
    shares: Mapping[str, float],
    needs: Needs,
) -> list[Placed]:
    """Columns side by side, under so many rows that are taken."""
    # Columns are kept apart by a line of one column.
    widths = _divide(
        width - (len(columns) - 1),
        [column.share * shares.get(f"column {column.name}", 1.0) for column in columns],
        _LEAST_WIDTH,
    )
    placed: list[Placed] = []
    left = 0
    for whole, own_width in zip(columns, widths, strict=True):
        column = _filled(whole, height, needs)
        factors = [shares.get(f"group {group.name}", 1.0) for group in column.groups]
        heights = _fitted(
            height,
            [group.share * factor for group, factor in zip(column.groups, factors, strict=True)],
            [
                # One row more for the bar; whoever is made larger by hand is larger.
                round((needs(group) + 1) * max(1.0, factor))
                for group, factor in zip(column.groups, factors, strict=True)
            ],
        )
        top = above
        for group, own_height in zip(column.groups, heights, strict=True):
            bar = Region(left, top, own_width, min(1, own_height))
            body = Region(left, top + 1, own_width, max(0, own_height - 1))
            placed.append(Placed(group, bar, body))
            top += own_height
        left += own_width + 1
    return placed


def _filled(column: Column, height: int, needs: Needs) -> Column:
    """A column; where its panes leave so much, its last group is two, one below the other."""
    *others, last = column.groups
    spare = height - sum(needs(group) + 1 for group in column.groups)
    if spare <= _SPARE or len(last.panes) == 1 or not last.parts:
        return column
    first, rest = last._replace(panes=last.panes[:1]), last._replace(panes=last.panes[1:])
    if not (needs(first) and needs(rest)):
        return column
    return column._replace(groups=(*others, first, rest))


def _fitted(total: int, shares: Sequence[float], needs: Sequence[int]) -> list[int]:
    """Heights in proportion to the shares, but none above what is needed while others need more;
    what nobody needs goes to the last one.
    """
    open_ones = list(range(len(shares)))
    sizes = [0] * len(shares)
    while open_ones:
        divided = _divide(total, [shares[at] for at in open_ones], _LEAST_HEIGHT)
        given = dict(zip(open_ones, divided, strict=True))
        sated = [at for at in open_ones if max(needs[at], _LEAST_HEIGHT) < given[at]]
        for at in sated or open_ones:
            sizes[at] = max(needs[at], _LEAST_HEIGHT) if sated else given[at]
            total -= sizes[at]
        open_ones = [at for at in open_ones if sated and at not in sated]
    if sizes:
        sizes[-1] += total
    return sizes


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


def column_of(group: str, columns: Sequence[Column]) -> str:
    """The column that a group stands in; empty when it stands in none."""
    for column in columns:
        if any(known.name == group for known in column.groups):
            return column.name
    return ""
