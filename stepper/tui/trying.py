"""A question answered by running the recorded program again, beside the screen.

A run takes seconds to minutes, and the screen must stay alive. So it is done by a thread with a
reader of its own (a recording is read by one thread only), which sends one message when it is over.
What runs meanwhile is asked of its `Progress`; to give up kills the program, and the thread then
ends by itself. It is no daemon: the program's scratch directory is removed even when stepper ends.

Whoever waits may look at something else meanwhile. So what runs and what has been found belong to
the application and not to the screen, and only its end gives up what nobody has.
"""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

from textual.message import Message
from textual.message_pump import MessagePump

from stepper.analysis.line import Line
from stepper.client.plan import Plan, ReplayError
from stepper.client.replay import Progress
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from stepper.tui.questions import Question, Trial


class Trying(threading.Thread):
    """One answer on its way."""

    class Over(Message):
        """Posted when the answer is there, or was given up."""

        def __init__(self, trying: Trying, lines: list[Line]) -> None:
            super().__init__()
            self.trying = trying
            self.lines = lines

    def __init__(
        self, path: str, question: Question, trial: Trial, plan: Plan, asker: MessagePump
    ) -> None:
        """
        Args:
            path: of the recording.
            question: what is asked.
            trial: gives the answer.
            plan: what is run; the user has agreed to it.
            asker: gets the message.
        """
        super().__init__(name="stepper-trying")
        self.question = question
        self.newest = 0
        """The newest moment of the recording when it was asked."""
        self._path = path
        self._trial = trial
        self._plan = plan
        self._asker = asker
        self._progress = Progress()
        self._began = time.monotonic()

    def run(self) -> None:
        lines: list[Line] = []
        try:
            self._answer(lines)
        except (RecordingError, ReplayError, OSError) as error:
            lines.append(Line(f"not tried: {error}", role="error"))
        except BaseException as error:
            lines.append(Line(f"not tried, by a defect of stepper: {error!r}", role="error"))
            raise
        finally:
            # Whatever has ended it: the screen waits for this.
            self._asker.post_message(self.Over(self, lines))

    def _answer(self, lines: list[Line]) -> None:
        recording = Recording.open(self._path)
        try:
            self.newest = recording.newest
            lines.extend(self._trial(recording, self._plan, self._progress))
        finally:
            recording.close()

    def give_up(self) -> None:
        """Kill the program that runs; harmless when it is over."""
        self._progress.give_up()

    @property
    def given_up(self) -> bool:
        """Whether it was."""
        return self._progress.given_up

    def __str__(self) -> str:
        if self.given_up:
            return "giving up"
        seconds = time.monotonic() - self._began
        doing = f" {self._progress.doing}" if self._progress.doing else ""
        return f"running the program again{doing}: {seconds:.0f} s  x: give up"


class Tried(NamedTuple):
    """An answer that is there."""

    lines: list[Line]
    newest: int
    """The newest moment that the recording had when it was asked."""


class Tries:
    """What is tried, one question at a time, and what has been."""

    def __init__(self, asker: MessagePump) -> None:
        """
        Args:
            asker: hears of the end of each, and passes it on to `over`.
        """
        self.running: Trying | None = None
        self._asker = asker
        self._answers: dict[tuple[str, str], Tried] = {}

    def start(self, path: str, question: Question, trial: Trial, plan: Plan) -> None:
        """Begin to answer a question; nothing else runs."""
        self.running = Trying(path, question, trial, plan, self._asker)
        self.running.start()

    def over(self, message: Trying.Over) -> None:
        """Keep the answer, unless it was given up."""
        trying, self.running = message.trying, None
        if not trying.given_up:
            self._answers[trying.question.key] = Tried(message.lines, trying.newest)

    def answer(self, question: Question) -> Tried | None:
        """What came of a question the last time; None: it has not been tried."""
        return self._answers.get(question.key)

    def give_up(self) -> None:
        """Let nothing run on; harmless when nothing does."""
        if self.running is not None:
            self.running.give_up()
