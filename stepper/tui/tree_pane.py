"""A pane that is one tree."""

from __future__ import annotations

from textual.app import ComposeResult

from stepper.tui.pane import Pane
from stepper.tui.tree_lines import TreeLines


class TreePane(Pane):
    """Shows rows that can be opened."""

    def compose(self) -> ComposeResult:
        yield TreeLines(empty="nothing yet")

    @property
    def lines(self) -> TreeLines:
        """The tree."""
        return self.query_one(TreeLines)
