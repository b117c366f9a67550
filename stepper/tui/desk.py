"""The desk: all panes as children of one container, put where `arrangement` says.

Textual cannot move a widget from one container to another, and building panes anew at each resize
would lose what is open in them. So there is one container whose layout is our own: turning wide
into narrow, zooming and resizing only change regions and visibility.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.geometry import NULL_OFFSET, Region, Size, Spacing
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.widget import Widget

from stepper.tui.arrangement import WIDE, Placed, arrange, column_of
from stepper.tui.oneline import Tabs
from stepper.tui.pane import Pane
from stepper.tui.panes.answer import AnswerPane
from stepper.tui.snapshot import Snapshot
from stepper.tui.workarounds import OwnLayout

PANE_KEYS = {
    "answer": "!",
    "source": "1",
    "bytecode": "2",
    "stack": "3",
    "locals": "4",
    "calls": "5",
    "graph": "6",
    "guards": "7",
    "effects": "8",
    "symbols": "Y",
    "events": "9",
    "frames": "0",
    "output": "O",
    "console": "e",
    "result": "f",
    "timeline": "t",
    "cache": "k",
}
"""The key that brings each pane to light."""

_MOST_GROUPS = 8
_STEP = 1.2
"""Factor by which one key press resizes a group."""


class _DeskLayout(Layout):
    """Puts each visible child where the desk has planned it."""

    name = "desk"

    def arrange(
        self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True
    ) -> ArrangeResult:
        assert isinstance(parent, Desk)
        return [
            WidgetPlacement(region, NULL_OFFSET, Spacing(), widget)
            for widget, region in parent.plan(size)
            if widget in children
        ]


class Desk(OwnLayout, Container):
    """Holds the panes and decides which are visible."""

    DEFAULT_CSS = """
    Desk { width: 1fr; height: 1fr; }
    Desk Tabs { width: auto; }
    """

    def __init__(self, panes: Sequence[Pane]) -> None:
        super().__init__()
        self.panes = {pane.NAME: pane for pane in panes}
        for pane in panes:
            pane.display = False
        self._answer = next((pane for pane in panes if isinstance(pane, AnswerPane)), None)
        self.zoomed: str | None = None
        self._bars = [Tabs() for _ in range(_MOST_GROUPS)]
        self._reveals = 0
        self._revealed: dict[str, int] = {}
        """When each pane was brought to light last; a group shows the latest of its panes."""
        self._shares: dict[str, float] = {}
        self._placed: list[Placed] = []
        self._focused = ""
        self._snapshot: Snapshot | None = None
        self.own_layout = _DeskLayout()

    def compose(self) -> ComposeResult:
        yield from self._bars
        yield from self.panes.values()

    # Where everything is

    def on_resize(self, event: events.Resize) -> None:
        self.arrange_panes(event.size)

    def arrange_panes(self, size: Size | None = None) -> None:
        """Decide anew what is visible and where."""
        size = size or self.size
        if not size:
            return
        self._placed = arrange(
            size.width,
            size.height,
            panes=tuple(self.panes),
            zoomed=self.zoomed,
            shares=self._shares,
            answer=self._answer.wanted if self._answer is not None else 0,
            reads=self._focused == "answer",
        )
        shown = {self._shown(placed) for placed in self._placed}
        for name, pane in self.panes.items():
            if pane.visible_on_desk != (name in shown) or pane.display != (name in shown):
                pane.set_visible(name in shown)
        for at, bar in enumerate(self._bars):
            bar.display = at < len(self._placed) and bool(self._placed[at].bar)
        self.draw_bars()
        self.rearrange()

    def plan(self, size: Size) -> list[tuple[Widget, Region]]:
        """Every visible child and its region, for the layout."""
        if not self._placed:
            return []
        plan: list[tuple[Widget, Region]] = []
        for bar, placed in zip(self._bars, self._placed, strict=False):
            if placed.bar:
                plan.append((bar, placed.bar))
            plan.append((self.panes[self._shown(placed)], placed.body))
        return plan

    def _shown(self, placed: Placed) -> str:
        return max(placed.group.panes, key=lambda name: self._revealed.get(name, 0))

    def draw_bars(self) -> None:
        """Draw the tabs: titles change with the moment."""
        for bar, placed in zip(self._bars, self._placed, strict=False):
            if not placed.bar:
                continue
            shown = self._shown(placed)
            tabs = [
                (name, PANE_KEYS.get(name, ""), self._title(name, shown))
                for name in placed.group.panes
            ]
            bar.set_tabs(tabs, shown, focused=self._focused == shown, width=placed.bar.width)

    def _title(self, name: str, shown: str) -> str:
        if name != shown or self._snapshot is None:
            return name
        return self.panes[name].title(self._snapshot)

    # What it shows

    def receive(self, snapshot: Snapshot) -> None:
        """Hand the newest snapshot to every pane."""
        self._snapshot = snapshot
        needed = self._answer.wanted if self._answer is not None else 0
        for pane in self.panes.values():
            pane.receive(snapshot)
            if pane is self._answer and needed != self._answer.wanted:
                self.arrange_panes()  # now, so that what follows is drawn once
        self.draw_bars()

    def reveal(self, name: str, *, focus: bool = True) -> None:
        """Bring a pane to light, and give it the keyboard."""
        if self.zoomed is not None:
            self.zoomed = name
        self._reveals += 1
        self._revealed[name] = self._reveals
        self.arrange_panes()
        if focus:
            self.panes[name].focus_inside()

    def _group_of(self, name: str) -> str:
        found = (placed.group for placed in self._placed if name in placed.group.panes)
        return next((group.name for group in found), "")

    def focused_pane(self) -> Pane | None:
        """The pane that has the keyboard."""
        focused = self.screen.focused
        while focused is not None and not isinstance(focused, Pane):
            focused = focused.parent if isinstance(focused.parent, Widget) else None
        return focused

    def focus_changed(self) -> None:
        """Draw which pane has the keyboard now."""
        pane = self.focused_pane()
        name = pane.NAME if pane else ""
        if name != self._focused:
            before, self._focused = self._focused, name
            if "answer" in (before, name):
                self.arrange_panes()
            self.draw_bars()

    def on_descendant_focus(self) -> None:
        self.focus_changed()

    def on_pane_resized(self, message: Pane.Resized) -> None:
        message.stop()
        self.arrange_panes()

    def on_pane_retitled(self, message: Pane.Retitled) -> None:
        message.stop()
        self.draw_bars()

    def on_tabs_chosen(self, message: Tabs.Chosen) -> None:
        message.stop()
        self.reveal(message.pane)

    # What the user adjusts

    def toggle_zoom(self) -> str:
        """Give the focused pane the whole screen, or take it back; returns what to say."""
        if self.zoomed is not None:
            self.zoomed = None
            self.arrange_panes()
            return ""
        pane = self.focused_pane()
        if pane is None:
            return "no pane has the keyboard: press its number first"
        self.zoomed = pane.NAME
        self.arrange_panes()
        return f"{pane.NAME} zoomed: z shows the others again"

    def grow(self, direction: int, *, wider: bool) -> str:
        """Make the focused pane's group higher (or its column wider); returns what to say."""
        pane = self.focused_pane()
        group = self._group_of(pane.NAME) if pane else ""
        if self.zoomed or not group:
            return "nothing to resize: a zoomed pane has the whole screen"
        if wider and self.size.width < WIDE:
            return f"panes stand side by side only from {WIDE} columns on"
        if wider:
            group = column_of(group, self.size.width, self.size.height, tuple(self.panes))
        key = f"{'column' if wider else 'group'} {group}"
        self._shares[key] = min(8.0, max(0.125, self._shares.get(key, 1.0) * _STEP**direction))
        self.arrange_panes()
        return ""
