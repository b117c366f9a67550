"""What panes that are lists have in common: views, a filter, headings, details.

    table  code  drawing                 which view is shown (when there are several)
    name      op             …           headings of the columns
    ▸ rows …                             drawn on demand
    the row under the cursor, in full    when the pane is high enough

A pane says what its rows are; this file knows the keys.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.widgets import Input

from stepper.client.folding import Fold, FoldKey
from stepper.model.trace import MomentId
from stepper.tui.lines import Lines
from stepper.tui.palette import Row, row
from stepper.tui.pane import Pane
from stepper.tui.places import Places
from stepper.tui.snapshot import Snapshot

_DETAIL_FROM = 11
"""Height from which a pane has room for details of the row under the cursor, whatever else it has
to show."""

_DETAIL_LINES = 4
_FOLD_SIGNS = {True: "▾ ", False: "▸ "}


def fold_row(fold: Fold, noun: str) -> Row:
    """The row of a fold: `▸ decoder.block[7]: 102 nodes`."""
    return row((_FOLD_SIGNS[fold.open], "dim"), (fold.text(noun), "title"))


class Caption(Lines, can_focus=False):
    """A few lines that only tell something."""

    DEFAULT_CSS = """
    Caption { height: 1; }
    """

    BARS: ClassVar[bool] = False

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._height = 1

    def tell(self, *rows: Row) -> None:
        """Show these lines; nothing at all when there are none."""
        if self.display != bool(rows):
            self.display = bool(rows)
        if rows and self._height != len(rows):
            self._height = len(rows)
            self.styles.height = len(rows)
        self.show(len(rows), rows.__getitem__)


class FilterInput(Input):
    """The line in which the filter is typed; there only while there is a filter."""

    DEFAULT_CSS = """
    FilterInput { height: 1; border: none; padding: 0; display: none; background: $surface; }
    FilterInput:focus { border: none; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave(True)", "Forget the filter", show=False),
        Binding("down,tab", "leave(False)", "To the list", show=False),
    ]

    def action_leave(self, forget: bool) -> None:
        if forget:
            self.value = ""
            self.display = False
        lines = self.screen.query_one(f"#{self.id}-list", Lines)
        self.screen.set_focus(lines, scroll_visible=False)


class FoldLines(Lines):
    """A list with rows that open: `unfold` is told which, and whether only to open (1) or to close
    (-1) it; it says whether there was anything to do."""

    def __init__(self, unfold: Callable[[int, int], bool], *, empty: str, id: str) -> None:
        super().__init__(empty=empty, id=id)
        self._unfold = unfold

    def action_sideways(self, step: int) -> None:
        if self._left or self.cursor >= self.count or not self._unfold(self.cursor, step):
            super().action_sideways(step)

    def activate(self, index: int) -> None:
        if not self._unfold(index, 0):
            super().activate(index)


class ListingPane(Pane):
    """A pane whose content is one list at a time."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ampersand", "filter", "Filter", tooltip="Filter this list"),
        Binding("v", "view(1)", "View", tooltip="Next view of this pane"),
        Binding("V", "view(-1)", "Previous view of this pane", show=False),
    ]

    DEFAULT_CSS = """
    ListingPane .detail { dock: bottom; background: $surface; }
    """

    VIEWS: ClassVar[tuple[str, ...]] = ()
    """Names of the views, when there are several."""
    FILTER: ClassVar[str] = ""
    """What a filter can be, for the empty input line; empty when the pane cannot be filtered."""
    EMPTY: ClassVar[str] = "nothing yet"

    def __init__(self) -> None:
        super().__init__()
        self.view = self.VIEWS[0] if self.VIEWS else ""
        self._places: Places | None = None
        self._opened: set[FoldKey] = set()
        """The folds that are open."""
        self._drawn_size: Size | None = None
        """The size at the last drawing; a pane that comes to light again has it still."""

    def compose(self) -> ComposeResult:
        yield Caption(id=f"{self.id}-views")
        yield FilterInput(placeholder=self.FILTER, id=f"{self.id}-filter")
        yield Caption(id=f"{self.id}-heads")
        lines = FoldLines(self.unfold, empty=self.EMPTY, id=f"{self.id}-filter-list")
        lines.opens = True
        yield lines
        yield Caption(id=f"{self.id}-detail")

    def on_mount(self) -> None:
        for name in ("views", "heads", "detail"):
            self._caption(name).tell()
        self._caption("detail").add_class("detail")
        super().on_mount()

    def focus_inside(self) -> None:
        self.screen.set_focus(self.lines, scroll_visible=False)

    # For the panes that derive from this

    @property
    def lines(self) -> Lines:
        """The list."""
        return self.query_one(f"#{self.id}-filter-list", Lines)

    @property
    def columns(self) -> int:
        """How much of a row is seen for sure: beside it the scroll bar, and the sign of more."""
        return self.size.width - 2

    @property
    def wanted(self) -> int:
        has_details = type(self).detail_of is not ListingPane.detail_of and self.lines.count
        heads = sum(
            self._caption(name).count for name in ("views", "heads") if self._caption(name).display
        )
        return self.lines.rows + heads + (_DETAIL_LINES if has_details else 0)

    @property
    def filter(self) -> str:
        """The filter as it was typed; empty when everything is shown."""
        return self.query_one(FilterInput).value.strip()

    def detail_of(self, index: int) -> list[str]:
        """Everything about a row, as text to be wrapped, for the lines under the list."""
        return []

    def places(self, snapshot: Snapshot) -> Places | None:
        """Names for the moments of the snapshot's recording."""
        if self._places is None and snapshot.recording is not None:
            self._places = Places(snapshot.recording)
        return self._places

    def go_to(self, moment: MomentId, why: str) -> None:
        """Ask for a moment; for one outside of what is recorded, its nearest neighbour."""
        newest = self.snapshot.newest if self.snapshot else 0
        if newest:
            self.post_message(self.Goto(min(max(moment, 1), newest), why))

    def list_rows(
        self,
        count: int,
        *,
        headings: Sequence[Row] = (),
        cursor: int | None = None,
        empty: str | None = None,
    ) -> None:
        """Show so many rows, made by `draw_row`, under these lines of headings."""
        self._caption("views").tell(*self._view_line())
        # Above no rows they would run together.
        self._caption("heads").tell(*(headings if count else ()))
        self.lines.show(count, self.draw_row, cursor=cursor, empty=empty)
        self._show_detail()

    def unfold(self, index: int, direction: int) -> bool:
        """Open a row (1), close it (-1), or what it is not (0); False where it is no fold."""
        fold = self.fold_at(index) or (self.fold_around(index) if direction < 0 else None)
        if fold is None or (fold.open == (direction > 0) and direction):
            return False
        self._opened ^= {fold.key}
        self.redraw()
        self.lines.move_cursor(index)
        return True

    def fold_at(self, index: int) -> Fold | None:
        """The fold that a row is; None: it is none."""
        return None

    def fold_around(self, index: int) -> Fold | None:
        """The open fold that a row is in, where that has no row of its own; None: it is in none."""
        return None

    def draw_row(self, index: int) -> Row:
        """One row of the list."""
        raise TypeError(f"{type(self).__name__} does not say how to draw a row")

    def view_changed(self) -> None:
        """The user switched to another view."""
        self.redraw()

    # Keys and mouse

    def offers(self, action: str) -> bool:
        match action:
            case "filter":
                return bool(self.FILTER)
            case "view(1)":
                return len(self.VIEWS) > 1
            case _:
                return True

    def action_filter(self) -> None:
        if not self.FILTER:
            self.post_message(self.Say(f"{self.NAME} cannot be filtered; / searches it"))
            return
        bar = self.query_one(FilterInput)
        bar.display = True
        self.screen.set_focus(bar, scroll_visible=False)

    def action_view(self, step: int) -> None:
        if len(self.VIEWS) < 2:
            self.post_message(self.Say(f"{self.NAME} has one view only"))
            return
        self.view = self.VIEWS[(self.VIEWS.index(self.view) + step) % len(self.VIEWS)]
        self.view_changed()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.redraw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        event.input.display = bool(event.value)
        self.focus_inside()

    def on_lines_moved(self, message: Lines.Moved) -> None:
        self._show_detail()

    def on_lines_clicked(self, message: Lines.Clicked) -> None:
        if message.lines.id != f"{self.id}-views":
            return
        at = 0
        for name in self.VIEWS:
            if at <= message.column < at + len(name) + 2:
                self.view = name
                self.view_changed()
            at += len(name) + 2

    def on_resize(self, event: events.Resize) -> None:
        # Rows can be made for a width, and there are details only where there is room.
        if event.size != self._drawn_size:
            self._drawn_size = event.size
            self.redraw()

    # Details

    def _caption(self, name: str) -> Caption:
        return self.query_one(f"#{self.id}-{name}", Caption)

    def _view_line(self) -> list[Row]:
        if len(self.VIEWS) < 2:
            return []
        spans = [
            (f"[{v}]" if v == self.view else f" {v} ", "title" if v == self.view else "dim")
            for v in self.VIEWS
        ]
        return [Row((*spans, ("  v: next view", "dim")))]

    def _show_detail(self) -> None:
        if not self.is_mounted or not self.visible_on_desk:
            return
        texts: list[str] = []
        # Otherwise there is room where the rows leave it.
        least = min(_DETAIL_FROM, self.wanted)
        if self.size.height >= least and self.lines.cursor < self.lines.count:
            width = max(20, self.size.width - 1)
            for text in self.detail_of(self.lines.cursor):
                texts += textwrap.wrap(text, width, subsequent_indent="  ") or [""]
        if len(texts) > _DETAIL_LINES:
            texts = [
                *texts[: _DETAIL_LINES - 1],
                f"… {len(texts) - _DETAIL_LINES + 1} more lines: y copies the row",
            ]
        if texts:
            # Always as many: another height costs a layout of the whole screen, at every step.
            texts += [""] * (_DETAIL_LINES - len(texts))
        self._caption("detail").tell(*(row(text) for text in texts))
