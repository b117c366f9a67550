"""A subscriber that tests can wait on."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from pathlib import Path

from stepper.client.events import Ended, OutputArrived, SessionEvent
from stepper.client.launch import LaunchSpec, launch
from stepper.client.session import Session

SECONDS = 600.0
"""Longer than anything takes on a busy machine; reached only when a test fails."""


class Watch:
    """Everything that a session says, in order."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.output = ""
        self.seen: list[SessionEvent] = []
        self._queue: queue.Queue[SessionEvent] = queue.Queue()
        session.subscribe(self._queue.put)

    def until(self, wanted: Callable[[SessionEvent], bool]) -> SessionEvent:
        """Wait for an event."""
        deadline = time.monotonic() + SECONDS
        while True:
            event = self._queue.get(timeout=max(0.01, deadline - time.monotonic()))
            self.seen.append(event)
            if isinstance(event, OutputArrived):
                self.output += event.text
            if wanted(event):
                return event

    def until_output(self, text: str) -> None:
        """Wait until the program has written a text."""
        if text not in self.output:
            self.until(lambda _: text in self.output)

    def until_ended(self) -> Ended:
        """Wait for the program's end."""
        event = self.until(lambda event: isinstance(event, Ended))
        assert isinstance(event, Ended)
        return event


def start(tmp_path: Path, code: str, *args: str, **options: object) -> Watch:
    """Launch a script with this text."""
    script = tmp_path / "program.py"
    script.write_text(code)
    spec = {"recording": str(tmp_path / "run.stepper"), **options}
    return Watch(launch(LaunchSpec(target=str(script), args=args, **spec)))  # type: ignore[arg-type]  # any options of its own
