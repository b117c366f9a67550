"""The line of keys at the bottom: how to move, what this moment asks for, what the pane with the
keyboard can do.

What has no room is left out, moves first: `?` shows all keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from textual.screen import Screen

from stepper.model.trace import EventKind
from stepper.tui.lines import Lines
from stepper.tui.palette import Span
from stepper.tui.pane import Pane
from stepper.tui.snapshot import Snapshot, Status


class Hint(NamedTuple):
    """A key and what it does now."""

    key: str
    text: str
    last: int = 0
    """The greater, the sooner it gives way."""

    @property
    def width(self) -> int:
        """Columns that it takes."""
        return len(self.key) + len(self.text) + 3


_MOVES = (
    Hint("s", "step"),
    Hint("n", "next", 3),
    Hint("l", "line", 4),
    Hint("r", "finish", 5),
    Hint("c", "continue", 1),
    Hint("Shift", "back", 5),
)
_GENERAL = (
    Hint("Ctrl-F", "search all", 3),
    Hint("g", "goto", 6),
    Hint("|", "layout", 6),
    Hint("?", "help"),
    Hint("q", "quit"),
)
_GAP: Span = (" │", "line")


def footer(
    screen: Screen[object], snapshot: Snapshot, pane: Pane | None, back: bool, width: int
) -> list[Span]:
    """The line.

    Args:
        screen: whose bindings are meant.
        snapshot: what is shown.
        pane: the pane that has the keyboard.
        back: whether Backspace leads anywhere.
        width: columns there are.
    """
    runs = snapshot.status in (Status.RUNNING, Status.STARTING)
    groups = [
        [] if runs and not snapshot.moment else [*_MOVES],
        [*_of_moment(snapshot, back=back)],
        [*_of_pane(screen, pane)] if pane is not None else [],
        [*_GENERAL],
    ]

    def too_wide() -> bool:
        return sum(hint.width for group in groups for hint in group) + 2 * len(groups) > width

    while too_wide() and (worst := max((h.last for group in groups for h in group), default=0)):
        for group in reversed(groups):
            found = next((hint for hint in reversed(group) if hint.last == worst), None)
            if found is not None:
                group.remove(found)
                break
    spans: list[Span] = []
    for group in filter(None, groups):
        spans += [_GAP] if spans else []
        for hint in group:
            spans += [(f" {hint.key}", "key"), (f" {hint.text}", "dim")]
    return spans


def _of_moment(snapshot: Snapshot, *, back: bool) -> Iterator[Hint]:
    if snapshot.status in (Status.RUNNING, Status.STARTING):
        yield Hint("Ctrl-C", "stop")
        yield Hint("G", "newest", 1)
    stopped = snapshot.stopped
    if stopped is not None and snapshot.at_stop and stopped.reason == EventKind.MISS:
        yield Hint("D", "decide")
    if snapshot.recording is not None and snapshot.moment:
        yield Hint("W", "why", 1)
    if back:
        yield Hint("Backspace", "back", 2)


def _of_pane(screen: Screen[object], pane: Pane) -> Iterator[Hint]:
    focused = screen.focused
    if isinstance(focused, Lines) and focused.opens:
        yield Hint("Enter", "open", 1)
    if pane.breakpoint_here() is not None:
        yield Hint("b", "break", 1)
    seen: set[str] = set()
    for active in screen.active_bindings.values():
        binding = active.binding
        of_pane = active.node is pane or pane in active.node.ancestors
        if binding.show and of_pane and pane.offers(binding.action) and binding.action not in seen:
            seen.add(binding.action)
            yield Hint(screen.app.get_key_display(binding), binding.description.lower(), 2)
