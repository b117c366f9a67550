"""Where the boxes of a flame graph stand in a terminal: what took long is wide, and what was called
stands below what called it.

Rows are dear in a terminal. So what only leads on to one other, as wrappers do, shares its box.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stepper.analysis.flame import Flame
from stepper.analysis.spans import SpanKind
from stepper.client.names import brief_function
from stepper.client.text import ELLIPSIS, one_line

_NEARLY_ALL = 0.97
"""Part of what something took that is led on to."""

Call = tuple[str, int, int]
"""A frame that is under way: its file, its first line, and the line that it is at."""


class Box(NamedTuple):
    """A place on the screen, and what it stands for."""

    flames: tuple[Flame, ...]
    """From the outermost; all but the last one only lead on to the next."""
    row: int
    first: int
    """The first column."""
    last: int
    """The column after the last one."""
    above: int | None
    """The place of the one that it stands below, in the list of all."""

    @property
    def flame(self) -> Flame:
        """What it leads to."""
        return self.flames[-1]


def boxes(roots: Sequence[Flame], width: int) -> list[Box]:
    """All that are a column wide or wider; each before those below it.

    Args:
        roots: what stands side by side above all; they fill the width.
        width: columns there are.
    """
    scale = width / max(1, sum(root.total for root in roots))
    found: list[Box] = []
    waiting: list[tuple[Flame, int, float, int | None]] = []

    def put(flames: Sequence[Flame], row: int, left: float, above: int | None) -> None:
        for flame in flames:
            waiting.append((flame, row, left, above))
            left += flame.total * scale

    put(roots, 0, 0.0, None)
    while waiting:
        flame, row, left, above = waiting.pop()
        first, last = round(left), min(width, round(left + flame.total * scale))
        if first < last:
            chain = tuple(_chain(flame))
            found.append(Box(chain, row, first, last, above))
            put(chain[-1].by_time, row + 1, left, len(found) - 1)
    return found


def _chain(flame: Flame) -> Iterator[Flame]:
    """What leads on to one other of its kind, and that one. A function and its line are of one
    kind, a phase of the compiler is of another."""
    yield flame
    while flame.children:
        longest = flame.by_time[0]
        leads_on = longest.total >= _NEARLY_ALL * flame.total
        if not leads_on or (flame.kind is SpanKind.PHASE) != (longest.kind is SpanKind.PHASE):
            return
        flame = longest
        yield flame


def box_text(box: Box, width: int) -> str:
    """What is written in a box: all that it stands for where there is room, else the last of it."""
    words: list[str] = []
    for above, flame in zip((None, *box.flames), box.flames, strict=False):
        if flame.kind is not SpanKind.LINE:
            words.append(brief_function(flame.name))
        elif above is not None:
            words[-1] += f":{flame.line}"
        else:
            words.append(f"{os.path.basename(flame.file)}:{flame.line}")
    whole = " › ".join(words)
    text = whole if len(whole) <= width or len(words) == 1 else f"{ELLIPSIS} › {words[-1]}"
    return f"{text}  {one_line(box.flame.text)}" if box.flame.text else text


def way_to(flames: Sequence[Flame], calls: Sequence[Call]) -> list[Flame]:
    """What stands for the frames that are under way, from the outermost, as deep as it is known."""
    for flame in flames:
        if flame.kind is SpanKind.PHASE:
            if below := way_to(flame.by_time, calls):
                return [flame, *below]
        elif calls and (flame.file, flame.line) == calls[0][:2]:
            for line in flame.children.values():
                if line.line == calls[0][2]:
                    return [flame, line, *way_to(line.by_time, calls[1:])]
            return [flame]
    return []
