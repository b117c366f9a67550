"""The desk: all panes as children of one container, put where `arrangement` says.

Textual cannot move a widget from one container to another, and building panes anew at each resize
would lose what is open in them. So there is one container whose layout is our own: turning wide
into narrow, zooming and resizing only change regions and visibility.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.geometry import NULL_OFFSET, Region, Size, Spacing
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from stepper.tui.arrangement import WIDE, Placed, arrange, column_of, columns_of
from stepper.tui.lines import Lines
from stepper.tui.oneline import Tabs
from stepper.tui.pane import Pane
from stepper.tui.panes.answer import AnswerPane
from stepper.tui.panes.source import SourcePane
from stepper.tui.presets import PRESETS, Group, Preset
from stepper.tui.snapshot import Snapshot
from stepper.tui.themed import Themed
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
    "result": "w",
    "timeline": "t",
    "cache": "k",
    "flame": "T",
}
"""The key that brings each pane to light."""

_MOST_GROUPS = 16
_MOST_COLUMNS = 4
_STEP = 1.2
"""Factor by which one key press resizes a group."""

_UNUSED = 6
"""Rows that a pane may have without need before it is made smaller: a layout at every step would be
felt, and so would panes that never stay where they are."""

_PATIENCE = 8
"""Moves after which a pane that has more rows than that without need, or that has nothing to show
any more, is made smaller: a step into a call or to the next frame and the one back would each move
all the others."""


class Gutter(Themed):
    """The line between two columns of panes."""

    DEFAULT_CSS = "Gutter { width: 1; background: $background; }"

    def render_line(self, y: int) -> Strip:
        base = self.rich_style
        return Strip([Segment("│", base + self.palette["line"])], 1)


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

    class Focused(Message):
        """Another pane has the keyboard."""

    def __init__(self, panes: Sequence[Pane]) -> None:
        super().__init__()
        self.panes = {pane.NAME: pane for pane in panes}
        for pane in panes:
            pane.display = False
        self._answer = next((pane for pane in panes if isinstance(pane, AnswerPane)), None)
        self.zoomed: str | None = None
        self.preset = PRESETS[0]
        self._bars = [Tabs() for _ in range(_MOST_GROUPS)]
        self._gutters = [Gutter() for _ in range(_MOST_COLUMNS - 1)]
        self._reveals = 0
        self._revealed: dict[str, int] = {}
        """When each pane was brought to light last; a group shows the latest of its panes."""
        self.shares: dict[str, dict[str, float]] = {}
        """By preset: the factors by which groups and columns were made larger."""
        self._needs: dict[str, int] = {}
        """How many rows each pane was given room for."""
        self._answered = 0
        """How many rows the answer was given room for."""
        self._filled: dict[str, int] = {}
        """The move at which each pane needed its rows last."""
        self._moves = 0
        self._resized = False
        """Whether some pane's rows are others than when it was given room."""
        self._placed: list[Placed] = []
        self._focused = ""
        self._snapshot: Snapshot | None = None
        self.own_layout = _DeskLayout()

    def compose(self) -> ComposeResult:
        if isinstance(source := self.panes.get("source"), SourcePane):
            source.times = self.preset.times
        yield from self._bars
        yield from self._gutters
        yield from self.panes.values()

    # Where everything is

    def on_resize(self, event: events.Resize) -> None:
        self.arrange_panes(event.size)

    def arrange_panes(self, size: Size | None = None) -> None:
        """Decide anew what is visible and where."""
        size = size or self.size
        if not size:
            return
        self._placed = self._arranged(size)
        shown = {self._shown(placed) for placed in self._placed}
        for name, pane in self.panes.items():
            if pane.visible_on_desk != (name in shown) or pane.display != (name in shown):
                pane.set_visible(name in shown)
        for at, bar in enumerate(self._bars):
            bar.display = at < len(self._placed) and bool(self._placed[at].bar)
        between = self._between()
        for at, gutter in enumerate(self._gutters):
            gutter.display = at < len(between)
        self.draw_bars()
        self.rearrange()

    def _arranged(self, size: Size) -> list[Placed]:
        return arrange(
            size.width,
            size.height,
            panes=tuple(self.panes),
            preset=self.preset,
            zoomed=self.zoomed,
            shares=self.shares.get(self.preset.name),
            needs=self._needed,
            answer=self._rows_of_answer(),
            reads=self._focused == "answer",
        )

    def _rows_of_answer(self) -> int:
        """One row more than it needs moves nothing: most answers differ by one."""
        wanted = self._answer.wanted if self._answer is not None else 0
        if self._answered != wanted + 1:
            self._answered = wanted
        return self._answered

    def _needed(self, group: Group) -> int:
        name, snapshot = self._shown_of(group), self._snapshot
        pane = self.panes[name]
        nothing = name not in self._revealed and snapshot and not pane.has_something(snapshot)
        if nothing and self._moves - self._filled.get(name, -_PATIENCE) >= _PATIENCE:
            # One that has a place of its own is shown in any case.
            alone = any(
                group == each
                for column in (*self.preset.columns, *self.preset.pair)
                for each in column.groups
                if len(each.panes) == 1
            )
            return pane.wanted if alone else 0
        return self._needs.get(name, pane.wanted)

    def _fit(self) -> None:
        """Give panes the rows that they need now, where that is worth another layout."""
        self._resized = False
        for name, pane in self.panes.items():
            given, needed = self._needs.get(name, 0), pane.wanted
            if not pane.visible_on_desk:
                continue
            worth = self._snapshot is not None and pane.has_something(self._snapshot)
            if worth and needed >= given - _UNUSED:
                self._filled[name] = self._moves
            if pane.STEADY:
                self._needs[name] = needed
            elif needed > given or self._moves - self._filled.get(name, 0) > _PATIENCE:
                # Rounded: a stack that grows by one does not move all the others.
                self._needs[name] = needed if needed < 4 else -(-needed // 3) * 3
        if self._placed and self._arranged(self.size) != self._placed:
            self.arrange_panes()

    def _between(self) -> list[Region]:
        """The lines between columns."""
        bars = [placed.bar for placed in self._placed if placed.bar]
        lefts = sorted({bar.x for bar in bars if bar.x})
        if not lefts:
            return []
        top = min(bar.y for bar in bars)
        bottom = max(placed.body.bottom for placed in self._placed if placed.bar)
        return [Region(left - 1, top, 1, bottom - top) for left in lefts]

    def plan(self, size: Size) -> list[tuple[Widget, Region]]:
        """Every visible child and its region, for the layout."""
        if not self._placed:
            return []
        plan: list[tuple[Widget, Region]] = [*zip(self._gutters, self._between(), strict=False)]
        for bar, placed in zip(self._bars, self._placed, strict=False):
            if placed.bar:
                plan.append((bar, placed.bar))
            plan.append((self.panes[self._shown(placed)], placed.body))
        return plan

    def _shown(self, placed: Placed) -> str:
        return self._shown_of(placed.group)

    def _shown_of(self, group: Group) -> str:
        """The pane of a group that was asked for last; before any was, the first that has something
        to show at this moment."""
        latest = max(group.panes, key=lambda name: self._revealed.get(name, 0))
        if latest in self._revealed or (snapshot := self._snapshot) is None:
            return latest
        worth = (name for name in group.panes if self.panes[name].has_something(snapshot))
        return next(worth, latest)

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
        self._moves += 1
        for pane in self.panes.values():
            pane.receive(snapshot)
        self._follow()
        self._fit()
        self.draw_bars()

    def _follow(self) -> None:
        """Show other panes where those that are shown have nothing to show any more; the keyboard
        goes along."""
        hidden = [
            placed for placed in self._placed if not self.panes[self._shown(placed)].visible_on_desk
        ]
        if not hidden:
            return
        before = self.focused_pane()
        self.arrange_panes()
        if before is not None and not before.visible_on_desk:
            group = next((each.group for each in hidden if before.NAME in each.group.panes), None)
            if group is not None:
                self.panes[self._shown_of(group)].focus_inside()

    def reveal(self, name: str, *, focus: bool = True) -> None:
        """Bring a pane to light, and give it the keyboard."""
        if self.zoomed is not None:
            self.zoomed = name
        self._reveals += 1
        self._revealed[name] = self._reveals
        self.arrange_panes()
        self._fit()
        if focus:
            self.panes[name].focus_inside()

    def use(self, preset: Preset) -> None:
        """Arrange the panes for something else."""
        self.preset, self.zoomed = preset, None
        self._revealed.clear()
        if isinstance(source := self.panes.get("source"), SourcePane):
            source.show_times(preset.times)
        self.arrange_panes()
        self._fit()
        pane = self.focused_pane()
        if pane is None or not pane.visible_on_desk:
            first = Group("first", preset.above)
            group = next((g for g, *_ in self._placed if preset.above[0] in g.panes), first)
            self.panes[self._shown_of(group)].focus_inside()

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
            self.post_message(self.Focused())

    def on_descendant_focus(self) -> None:
        self.focus_changed()

    def on_lines_resized(self, message: Lines.Resized) -> None:
        message.stop()
        if not self._resized:  # a step changes the rows of many panes
            self._resized = True
            self.call_next(self._fit)

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
            columns = columns_of(*self.size, tuple(self.panes), self.preset, strip=False)
            group = column_of(group, columns)
        key = f"{'column' if wider else 'group'} {group}"
        shares = self.shares.setdefault(self.preset.name, {})
        shares[key] = min(8.0, max(0.125, shares.get(key, 1.0) * _STEP**direction))
        self.arrange_panes()
        return ""
