"""Columns of a list: the useful ones first, and as broad as they need before any other is seen.

A pane says which columns its list is looked at for. They share the room that there is, those that
need little first; what is too long for its column loses its middle, where names differ least. The
other columns stand behind, in full, for whoever has the room or scrolls there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from stepper.client.text import ELLIPSIS
from stepper.tui.palette import Row, Span

Cell = tuple[Span, ...]
"""What stands in a column of a row."""


class Column(NamedTuple):
    """A column of a list."""

    heading: str
    useful: bool = False
    """Whether the list is looked at for it: then it gives way to none that is not."""


def length_of(cell: Cell) -> int:
    """How many columns a cell needs in full."""
    return sum(len(text) for text, _ in cell)


class Table:
    """The columns of a list, fitted to a width."""

    def __init__(self, columns: Sequence[Column], wanted: Sequence[int], room: int) -> None:
        """
        Args:
            columns: from left to right, the useful ones first.
            wanted: how broad each would be in full; one that is 0 is left out.
            room: columns of the screen that the rows have.
        """
        self.columns = columns
        self.room = room
        needs = [
            max(n, len(column.heading)) if n else 0
            for column, n in zip(columns, wanted, strict=True)
        ]
        self.widths = [*needs]
        useful = [at for at, column in enumerate(columns) if column.useful and needs[at]]
        parts = _shared([needs[at] for at in useful], room - (len(useful) - 1))
        for at, width in zip(useful, parts, strict=True):
            self.widths[at] = width

    @property
    def heading(self) -> str:
        """The line above the rows."""
        pairs = zip(self.columns, self.widths, strict=True)
        return " ".join(f"{column.heading:<{width}}"[:width] for column, width in pairs if width)

    def row(self, sign: Span, cells: Sequence[Cell], role: str = "", full: str = "") -> Row:
        """A row: its cells in their columns, of which one that is too long has lost its middle.

        Args:
            sign: what stands before the first column.
            cells: one for each column.
            role: of the row as a whole.
            full: the row's text where that is more than its cells say.
        """
        spans, cut = [sign], False
        for column, width, cell in zip(self.columns, self.widths, cells, strict=True):
            if not width:
                continue
            length = length_of(cell)
            cut = cut or (column.useful and length > width)
            spans += _without_middle(cell, length, width) if column.useful else cell
            spans.append((" " * max(1, width - length + 1), ""))
        if cut and not full:
            full = " ".join([sign[0], *("".join(text for text, _ in cell) for cell in cells)])
        return Row(tuple(spans), role, full)


def fitted(row: Row, room: int) -> Row:
    """A row without columns, of which what is looked for is in view: of its spans up to the last
    that is not dim, those that are too long have lost their middle."""
    seen = max((at for at, (_, role) in enumerate(row.spans, 1) if role != "dim"), default=0)
    needs = [len(text) for text, _ in row.spans[:seen]]
    if sum(needs) <= room:
        return row
    cut = zip(row.spans, needs, _shared(needs, room), strict=False)
    spans = (part for span, need, width in cut for part in _without_middle((span,), need, width))
    return Row((*spans, *row.spans[seen:]), row.role, row.text)


def _shared(needs: Sequence[int], room: int) -> list[int]:
    """The room that each gets: whoever needs less than an equal part leaves the rest to the
    others."""
    found = [*needs]
    for done, at in enumerate(sorted(range(len(needs)), key=needs.__getitem__)):
        found[at] = min(needs[at], max(1, room // (len(needs) - done)))
        room -= found[at]
    return found


def _without_middle(cell: Cell, length: int, width: int) -> Iterable[Span]:
    if length <= width:
        return cell
    head = (width - 1) // 3
    return (
        *_part(cell, 0, head),
        (ELLIPSIS, "dim"),
        *_part(cell, length - (width - 1 - head), length),
    )


def _part(cell: Cell, start: int, end: int) -> Iterable[Span]:
    at = 0
    for text, role in cell:
        if kept := text[max(0, start - at) : max(0, end - at)]:
            yield kept, role
        at += len(text)
