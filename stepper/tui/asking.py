"""Panes that ask the living program themselves, for what no recording holds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from textual.message import Message

from stepper.client.decompiling import DecompilerError, decompile
from stepper.client.session import Session
from stepper.client.text import one_line
from stepper.model.cache import CacheData, EntryCode, RunResult
from stepper.model.control import FetchCode, Position, Request, Response
from stepper.tui.pane import Pane
from stepper.tui.snapshot import Status

Then = Callable[[CacheData | None], None]
Refused = Callable[[str], None]

_LIVE = (Status.STOPPED, Status.RUNNING)


class AskingPane(Pane):
    """Answers come on other threads; what is done with them is done on the pane's own."""

    class Answered(Message):
        """Posted when there is an answer, which goes to `then`."""

        def __init__(self, then: Callable[[], None]) -> None:
            super().__init__()
            self.then = then

    @property
    def live(self) -> bool:
        """Whether there is a program that can be asked."""
        return self.snapshot is not None and self.snapshot.status in _LIVE

    def ask(
        self, make: Callable[[int], Request], then: Then, refused: Refused | None = None
    ) -> None:
        """Ask the program. `refused` gets the reason instead; without it, the status line does."""
        session: Session = self.app.session  # type: ignore[attr-defined]  # the App is a StepperApp
        # The answer comes on the thread that reads the channel: only a message may cross over.
        session.request(make).add_done_callback(
            lambda future: self._answered(self._take, future.result(), then, refused or self.say)
        )

    def ask_decompiled(self, entry: int, then: Callable[[str], None], refused: Refused) -> None:
        """Have the transformed code of an entry decompiled, in the background."""

        def fetched(data: CacheData | None) -> None:
            if isinstance(data, EntryCode):
                # Of its own and not a worker: those are waited for when the screen is left.
                work = partial(self._decompile, data, then, refused)
                threading.Thread(target=work, daemon=True).start()

        self.ask(lambda seq: FetchCode(seq, entry), fetched, refused)

    def say(self, text: str) -> None:
        """Say something on the status line."""
        self.post_message(self.Say(one_line(text)))

    def on_asking_pane_answered(self, message: Answered) -> None:
        message.stop()
        message.then()

    def _answered(self, then: Callable[..., None], *what: Any) -> None:
        self.post_message(self.Answered(partial(then, *what)))

    def _take(self, response: Response, then: Then, refused: Refused) -> None:
        if not response.ok:
            refused(response.text)
            return
        if response.text and not isinstance(response.data, RunResult):
            self.say(response.text)
        then(None if isinstance(response.data, Position) else response.data)

    def _decompile(self, code: EntryCode, then: Callable[[str], None], refused: Refused) -> None:
        try:
            self._answered(then, decompile(code))
        except DecompilerError as error:
            self._answered(refused, str(error))
