"""Answers to questions about the recording: lists whose rows lead to their moments."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import zip_longest
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.markup import escape
from textual.screen import ModalScreen

from stepper.analysis.line import Line
from stepper.analysis.unseen import unseen
from stepper.client.plan import ReplayError, plan_of
from stepper.model.trace import MomentId
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from stepper.tui.lines import Lines
from stepper.tui.palette import Row, row
from stepper.tui.prompt import Prompt
from stepper.tui.questions import Question, Trial
from stepper.tui.replay_dialog import ReplayScreen
from stepper.tui.trying import Tries, Trying

_LOOKS = 0.5
"""Seconds between two looks at what the program that runs again is doing."""


class WhyScreen(ModalScreen[MomentId | None]):
    """Leads to the moment of the row that was opened; to none when it is left."""

    DEFAULT_CSS = """
    WhyScreen { align: center middle; }
    WhyScreen Vertical {
        width: 100%; max-width: 150; height: 98%; border: round $primary; padding: 0 1;
        background: $surface;
    }
    WhyScreen Lines { background: $surface; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,W", "leave", "Leave"),
        Binding("v,V", "view", "The next question"),
        Binding("x", "try", "Run the program again, and say what came of it; again: give up"),
        Binding("enter", "open", "Go to the row's moment"),
    ]

    def __init__(
        self,
        recording: Recording,
        questions: Sequence[Question],
        tries: Tries,
        here: MomentId = 0,
        *,
        growing: bool = False,
    ) -> None:
        """
        Args:
            recording: what is asked, as it is now.
            questions: the first is answered at once, the others on demand.
            tries: what is tried, here or when the screen was open before.
            here: the moment that is asked about: the cursor begins at what leads there.
            growing: whether the recording may go on: how much of the program is in it is no part
                of an answer yet.
        """
        super().__init__()
        self._recording = recording
        self._questions = questions
        self._here = here
        self._growing = growing
        self._view = 0
        self._answers: dict[int, list[Line]] = {}
        self._shown: list[tuple[Row, MomentId | None]] = []
        self._tries = tries
        # Held, and not queried: it says what is shown.
        self._frame = Vertical()
        self._lines = Lines()

    def compose(self) -> ComposeResult:
        with self._frame:
            yield self._lines
            yield Prompt()

    def on_mount(self) -> None:
        self.set_focus(self._lines)
        self.set_interval(_LOOKS, self._say_what_runs)

    def on_resize(self, event: events.Resize) -> None:
        self._show(event.size.width)

    def _show(self, width: int, cursor: int | None = None) -> None:
        columns = self._columns(width)
        self._shown = [
            (row((part, line.role)), line.moment)
            for line in self._answer(columns)
            for part in _wrapped(line.text, columns)
        ]
        at = f"{self._view + 1}/{len(self._questions)}"
        question = self._questions[self._view]
        self._frame.border_title = escape(f"{question.title}  {at}")
        more = "  x: try it" if question.trial is not None else ""
        self._say(f"Enter: go there  v: the next question{more}  /: search  Esc closes")
        self._say_what_runs()
        if cursor is None:
            moments = [moment for _, moment in self._shown]
            cursor = moments.index(self._here) if self._here in moments else 0
        self._lines.show(len(self._shown), lambda index: self._shown[index][0], cursor=cursor)

    def _say(self, text: str) -> None:
        self._frame.border_subtitle = escape(text)

    def _say_what_runs(self) -> None:
        if self._tries.running is not None:
            self._say(str(self._tries.running))

    @staticmethod
    def _columns(width: int) -> int:
        # The frame, its padding and the scroll bar are not for text.
        return max(20, min(150, width) - 6)

    def _answer(self, columns: int) -> list[Line]:
        found = self._answers.get(self._view)
        if found is None:
            try:
                found = self._tried() or self._told(columns)
            except RecordingError as error:
                found = [Line(str(error), role="error")]
            self._answers[self._view] = found
        return found

    def _told(self, columns: int) -> list[Line]:
        found = list(self._questions[self._view].answer(self._recording, columns))
        return found if self._growing else [*found, *unseen(self._recording)]

    def _tried(self) -> list[Line]:
        """What came of it when it was tried; empty when it was not."""
        tried = self._tries.answer(self._questions[self._view])
        if tried is None:
            return []
        if tried.newest == self._recording.newest:
            return tried.lines
        text = f"tried at moment {tried.newest}; the recording has gone on since"
        return [Line(text, role="dim"), *tried.lines]

    def on_lines_activated(self, message: Lines.Activated) -> None:
        moment = self._shown[message.index][1]
        if moment is not None and moment <= self._recording.newest:
            self.dismiss(moment)

    def action_open(self) -> None:
        self._lines.action_activate()

    def action_view(self) -> None:
        self._view = (self._view + 1) % len(self._questions)
        self._show(self.size.width)

    def action_try(self) -> None:
        question = self._questions[self._view]
        if self._tries.running is not None:
            self._tries.give_up()
        elif question.trial is None:
            self._say("to run the program again would say no more about this")
        else:
            self._try(question, question.trial)

    def _try(self, question: Question, trial: Trial) -> None:
        try:
            plan = plan_of(self._recording, timed=question.timed)
        except ReplayError as error:
            self._say(f"the program cannot be run again: {error}")
            return

        def answered(run: bool | None) -> None:
            # Another question may have been asked while this one was open.
            if run and self._tries.running is None:
                self._tries.start(self._recording.path, question, trial, plan)
                self._say_what_runs()

        self.app.push_screen(ReplayScreen(plan), answered)

    def over(self, trying: Trying) -> None:
        """Show what came of a question, wherever it was asked."""
        if trying.given_up:
            self._say("given up: the program was killed")
            return
        keys = [each.key for each in self._questions]
        view = keys.index(trying.question.key) if trying.question.key in keys else None
        before = [] if view is None else self._answers.pop(view, [])
        if view == self._view:
            self._answer(self._columns(self.size.width))
            self._show(self.size.width, self._first_new(before))
        else:
            self._say(f"{trying.question.title}: it has been tried")

    def _first_new(self, before: list[Line]) -> int:
        """The first row of what the answer before did not say."""
        width = self._columns(self.size.width)
        rows = 0
        for one, other in zip_longest(before, self._answers[self._view]):
            if one != other:
                break
            rows += len(_wrapped(one.text, width)) if one else 0
        return rows

    def action_leave(self) -> None:
        self.dismiss(None)


def _wrapped(text: str, columns: int) -> list[str]:
    """The lines that a line needs; those after the first are indented a little more."""
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    return textwrap.wrap(
        text, columns, subsequent_indent=indent, drop_whitespace=True, break_on_hyphens=False
    ) or [""]
