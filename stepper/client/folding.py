"""Long lists, folded by the module that their items belong to: `decoder.block[7]: 102 nodes`.

A real model has the same layer a dozen times, and a graph or the guards of it are thousands of
rows. Neighbours of one layer become one row, which opens; short lists are left alone, and so is the
end of a list, where what is new comes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from itertools import groupby
from typing import NamedTuple

from stepper.client.text import plural

_LONG = 60
"""Items from which on a list is folded."""

_LEAST = 4
"""Neighbours that are worth a fold."""

LONG_STACK = 16
"""Calls from which on a stack is folded."""

FoldKey = tuple[str, int]
"""The layer, and which of its folds, from 1: tells a fold while the list grows."""


class Fold(NamedTuple):
    """Neighbouring items of one layer."""

    layer: str
    number: int
    first: int
    """Place of its first item in the list."""
    size: int
    open: bool

    @property
    def key(self) -> FoldKey:
        """Tells it from the others."""
        return self.layer, self.number

    def text(self, noun: str) -> str:
        """`decoder.block[7]: 102 nodes`."""
        return f"{self.layer}: {plural(self.size, noun)}"


def folded(
    layers: Sequence[str], opened: Container[FoldKey] = (), *, long: int = _LONG
) -> list[int | Fold]:
    """The rows of a list: places of items, and folds, those that are open with their items below.

    Args:
        layers: of each item its layer; empty: it has none.
        opened: the folds that are open.
        long: how many items make a list long.
    """
    if len(layers) < long:
        return [*range(len(layers))]
    rows: list[int | Fold] = []
    known = Counter[str]()
    at = 0
    for layer, run in groupby(layers):
        count = len([*run])
        items = range(at, at + count)
        if layer and count >= _LEAST and at + count < len(layers):
            known[layer] += 1
            key = layer, known[layer]
            rows.append(Fold(*key, at, count, key in opened))
            items = items if key in opened else range(0)
        rows += items
        at += count
    return rows


def row_of(rows: Sequence[int | Fold], item: int) -> int:
    """The row of an item, or of the fold that hides it."""
    best = 0
    for at, row in enumerate(rows):
        if row == item:
            return at
        if isinstance(row, Fold) and row.first <= item < row.first + row.size:
            best = at
    return best


def innermost_first(rows: Sequence[int | Fold]) -> list[int | Fold]:
    """The rows of a call stack the other way round: calls below the folds that they are in."""
    groups: list[list[int | Fold]] = []
    for row in rows:
        fold = groups[-1][0] if groups else None
        inside = isinstance(fold, Fold) and isinstance(row, int) and row < fold.first + fold.size
        if inside:
            groups[-1].insert(1, row)
        else:
            groups.append([row])
    return [row for group in reversed(groups) for row in group]
