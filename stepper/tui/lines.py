"""Long lists, drawn line by line on demand.

A list with a widget for each row costs seconds at 100,000 rows. `Lines` has none: it knows how many
rows there are and a function that makes one, asks for those on screen, and keeps the newest few
hundred strips. Everything that all lists share lives here once: the cursor, selection of several
rows, search, copying, the mouse, sideways scrolling.
"""

from __future__ import annotations

import asyncio
import textwrap
import time
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from stepper.client.text import so_far
from stepper.model.printing import printable
from stepper.tui.palette import Palette, Row
from stepper.tui.prompt import Prompt
from stepper.tui.scrolled import Scrolled

_SEARCH_SLICE = 0.02
"""Seconds that a search may hold the screen before it lets keys through."""

_SIDEWAYS = 8
"""Columns that a key scrolls sideways."""


class Made(NamedTuple):
    """A row that was drawn."""

    row: Row | None
    """What it was drawn of; None: there is more to it than a row says."""
    strip: Strip
    style: Style
    """That of the row as a whole."""


class Lines(Scrolled, can_focus=True):
    """A list of rows with a cursor. Give it rows with `show`; react to its messages."""

    DEFAULT_CSS = """
    Lines { width: 1fr; height: 1fr; background: $background; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "cursor(-1)", "Row up", show=False),
        Binding("down", "cursor(1)", "Row down", show=False),
        Binding("shift+up", "extend(-1)", "Select upwards", show=False),
        Binding("shift+down", "extend(1)", "Select downwards", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "cursor_to(0)", "First row", show=False),
        Binding("end", "cursor_to(-1)", "Last row", show=False),
        Binding("left", "sideways(-1)", "Left, or fold", show=False),
        Binding("right", "sideways(1)", "Right, or unfold", show=False),
        Binding("space", "activate", "Open the row", show=False),
        Binding("y", "copy", "Copy the row or the selection", show=False),
        Binding("slash", "search", "Find", tooltip="Search in this pane"),
    ]

    class Activated(Message):
        """Enter, space or a double click on a row that means something there."""

        def __init__(self, lines: Lines, index: int) -> None:
            super().__init__()
            self.lines = lines
            self.index = index

        @property
        def control(self) -> Lines:
            return self.lines

    class Clicked(Message):
        """A row was clicked, at a column of its text."""

        def __init__(self, lines: Lines, index: int, column: int) -> None:
            super().__init__()
            self.lines = lines
            self.index = index
            self.column = column

        @property
        def control(self) -> Lines:
            return self.lines

    class Moved(Message):
        """The cursor went to another row by the user's hand."""

        def __init__(self, lines: Lines, index: int) -> None:
            super().__init__()
            self.lines = lines
            self.index = index

        @property
        def control(self) -> Lines:
            return self.lines

    class Resized(Message):
        """More rows may be needed than before, or fewer."""

    class Say(Message):
        """Something to tell the user on the status line."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, *, empty: str = "", id: str | None = None) -> None:
        """
        Args:
            empty: what to say when there are no rows.
            id: the widget's id.
        """
        super().__init__(id=id)
        self.count = 0
        self._cursor = 0
        self.searched = ""
        self.opens = False
        """Whether Enter means something on rows; otherwise it is left to the application."""
        self._draw: Callable[[int], Row] = _no_rows
        self._empty = empty
        self._final = False
        self._anchor: int | None = None
        self._left = 0
        self.frozen = 0
        """Columns at the left that stay when the rest is scrolled sideways."""
        self._made: LRUCache[int, Made] = LRUCache(512)
        self._base: Style | None = None

    # What it shows

    def show(
        self,
        count: int,
        draw: Callable[[int], Row],
        *,
        cursor: int | None = None,
        empty: str | None = None,
    ) -> None:
        """Show `count` rows made by `draw(index)`.

        Args:
            count: number of rows.
            draw: makes one row; called for rows on screen only (and for all when searching).
            cursor: row to put the cursor on and to bring into view; None: leave it where it is.
            empty: what to say when there are no rows; None: as before.
        """
        if count != self.count:
            # By itself it would be the pane's that shows rows, and go no further than to that.
            self.post_message(self.Resized().set_sender(self))
        before = self.rows
        anew = self._anchor is not None or (empty or self._empty) != self._empty
        self.count, self._draw = count, draw
        if empty is not None:
            self._empty = empty
        self._anchor = None
        self.set_rows(count)
        if anew:
            self.redraw()
        else:
            self._draw_changed(before)
        if cursor is not None:
            self.cursor = max(0, min(cursor, count - 1))
            self.reveal(self.cursor)
        else:
            self.cursor = max(0, min(self.cursor, count - 1))

    def tell_final(self, final: bool) -> None:
        """Say whether nothing more comes, so that what is not there is not missing only yet."""
        if final != self._final:
            self._final = final
            if not self.count:
                self.redraw()

    def redraw(self) -> None:
        """Draw anew: the same rows look different now."""
        self._forget()
        self.refresh()

    def _draw_changed(self, before: int) -> None:
        """Draw those rows anew that look different now: from one step to the next it is a few.

        Args:
            before: how many rows there were.
        """
        top, (width, height) = round(self.scroll_y), self.size
        known = {at: made for at in range(top, top + height) if (made := self._made.get(at))}
        self._made.clear()
        more = not self.barred and before != self.count
        changed = [Region(0, height - 1, width, 1)] if more else []
        for index in range(top, min(top + height, max(before, self.count, 1))):
            made = known.get(index)
            if made is not None and index < self.count and made.row == self._draw(index):
                self._made[index] = made
            else:
                changed.append(Region(0, index - top, width, 1))
        if changed:
            self.refresh(*changed)

    def _forget(self) -> None:
        self._made.clear()
        self._base = None

    def text_at(self, index: int) -> str:
        """The row as plain text: what is searched and copied."""
        return self._draw(index).text

    def reveal(self, index: int, *, context: int = 3) -> None:
        """Scroll so that the row is on screen with a few rows around it; stay if it is already."""
        height = self.size.height
        if not height:
            # Not laid out yet (or hidden): the place is known only afterwards.
            self.call_after_refresh(self._reveal_if_sized, index, context)
            return
        context = min(context, (height - 1) // 2)
        top = round(self.scroll_y)
        if index - context < top:
            self.scroll_rows(index - (height // 3 if top - index > height else context))
        elif index + context >= top + height:
            far = index - (top + height) > height
            self.scroll_rows(index - height // 3 if far else index + context - height + 1)

    def _reveal_if_sized(self, index: int, context: int) -> None:
        if self.size.height:
            self.reveal(index, context=context)

    def reveal_columns(self, first: int, last: int) -> None:
        """Scroll sideways, as little as it takes, so that these columns of the text are on screen;
        back to the beginning when they are on screen there.
        """
        width = self.size.width - self.barred - 1
        if width <= 0:
            return
        left = 0
        fits = last - first < width - self.frozen
        if last > width and (fits or first > width // 2):
            # The beginning of what is looked at matters more than its end.
            left = min(last - width, max(0, first - self.frozen - 1))
        if left != self._left:
            self._left = left
            self.refresh()

    # Drawing

    def notify_style_update(self) -> None:
        self._forget()
        super().notify_style_update()

    @property
    def base_style(self) -> Style:
        """The widget's own style, under all roles; Textual works it out anew at each look."""
        if self._base is None:
            self._base = self.rich_style
        return self._base

    def render_line(self, y: int) -> Strip:
        if self.barred:
            return Strip.join([self._line(y, self.size.width - 1), self.bar(y, self.base_style)])
        return self._line(y, self.size.width)

    def _line(self, y: int, width: int) -> Strip:
        index = y + round(self.scroll_y)
        palette = self.palette
        if index >= self.count:
            base = self.base_style
            said = [] if self.count else self._said(width)
            text = said[y] if y < len(said) else ""
            return Strip([Segment(text, base + palette["dim"])]).crop_extend(0, width, base)
        made = self._made.get(index)
        if made is None:
            made = self._made[index] = self.make(index, palette)
        strip, style = made.strip, made.style
        cropped = strip.cell_length > self._left + width > 1
        if self._left and self.frozen:
            scrolled = strip.crop(self._left + self.frozen, self._left + width)
            strip = Strip.join([strip.crop(0, self.frozen), scrolled]).crop_extend(0, width, style)
        else:
            strip = strip.crop_extend(self._left, self._left + width, style)
        more = y == self.size.height - 1 and index + 1 < self.count and not self.barred
        if (cropped or more) and width > 1:
            sign = Strip([Segment("↓" if more else "›", style)])
            strip = Strip.join([strip.crop(0, width - 1), sign])
        if role := self._mark(index):
            mark = palette[role]
            if palette.ansi:
                # Reversed, each colour of the row would become a background of its own.
                return Strip([Segment(strip.text, self.base_style + mark)], width)
            strip = Strip(
                [Segment(text, (style or mark) + mark) for text, style, _ in strip], width
            )
        return strip

    @property
    def rows(self) -> int:
        """How many are needed for all, or to say that there are none."""
        return self.count or len(self._said(self.size.width))

    def _said(self, width: int) -> list[str]:
        """What is said where there are no rows."""
        said = so_far(self._empty, final=self._final)
        return textwrap.wrap(printable(said), max(8, width)) or [""]

    def make(self, index: int, palette: Palette) -> Made:
        """Draw a row."""
        row = self._draw(index)
        style = self.base_style + palette[row.role]
        strip = Strip(
            [Segment(printable(text), style + palette[roles]) for text, roles in row.spans if text]
        )
        if self.searched:
            strip = highlighted(strip, self.searched, palette["match"])
        return Made(row, strip, style)

    def _mark(self, index: int) -> str:
        if index == self.cursor:
            return "cursor" if self.has_focus else ""
        return "selected" if self._anchor is not None and index in self.selected else ""

    # Cursor and selection

    @property
    def cursor(self) -> int:
        """The row that the user is at."""
        return self._cursor

    @cursor.setter
    def cursor(self, index: int) -> None:
        if index != self._cursor:
            top, width = round(self.scroll_y), self.size.width
            rows = (self._cursor - top, index - top)
            self._cursor = index
            self.refresh(*(Region(0, y, width, 1) for y in rows if 0 <= y < self.size.height))

    @property
    def selected(self) -> range:
        """The selected rows; the cursor's row alone when nothing was selected."""
        other = self.cursor if self._anchor is None else self._anchor
        return range(min(self.cursor, other), max(self.cursor, other) + 1)

    def move_cursor(self, index: int, *, extend: bool = False) -> None:
        """Put the cursor on a row by the user's hand.

        Args:
            index: the row; the nearest one when there is no such row.
            extend: select the rows from where the cursor was.
        """
        if not self.count:
            return
        if extend or self._anchor is not None:
            self.refresh()
        if extend and self._anchor is None:
            self._anchor = self.cursor
        elif not extend:
            self._anchor = None
        self.cursor = max(0, min(index, self.count - 1))
        self.reveal(self.cursor, context=0)
        self.post_message(self.Moved(self, self.cursor))

    def action_cursor(self, step: int) -> None:
        self.move_cursor(self.cursor + step)

    def action_extend(self, step: int) -> None:
        self.move_cursor(self.cursor + step, extend=True)

    def action_page(self, step: int) -> None:
        self.move_cursor(self.cursor + step * max(1, self.size.height - 1))

    def action_cursor_to(self, index: int) -> None:
        self.move_cursor(index if index >= 0 else self.count - 1)

    def action_sideways(self, step: int) -> None:
        self._left = max(0, self._left + step * _SIDEWAYS)
        self.refresh()

    def action_activate(self) -> None:
        if self.cursor < self.count:
            self.activate(self.cursor)

    def enter(self) -> bool:
        """Take the Enter key; False when it means nothing on the cursor's row."""
        if not self.opens or self.cursor >= self.count:
            return False
        self.activate(self.cursor)
        return True

    def activate(self, index: int) -> None:
        """Open a row, as Enter and a double click do."""
        self.post_message(self.Activated(self, index))

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_resize(self) -> None:
        if self.count:
            self.reveal(self.cursor)

    def on_click(self, event: events.Click) -> None:
        index = event.y + round(self.scroll_y)
        if index >= self.count or self.on_bar(event):
            return
        event.stop()
        self.move_cursor(index, extend=event.shift)
        if event.chain == 2:
            self.activate(index)
        elif event.chain == 1:
            column = event.x if event.x < self.frozen else event.x + self._left
            self.post_message(self.Clicked(self, index, column))

    # Copying and searching

    def action_copy(self) -> None:
        if not self.count:
            return
        # What is pasted into a terminal must not act on it, either. Tabs are kept.
        parts = (self.text_at(index).strip().split("\t") for index in self.selected)
        text = "\n".join("\t".join(map(printable, each)) for each in parts)
        self.app.copy_to_clipboard(text)
        rows = len(self.selected)
        self.post_message(self.Say(f"copied {rows} rows" if rows > 1 else f"copied: {text}"))

    def action_search(self) -> None:
        for prompt in self.screen.query(Prompt):
            prompt.ask("search:", self.find, initial=self.searched)

    def find(self, text: str, direction: int = 1) -> None:
        """Search as the user does: in the background, and say what came of it."""
        if text:
            self.run_worker(self._find(text, direction), group="search", exclusive=True)
        else:
            self.end_search()

    async def _find(self, text: str, direction: int) -> None:
        if await self.search(text, direction):
            self.post_message(self.Say(f"{text!r}: n next, N previous, Esc ends the search"))
        else:
            self.end_search()
            self.post_message(self.Say(f"{text!r} is not in this pane"))

    def end_search(self) -> None:
        """Forget the text that is searched for."""
        self.searched = ""
        self.redraw()

    async def search(self, text: str, direction: int = 1) -> bool:
        """Put the cursor on the next row that holds `text` (in any case), going round at the end.

        Args:
            text: what to look for.
            direction: +1 downwards, -1 upwards.

        Returns:
            Whether there is such a row.
        """
        self.searched = text
        self.redraw()
        count = self.count
        wanted = text.lower()
        pause = time.monotonic() + _SEARCH_SLICE
        for step in range(1, count + 1):
            index = (self.cursor + step * direction) % count
            if wanted in self.text_at(index).lower():
                self.move_cursor(index)
                self.reveal(index)
                return True
            if time.monotonic() > pause:
                await asyncio.sleep(0)
                pause = time.monotonic() + _SEARCH_SLICE
                if self.count != count:
                    return False
        return False


def _no_rows(index: int) -> Row:
    raise IndexError(index)


def highlighted(strip: Strip, searched: str, style: Style) -> Strip:
    """The strip with every place marked where `searched` stands, in any case."""
    text, searched = strip.text.lower(), searched.lower()
    cuts: list[int] = []
    start = text.find(searched)
    while start >= 0:
        cuts += (cell_len(strip.text[:start]), cell_len(strip.text[: start + len(searched)]))
        start = text.find(searched, start + len(searched))
    if not cuts:
        return strip
    pieces = list(strip.divide([*cuts, strip.cell_length]))
    if cuts[0] == 0:
        pieces.insert(0, Strip([]))
    return Strip.join(
        Strip([Segment(text, (old or style) + style) for text, old, _ in piece])
        if at % 2
        else piece
        for at, piece in enumerate(pieces)
    )
