"""Trees, drawn line by line on demand: the rows that are unfolded at the moment are one flat list,
and a branch is asked for its children only when it is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

from stepper.tui.lines import Lines
from stepper.tui.palette import Row, Span
from stepper.tui.table import fitted


class Branch(NamedTuple):
    """A row of a tree."""

    key: Hashable
    """Tells it from its siblings; a branch stays open as long as the keys on its path stay."""
    draw: Callable[[], Row]
    """Makes the row; called when it is on screen."""
    children: Callable[[], Sequence[Branch]] | None = None
    """Makes the rows under it; called when it is opened. None: a leaf."""
    subject: object = None
    """What the row is about, for whoever reacts to it."""
    fits: bool = False
    """Whether long names lose their middle where the row has no room; what they are in full stands
    under it. Else it is scrolled."""


class _Flat(NamedTuple):
    path: tuple[Hashable, ...]
    branch: Branch


class TreeLines(Lines):
    """A tree whose unfolded rows are one flat list. Give it roots with `show_tree`."""

    def __init__(self, *, empty: str = "") -> None:
        super().__init__(empty=empty)
        self._open: set[tuple[Hashable, ...]] = set()
        self._flat: list[_Flat] = []

    def show_tree(self, roots: Sequence[Branch], *, empty: str | None = None) -> None:
        """Show these roots; what was open and where the cursor stood is kept by its path."""
        at = self._flat[self.cursor].path if self.cursor < len(self._flat) else None
        self._flat = list(self._unfolded(roots, ()))
        cursor = next((i for i, flat in enumerate(self._flat) if flat.path == at), None)
        if cursor is not None:
            self.cursor = cursor
        self.show(len(self._flat), self._draw_flat, empty=empty)

    def unfold(self, *path: Hashable) -> None:
        """Have a branch open from the next `show_tree` on."""
        self._open.add(path)

    def branch_at(self, index: int) -> Branch | None:
        """The branch on a row."""
        return self._flat[index].branch if index < len(self._flat) else None

    def toggle(self, index: int) -> bool:
        """Open or close a row; False when there is nothing under it."""
        path, branch = self._flat[index]
        if branch.children is None:
            return False
        if path in self._open:
            self._open.discard(path)
            end = index + 1
            while end < len(self._flat) and len(self._flat[end].path) > len(path):
                end += 1
            del self._flat[index + 1 : end]
        else:
            self._open.add(path)
            self._flat[index + 1 : index + 1] = self._unfolded(branch.children(), path)
        self.show(len(self._flat), self._draw_flat)
        return True

    def on_resize(self) -> None:
        self.redraw()

    def enter(self) -> bool:
        branch = self.branch_at(self.cursor)
        if branch is None or (branch.children is None and branch.subject is None):
            return False
        self.activate(self.cursor)
        return True

    def activate(self, index: int) -> None:
        if not self.toggle(index):
            super().activate(index)

    def action_sideways(self, step: int) -> None:
        """Right opens a row or goes to the first one under it, left closes it or goes to the row it
        is under; else they scroll."""
        if self.cursor < len(self._flat):
            path, branch = self._flat[self.cursor]
            if branch.children is not None and (path in self._open) == (step < 0):
                self.toggle(self.cursor)
                return
            if step > 0 and branch.children is not None and not self._left:
                self.move_cursor(self.cursor + 1)
                return
            if step < 0 and len(path) > 1 and not self._left:
                self.move_cursor(
                    next(i for i, flat in enumerate(self._flat) if flat.path == path[:-1])
                )
                return
        super().action_sideways(step)

    def _unfolded(
        self, branches: Sequence[Branch], parent: tuple[Hashable, ...]
    ) -> Iterator[_Flat]:
        for branch in branches:
            path = (*parent, branch.key)
            yield _Flat(path, branch)
            if branch.children is not None and path in self._open:
                yield from self._unfolded(branch.children(), path)

    def _draw_flat(self, index: int) -> Row:
        path, branch = self._flat[index]
        made = branch.draw()
        sign = " " if branch.children is None else "▾" if path in self._open else "▸"
        lead: Span = ("  " * (len(path) - 1) + sign + " ", "dim")
        if branch.fits and self.size:
            # Beside it the scroll bar, and the sign of more.
            made = fitted(made, self.size.width - 2 - len(lead[0]))
        return Row((lead, *made.spans), made.role, made.full)
