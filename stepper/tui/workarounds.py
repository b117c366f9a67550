"""Everything that goes around Textual instead of through it; written for textual 8.2.8.

Each entry says what Textual does, what is done instead, and when it can go.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TypeVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import App
from textual.color import Color
from textual.filter import LineFilter
from textual.geometry import Size
from textual.layout import Layout
from textual.reactive import Reactive
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input

from stepper.model.printing import printable

ResultT = TypeVar("ResultT")

LEAST = Size(20, 6)
"""What a screen is laid out for at least, in cells."""

_PATIENCE = 0.25
"""Seconds to wait for a widget to take its messages."""


class Printable(LineFilter):
    """Lets nothing act on the terminal that stands in a text.

    Textual writes a text as it is, controls too, whichever widget it is of. The panes say what they
    show with signs in place of those; this is for everything else: titles, dialogs, inputs, and
    what is added later. Can go when Textual does so itself.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if all(segment.text.isprintable() for segment in segments):
            return segments
        return [
            Segment(printable(segment.text), segment.style, segment.control) for segment in segments
        ]


class OwnLayout(Widget):
    """A widget that arranges its children by a layout object of its own.

    Setting `styles.layout` to a layout object looks it up by its name among Textual's built-in
    ones and refuses others. The property that the arranging code reads is overridden instead. Can
    go when `styles.layout` accepts an object.
    """

    own_layout: Layout | None = None

    @property
    def layout(self) -> Layout:
        return self.own_layout or super().layout

    def rearrange(self) -> None:
        """Ask the layout object again.

        Textual keeps what a layout answered until the children or their styles change; it cannot
        know that the layout's own mind has.
        """
        self._clear_arrangement_cache()
        self.refresh(layout=True)


class QuietWidget(Widget):
    """A widget that is laid out without asking for another layout.

    `virtual_size` is a reactive that asks for one whenever it is set, also where a layout has just
    set it: each pane that got another size cost a second layout of the screen. Can go when
    Textual's screen tells its widgets what it does, as it does after scrolling.
    """

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        return super()._size_updated(size, virtual_size, container_size, layout=False)


class QuietScrollView(ScrollView):
    """A scroll view whose length can change without a layout of the whole screen.

    `virtual_size` is a reactive that asks for a new layout, which costs 50 ms here, at every
    function that is entered. Can go when `virtual_size` of a ScrollView stops asking.
    """

    def set_rows(self, count: int) -> None:
        """Be `count` rows long."""
        size = Size(0, count)
        if size == self.virtual_size:
            return
        self.set_reactive(Widget.virtual_size, size)
        if self.scroll_y > self.max_scroll_y:
            self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True, force=True)


class QuietScreen(Screen[None]):
    """A screen that is not painted anew, all of it, when the keyboard goes to another widget.

    `focused` is a reactive that asks for that; the two widgets concerned ask for themselves
    already. Can go when `Screen.focused` stops asking.
    """

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)


class AnySize(App[ResultT]):
    """An application that goes on in a terminal of any size.

    A terminal can have a row and no more, for as long as somebody drags the edge of its window.
    Textual divides by what is left of a dialog's width then, and ends. Here the screen is never
    laid out for less than LEAST, and of that the terminal shows what it has room for. Can go when
    Textual's widgets bear to have no room.
    """

    @property
    def size(self) -> Size:
        return _at_least(super().size)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Resize):
            size = _at_least(event.size)
            event = events.Resize(size, size, pixel_size=event.pixel_size)
        await super().on_event(event)


def _at_least(size: Size) -> Size:
    return Size(max(size.width, LEAST.width), max(size.height, LEAST.height))


class PromptKeys(AnySize[ResultT]):
    """An application in which a key acts before the next one is handed out.

    Textual hands a key to the widget that has the focus and looks for bindings when the event has
    come back up. Keys that arrive in one burst (typed ahead, pasted, sent by a script) are all
    handed to the old widget before the first has acted: in `g300`, `g` opens an input line that
    gets none of the digits. Here the bindings are tried first, in the usual order. An input line
    takes what can be written before any binding does; any other key waits until what was written
    has arrived, and the next key until it has acted: in `g300 Enter s`, `s` is no part of the
    answer; nor does a dialog lose what is typed before it stands. Can go when Textual dispatches
    keys one by one.
    """

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, events.Key) or event.is_forwarded:
            await super().on_event(event)
            return
        if not self.screen.is_mounted:
            # A dialog that the key before this one has opened.
            await _settled(self.screen)
        field = self.focused
        if not isinstance(field, Input):
            if await self._acts(event.key):
                return
        elif not event.is_printable:
            await _settled(field)
            if await self._acts(event.key):
                # What it posted travels upwards: an answer is taken by one of those around it.
                for node in (field, *field.ancestors):
                    if isinstance(node, Widget):
                        await _settled(node)
                return
        await super().on_event(event)

    async def _acts(self, key: str) -> bool:
        """Whether a binding took the key."""
        return await self._check_bindings(key, priority=True) or await self._check_bindings(key)


async def _settled(widget: Widget) -> None:
    """Wait until a widget has taken all messages that it has been sent."""
    done = asyncio.Event()
    if widget.is_attached and widget.call_later(done.set):
        # A widget that goes away takes no more messages.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), _PATIENCE)


@cache
def keep_strips_free_of_cycles() -> None:
    """Have strips not hold themselves.

    A strip that is asked for the whole of itself is its own answer, and remembers it. So each line
    that was ever drawn is garbage that only the collector can free, 600 kB a picture, and walking
    through it takes longer than drawing. Can go when `Strip` stops keeping such answers.
    """
    divide, crop_extend = Strip.divide, Strip.crop_extend

    def divide_lightly(self: Strip, cuts: Iterable[int]) -> Sequence[Strip]:
        inside = [cut for cut in cuts if cut <= self.cell_length]
        return [self] if inside == [self.cell_length] else divide(self, inside)

    def crop_extend_lightly(self: Strip, start: int, end: int, style: Style | None) -> Strip:
        if start == 0 and end == self.cell_length:
            return self
        return crop_extend(self, start, end, style)

    Strip.divide = divide_lightly  # type: ignore[method-assign]  # a work-around replaces it
    Strip.crop_extend = crop_extend_lightly  # type: ignore[method-assign]  # a work-around replaces it


def draw_on_stdout() -> None:
    """Have Textual draw where the terminal is.

    Textual draws on stderr, whatever it is; with `2>log` the screen would go to the log. Can go
    when its driver looks for a terminal.
    """
    out, err = sys.__stdout__, sys.__stderr__
    if out is not None and out.isatty() and not (err is not None and err.isatty()):
        setattr(sys, "__stderr__", out)  # noqa: B010 - the attribute is declared final
