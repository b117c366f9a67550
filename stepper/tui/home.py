"""The home of a recording: what the whole run is about, each row a way to its moment."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.markup import escape
from textual.screen import ModalScreen

from stepper.analysis.line import Line
from stepper.analysis.overview import overview_lines
from stepper.model.trace import MomentId
from stepper.recording.reader import Recording
from stepper.tui.beside import Asked, Beside
from stepper.tui.desk import PANE_KEYS
from stepper.tui.keys import KEYS
from stepper.tui.lines import Lines
from stepper.tui.palette import Row, row
from stepper.tui.prompt import Prompt

_KEYS = "Enter: go there  ~: here again  W: why  /: search  Esc: moments"
_OUTPUT = 6
"""Lines of output."""

_OWN = frozenset({"enter", "escape", "tilde", "backspace", "W", "q", "question_mark", "f1", "tab"})
_NUMBER = 8
"""Columns for the number of a row's moment."""

_ONWARD = (
    *(
        (name, key.action)
        for key in KEYS
        for name in key.key.split(",")
        if name not in _OWN and not key.priority
    ),
    *((key, f"reveal('{name}')") for name, key in PANE_KEYS.items()),
)
"""Keys of the moments' screen, and what they do: they lead there."""


class Overviews:
    """What is known of a recording as a whole, kept while the application runs."""

    def __init__(self) -> None:
        self.newest = -1
        """The newest moment that was recorded then."""
        self.lines: list[Line] = []
        self.cursor: int | None = None
        """The row that was opened last."""


class HomeScreen(ModalScreen[MomentId | None]):
    """Leads to the moment of the row that was opened; to none when it is left."""

    DEFAULT_CSS = """
    HomeScreen { align: center middle; }
    HomeScreen Vertical {
        width: 100%; height: 100%; border: round $primary; padding: 0 1; background: $surface;
    }
    HomeScreen Lines { background: $surface; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,tilde,backspace", "leave", "Leave"),
        Binding("enter", "open", "Go to the row's moment"),
        Binding("W", "why", "Ask why"),
        Binding("q", "app.quit", "Quit"),
        Binding("question_mark,f1", "app.help", "Help"),
        *(Binding(key, f"onward({at})", show=False) for at, (key, _) in enumerate(_ONWARD)),
    ]

    def __init__(
        self,
        recording: Recording,
        kept: Overviews,
        *,
        title: str,
        output: Sequence[str],
        over: bool,
        why: Callable[[], None],
    ) -> None:
        """
        Args:
            recording: what is looked at.
            kept: what was found before, and where the cursor was.
            title: the program and what became of it.
            output: the last lines that it printed.
            over: whether nothing more is written.
            why: asks the questions of the run.
        """
        super().__init__()
        self._recording = recording
        self._kept = kept
        self._title = title
        self._output = output
        self._over = over
        self._why = why
        self._beside = Beside(self)
        self._all: list[Line] = []
        self._shown: list[Line] = []
        """Row by row: long lines are wrapped."""
        self._begins: list[bool] = []
        """Whether a line begins with a row."""
        self._lines = Lines(empty="looking through the recording …")
        self.settled = False
        """Whether all is there."""

    def compose(self) -> ComposeResult:
        with Vertical() as frame:
            frame.border_title = escape(self._title)
            frame.border_subtitle = escape(_KEYS)
            yield self._lines
            yield Prompt()

    def on_mount(self) -> None:
        self.set_focus(self._lines)
        if self._kept.newest == self._recording.newest:
            self._show()
            return
        self._kept.cursor = None
        self._beside.ask(
            Asked(self._recording, 0, lambda reader: [*overview_lines(reader)], self._over)
        )

    def on_unmount(self) -> None:
        self._beside.close()

    def on_beside_found(self, message: Beside.Found) -> None:
        message.stop()
        found: list[Line] | None = message.found
        self._kept.lines = [Line(message.error, role="error")] if found is None else found
        self._kept.newest = message.newest
        self._show()

    def _show(self) -> None:
        printed = [Line(f"  {text}") for text in self._output[-_OUTPUT:]]
        heading = [Line("printed last", role="title")] if printed else []
        self._all = [*self._kept.lines, *heading, *printed]
        self._wrap()
        first = next((at for at, line in enumerate(self._shown) if line.moment is not None), 0)
        cursor = first if self._kept.cursor is None else self._kept.cursor
        self.settled = True
        self._lines.show(len(self._shown), self._draw, cursor=cursor)

    def _wrap(self) -> None:
        columns = max(20, self._lines.size.width - _NUMBER - 2)
        self._shown, self._begins = [], []
        for line in self._all:
            indent = " " * (4 + len(line.text) - len(line.text.lstrip()))
            parts = textwrap.wrap(line.text, columns, subsequent_indent=indent) or [""]
            self._shown += [line._replace(text=part) for part in parts]
            self._begins += [at == 0 for at in range(len(parts))]

    def on_resize(self) -> None:
        if self.settled:
            self._show()

    def _draw(self, index: int) -> Row:
        line = self._shown[index]
        number = "" if line.moment is None or not self._begins[index] else f"{line.moment}"
        return row((f"{number:>{_NUMBER}}", "number"), (line.text, line.role))

    def on_lines_activated(self, message: Lines.Activated) -> None:
        moment = self._shown[message.index].moment if message.index < len(self._shown) else None
        if moment is not None and self._recording.has(moment):
            self._kept.cursor = message.index
            self.dismiss(moment)

    def action_open(self) -> None:
        self._lines.action_activate()

    def action_onward(self, at: int) -> None:
        """Do what a key does there."""
        self.dismiss(None)
        self.app.call_later(self.app.run_action, _ONWARD[at][1])

    def action_why(self) -> None:
        self.dismiss(None)
        self._why()

    def action_leave(self) -> None:
        self.dismiss(None)
