"""Answers to questions about the recording: lists whose rows lead to their moments."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from stepper.analysis.line import Line
from stepper.model.trace import MomentId
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from stepper.tui.lines import Lines
from stepper.tui.palette import Row, row
from stepper.tui.prompt import Prompt
from stepper.tui.questions import Question


class WhyScreen(ModalScreen[MomentId | None]):
    """Leads to the moment of the row that was opened; to none when it is left."""

    DEFAULT_CSS = """
    WhyScreen { align: center middle; }
    WhyScreen Vertical {
        width: 98%; max-width: 150; height: 98%; border: round $primary; padding: 0 1;
        background: $surface;
    }
    WhyScreen Lines { background: $surface; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,W", "leave", "Leave"),
        Binding("v,V", "view", "The next question"),
        Binding("enter", "open", "Go to the row's moment"),
    ]

    def __init__(self, recording: Recording, questions: Sequence[Question]) -> None:
        """
        Args:
            recording: what is asked, as it is now.
            questions: the first is answered at once, the others on demand.
        """
        super().__init__()
        self._recording = recording
        self._questions = questions
        self._view = 0
        self._answers: dict[int, list[Line]] = {}
        self._shown: list[tuple[Row, MomentId | None]] = []
        # Held, and not queried: it says what is shown.
        self._frame = Vertical()
        self._lines = Lines()

    def compose(self) -> ComposeResult:
        with self._frame:
            yield self._lines
            yield Prompt()

    def on_mount(self) -> None:
        self.set_focus(self._lines)

    def on_resize(self, event: events.Resize) -> None:
        self._show(event.size.width)

    def _show(self, width: int) -> None:
        # The frame, its padding and the scroll bar are not for text.
        columns = max(20, min(150, width * 98 // 100) - 6)
        self._shown = [
            (row((part, line.role)), line.moment)
            for line in self._answer(columns)
            for part in _wrapped(line.text, columns)
        ]
        at = f"{self._view + 1}/{len(self._questions)}"
        self._frame.border_title = f"{self._questions[self._view].title}  {at}"
        self._frame.border_subtitle = "Enter: go there  v: the next question  /: search  Esc closes"
        self._lines.show(len(self._shown), lambda index: self._shown[index][0], cursor=0)

    def _answer(self, columns: int) -> list[Line]:
        found = self._answers.get(self._view)
        if found is None:
            try:
                found = list(self._questions[self._view].answer(self._recording, columns))
            except RecordingError as error:
                found = [Line(str(error), role="error")]
            self._answers[self._view] = found
        return found

    def on_lines_activated(self, message: Lines.Activated) -> None:
        moment = self._shown[message.index][1]
        if moment is not None and moment <= self._recording.newest:
            self.dismiss(moment)

    def action_open(self) -> None:
        self._lines.action_activate()

    def action_view(self) -> None:
        self._view = (self._view + 1) % len(self._questions)
        self._show(self.size.width)

    def action_leave(self) -> None:
        self.dismiss(None)


def _wrapped(text: str, columns: int) -> list[str]:
    """The lines that a line needs; those after the first are indented a little more."""
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    return textwrap.wrap(
        text, columns, subsequent_indent=indent, drop_whitespace=True, break_on_hyphens=False
    ) or [""]
