"""The scroll bar of a long list, drawn with its rows.

Textual's is a widget of its own: that it comes or goes is a layout of the whole screen, at every
step that makes one list longer than its place. This one is the last column of what is drawn.
"""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.strip import Strip

from stepper.tui.themed import Themed
from stepper.tui.workarounds import QuietScrollView


class Scrolled(QuietScrollView, Themed):
    """A scroll view of lines with a bar at its right, as long as there are more than fit."""

    DEFAULT_CSS = "Scrolled { overflow: hidden hidden; }"

    BARS: ClassVar[bool] = True
    """Whether it has one at all."""

    _grabbed: int | None = None
    """The row of the bar's mark that the mouse holds."""

    @property
    def barred(self) -> bool:
        """Whether there is a bar now."""
        return self.BARS and self.virtual_size.height > self.size.height

    @property
    def allow_vertical_scroll(self) -> bool:
        """Whether the mouse's wheel scrolls, with a bar or without."""
        return self.is_scrollable and self.virtual_size.height > self.size.height

    def set_rows(self, count: int) -> None:
        before = self._mark_rows() if self.barred else None
        super().set_rows(count)
        after = self._mark_rows() if self.barred else None
        if (before is None) != (after is None):
            self.refresh()
        elif before != after:
            width, height = self.size
            self.refresh(Region(width - 1, 0, 1, height))

    def scroll_rows(self, top: int) -> None:
        """Have this row be the first one."""
        self.scroll_to(y=max(0, top), animate=False, immediate=True, force=True)

    def bar(self, y: int, base: Style) -> Strip:
        """The bar's part of a line, on the style of the whole."""
        if y in self._mark_rows():
            return Strip([Segment("▐", base + self.palette["bar"])], 1)
        return Strip([Segment(" ", base)], 1)

    def _mark_rows(self) -> range:
        """The rows of the bar that stand for what is on screen."""
        rows, count = self.size.height, self.virtual_size.height
        length = max(1, rows * rows // max(1, count))
        begins = round((rows - length) * self.scroll_y / max(1, count - rows))
        return range(begins, begins + length)

    # The mouse on it

    def on_bar(self, event: events.MouseEvent) -> bool:
        """Whether the mouse is on the bar."""
        return self.barred and event.x == self.size.width - 1

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if not self.on_bar(event):
            return
        event.stop()
        mark = self._mark_rows()
        if event.y in mark:
            self._grabbed = event.y - mark.start
            self.capture_mouse()
        else:
            page = max(1, self.size.height - 1)
            self.scroll_rows(round(self.scroll_y) + (page if event.y >= mark.stop else -page))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._grabbed is None:
            return
        event.stop()
        rows, count = self.size.height, self.virtual_size.height
        free = max(1, rows - len(self._mark_rows()))
        self.scroll_rows(round((event.y - self._grabbed) * (count - rows) / free))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._grabbed is not None:
            event.stop()
            self._grabbed = None
            self.release_mouse()
