"""All keys and what they do, from the one table that the bindings are made of."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from stepper.tui.lines import Lines
from stepper.tui.palette import Row, row
from stepper.tui.prompt import Prompt

_KEYS_WIDTH = 14


class HelpScreen(ModalScreen[None]):
    """A list by sections; `/` searches it."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen Vertical {
        width: 96%; max-width: 110; height: 96%; border: round $primary; padding: 0 1;
        background: $surface;
    }
    HelpScreen Lines { background: $surface; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1", "leave", "Leave", show=False)
    ]

    def __init__(self, entries: Sequence[tuple[str, str, str]]) -> None:
        """
        Args:
            entries: section, key, meaning; those of a section together.
        """
        super().__init__()
        self._entries = entries
        self._rows: list[Row] = []

    def compose(self) -> ComposeResult:
        with Vertical() as frame:
            frame.border_title = "keys"
            frame.border_subtitle = "Esc closes"
            yield Lines()
            yield Prompt()

    def on_mount(self) -> None:
        self.set_focus(self.query_one(Lines))

    def on_resize(self, event: events.Resize) -> None:
        lines = self.query_one(Lines)
        # The frame, its padding and the scroll bar are not for text.
        self._rows = _rows(self._entries, min(110, event.size.width * 96 // 100) - 6)
        lines.show(len(self._rows), self._rows.__getitem__)

    def action_leave(self) -> None:
        self.dismiss(None)


def _rows(entries: Sequence[tuple[str, str, str]], width: int) -> list[Row]:
    rows: list[Row] = []
    last = ""
    for section, key, meaning in entries:
        if section != last:
            rows += [row(" "), row((section, "title"))] if last else [row((section, "title"))]
            last = section
        wide = len(key) > _KEYS_WIDTH - 2
        if wide:
            rows.append(row("  ", (key, "key")))
        parts = textwrap.wrap(meaning, max(20, width - _KEYS_WIDTH - 2)) or [""]
        for at, part in enumerate(parts):
            shown = "" if at or wide else key
            rows.append(row("  ", (f"{shown:<{_KEYS_WIDTH}}", "key"), part))
    return rows
