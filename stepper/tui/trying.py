"""A question answered by running the recorded program again, beside the screen.

A run takes seconds to minutes, and the screen must stay alive. So it is done by a thread with a
reader of its own (a recording is read by one thread only), which sends one message when it is over.
What runs meanwhile is asked of its `Progress`; to give up kills the program, and the thread then
ends by itself. It is no daemon: the program's scratch directory is removed even when stepper ends.
"""

from __future__ import annotations

import threading
import time

from textual.message import Message
from textual.message_pump import MessagePump

from stepper.analysis.line import Line
from stepper.client.replay import Progress, ReplayError
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from stepper.tui.questions import Trial


class Trying(threading.Thread):
    """One answer on its way."""

    class Over(Message):
        """It is there, or it was given up."""

        def __init__(self, trying: Trying, lines: list[Line]) -> None:
            super().__init__()
            self.trying = trying
            self.lines = lines

    def __init__(self, path: str, trial: Trial, view: int, asker: MessagePump) -> None:
        """
        Args:
            path: of the recording.
            trial: gives the answer.
            view: what the asker calls the question.
            asker: gets the message.
        """
        super().__init__(name="stepper-trying")
        self.view = view
        self._path = path
        self._trial = trial
        self._asker = asker
        self._progress = Progress()
        self._began = time.monotonic()

    def run(self) -> None:
        lines: list[Line] = []
        try:
            recording = Recording.open(self._path)
            try:
                lines.extend(self._trial(recording, self._progress))
            finally:
                recording.close()
        except (RecordingError, ReplayError, OSError) as error:
            lines.append(Line(f"not tried: {error}", role="error"))
        self._asker.post_message(self.Over(self, lines))

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
