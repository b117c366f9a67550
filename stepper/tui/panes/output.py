"""What the program writes to its terminal, and a line to type into it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input

from stepper.client.events import OutputArrived, SessionEvent
from stepper.client.session import Session
from stepper.tui.lines import Lines, Made, highlighted
from stepper.tui.palette import Palette, Row, row
from stepper.tui.pane import Pane
from stepper.tui.snapshot import Snapshot, Status
from stepper.tui.terminal_text import TerminalText

_THOUGHT = 0.4
"""Seconds of silence after which an unfinished line is taken for a question."""

_LAST = 20

_END_OF_FILE = "\x04"


class OutputLines(Lines):
    """Lines in the program's own colours; dim when they came after the moment shown."""

    def __init__(self, text: TerminalText) -> None:
        super().__init__(empty="the program has written nothing yet", id="output-lines")
        self._text = text
        self.moment: int | None = None
        """Later output is dimmed; None: nothing is."""

    def make(self, index: int, palette: Palette) -> Made:
        line = self._text.lines[index]
        later = self.moment is not None and line.moment > self.moment
        strip = line.strip(self.rich_style + palette["dim" if later else ""])
        if self.searched:
            strip = highlighted(strip, self.searched, palette["match"])
        return Made(None, strip, self.rich_style)


class ProgramInput(Input):
    """The line that is typed into the program's terminal."""

    DEFAULT_CSS = """
    ProgramInput { height: 1; border: none; padding: 0; background: $surface; }
    ProgramInput:focus { border: none; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+d", "end_of_file", "End of the program's input", show=False),
    ]

    class EndOfFile(Message):
        """Ctrl-D on an empty line."""

    def action_end_of_file(self) -> None:
        if self.value:
            self.action_delete_right()
        else:
            self.post_message(self.EndOfFile())


class OutputPane(Pane):
    """The newest lines stay in view until the cursor is moved away from the end."""

    NAME = "output"
    HELP = "What the program wrote to its terminal, and a line to type into it."
    LEAST = 8

    def __init__(self) -> None:
        super().__init__()
        self._text = TerminalText()
        self._takes_in = True
        self._last_read = 0
        self._shown = 0
        self._question: Timer | None = None

    def compose(self) -> ComposeResult:
        yield OutputLines(self._text)
        yield ProgramInput(id="output-input")

    @property
    def lines(self) -> OutputLines:
        """The output."""
        return self.query_one(OutputLines)

    def share(self, other: OutputPane) -> None:
        """Show what another one takes in: all processes write to the program's terminal. Before it
        is mounted."""
        self._text, self._takes_in = other._text, False

    @property
    def _session(self) -> Session:
        # A process that the program has started has no terminal of its own.
        session: Session = self.app.program  # type: ignore[attr-defined]  # the App is a StepperApp
        return session

    @property
    def _can_type(self) -> bool:
        return self._session.has_terminal and self._session.live

    @property
    def _empty(self) -> str:
        if self._session.has_terminal:
            return "the program has written nothing yet"
        return "no output in this recording: `stepper record` leaves it on the program's terminal"

    def depends(self, snapshot: Snapshot) -> Hashable:
        return snapshot.moment, snapshot.newest, snapshot.status

    def on_session_event(self, event: SessionEvent) -> None:
        if isinstance(event, OutputArrived) and not self._takes_in:
            self.redraw()
        elif isinstance(event, OutputArrived):
            newest = self.snapshot.newest if self.snapshot else 0
            self._text.feed(event.text, newest)
            self.redraw()
            if self._question is not None:
                self._question.stop()
                self._question = None
            if not self.visible_on_desk and not event.text.endswith("\n"):
                self._question = self.set_timer(_THOUGHT, self._show_question)

    def _show_question(self) -> None:
        """The program fell silent within a line: it may be a question."""
        last = self._text.lines[-1].text if self._text.lines else ""
        if self._can_type and last:
            asks = self._session.waits_for_input
            then = " and waits for input: O, then type it" if asks else ": O shows its output"
            self.post_message(self.Say(f"the program says {last!r}{then}"))

    def last_lines(self) -> list[str]:
        """What the program wrote last, a screen of it."""
        if self.snapshot is not None:
            self._read_on(self.snapshot)
        newest = [line.text.rstrip() for line in list(self._text.lines)[-_LAST:]]
        return newest if any(newest) else []

    def _read_on(self, snapshot: Snapshot) -> None:
        # A program of this session sends its output here; of any other there is what was recorded.
        if not self._session.has_terminal and snapshot.recording is not None and self._takes_in:
            for piece in snapshot.recording.output(after_id=self._last_read):
                self._text.feed(piece.data, piece.moment)
                self._last_read = piece.id

    def show(self, snapshot: Snapshot) -> None:
        self._read_on(snapshot)
        lines, count = self.lines, len(self._text.lines)
        # Moments of the program, which are not those of what it has started.
        at_newest = snapshot.moment >= snapshot.newest or not self._takes_in
        lines.moment = None if at_newest else snapshot.moment
        at_end = lines.cursor >= self._shown - 1
        self._shown = count
        lines.show(count, self._row, cursor=count - 1 if at_end else None, empty=self._empty)
        field = self.query_one(ProgramInput)
        can_type = self._can_type
        if field.has_focus and not can_type:
            self.screen.set_focus(lines, scroll_visible=False)
        field.disabled = not can_type
        field.placeholder = (
            "input for the program: Enter sends the line, Ctrl-D ends the input"
            if can_type
            else _why_not(snapshot.status)
        )

    def _row(self, index: int) -> Row:
        return row(self._text.lines[index].text)

    def focus_inside(self) -> None:
        field = self.query_one(ProgramInput)
        self.screen.set_focus(field if self._can_type else self.lines, scroll_visible=False)

    def on_resize(self, event: events.Resize) -> None:
        size = self.lines.size
        if self._session.has_terminal and size.width > 1 and size.height > 1:
            self._session.resize(size.height, size.width)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._session.write_input(event.value + "\n")
        event.input.value = ""
        self.post_message(self.Say(""))  # what was said of its question is over

    def on_program_input_end_of_file(self, message: ProgramInput.EndOfFile) -> None:
        self._session.write_input(_END_OF_FILE)
        self.post_message(self.Say("sent end of file to the program"))


def _why_not(status: Status) -> str:
    if status is Status.ENDED:
        return "the program has ended: it takes no more input"
    return "a recording takes no input"
