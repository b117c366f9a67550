"""One search over the whole recording, and the list of what it found."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.markup import escape
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Input

from stepper.analysis.search import Found, Hit, moment_of, search
from stepper.model.trace import MomentId
from stepper.recording.reader import Recording
from stepper.tui.beside import Asked, Beside
from stepper.tui.lines import Lines
from stepper.tui.palette import Row, row
from stepper.tui.prompt import Prompt

_KEYS = "Enter: go there, Backspace comes back  ↓: to the hits  Esc: leave"
_REST = 0.15
"""Seconds without a key after which what was typed is looked for."""


class _Line(NamedTuple):
    text: str
    hit: Hit | None = None


class Searched:
    """What was searched for last, kept while the application runs."""

    def __init__(self) -> None:
        self.text = ""
        self.known: Hashable = None
        """The text and the newest moment of what was found."""
        self.found: list[Found] = []
        self.cursor = 0


class _Field(Input):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,tab", "screen.to_hits", "To the hits", show=False)
    ]


class SearchScreen(ModalScreen[MomentId | None]):
    """Leads to the moment of the hit that was opened; to none when it is left."""

    DEFAULT_CSS = """
    SearchScreen { align: center middle; }
    SearchScreen Vertical {
        width: 100%; height: 100%; border: round $primary; padding: 0 1; background: $surface;
    }
    SearchScreen Lines { background: $surface; }
    SearchScreen _Field { height: 1; border: none; padding: 0; background: $panel; }
    SearchScreen _Field:focus { border: none; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave"),
        Binding("enter", "open", "Go to the hit's moment"),
        Binding("ctrl+f", "again", "Search for something else"),
    ]

    def __init__(self, recording: Recording, kept: Searched, *, over: bool) -> None:
        """
        Args:
            recording: what is searched.
            kept: what was searched for before, and where the cursor was.
            over: whether nothing more is written.
        """
        super().__init__()
        self._recording = recording
        self._kept = kept
        self._over = over
        self._beside = Beside(self)
        self._rest: Timer | None = None
        self._shown: list[_Line] = []
        self._lines = Lines(empty="reasons, output, source, instructions, nodes, guards, values")
        self._lines.opens = True
        self.settled = True
        """Whether all is there."""

    def compose(self) -> ComposeResult:
        with Vertical() as frame:
            frame.border_title = "Search the whole recording"
            frame.border_subtitle = escape(_KEYS)
            yield _Field(self._kept.text, placeholder="part of anything", compact=True)
            yield self._lines
            yield Prompt()

    def on_mount(self) -> None:
        self.set_focus(self.query_one(_Field))
        if self._kept.known == (self._kept.text, self._recording.newest) and self._kept.found:
            self._show(self._kept.found, self._kept.cursor)
            self.set_focus(self._lines)

    def on_unmount(self) -> None:
        self._beside.close()

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.value == self._kept.text and self._kept.known:
            return
        self.settled = False
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(_REST, self._look)

    def _look(self) -> None:
        text = self.query_one(_Field).value
        self._kept.text = text

        def find(reader: Recording) -> tuple[str, list[Found]]:
            return text, search(reader, text)

        self._beside.ask(Asked(self._recording, 0, find, self._over))

    def on_beside_found(self, message: Beside.Found) -> None:
        message.stop()
        text, found = message.found or (self._kept.text, [])
        if text != self.query_one(_Field).value:
            return
        self._kept.known, self._kept.found = (text, message.newest), found
        self.settled = True
        nothing = message.error or (f"{text!r} stands nowhere in the recording" if text else "")
        self._show(found, 1, nothing)

    def _show(self, found: list[Found], cursor: int, nothing: str = "") -> None:
        self._shown = []
        for each in found:
            self._shown.append(_Line(each.heading))
            self._shown += [_Line(hit.text, hit) for hit in each.hits]
        self._lines.searched = self._kept.text.strip()
        self._lines.show(len(self._shown), self._draw, cursor=cursor, empty=nothing or None)

    def _draw(self, index: int) -> Row:
        text, hit = self._shown[index]
        if hit is None:
            return row((text, "title"))
        number = f"{hit.moment}" if hit.moment is not None else ""
        return row((f"{number:>9}  ", "number"), text)

    def on_lines_activated(self, message: Lines.Activated) -> None:
        # Under a heading stands its first hit.
        hit = self._shown[message.index].hit or self._shown[message.index + 1].hit
        assert hit is not None
        moment = moment_of(self._recording, hit)
        if moment is None:
            self.notify("that was never interpreted in this recording")
            return
        self._kept.cursor = message.index
        self.dismiss(moment)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_to_hits()

    def action_to_hits(self) -> None:
        self.set_focus(self._lines)

    def action_open(self) -> None:
        self._lines.action_activate()

    def action_again(self) -> None:
        self.set_focus(self.query_one(_Field))

    def action_leave(self) -> None:
        self.dismiss(None)
