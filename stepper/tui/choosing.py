"""Chooses one of the recordings there are, before one is opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from stepper.client.kept import Kept, kept_line
from stepper.tui.lines import Lines
from stepper.tui.oneline import OneLine
from stepper.tui.palette import Row, row
from stepper.tui.prompt import Prompt
from stepper.tui.workarounds import AnySize, QuietScreen, draw_on_stdout


class ChoosingApp(AnySize[Kept | None]):
    """Ends with the recording that was chosen."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open the recording"),
        Binding("q,escape,ctrl+q", "leave", "Leave", priority=False),
    ]

    def __init__(self, found: Sequence[Kept], *, theme: str = "") -> None:
        """
        Args:
            found: the recordings, the newest first.
            theme: name of a Textual theme; empty: the default.
        """
        super().__init__()
        self._found = found
        self._rows: dict[int, Row] = {}
        self._lines = Lines()
        self._lines.opens = True
        if theme:
            self.theme = theme

    def get_default_screen(self) -> Screen[None]:
        return QuietScreen(id="_default")

    def compose(self) -> ComposeResult:
        heading = OneLine()
        heading.say((" Open a recording", "title"), ("  Enter opens, / searches, q leaves", "dim"))
        yield heading
        yield self._lines
        yield Prompt()

    def on_mount(self) -> None:
        self._lines.show(len(self._found), self._draw, cursor=0)
        self.set_focus(self._lines)

    def _draw(self, index: int) -> Row:
        # Each is opened for its row, when somebody sees it.
        if index not in self._rows:
            self._rows[index] = row(f" {kept_line(self._found[index])}")
        return self._rows[index]

    def on_lines_activated(self, message: Lines.Activated) -> None:
        self.exit(self._found[message.index])

    def action_open(self) -> None:
        self._lines.action_activate()

    def action_leave(self) -> None:
        self.exit(None)


def choose(found: Sequence[Kept], *, theme: str = "") -> Kept | None:
    """Ask on the terminal which recording is meant; None: none of them."""
    draw_on_stdout()
    return ChoosingApp(found, theme=theme).run()
