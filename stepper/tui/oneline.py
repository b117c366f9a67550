"""Widgets that are one line: the header, the status line, the banner, the bars of tabs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip

from stepper.model.printing import printable
from stepper.tui.palette import Span
from stepper.tui.themed import Themed


class OneLine(Themed):
    """A line of spans; what does not fit is cut off at the right."""

    DEFAULT_CSS = "OneLine { height: 1; width: 1fr; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.spans: tuple[Span, ...] = ()
        self._made: Callable[[int], Sequence[Span]] | None = None

    def say(self, *spans: Span | str) -> None:
        """Show these spans."""
        self._made = None
        self._show(spans)

    def fit(self, made: Callable[[int], Sequence[Span]]) -> None:
        """Show what is made for so many columns, and made anew when there are others."""
        self._made = made
        self._show(made(self.size.width))

    def on_resize(self) -> None:
        if self._made is not None:
            self._show(self._made(self.size.width))

    def _show(self, spans: Sequence[Span | str]) -> None:
        given = tuple((span, "") if isinstance(span, str) else span for span in spans)
        if given != self.spans:
            self.spans = given
            self.refresh()

    def render_line(self, y: int) -> Strip:
        base = self.rich_style
        if y:
            return Strip.blank(self.size.width, base)
        palette = self.palette
        segments = [
            Segment(printable(text), base + palette[roles]) for text, roles in self.spans if text
        ]
        strip = Strip(segments)
        width = self.size.width
        if strip.cell_length > width > 1:
            return Strip.join([strip.crop(0, width - 1), Strip([Segment("…", base)])])
        return strip.crop_extend(0, width, base)


class Tabs(OneLine):
    """The bar above a group of panes. A click chooses a pane."""

    DEFAULT_CSS = """
    Tabs { background: $panel; color: $foreground; }
    Tabs.-focused { background: $primary 25%; }
    Tabs:ansi { text-style: underline; background: ansi_default; }
    """

    class Chosen(Message):
        """The user clicked a tab."""

        def __init__(self, pane: str) -> None:
            super().__init__()
            self.pane = pane

    def __init__(self) -> None:
        super().__init__()
        self._ends: list[tuple[int, str]] = []
        self._left = 0

    def set_tabs(
        self, tabs: Sequence[tuple[str, str, str]], shown: str, *, focused: bool, width: int
    ) -> None:
        """Show tabs.

        Args:
            tabs: for each pane its name, its key and its title.
            shown: name of the pane that is shown.
            focused: whether it has the keyboard.
            width: columns there are.
        """
        spans: list[Span] = []
        self._ends = []
        at = 0
        start = end = 0
        named = _named(tabs, shown, width)
        for number, (name, key, title) in enumerate(tabs):
            here = name == shown
            text = f"[{title}]" if here and len(tabs) > 1 else f" {title} "
            if not here and number >= named:
                text = "" if key else "·"
            sign = "▌" if here and focused else " "
            # The title in words of its own for the shown tab; names alone keep the others short.
            roles = ("bold reverse" if focused else "bold") if here else "dim"
            if here:
                start = at
            spans += [(sign, "key"), (key, "dim" if key else ""), (text, roles)]
            at += len(sign) + len(key) + len(text)
            if here:
                end = at
            self._ends.append((at, name))
        left = min(start, end - width + 2) if end > width - 2 else 0
        if left != self._left:
            self._left = left
            self.refresh()
        self.set_class(focused, "-focused")
        self.say(*spans)

    def render_line(self, y: int) -> Strip:
        if not self._left:
            return super().render_line(y)
        base = self.rich_style
        strip = Strip(
            [Segment(printable(text), base + self.palette[role]) for text, role in self.spans]
        )
        width = self.size.width
        strip = strip.crop_extend(self._left, self._left + width, base)
        return Strip.join([Strip([Segment("‹", base)]), strip.crop(1, width)])

    def on_click(self, event: events.Click) -> None:
        event.stop()
        x = event.x + self._left
        for end, name in self._ends:
            if x < end:
                self.post_message(self.Chosen(name))
                return
        if self._ends:
            self.post_message(self.Chosen(self._ends[-1][1]))


def _named(tabs: Sequence[tuple[str, str, str]], shown: str, width: int) -> int:
    """How many tabs have room for their names; of the others only the key is shown."""
    widths = [len(key) + len(title) + 3 for _, key, title in tabs]
    short = [
        full if name == shown else 1 + len(key or "·")
        for full, (name, key, _) in zip(widths, tabs, strict=True)
    ]
    named = len(tabs)
    while named and sum(widths[:named]) + sum(short[named:]) > width:
        named -= 1
    return named
